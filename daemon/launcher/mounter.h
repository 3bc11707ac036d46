/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounter: a child of the launcher for one attach. It joins only the JVM's mount namespace, and
 * mounts the file systems of mounts.h over folders of the container. It unmounts when the launcher
 * closes its pipe or dies, or at its deadline. No process of the container can reach it: it
 * communicates with none, keeps the host's user, and joins no pid namespace. If it is killed, the
 * launcher starts another one to unmount. If all are killed, the next attach or start unmounts.
 */
#pragma once

#include "launcher/kept.h"
#include "launcher/launcher.h"
#include "launcher/mounts.h"

#include <sys/types.h>

struct mounter {
    pid_t pid; /* 0: none */
    int pidfd, hold_fd;
    int target_fd, root_fd, info_fd; /* own descriptors of the JVM, its root and its mountinfo */
    char source[MOUNTS_SOURCE_MAX];  /* source of its mounts */
    uint64_t owner;                  /* owner of the JVM */
    struct kept *kept;               /* records processes that cannot be killed */
};
#define MOUNTER_NULL ((struct mounter){ 0, -1, -1, -1, -1, -1, "", 0, NULL })

/* Mounts @made in the mount namespace of the JVM @msg->host_pid. @target_fd is its pidfd, @root_fd
 * its root. Waits at most 2 s. @kept records a mounter that a file system of the container holds;
 * it must live until mounter_end(). Returns 0 if all is mounted until mounter_end(); *ret_folder is
 * then the index of the agent's folder. Otherwise nothing is mounted; returns an errno to report,
 * with *ret_step. */
int mounter_start(const struct launcher_message *msg, const struct mounts *made, int target_fd,
                  int root_fd, struct kept *kept, struct mounter *ret, uint32_t *ret_folder,
                  uint32_t *ret_step);
/* Removes all mounts and checks that they are gone. Takes up to two seconds. */
void mounter_end(struct mounter *m);

/* Removes the mounts that a killed flamed left in any mount namespace, and initialises the names in
 * @ret. Call it once in the launcher, before anything else. Waits at most 5 s. */
void mounter_init(struct mounts_names *ret);
