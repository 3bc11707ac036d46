#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# own_pids.sh COMMAND...: runs COMMAND as root in a pid namespace of its own, with a /tmp of its own: JVMs and flamed name files there by
# pid. A tree or a build below /tmp stays where it is. When COMMAND ends, or this is killed, all processes that it started end, and its
# mounts and files in /tmp go with them.
set -eu
[ "$(id -u)" = 0 ] || exec "$@" # tests that need root say so
# The first process of a pid namespace gets each orphan. sh waits for any child, so none stays a zombie.
exec unshare --pid --fork --kill-child --mount-proc sh -euc '
mount -t tmpfs -o mode=1777 tmpfs /mnt
for folder in "$0" "${FLAMED_BUILD:-}"; do
    case $folder in
    /tmp/*)
        mkdir -p "/mnt${folder#/tmp}"
        mount --rbind "$folder" "/mnt${folder#/tmp}"
        ;;
    esac
done
mount --move /mnt /tmp
cd "$PWD"
status=0
"$@" || status=$?
exit $status
' "$(cd "$(dirname "$0")/../.." && pwd -P)" "$@"
