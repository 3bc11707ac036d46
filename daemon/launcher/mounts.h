/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mounted in a container for the time of one attach if the configuration allows it
 * (attach_mount; docs/threat-model.md). They are file systems in memory that are filled while they
 * are mounted nowhere. Nothing of the container is looked at here. The source of each names its
 * launcher, so that a remainder can be recognised. Part of the launcher.
 */
#pragma once

#include "helper/job.h"

#include <stddef.h>
#include <stdint.h>

/* Then pid and start time of the launcher, and a number: -1-2-3. */
#define MOUNTS_SOURCE "flamed-"
#define MOUNTS_SOURCE_MAX 64

/* Names the sources of what one launcher mounts. */
struct mounts_names {
    uint64_t own_ticks; /* start time of the launcher */
    uint64_t last;      /* number of the last one */
};

/* Begins the names of this process; @proc_fd: the host's /proc. */
void mounts_init(int proc_fd, struct mounts_names *ret);

/* Each the root of a mount that is attached nowhere; -1: not wanted. */
struct mounts {
    int agent;  /* the agent: read-only, may be executed */
    int stream; /* in a folder of it, what the JVM writes: may not be executed */
    int tmp;    /* over a /tmp that cannot be written: 1 MB, may not be executed */
    int file;   /* the file in stream, to be read and written */
    char source[MOUNTS_SOURCE_MAX]; /* of all of them, and of no other */
};
#define MOUNTS_NULL ((struct mounts){ -1, -1, -1, -1, "" })

/* Makes those of @wanted (bits of enum attach_mount), whose source is the next of @names. The JVM's
 * file begins with the STREAM_RING_AT bytes of @template_fd that matter, its header, and belongs to
 * user @uid and group @gid of the host. 0 or -errno, then nothing is left. */
int mounts_make(struct mounts_names *names, uint32_t wanted, int template_fd, uint32_t uid,
                uint32_t gid, struct mounts *ret);
void mounts_drop(struct mounts *m);
#define _cleanup_mounts_ _cleanup_(mounts_drop)
