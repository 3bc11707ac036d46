/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounter: a child of the launcher for the time of one attach. It joins the JVM's mount
 * namespace and no other, and attaches what mounts.h made over folders of the container. It removes
 * that when the launcher closes its pipe or is gone, or at its deadline. It speaks to nobody in the
 * container, is in no pid namespace of a container, and keeps the host's user: nobody there can
 * reach it. If a mounter is killed, the launcher removes its mounts by another. If all are killed,
 * the next attach or the next start does.
 */
#pragma once

#include "launcher/kept.h"
#include "launcher/launcher.h"
#include "launcher/mounts.h"

#include <sys/types.h>

struct mounter {
    pid_t pid; /* 0: none */
    int pidfd, hold_fd;
    int target_fd, root_fd, info_fd; /* our own copies: the JVM, its root, its mountinfo */
    char source[MOUNTS_SOURCE_MAX];  /* of what it mounted */
    uint64_t owner;                  /* of the JVM */
    struct kept *kept;               /* notes what cannot be ended */
};
#define MOUNTER_NULL ((struct mounter){ 0, -1, -1, -1, -1, -1, "", 0, NULL })

/* Mounts @made in the namespace of the JVM @msg->host_pid. @target_fd is its pidfd and @root_fd its
 * root. Waits 2 s at most. @kept notes a mounter that a file system of the container holds; it is
 * not freed before mounter_end().
 * Return: 0: it is there until mounter_end(), and *ret_folder is the index of the folder with the
 * agent. Else the errno to report, with *ret_step; nothing is mounted. */
int mounter_start(const struct launcher_message *msg, const struct mounts *made, int target_fd,
                  int root_fd, struct kept *kept, struct mounter *ret, uint32_t *ret_folder,
                  uint32_t *ret_step);
/* Removes all mounts and checks that they are gone; a second or two at most. */
void mounter_end(struct mounter *m);

/* Takes away what a flamed that was killed left in any mount namespace, and begins the names in
 * @ret. Once, before the others, in the launcher. Waits 5 s at most. */
void mounter_init(struct mounts_names *ret);
