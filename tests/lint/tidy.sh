#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails on a finding of clang-tidy 14 with .clang-tidy. Usage: tidy.sh TREE BUILD-FOLDER [PART-OF-A-FILE-NAME]
set -euo pipefail
cd "${1:-.}"
build=$(realpath "${2:-build/release}")
part=${3:-}
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT

# The commands of the build without the options of gcc that clang does not know.
mapfile -t files < <(python3 - "$build/compile_commands.json" "$commands/compile_commands.json" "$part" "$PWD/daemon/" "$PWD/agent/" <<'END'
import json, sys
entries = json.load(open(sys.argv[1]))
for entry in entries:
    for option in (" -fno-tree-loop-distribute-patterns", " -ftrivial-auto-var-init=zero"):
        entry["command"] = entry["command"].replace(option, "")
json.dump(entries, open(sys.argv[2], "w"))
names = {entry["file"] for entry in entries}
print("\n".join(sorted(n for n in names if n.startswith(tuple(sys.argv[4:])) and sys.argv[3] in n)))
END
)
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" clang-tidy-14 -p "$commands" --quiet --warnings-as-errors='*'
