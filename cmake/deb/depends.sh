#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the field Depends for PROGRAMS that are linked with libraries of SYSROOT (cmake/packages/sysroot.sh), where dpkg-shlibdeps cannot
# look. A package needs the sysroot's upstream version or a later one. Usage: depends.sh SYSROOT PROCESSOR PROGRAM...
set -euo pipefail
export LC_ALL=C
sysroot=$(realpath "$1") processor=$2
shift 2

packages() {
    dpkg-query --admindir="$sysroot/var/lib/dpkg" "$@"
}

for library in $(readelf -dW "$@" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | sort -u); do
    found=$(packages -S "*/$processor-linux-gnu/$library") || { echo "depends.sh: no package has $library" >&2; exit 1; }
    packages -W -f '${Package} ${Version}\n' "${found%%: *}"
done | sed 's/-[^-]*$//' | sort -u | awk '{ printf "%s%s (>= %s)", n++ ? ", " : "", $1, $2 }'
