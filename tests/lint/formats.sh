#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails when docs/formats.md and the table of formats name different formats or types.
# Usage: formats.sh TREE
set -euo pipefail
cd "${1:-.}"
[ -e daemon/render/formats.def ] || exit 0

table() {
    sed -nE 's/^FORMAT\((\w+), "([^;"]+).*/\1 \2/p' daemon/render/formats.def | sort
}

# "| `a`, `b` | type, more | for |" of the first table, as "a type" and "b type".
documented() {
    awk -F'|' '/^\| ---/ { rows = ++tables == 1; next } !/^\|/ { rows = 0 } rows {
        split($3, type, /[,;]/)
        gsub(/ /, "", type[1])
        n = split($2, names, ",")
        for (i = 1; i <= n; i++) {
            gsub(/[ `]/, "", names[i])
            print names[i], type[1]
        }
    }' docs/formats.md | sort
}

diff <(table) <(documented) >/dev/null && exit 0
echo "docs/formats.md (>) and daemon/render/formats.def (<) differ:"
diff <(table) <(documented) || true
exit 1
