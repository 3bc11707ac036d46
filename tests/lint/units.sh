#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fails where systemd finds a fault in a unit, or rates one as more exposed than the table says. Usage: units.sh TREE
set -euo pipefail
cd "${1:-.}/systemd"
if ! systemd-analyze security --help 2>/dev/null | grep -- --offline >/dev/null; then
    echo "skipped: systemd-analyze (250 or later) is not here"
    exit 77
fi
bad=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The programs need not be installed to look at the units.
for unit in *.service *.socket; do
    sed -E 's#^(ExecStart=)/usr/(lib/flamed|bin)/flamed[a-z-]*#\1/bin/true#' "$unit" >"$folder/$unit"
done

# rated UNIT BELOW [DROP-IN]: its exposure is below that.
rated() {
    local unit=$1 below=$2 file="$folder/$1" score
    if [ -n "${3-}" ]; then
        cat "$3" >>"$file"
    fi
    score=$(systemd-analyze security --offline=yes --no-pager "$file" | sed -n 's/.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p')
    if [ -z "$score" ] || ! awk -v s="$score" -v b="$below" 'BEGIN { exit !(s < b) }'; then
        echo "$unit${3:+ with $3}: its exposure is ${score:-unknown}, not below $below"
        bad=1
    fi
}

if ! systemd-analyze verify --man=no --recursive-errors=no "$folder"/*.service "$folder"/*.socket >"$folder/out" 2>&1 ||
    grep "$folder" "$folder/out"; then
    cat "$folder/out"
    bad=1
fi
rated flamed-broker.service 2.6
rated flamed-launcher.service 2.9
rated flamed.service 1.4
rated flamed.service 0.8 socket-only.conf
rated flamed.service 1.5 short-turns.conf
exit $bad
