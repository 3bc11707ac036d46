#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what lies beside this file, and starts the units. Usage: install.sh [--remove]
# With DESTDIR=FOLDER it copies into FOLDER and starts nothing.
set -eu
umask 022
here=$(cd "$(dirname "$0")" && pwd)
usr=${DESTDIR:-}/usr
units="flamed.service flamed-broker.service flamed-broker.socket flamed-launcher.service flamed-launcher.socket"

case $* in
    "" | --remove) ;;
    *) echo "Usage: install.sh [--remove]" >&2 && exit 2 ;;
esac
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

if [ "$*" = --remove ]; then
    [ -n "${DESTDIR:-}" ] || [ ! -e "$usr/lib/flamed/prerm" ] || sh "$usr/lib/flamed/prerm" remove disable
    for unit in $units; do
        rm -f "$usr/lib/systemd/system/$unit"
    done
    rm -rf "$usr/lib/flamed" "$usr/bin/flamed" "$usr/lib/sysusers.d/flamed.conf" "$usr/lib/tmpfiles.d/flamed.conf" \
        "$usr/share/man/man8/flamed.8" "$usr/share/doc/flamed"
    [ -n "${DESTDIR:-}" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload
    exit
fi

# Copies FILE as one that all may read. Usage: put FILE TARGET
put() {
    install -D -m 644 "$here/$1" "$usr/$2"
}

upgrade=
[ ! -e "$usr/lib/flamed" ] || upgrade=yes
rm -rf "$usr/lib/flamed"
mkdir -p "$usr/bin" "$usr/lib/flamed"
: > "$mark"
cp -R "$here/flamed" "$here/flamed-broker" "$here/flamed-push" "$here/lib" "$here/licenses" "$here/LICENSE" "$usr/lib/flamed/"
cp "$here/systemd/postinst" "$here/systemd/prerm" "$usr/lib/flamed/"
chmod -R go=u-w "$usr/lib/flamed"
ln -sf ../lib/flamed/flamed "$usr/bin/flamed"
for unit in $units; do
    put "systemd/$unit" "lib/systemd/system/$unit"
done
put systemd/flamed.sysusers.conf lib/sysusers.d/flamed.conf
put systemd/flamed.tmpfiles.conf lib/tmpfiles.d/flamed.conf
for drop_in in socket-only.conf short-turns.conf; do
    put systemd/$drop_in share/doc/flamed/$drop_in
done
put man/flamed.8 share/man/man8/flamed.8
[ -n "${DESTDIR:-}" ] || sh "$usr/lib/flamed/postinst" configure $upgrade
