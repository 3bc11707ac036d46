#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages named in the given list files that are not there yet. A line is a package
# and, optionally, a command: where that command is found the package is not needed. Quiet; refreshes
# apt's lists once when they do not know a package. Usage: install.sh LIST...
set -euo pipefail

missing=()
while read -r package command; do
    if [ -n "$command" ] && command -v "$command" >/dev/null; then
        continue
    fi
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=
    [ "$status" = installed ] || missing+=("$package")
done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@")
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
    echo "These packages are missing, and only root can install them: ${missing[*]}" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_missing() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "${missing[@]}" >"$log" 2>&1 </dev/null
}
echo "Installing ${#missing[@]} packages: ${missing[*]}"
if ! install_missing; then
    apt-get update -q >>"$log" 2>&1 </dev/null || true
    if ! install_missing; then
        cat "$log" >&2
        echo "apt-get could not install: ${missing[*]}" >&2
        exit 1
    fi
fi
