#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the guest: makes /out/begun, runs /out/command, leaves its exit status in /out/status and switches the machine off. The second
# serial line, or the device VM_OUT, is the standard output of vm.py. As pid 1 it mounts first what systemd would have mounted.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8

# As systemd does it: VM_CGROUPS is v1, hybrid (version 2 besides, without a controller) or v2.
mount_cgroups() {
    local controllers
    if [ "$VM_CGROUPS" = v2 ]; then
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
        return
    fi
    mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
    for controllers in cpu,cpuacct memory pids cpuset devices freezer none,name=systemd; do
        mkdir "/sys/fs/cgroup/${controllers#none,name=}"
        mount -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/${controllers#none,name=}"
    done
    ln -s cpu,cpuacct /sys/fs/cgroup/cpu
    if [ "$VM_CGROUPS" = hybrid ]; then
        mkdir /sys/fs/cgroup/unified
        mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
    fi
}

if [ $$ = 1 ]; then
    mkdir -p /dev/shm /dev/pts /run/lock
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount -t devpts devpts /dev/pts
    mount_cgroups
    mount -t securityfs securityfs /sys/kernel/security
    mount -t tracefs tracefs /sys/kernel/tracing
    ip link set lo up
fi
stty -F "/dev/${VM_OUT:=ttyS1}" raw
: >/out/begun
bash /out/command >"/dev/$VM_OUT" 2>&1 </dev/null
echo $? >/out/status
sync
echo o >/proc/sysrq-trigger
sleep infinity
