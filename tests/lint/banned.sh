#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails on words that promise work instead of doing it, and on C functions that cannot be bounded or that
# start a shell. daemon/ is also guarded by the compiler (base/macros.h); this covers tests, agent and
# whatever does not include that header. Usage: banned.sh TREE
set -euo pipefail
cd "${1:-.}"
bad=0
files() {
    find "$@" \( -name node_modules -o -name .cache -o -name corpus -o -name data -o -name __pycache__ -o -path tests/lint \) \
        -prune -o -type f -print0 2>/dev/null || true # folders may be absent
}
if files run test .ci agent cmake daemon docs systemd tests web CMakeLists.txt README.md CHANGELOG.md |
    xargs -0 -r grep -InE '\b(TODO|FIXME|XXX|HACK)\b|[Nn]ot (yet )?implemented|coming soon'; then
    echo "^ say what is, or do it; open work belongs into an issue"
    bad=1
fi
functions='strcpy|strcat|stpcpy|sprintf|vsprintf|gets|strtok|atoi|atol|atof|system|popen|alloca|tmpnam|mktemp|asctime|ctime|rand'
if files agent daemon tests | grep -zE '\.[ch]$' |
    xargs -0 -r grep -nE "(^|[^A-Za-z0-9_\"'.>])($functions)[[:space:]]*\(" |
    grep -vE '^[^:]+:[0-9]+:[[:space:]]*(/?\*|//)'; then
    echo "^ these functions may not be used here"
    bad=1
fi
exit $bad
