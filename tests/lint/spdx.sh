#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a source file does not name its licence in its first lines: BSD-2-Clause OR GPL-2.0-only for
# unwind/, BPF programs and the headers that they share with flamed; Apache-2.0 for the rest.
# Usage: spdx.sh TREE
set -euo pipefail
cd "${1:-.}"
# Folders may be absent.
{ find run test .ci agent cmake daemon systemd tests web CMakeLists.txt \
    \( -name node_modules -o -name .cache -o -name corpus -o -name data -o -name __pycache__ \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.py' -o -name '*.sh' -o -name '*.js' -o -name '*.mjs' -o -name '*.css' \
    -o -name '*.java' -o -name '*.cmake' -o -name CMakeLists.txt -o -name run -o -name test \) -print \
    2>/dev/null || true; } | sort | awk '
    function licence(file) {
        if (file ~ /^daemon\/unwind\/.*\.[ch]$/ || file ~ /\.bpf\.[ch]$/ || file ~ /^daemon\/sample\/.*_abi\.h$/)
            return "BSD-2-Clause OR GPL-2.0-only"
        if (file ~ /^daemon\/unwind_tables\//) # the readers of .eh_frame came with the unwinder
            return "(BSD-2-Clause OR GPL-2.0-only|Apache-2.0)"
        return "Apache-2.0"
    }
    {
        want = licence($0)
        found = 0
        for (i = 0; i < 5 && !found && (getline line < $0) > 0; i++)
            found = line ~ ("SPDX-License-Identifier: \\(?" want "\\)?( |$)")
        close($0)
        if (!found) {
            print $0 ": no line \"SPDX-License-Identifier: " want "\" at its head"
            bad = 1
        }
    }
    END { exit bad }'
