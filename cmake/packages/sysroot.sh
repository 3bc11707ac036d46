#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks what a build for another architecture of Debian's links, and no package runs: the libraries of build.txt and the C library,
# of this machine's release, by this machine's mirror. Packages named behind FOLDER come besides. FOLDER must not exist.
# Needs mmdebstrap. Usage: sysroot.sh ARCHITECTURE FOLDER [PACKAGE...]
set -euo pipefail
architecture=$1 folder=$2
shift 2
[ ! -e "$folder" ] || { echo "sysroot: $folder exists" >&2; exit 1; }

. /etc/os-release
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk '$3 == "main" && $1 !~ /security/ { print $1; exit }')
libraries=$(sed -n -E 's/^((lib|uthash|zlib)[^ ]*-dev)( .*)?$/\1/p' "$(dirname "$0")/build.txt")
packages=$(printf '%s\n' libc6-dev $libraries "$@" | paste -sd,)
# Has dpkg-query know the packages of that folder and their files, as if they were installed.
record='cd "$1" && echo 1 > var/lib/dpkg/info/format && for deb in var/cache/apt/archives/*.deb; do
    name=$(dpkg-deb -f "$deb" Package)
    [ "$(dpkg-deb -f "$deb" Multi-Arch)" != same ] || name=$name:$(dpkg-deb -f "$deb" Architecture)
    { dpkg-deb -f "$deb"; printf "Status: install ok unpacked\n\n"; } >> var/lib/dpkg/status
    dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -nE "s#^\./(.*[^/])/?\$#/\1#p" > "var/lib/dpkg/info/$name.list"
done'
mmdebstrap --variant=extract --architectures="$architecture" --include="$packages" --extract-hook="$record" "$VERSION_CODENAME" "$folder" \
    "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $VERSION_CODENAME main"
# Links to absolute paths lead out of the folder: a linker would take the static library beside such a link.
find "$folder/usr/lib" -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfn "$(realpath -ms --relative-to="$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
done
