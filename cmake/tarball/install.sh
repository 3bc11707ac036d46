#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what lies beside this file, and starts the units. Usage: install.sh [--remove]
# With DESTDIR=FOLDER it copies into FOLDER and starts nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
usr=${DESTDIR:-}/usr
units="flamed.service flamed-broker.service flamed-broker.socket flamed-launcher.service flamed-launcher.socket"

if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" != 0 ]; then
    echo "install.sh: only root can install flamed" >&2
    exit 1
fi
# A package has the same link in /usr/bin, but not the mark.
mark=$usr/lib/flamed/installed-by-install.sh
if [ -e "$usr/bin/flamed" ] && { [ ! -L "$usr/bin/flamed" ] || [ ! -e "$mark" ]; }; then
    echo "install.sh: a package has installed $usr/bin/flamed: remove it first" >&2
    exit 1
fi

if [ "${1:-}" = --remove ]; then
    [ -n "${DESTDIR:-}" ] || [ ! -e "$usr/lib/flamed/prerm" ] || sh "$usr/lib/flamed/prerm" remove disable
    for unit in $units; do
        rm -f "$usr/lib/systemd/system/$unit"
    done
    rm -rf "$usr/lib/flamed" "$usr/bin/flamed" "$usr/lib/sysusers.d/flamed.conf" "$usr/lib/tmpfiles.d/flamed.conf" \
        "$usr/share/man/man8/flamed.8"
    [ -n "${DESTDIR:-}" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload
    exit
fi

upgrade=
[ ! -e "$usr/lib/flamed" ] || upgrade=yes
rm -rf "$usr/lib/flamed"
mkdir -p "$usr/bin" "$usr/lib/flamed" "$usr/lib/systemd/system" "$usr/lib/sysusers.d" "$usr/lib/tmpfiles.d" \
    "$usr/share/man/man8"
: > "$mark"
cp -R "$here/flamed" "$here/flamed-broker" "$here/flamed-push" "$here/lib" "$here/licenses" "$here/LICENSE" "$usr/lib/flamed/"
cp "$here/systemd/postinst" "$here/systemd/prerm" "$usr/lib/flamed/"
chmod -R go=u-w "$usr/lib/flamed"
ln -sf ../lib/flamed/flamed "$usr/bin/flamed"
for unit in $units; do
    cp "$here/systemd/$unit" "$usr/lib/systemd/system/"
done
cp "$here/systemd/flamed.sysusers.conf" "$usr/lib/sysusers.d/flamed.conf"
cp "$here/systemd/flamed.tmpfiles.conf" "$usr/lib/tmpfiles.d/flamed.conf"
cp "$here/man/flamed.8" "$usr/share/man/man8/"
[ -n "${DESTDIR:-}" ] || sh "$usr/lib/flamed/postinst" configure $upgrade
