/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of attach_headroom.h share: reading limits. */
#pragma once

#include "base/cleanup.h"
#include "broker/target/attach_headroom.h"
#include "broker/target/cgroups.h"

/* What is read of the target once. */
struct attach_headroom_facts {
    struct span cgroup, limits, status; /* the files of /proc/PID */
};

/* Gets the number that is all of a small file. False where there is none, as in "max". */
bool attach_headroom_read_number(int dir_fd, const char *path, uint64_t *ret);
/* Gets the number behind @key at the start of a line of @text, as in "Max processes  9  9
 * processes" or "VmSize:  9 kB". False where there is none, as in "unlimited". */
bool attach_headroom_find_number(struct span text, const char *key, uint64_t *ret);

/* Each: 0, or -EAGAIN with a sentence and a remedy. */
int attach_headroom_check_threads(const struct server *s, const struct target *t,
                                  const struct attach_headroom_facts *f, uint32_t host_uid,
                                  struct error *err);
int attach_headroom_check_memory(const struct server *s, const struct target *t,
                                 const struct attach_headroom_facts *f, struct error *err);
