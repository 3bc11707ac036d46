/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File systems that are mounted in a container for one attach, if the configuration allows it
 * (attach_mount; docs/threat-model.md). They are in memory and are filled before they are mounted;
 * this file reads nothing of the container. Their sources name the launcher, so that a later
 * launcher recognises abandoned mounts. Part of the launcher.
 */
#pragma once

#include "helper/job.h"

#include <stddef.h>
#include <stdint.h>

/* Prefix of a source. The pid and start time of the launcher and a number follow: -1-2-3. */
#define MOUNTS_SOURCE "flamed-"
#define MOUNTS_SOURCE_MAX 64

/* Generates the sources of one launcher's mounts. */
struct mounts_names {
    uint64_t own_ticks; /* start time of the launcher */
    uint64_t last;      /* last number used */
};

/* Initialises the names of this process. @proc_fd: the host's /proc. */
void mounts_init(int proc_fd, struct mounts_names *ret);

/* Descriptors of unmounted roots; -1: not wanted. */
struct mounts {
    int agent; /* agent: read-only, executable */
    /* For a folder in `agent`; has the output file; not executable. */
    int stream;
    int tmp;                        /* over a read-only /tmp: 1 MB, not executable */
    int file;                       /* the output file, open for reading and writing */
    char source[MOUNTS_SOURCE_MAX]; /* source of all of these, and of no other mount */
};
#define MOUNTS_NULL ((struct mounts){ -1, -1, -1, -1, "" })

/* Makes the file systems @wanted (bits of enum attach_mounts), with the next source of @names. The
 * output file starts with the header of @template_fd and belongs to @uid and @gid of the host.
 * Returns 0, or -errno with nothing left open. */
int mounts_make(struct mounts_names *names, uint32_t wanted, int template_fd, uint32_t uid,
                uint32_t gid, struct mounts *ret);
void mounts_drop(struct mounts *m);
#define _cleanup_mounts_ _cleanup_(mounts_drop)
