#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a source file does not name its licence in its first lines: BSD-2-Clause OR GPL-2.0-only for
# unwind/, BPF programs and the headers that they share with flamed; Apache-2.0 for the rest.
# Usage: spdx.sh TREE
set -euo pipefail
cd "${1:-.}"
bad=0
while IFS= read -r file; do
    case $file in
    daemon/unwind/*.[ch] | *.bpf.[ch] | daemon/sample/*_abi.h) want='BSD-2-Clause OR GPL-2.0-only' ;;
    daemon/unwind_tables/*) want='(BSD-2-Clause OR GPL-2.0-only|Apache-2.0)' ;; # the readers of .eh_frame came with the unwinder
    *) want=Apache-2.0 ;;
    esac
    if ! head -n 5 "$file" | grep -qE "SPDX-License-Identifier: \(?$want\)?( |\$)"; then
        echo "$file: no line 'SPDX-License-Identifier: $want' at its head"
        bad=1
    fi
done < <(find run test .ci agent cmake daemon systemd tests web CMakeLists.txt \
    \( -name node_modules -o -name .cache -o -name corpus -o -name data -o -name __pycache__ \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.py' -o -name '*.sh' -o -name '*.js' -o -name '*.mjs' -o -name '*.css' \
    -o -name '*.java' -o -name '*.cmake' -o -name CMakeLists.txt -o -name run -o -name test \) -print \
    2>/dev/null | sort)
exit $bad
