/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the broker: a target with a folder as its root, like a container. */
#pragma once

#include "broker_jvm.h"

#define JVM_UID 4711

/* Becomes a container of one folder: chroot, and another user. */
static inline void be_contained(void *cookie)
{
    uid_t uid = *(const uid_t *)cookie;

    if (chroot(fx.dir) < 0 || chdir("/") < 0 || setresgid(uid, uid, uid) < 0 ||
        setresuid(uid, uid, uid) < 0)
        _exit(4);
}

static inline pid_t start_contained(void)
{
    static uid_t uid = JVM_UID;
    char path[128];

    snprintf(path, sizeof(path), "%s/tmp", fx.dir);
    mkdir(path, 01777);
    snprintf(path, sizeof(path), "%s/etc", fx.dir);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/etc/passwd", fx.dir);
    write_file(path, "inside", 6); /* what a wrong link may show at worst */
    return start_child(be_contained, &uid);
}

/* Makes a folder with files that only root may read. */
static inline void make_private(pid_t pid)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/private", fx.dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/private/%d", fx.dir, pid);
    write_file(path, "secret", 6);
    ck_assert_int_eq(chmod(path, 0600), 0);
    snprintf(path, sizeof(path), "%s/private/x.debug", fx.dir);
    write_file(path, ELF_BYTES, sizeof(ELF_BYTES));
    ck_assert_int_eq(chmod(path, 0700), 0);
}
