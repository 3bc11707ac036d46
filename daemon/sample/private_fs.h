/* SPDX-License-Identifier: Apache-2.0 */
/* File systems of the kernel that no mount namespace has. Thread: any. */
#pragma once

/* Opens the root of a new mount of the file system @type, such as "tracefs". The mount is at no
 * path and no other process sees it. It ends when the descriptor is closed. @attributes: flags for
 * fsmount(2), added to nosuid, nodev and noexec. Return: a descriptor that the caller owns. -ENOSYS
 * before Linux 5.2, -EPERM without CAP_SYS_ADMIN, other -errno. */
int private_fs_open(const char *type, unsigned attributes);
