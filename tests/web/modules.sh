#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The viewer's modules by themselves.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
exec node --test ./*.test.mjs
