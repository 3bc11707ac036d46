#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packs what the preset `tarball` built with the libraries that it needs. The same programs and packages give the same bytes.
# A build for another processor has its own strip, and its libraries and their packages are those of SYSROOT (cmake/packages/sysroot.sh).
# Usage: pack.sh BUILD VERSION [PROCESSOR STRIP SYSROOT]
set -euo pipefail
export LC_ALL=C
tree=$(realpath "$(dirname "$0")/../..")
build=$1 version=$2 processor=${3:-$(uname -m)} strip=${4:-strip} sysroot=${5:+$(realpath "$5")}
name=flamed-$version-linux-$processor
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$tree" log -1 --format=%ct 2>/dev/null || echo 0)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/$name
programs=(flamed flamed-broker flamed-push)

packages() {
    dpkg-query --admindir="$sysroot/var/lib/dpkg" "$@"
}

# "PACKAGE VERSION ARCHITECTURE" of the Debian package that FILE comes from.
package_of() {
    local file=${1#"$sysroot"} found
    found=$(packages -S "$file" 2>/dev/null || packages -S "${file#/usr}" 2>/dev/null) || { echo "pack.sh: no package has $1" >&2; return 1; }
    found=${found%%: *}
    packages -W -f '${Package} ${Version} ${Architecture}\n' "${found%%,*}"
}

copy_programs() {
    install -d "$out/lib" "$out/licenses"
    for program in "${programs[@]}"; do
        install -m 755 "$build/$program" "$out/"
        "$strip" "$out/$program"
        hide_interpreter "$out/$program"
    done
}

# Makes PT_INTERP of a program PT_NULL: the system's ld.so would be no match for the C library in lib/ (own_loader.c).
hide_interpreter() {
    local number
    number=$(readelf -lW "$1" | awk '/^Program Headers/ { getline; on = 1; next } on && $1 ~ /^[A-Z]/ { if ($1 == "INTERP") print n + 0; n++ }')
    printf '\0\0\0\0' | dd of="$1" bs=1 seek=$((64 + 56 * number)) conv=notrunc status=none
}

# Copies each library that FILE needs and that is not there yet, and those that it needs. The C library needs its ld.so.
copy_libraries() {
    local library file
    for library in $(readelf -dW "$1" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'); do
        [ ! -e "$out/lib/$library" ] || continue
        file=$(find "$sysroot"/{,usr/}lib/"$processor-linux-gnu" -maxdepth 1 -name "$library" -print -quit)
        install -m 644 "$file" "$out/lib/" || { echo "pack.sh: no $library, which $1 needs" >&2; return 1; }
        package_of "$(realpath "$file")" >> "$work/packages"
        copy_libraries "$file"
    done
}

copy_licenses() {
    local package rest
    sort -u -o "$work/packages" "$work/packages"
    while read -r package rest; do
        install -m 644 "$sysroot/usr/share/doc/$package/copyright" "$out/licenses/$package"
    done < "$work/packages"
}

copy_rest() {
    install -d "$out/systemd" "$out/man"
    install -m 644 "$tree"/systemd/* "$out/systemd/"
    install -m 755 "$tree"/cmake/deb/{postinst,prerm} "$out/systemd/"
    install -m 755 "$tree/cmake/tarball/install.sh" "$out/"
    install -m 644 "$tree/docs/flamed.8" "$out/man/"
    install -m 644 "$tree"/{LICENSE,README.md,CHANGELOG.md} "$out/"
}

# SPDX 2.3: flamed and the packages whose libraries are inside.
write_sbom() {
    local package of architecture
    {
        printf '{\n  "spdxVersion": "SPDX-2.3",\n  "dataLicense": "CC0-1.0",\n  "SPDXID": "SPDXRef-DOCUMENT",\n'
        printf '  "name": "%s",\n' "$name"
        printf '  "documentNamespace": "urn:flamed:%s:%s",\n' "$name" "$(cat "$out"/flamed* "$out"/lib/* | sha256sum | cut -c1-32)"
        printf '  "creationInfo": { "created": "%s", "creators": ["Tool: flamed-pack.sh"] },\n' \
            "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)"
        printf '  "packages": [\n    %s' "$(sbom_package flamed "$version" Apache-2.0 "pkg:generic/flamed@$version")"
        while read -r package of architecture; do
            printf ',\n    %s' "$(sbom_package "$package" "$of" NOASSERTION "pkg:deb/debian/$package@$of?arch=$architecture")"
        done < "$work/packages"
        printf '\n  ],\n  "relationships": [\n    { "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", '
        printf '"relatedSpdxElement": "SPDXRef-flamed" }'
        while read -r package of architecture; do
            printf ',\n    { "spdxElementId": "SPDXRef-flamed", "relationshipType": "CONTAINS", "relatedSpdxElement": "SPDXRef-%s" }' \
                "$package"
        done < "$work/packages"
        printf '\n  ]\n}\n'
    } > "$out/sbom.spdx.json"
}

# A plus sign of a version has to be escaped in a package URL.
sbom_package() {
    printf '{ "SPDXID": "SPDXRef-%s", "name": "%s", "versionInfo": "%s", "licenseDeclared": "%s", ' "$1" "$1" "$2" "$3"
    printf '"downloadLocation": "NOASSERTION", "externalRefs": [{ "referenceCategory": "PACKAGE-MANAGER", '
    printf '"referenceType": "purl", "referenceLocator": "%s" }] }' "${4//+/%2B}"
}

# An empty part of a path would have root's programs load what lies in the current folder. Libraries have no path of their own.
check_paths() {
    local file want found
    for file in "${programs[@]/#/$out/}" "$out"/lib/*; do
        want=
        [[ $file = */lib/* ]] || want=' (RPATH) Library rpath: [$ORIGIN/lib]'
        found=$(readelf -dW "$file" | sed -nE '/\((RPATH|RUNPATH)\)/s/^ *0x[0-9a-f]+//p' | tr -s ' ')
        if [ "$found" != "$want" ]; then
            echo "pack.sh: $(basename "$file") looks for libraries in '$found', and has to in '$want'" >&2
            return 1
        fi
    done
}

copy_programs
for program in "${programs[@]}"; do
    copy_libraries "$build/$program"
done
chmod 755 "$out"/lib/ld-linux*
copy_licenses
check_paths
copy_rest
write_sbom
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u+rw,go+r,go-w --format=gnu \
    -C "$work" -c "$name" | gzip -9n > "$build/$name.tar.gz"
echo "$build/$name.tar.gz: $(stat -c %s "$build/$name.tar.gz") bytes"
