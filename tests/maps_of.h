/* SPDX-License-Identifier: Apache-2.0 */
/* Every mapping of a maps file, or of a text as one. */
#pragma once

#include "base/clock.h"
#include "proc/proc.h"

#include <sys/mman.h>
#include <unistd.h>

/* Makes a maps file of @text. Return: a descriptor, owned; -1. */
static inline int maps_file(struct span text)
{
    int fd = memfd_create("maps", MFD_CLOEXEC);

    if (fd >= 0 && (write(fd, text.p, text.n) != (ssize_t)text.n || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Reads the maps file @fd, which the caller keeps. 0; -errno. */
static inline int maps_of(int fd, struct maps *ret)
{
    const struct maps_limits limits = { .entries = MAPS_MAX_LINES,
                                        .path_bytes = MAPS_MAX_BYTES,
                                        .ns = 60 * NSEC_PER_SEC,
                                        .every = true };
    const struct proc_id id = { .host_pid = 1 };

    return maps_read_exec(&id, dup(fd), &limits, ret);
}
