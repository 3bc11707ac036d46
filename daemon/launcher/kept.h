/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that outlive their attach: a talker, porter or mounter that its tracer never reaps, or
 * that a file system blocks in the kernel. They stay in flamed's cgroup. So flamed attaches to an
 * owner with several of them only after they have ended. Part of the launcher. Thread: its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KEPT_OF_OWNER 2 /* attaches with such processes that an owner may have */
#define KEPT_MAX 256    /* such attaches of all owners; beyond it the oldest is forgotten */

struct kept {
    struct {
        uint64_t owner;
        pid_t group;
        bool child;    /* the leader is a child of this process and is not reaped yet */
    } entry[KEPT_MAX]; /* oldest first */
    size_t count;
};

/* Records the process group of an attach of @owner if it has a process left. Call it after the
 * leader was reaped, or if the leader is a child that does not end. This module then reaps that
 * child. */
void kept_note(struct kept *k, uint64_t owner, pid_t group);
/* Returns whether @owner has reached KEPT_OF_OWNER. Forgets groups that have ended. */
bool kept_too_many(struct kept *k, uint64_t owner);
