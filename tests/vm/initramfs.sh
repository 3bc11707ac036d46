#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The guest's first program, in an initramfs made by vm.py. It mounts the root that the host shares, read-only, below an overlay
# of the guest's memory, and the shared folder /out. Then it hands over to the program that the kernel's command line names.
b=/bin/busybox
fail() {
    echo "initramfs: $*"
    $b poweroff -f
}
$b mkdir -p /proc /sys /dev /host /memory /root
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
for file in $($b cat /modules/order); do
    $b insmod "/modules/$file" || fail "cannot load $file"
done
$b mount -t virtiofs -o ro root /host || fail "cannot mount the host's root"
$b mount -t tmpfs tmpfs /memory
$b mkdir /memory/upper /memory/work
$b mount -t overlay -o lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work overlay /root || fail "cannot mount the overlay"
$b mkdir -p /root/out /root/lib/modules
$b mount -t virtiofs out /root/out || fail "cannot mount /out"
for folder in proc sys dev; do
    $b mount --move /$folder /root/$folder
done
$b mount -t tmpfs -o mode=755 tmpfs /root/run
$b mkdir -p /root/run/systemd/system
$b cp /vm.service /root/run/systemd/system/
echo "initramfs: hands over to $VM_INIT"
exec $b switch_root /root "$VM_INIT"
