/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that outlive their attach: a talker, porter or mounter that its tracer never reaps, or
 * that a file system holds in the kernel. They stay in flamed's cgroup, so flamed does not attach
 * to an owner that keeps several until they are gone. Part of the launcher. Thread: its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KEPT_OF_OWNER 2 /* attaches with such processes that an owner may have */
#define KEPT_MAX 256    /* of all owners; beyond it the oldest is forgotten */

struct kept {
    struct {
        uint64_t owner;
        pid_t group;
        bool child;    /* the leader is our child and was not reaped yet */
    } entry[KEPT_MAX]; /* the oldest first */
    size_t count;
};

/* Records the process group of an attach of @owner if it has a process left. Call it once the
 * leader was reaped, or if it is a child that does not end, which this function then reaps. */
void kept_note(struct kept *k, uint64_t owner, pid_t group);
/* Returns whether @owner has reached KEPT_OF_OWNER. Forgets groups that have ended. */
bool kept_too_many(struct kept *k, uint64_t owner);
