#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails where a program of a release build lacks what cmake/hardening.cmake asks for. Usage: hardening.sh BUILD
set -euo pipefail
cd "${1:-build/release}"
bad=0

# need FILE WHAT COMMAND...: complains unless COMMAND succeeds.
need() {
    local file=$1 what=$2
    shift 2
    if ! "$@"; then
        echo "$file: $what"
        bad=1
    fi
}

# has FILE WORD READELF-OPTION
has() {
    readelf -W "$3" "$1" 2>/dev/null | grep -E -- "$2" >/dev/null # not -q, which ends readelf early
}

lacks() {
    ! has "$@"
}

cet=
if grep -q '^FLAMED_HAVE_fcf_protection_full:INTERNAL=1' CMakeCache.txt; then
    cet=1
fi

for file in flamed flamed-broker flamed-attach libflamed-agent.so; do
    if [ ! -e "$file" ]; then
        echo "$file is not built"
        bad=1
        continue
    fi
    need $file "is not position-independent" has $file 'Type:.*DYN' -h
    need $file "has a stack that may be executed" lacks $file 'GNU_STACK.*RWE' -l
    need $file "has memory that is both writable and executable" lacks $file 'LOAD.*RWE' -l
    need $file "has no read-only relocations" has $file GNU_RELRO -l
    [ -z "$cet" ] || need $file "is not marked for CET" has $file 'x86 feature: IBT, SHSTK' -n
    case $file in
    *attach*) ;; # static: it is relocated by its own start
    *) need $file "binds its symbols late" has $file 'FLAGS_1.*NOW' -d ;;
    esac
    case $file in
    flamed | flamed-broker)
        need $file "has no guards of its stack" has $file '__stack_chk_fail' -s
        need $file "does not check lengths (_FORTIFY_SOURCE)" has $file '__(vsn|sn|f)printf_chk' -s
        ;;
    esac
done
# Its first instruction is the one that no compiler writes.
begins_with_landing_pad() {
    local entry
    entry=$(readelf -h "$1" | awk '/Entry point/ { print $4 }')
    objdump -d --start-address="$entry" --stop-address="$((entry + 4))" "$1" | grep endbr64 >/dev/null
}
if [ -n "$cet" ] && [ -e flamed-attach ]; then
    need flamed-attach "does not begin with endbr64" begins_with_landing_pad flamed-attach
fi
exit $bad
