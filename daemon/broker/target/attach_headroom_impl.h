/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two halves of attach_headroom.h: reading limits. */
#pragma once

#include "base/cleanup.h"
#include "broker/target/attach_headroom.h"
#include "broker/target/cgroups.h"

/* Texts of the target that are read once. */
struct attach_headroom_facts {
    struct span cgroup, limits, status; /* of the files in /proc/PID */
    uint64_t mappings;
};

/* Reads a small file that contains one number. False if it is not a number, as in "max". */
bool attach_headroom_read_number(int dir_fd, const char *path, uint64_t *ret);
/* Reads the number behind @key at the start of a line of @text, as in "Max processes  9  9
 * processes" or "VmSize:  9 kB". False if there is no number, as in "unlimited". */
bool attach_headroom_find_number(struct span text, const char *key, uint64_t *ret);

/* Check one kind of limit each. Return: 0, or -EAGAIN with a sentence and a remedy. */
int attach_headroom_check_threads(const struct server *s, const struct target *t,
                                  const struct attach_headroom_facts *f, uint32_t host_uid,
                                  struct error *err);
int attach_headroom_check_memory(const struct server *s, const struct target *t,
                                 const struct attach_headroom_facts *f, struct error *err);
