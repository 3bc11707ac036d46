#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails where C code is not as clang-format 14 with .clang-format would write it. Usage: format.sh TREE
set -euo pipefail
cd "${1:-.}"
bad=$(find daemon agent tests -name '*.[ch]' -not -path '*/node_modules/*' -not -path '*/.cache/*' -print0 2>/dev/null |
    xargs -0 -r clang-format-14 --style=file --dry-run -Werror 2>&1 |
    sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error: .*/\1/p' | sort -u) || true
[ -z "$bad" ] || {
    echo "run clang-format-14 -i on:"
    echo "$bad"
    exit 1
}
