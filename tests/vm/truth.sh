#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In the guest: are stacks whole, and shares true? Fewer samples than on a real machine, and so a wider margin for shares.
set -e
cd "$(dirname "$0")/../bench"
python3 completeness.py --check --cells 17 --samples 1000 --hz 199 --seconds 8 --warm 20
python3 accuracy.py --check --emulated 1 --runs 2 --hz 199 --seconds 20 --worst 3 --mean 1.5
