/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to deliver an agent to a JVM, tried one after another. The first is a memfd. The second,
 * if the JVM may not load a memfd, is a copy in its /tmp. The third, if the configuration allows
 * it, is a file system mounted over a folder of its container. A JVM without a writable /tmp gets a
 * /tmp mounted. Pure. Thread: any.
 */
#pragma once

#include "base/span.h"
#include "helper/job.h"

struct attach_way {
    uint32_t mode; /* ATTACH_LOAD, ATTACH_COPY, ATTACH_MOUNT; or ATTACH_PERFMAP, which has no
                    * alternative */
    bool tmp;      /* a file system is mounted over /tmp */
};

/* What the list of a JVM's mounts shows for these ways, without a look at its files. */
struct attach_places {
    bool known;
    bool no_proc;       /* no /proc is mounted, by which the JVM would open flamed's files */
    bool read_only_tmp; /* /tmp is read-only, or part of a read-only root */
    bool noexec_tmp;
};
/* Sets *w to the way to try after the @result of attach_outcome() or stream_problem(); returns
 * false if there is none. @may_mount: the configuration allows mounts. */
bool attach_way_next(struct attach_way *w, int result, const struct attach_places *places,
                     bool may_mount);
/* Returns the text that names the way at the end of a message: " with ..."; "" for the memfd.
 * Static. */
const char *attach_way_text(const struct attach_way *w);

/* Reads the facts from the text of /proc/PID/mountinfo. */
struct attach_places attach_places_read(struct span mountinfo);
