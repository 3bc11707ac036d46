/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners of processes (proc_owner_now()) as they were a moment ago. To compute one takes 85 us with
 * nine hierarchies of cgroups. Thread: the owner's.
 */
#pragma once

#include "proc/proc.h"

#define OWNER_UNREAD_NS NSEC_PER_SEC /* greatest age of OWNER_FOREIGN: files were unreadable */
#define OWNER_CACHE_SLOTS 1024       /* processes with the same slot evict each other */

/* Zeros: empty. */
struct owner_cache {
    struct {
        struct proc_id id;
        uint64_t owner; /* 0: free */
        uint64_t at_ns; /* CLOCK_MONOTONIC */
    } slots[OWNER_CACHE_SLOTS];
};

/* Returns the result of proc_owner_now() for @id, at most @max_age_ns old. Nothing is cached for an
 * unknown start time (0). */
uint64_t owner_cache_get(struct owner_cache *c, int proc_fd, const struct proc_id *id,
                         uint64_t max_age_ns);
