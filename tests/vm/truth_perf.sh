#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In the guest, on a kernel that refuses BPF programs: are stacks whole, and shares true?
set -e
cd "$(dirname "$0")/../bench"
python3 perf_home.py --check --homes refused --emulated 1 --seconds 8
python3 accuracy.py --check --emulated 1 --runs 2 --hz 199 --seconds 20 --worst 3 --mean 1.5
