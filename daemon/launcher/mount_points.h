/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which folders of a container may be mounted over, and which mounts there are ours. Runs in the
 * mounter, inside the container's mount namespace; whatever it looks at is a stranger's. @root_fd
 * is the JVM's root, @info_fd its mountinfo in the host's /proc.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Opens the folder of that index in ATTACH_MOUNT_FOLDERS if it is fit. It must be a real folder
 * right below the root, in the same mount, and empty. Its owner must be the root's, and alone may
 * write to it. Nothing that is mounted in it may be seen elsewhere. *ret_mount: the mount that it
 * lies in. Return: 0 or -errno. */
int mount_point_open_folder(int root_fd, int info_fd, uint32_t index, int *ret_fd,
                            uint64_t *ret_mount);
/* Does the same for /tmp: empty, and on a file system that is read-only. */
int mount_point_open_tmp(int root_fd, int info_fd, int *ret_fd, uint64_t *ret_mount);
/* Returns whether the root @mount_fd of a mount lies right in the mount @in_mount, and is shared
 * with nobody. */
bool mount_point_is_in(int info_fd, int mount_fd, uint64_t in_mount);

/* Removes mounts of ours at these places, known by type, source, and owner of the root. Removes
 * those with the source @own (NULL: none), and those whose launcher is not alive. @proc_fd: the
 * host's /proc. */
void mount_points_sweep(int proc_fd, int root_fd, int info_fd, const char *own);
/* Does the same in the mount namespace of every process but those in our own. Joins them. */
void mount_points_sweep_all(int proc_fd);
