/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that do not end although their attach is over. Their owner traces them and never waits,
 * or its file system holds them in the kernel: a talker, a porter, or a mounter. They stay in
 * flamed's cgroup, so an owner that keeps some is not attached to until they are gone. Part of the
 * launcher. Thread: its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KEPT_OF_OWNER 2 /* attaches that an owner may keep processes of */
#define KEPT_MAX 256    /* of all owners; above it the oldest is forgotten */

struct kept {
    struct {
        uint64_t owner;
        pid_t group;
        bool child;    /* its leader is our child, and not waited for yet */
    } entry[KEPT_MAX]; /* the oldest first */
    size_t count;
};

/* Notes the process group of an attach of @owner if there is somebody in it. Call when its leader
 * has been waited for, or is a child that does not end: then it is waited for here. */
void kept_note(struct kept *k, uint64_t owner, pid_t group);
/* Returns whether @owner keeps as many as it may, once those that have ended are forgotten. */
bool kept_too_many(struct kept *k, uint64_t owner);
