/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: limits for good which files and ports this process and its children can reach.
 * Thread: one, before others start.
 */
#pragma once

#include "base/error.h"

#include <linux/landlock.h>

#define LANDLOCK_READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

struct landlock {
    int fd;      /* of the rule set; owned */
    int abi;     /* of the kernel */
    uint64_t fs; /* rights that this kernel knows */
};
#define LANDLOCK_NULL ((struct landlock){ .fd = -1 })

/* Begins a rule set that allows no file. With @net_too it also allows no TCP, if the kernel can
 * limit that. 0; 1: the kernel has no Landlock; -errno with @err. */
int landlock_new(bool net_too, struct landlock *ret, struct error *err);
void landlock_deinit(struct landlock *l);
/* Allows those of @rights that the kernel knows below the folder @dir_fd. 0 or -errno with @err. */
int landlock_allow(const struct landlock *l, int dir_fd, uint64_t rights, struct error *err);
/* Returns whether the rule set limits to which ports TCP connects. */
bool landlock_limits_tcp(const struct landlock *l);
/* Allows TCP to connect to @port; without effect where landlock_limits_tcp() is false. 0 or -errno
 * with @err. */
int landlock_allow_connect(const struct landlock *l, uint16_t port, struct error *err);
/* Enters the rule set; no_new_privs has to be set. 0 or -errno with @err. */
int landlock_enter(const struct landlock *l, struct error *err);
