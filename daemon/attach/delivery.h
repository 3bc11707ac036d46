/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to deliver an agent to a JVM, tried one after another. The first is a memfd. If the JVM
 * may not load that, a copy in its /tmp. If the configuration allows it, a file system mounted over
 * a folder of its container. A JVM without a writable /tmp gets one mounted. Pure. Thread: any.
 */
#pragma once

#include "base/span.h"
#include "helper/job.h"

struct attach_way {
    uint32_t mode; /* ATTACH_LOAD, ATTACH_COPY, ATTACH_MOUNT; or ATTACH_PERFMAP, which has no
                    * alternative */
    bool tmp;      /* with a file system mounted over /tmp */
};

/* The facts for these ways from a JVM's mounts, without a look at its files. */
struct attach_places {
    bool known;
    bool no_proc;       /* no /proc, by which it would open flamed's files */
    bool read_only_tmp; /* or the root is read-only, and nothing is mounted at /tmp */
    bool noexec_tmp;
};
/* Sets *w to the way to try after the @result of attach_outcome() or stream_problem(); returns
 * false if there is none. @may_mount: the configuration allows mounts. */
bool attach_way_next(struct attach_way *w, int result, const struct attach_places *places,
                     bool may_mount);
/* Returns the way as the end of a message: " with ..."; "" for the memfd. Static. */
const char *attach_way_text(const struct attach_way *w);

/* Reads the facts from the text of /proc/PID/mountinfo. */
struct attach_places attach_places_read(struct span mountinfo);
