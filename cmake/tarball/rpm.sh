#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes an .rpm of the tarball in BUILD. Needs rpmbuild. Usage: rpm.sh BUILD VERSION PROCESSOR
set -euo pipefail
umask 022
build=$1 name=flamed-$2-linux-$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$build/$name.tar.gz" -C "$work"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat -c %Y "$work/$name")}
rm -rf "$build/rpm"
DESTDIR=$build/rpm sh "$work/$name/install.sh"
rm "$build/rpm/usr/lib/flamed/installed-by-install.sh" # rpm removes these files
find "$build/rpm" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
cd "$build" && cpack --config rpm.cmake
