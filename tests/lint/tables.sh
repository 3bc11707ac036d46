#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a table of the code and the table of a document differ: the events and docs/events.md, the broker's
# requests and docs/privilege.md. Fails when a test that docs/threat-model.md names is not there, or a path that
# docs/architecture.md or docs/contributing.md names. (formats.sh compares formats, unit_config the options.)
# Usage: tables.sh TREE
set -euo pipefail
cd "${1:-.}"
bad=0

# compare CODE DOCUMENT IN-CODE DOCUMENTED: the entries of both, one a line, must be equal, and some.
compare() {
    if [ -z "$3" ]; then
        echo "$1: this lint finds no entry any more: mend tests/lint/tables.sh"
        bad=1
    elif ! diff <(echo "$3") <(echo "$4") >/dev/null; then
        echo "$2 (>) and $1 (<) differ:"
        diff <(echo "$3") <(echo "$4") || true
        bad=1
    fi
}

# cells FILE FIRST: "| `a`, `b` | ..." of the rows of the table whose first heading is FIRST, as "a" and "b".
cells() {
    awk -F'|' -v first="$2" '
        !/^\|/ { rows = 0 }
        rows && !/^\| ---/ { print $2 }
        $2 == " " first " " { rows = 1 }' "$1" | grep -oE '`[^`]+`' | tr -d '`'
}

if [ -e daemon/event/events.def ]; then
    compare daemon/event/events.def docs/events.md \
        "$(sed -nE 's/^EVENT\(\w+, "([^"]+)".*/\1/p' daemon/event/events.def | sort)" \
        "$(cells docs/events.md '`event=`' | sort)"
fi

# A request is "number name".
numbers() {
    sed -nE 's/^REQUEST\(([0-9]+), \w+, (\w+),.*/\1 \2/p' daemon/broker_client/requests.def | sort
}

# "| 15, 16 | `a`, `b` | ..." as "15 a" and "16 b".
documented() {
    awk -F'|' '
        !/^\|/ { rows = 0 }
        rows && /`/ {
            n = split($2, number, ",")
            split($3, name, ",")
            for (i = 1; i <= n; i++) {
                gsub(/[ `]/, "", number[i])
                gsub(/[ `]/, "", name[i])
                if (name[i] ~ /^[a-z0-9_]+$/)
                    print number[i], name[i]
            }
        }
        $2 == " # " { rows = 1 }' docs/privilege.md | sort
}

if [ -e daemon/broker_client/requests.def ]; then
    compare daemon/broker_client/requests.def docs/privilege.md "$(numbers)" "$(documented)"
fi

# The tests that the threat model names: `test_file.Class.test_case`, `test_case`,
# `Class.test_case`, `unit_x`, `fuzz_x`, `jvm_x`. Each word must be a class, a function or a file of the tests.
if [ -e docs/threat-model.md ]; then
    while read -r word; do
        case $word in
            fuzz_*) [ -e "tests/fuzz/$word.c" ] ;;
            unit_*) find tests/unit -name "test_${word#unit_}.c" | grep -q . ;;
            jvm_*) grep -qE "\(${word#jvm_}[ )]" tests/jvm/CMakeLists.txt ;;
            *) [ -e "tests/jvm/$word.py" ] || find tests/unit -name "$word.c" | grep -q . ||
                grep -rqE "^ *(class|def) $word\b" tests/jvm --include='test_*.py' ;;
        esac || { echo "docs/threat-model.md names $word, which is no test"; bad=1; }
    done < <(grep -oE '`(test|unit|fuzz|jvm)_[A-Za-z0-9_.]+`|`[A-Z][A-Za-z]+(\.test_[a-z0-9_]+)`' docs/threat-model.md |
        tr -d '`' | tr . '\n' | sort -u)
    # Each fuzz target has a parser, and each parser a row.
    for target in tests/fuzz/fuzz_*.c; do
        name=$(basename "$target" .c)
        [ ! -e "$target" ] || grep -q "\`$name\`" docs/threat-model.md ||
            { echo "docs/threat-model.md does not name $name"; bad=1; }
    done
    # Where keys are compared: `file.c`, `function`, both in daemon/.
    while read -r file function; do
        grep -qw -- "$function" "daemon/$file" 2>/dev/null ||
            { echo "docs/threat-model.md names $function in $file, where it is not"; bad=1; }
    done < <(sed -n '/^### By a reused number/,/^## /p' docs/threat-model.md |
        grep -oE '`[a-z_/]+\.[ch]`, `[a-z_0-9]+`' | tr -d '`,' | sort -u)
fi

# The paths that the tour and the guide name, from the root, from daemon/, docs/ or web/, or the end of a path. And each
# folder of daemon/ has a row.
for doc in docs/architecture.md docs/contributing.md; do
    [ -e $doc ] || continue
    while read -r path; do
        [ -e "$path" ] || [ -e "daemon/$path" ] || [ -e "docs/$path" ] || [ -e "web/$path" ] ||
            [ -n "$(find daemon tests -path tests/.cache -prune -o -path "*/${path%/}" -print -quit)" ] ||
            { echo "$doc names $path, which does not exist"; bad=1; }
    done < <(grep -oE '`[^`]+`' $doc | tr -d '`' | grep -E '^[a-z_./-]+$' | grep -v '^build/' | grep -E '/|\.(c|h|py|sh|def|md|json|txt)$' | sort -u)
done

# The files that the code names by their folder in daemon/.
while IFS=: read -r file path; do
    [ -e "daemon/$path" ] || [ -e "daemon/$path.in" ] || [[ $path == *.pb-c.h || $path == *.skel.h ]] ||
        { echo "$file names $path, which does not exist"; bad=1; }
done < <(cd daemon && grep -rnoP --include='*.[ch]' "(?<![\w/.])($(printf '%s|' */ | sed 's,/|,|,g; s,|$,,'))/[a-z0-9_/.]+\.[ch]\b" . |
    sed -E 's,^\./([^:]*):[0-9]*:,daemon/\1:,' | sort -u)
if [ -e docs/architecture.md ]; then
    for folder in $(find daemon -mindepth 2 -name '*.[ch]' -printf '%h/\n' | sort -u); do
        grep -q "^| \`${folder#daemon/}\` |" docs/architecture.md ||
            { echo "docs/architecture.md has no row for $folder"; bad=1; }
    done
fi
exit $bad
