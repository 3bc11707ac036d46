/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which folders of a container may be mounted over, and which mounts there are flamed's.
 * Runs in the mounter, inside the container's mount namespace; everything it reads there is
 * untrusted. @root_fd is the JVM's root, @info_fd its mountinfo in the host's /proc.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Opens the folder with that index in ATTACH_MOUNT_FOLDERS if it is suitable. It must be an empty,
 * real folder right below the root, in the same mount, not shared. It must belong to the root's
 * owner and be writable by that user only. *ret_mount: id of its mount. Return: 0 or -errno. */
int mount_point_open_folder(int root_fd, int info_fd, uint32_t index, int *ret_fd,
                            uint64_t *ret_mount);
/* Opens /tmp if it is empty, not shared, and on a read-only file system. *ret_mount: id of its
 * mount. Return: 0 or -errno. */
int mount_point_open_tmp(int root_fd, int info_fd, int *ret_fd, uint64_t *ret_mount);
/* Returns whether the mount with the root @mount_fd is mounted directly in the mount @in_mount, and
 * is not shared. */
bool mount_point_is_in(int info_fd, int mount_fd, uint64_t in_mount);

/* Removes flamed's mounts at these places, recognised by type, source and owner. These are
 * mounts with the source @own (NULL: none), and those of launchers that have ended. @proc_fd:
 * the host's /proc. */
void mount_points_sweep(int proc_fd, int root_fd, int info_fd, const char *own);
/* Removes mounts of ended launchers in every mount namespace but this process's own. Joins each of
 * them. */
void mount_points_sweep_all(int proc_fd);
