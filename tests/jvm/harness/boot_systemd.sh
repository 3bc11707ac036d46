#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# boot_systemd.sh FOLDER DESTDIR: systemd as pid 1 of namespaces of its own, on this machine's root below an overlay in memory, with
# what DESTDIR holds on top. Ends with its process. Prints "booting" before systemd starts; 77: this machine cannot do that.
set -u
folder=$1/machine destdir=$2
mkdir "$folder"
skip() {
    echo "skip: $*"
    exit 77
}
root=$folder/root
mount -t tmpfs -o mode=755 tmpfs "$folder" || skip "no tmpfs"
mkdir "$folder"/{up,work,root}
cp -a "$destdir/." "$folder/up/"
mount -t overlay -o "lowerdir=/,upperdir=$folder/up,workdir=$folder/work" overlay "$root" || skip "no overlay of the root"
mount -t proc proc "$root/proc" || skip "no /proc"
# The kernel's knobs are the machine's: they are not for a test to turn.
mount --bind "$root/proc/sys" "$root/proc/sys" && mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys" || skip "no /sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root"/dev/{shm,pts}
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx" # a unit's own /dev has it
for part in run tmp var/log; do
    mkdir -p "$root/$part"
    mount -t tmpfs -o mode=755 tmpfs "$root/$part"
done
chmod 1777 "$root/tmp"
# The tests' own files, which no overlay could show where they lie on another file system.
mkdir -p "$root/run/tests"
mount --bind "${TESTS_FOLDER:-/tmp}" "$root/run/tests"
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup" || skip "no cgroups"
else
    mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
    mkdir "$root"/sys/fs/cgroup/{systemd,unified}
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd" || skip "no cgroup of systemd's"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified" || skip "no cgroup2"
    for controller in memory pids devices; do
        mkdir "$root/sys/fs/cgroup/$controller"
        mount -t cgroup -o "$controller" cgroup "$root/sys/fs/cgroup/$controller"
    done
fi
etc=$root/etc/systemd/system
mkdir -p "$etc"
rm -rf "$etc"/*.wants
for unit in dev-hugepages.mount dev-mqueue.mount sys-fs-fuse-connections.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
    sys-kernel-config.mount proc-sys-fs-binfmt_misc.automount tmp.mount systemd-modules-load.service systemd-sysctl.service \
    systemd-timesyncd.service systemd-remount-fs.service systemd-machine-id-commit.service systemd-binfmt.service \
    systemd-random-seed.service systemd-udevd.service systemd-udev-trigger.service systemd-update-utmp.service \
    systemd-tmpfiles-setup-dev.service systemd-pcrphase.service systemd-pcrphase-sysinit.service systemd-journal-flush.service \
    systemd-networkd.service systemd-resolved.service systemd-logind.service getty.target; do
    ln -sf /dev/null "$etc/$unit"
done
printf '[Unit]\nRequires=sysinit.target sockets.target\nAfter=sysinit.target sockets.target\n' >"$etc/flamed-test.target"
cd "$root" && mkdir -p old && pivot_root . old && umount -l old || skip "no pivot_root"
echo booting
export container=oci
exec /usr/lib/systemd/systemd --system --unit=flamed-test.target --log-target=console --log-level=notice --show-status=no
