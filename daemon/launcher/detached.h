/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File systems in memory that are not mounted anywhere (Linux 5.2): their files have no path in any
 * namespace until one is mounted. Thread: any.
 */
#pragma once

#define DETACHED_TYPE "tmpfs"

struct detached {
    int fs_fd;   /* context for later changes; -1: none */
    int root_fd; /* the root directory; -1: none */
};

#define DETACHED_NULL ((struct detached){ -1, -1 })
#define _cleanup_detached_ __attribute__((cleanup(detached_close)))

/* Makes a tmpfs without set-user-ID programs and devices. @source and @mode may be NULL, for the
 * default. @size and @mode have the form of mount(8). @attributes: further MOUNT_ATTR_*. Return: 0
 * and *ret, which the caller closes; -errno. */
int detached_make(const char *source, const char *size, const char *mode, unsigned attributes,
                  struct detached *ret);
/* Makes @d read-only for all processes. No file in it may be open for writing. Returns 0 or -errno.
 */
int detached_make_read_only(const struct detached *d);
/* Closes both descriptors of @d. */
void detached_close(struct detached *d);
