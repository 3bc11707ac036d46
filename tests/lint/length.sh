#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A file holds one idea: warns above 500 lines. Fails above 600 in agent/ and daemon/, above 800 in web/; tests are tables, and only
# warned of. Usage: length.sh TREE
set -euo pipefail
cd "${1:-.}"
{ find agent daemon tests web \( -name node_modules -o -name .cache -o -name corpus -o -name data \) -prune -o \
    -type f \( -name '*.[ch]' -o -name '*.py' -o -name '*.js' -o -name '*.mjs' -o -name '*.java' \) -print0 2>/dev/null || true; } |
    xargs -0 -r wc -l | awk '
        $2 == "total" { next }
        ($1 > 600 && $2 ~ /^(agent|daemon)\//) || ($1 > 800 && $2 !~ /^tests\//) { printf "%s: %d lines: split it\n", $2, $1; bad = 1; next }
        $1 > 500 { printf "warning: %s: %d lines\n", $2, $1 }
        END { exit bad }'
