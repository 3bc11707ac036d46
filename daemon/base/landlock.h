/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: limits, without a way back, which files and ports this process and its children can
 * reach.
 */
#pragma once

#include "base/error.h"

#include <linux/landlock.h>

#define LANDLOCK_READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

struct landlock {
    int fd;      /* the rule set; owned */
    int abi;     /* version that the kernel supports */
    uint64_t fs; /* rights on files that this kernel knows */
};
#define LANDLOCK_NULL ((struct landlock){ .fd = -1 })

/* Begins a rule set that allows no file. With @net_too it also allows no TCP, if the kernel can
 * limit that. Returns 0, 1 if the kernel has no Landlock, or -errno with @err. */
int landlock_new(bool net_too, struct landlock *ret, struct error *err);
void landlock_deinit(struct landlock *l);
/* Allows below the folder @dir_fd all of @rights that the kernel knows. Returns 0 or -errno with
 * @err. */
int landlock_allow(const struct landlock *l, int dir_fd, uint64_t rights, struct error *err);
/* Returns whether the rule set limits the ports that TCP may connect to. */
bool landlock_limits_tcp(const struct landlock *l);
/* Allows TCP to connect to @port. Does nothing if landlock_limits_tcp() is false. Returns 0 or
 * -errno with @err. */
int landlock_allow_connect(const struct landlock *l, uint16_t port, struct error *err);
/* Enters the rule set; no_new_privs has to be set. 0 or -errno with @err. */
int landlock_enter(const struct landlock *l, struct error *err);
