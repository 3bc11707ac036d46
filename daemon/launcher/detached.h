/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File systems in memory that are attached nowhere (Linux 5.2): files in them have no path in any
 * namespace until somebody attaches one. Thread: any.
 */
#pragma once

#define DETACHED_TYPE "tmpfs"

struct detached {
    int fs_fd;   /* the context, for a later change; -1: none */
    int root_fd; /* the root directory; -1: none */
};

#define DETACHED_NULL ((struct detached){ -1, -1 })
#define _cleanup_detached_ __attribute__((cleanup(detached_close)))

/* Makes a tmpfs without set-user-id programs and devices. @source, @mode: NULL for the default;
 * @size, @mode: as mount(8) writes them; @attributes: more of MOUNT_ATTR_*. 0 and *ret, which the
 * caller closes; -errno. */
int detached_make(const char *source, const char *size, const char *mode, unsigned attributes,
                  struct detached *ret);
/* Makes it read-only for everybody. Nothing in it may be open for writing. 0 or -errno. */
int detached_make_read_only(const struct detached *d);
/* Closes what is open. */
void detached_close(struct detached *d);
