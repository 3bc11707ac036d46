#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails on a finding of clang-tidy 14 with .clang-tidy. Usage: tidy.sh TREE BUILD-FOLDER
set -euo pipefail
cd "${1:-.}"
build=$(realpath "${2:-build/release}")
mapfile -t files < <(python3 - "$build/compile_commands.json" "$PWD/daemon/" "$PWD/agent/" <<'END'
import json, sys
names = {entry["file"] for entry in json.load(open(sys.argv[1]))}
print("\n".join(sorted(n for n in names if n.startswith(tuple(sys.argv[2:])))))
END
)
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" clang-tidy-14 -p "$build" --quiet --warnings-as-errors='*'
