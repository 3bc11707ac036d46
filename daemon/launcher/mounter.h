/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounter: a child of the launcher for the time of one attach, which joins the JVM's mount
 * namespace and no other, attaches what mounts.h made over folders of the container, and takes it
 * away again when the launcher lets go of it or is gone, or at its deadline. It speaks to nobody in
 * the container, is in no pid namespace of a container, and keeps the host's user: nobody there can
 * reach it. What one that was killed left behind the launcher takes away by another, and the next
 * attach, or the next start, what all of us left behind.
 */
#pragma once

#include "launcher/launcher.h"
#include "launcher/mounts.h"

#include <sys/types.h>

struct mounter {
    pid_t pid; /* 0: none */
    int pidfd, hold_fd;
    int target_fd, root_fd, info_fd; /* our own copies: the JVM, its root, its mountinfo */
    char source[MOUNTS_SOURCE_MAX];  /* of what it mounted */
};
#define MOUNTER_NULL ((struct mounter){ 0, -1, -1, -1, -1, -1, "" })

/* Mounts @made in the namespace of the JVM @msg->host_pid, of which @target_fd is a pidfd and
 * @root_fd the root. 0: it is there until mounter_end(), and *ret_folder is the index of the folder
 * that has the agent. Else the errno to tell, with *ret_step; nothing is mounted. Waits 2 s at
 * most. */
int mounter_start(const struct launcher_message *msg, const struct mounts *made, int target_fd,
                  int root_fd, struct mounter *ret, uint32_t *ret_folder, uint32_t *ret_step);
/* Has it all taken away, and sees to it that it was; a second or two at most. */
void mounter_end(struct mounter *m);

/* Once, before the others, in the launcher: takes away what a flamed that was killed left in any
 * mount namespace. Waits 5 s at most. */
void mounter_init(void);
