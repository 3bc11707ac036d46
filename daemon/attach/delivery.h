/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which an agent is brought to a JVM, one after another. First as a memfd. If the JVM
 * may not load that, as a copy in its /tmp. If the configuration allows it, in a file system that
 * is mounted over a folder of its container. A JVM that has no /tmp to write in gets one. Pure.
 * Thread: any.
 */
#pragma once

#include "base/span.h"
#include "helper/job.h"

struct attach_way {
    uint32_t
        mode; /* ATTACH_LOAD, ATTACH_COPY, ATTACH_MOUNT; or ATTACH_PERFMAP, which has no other */
    bool tmp; /* with something mounted over /tmp */
};

/* What a JVM's mounts say of these ways, without a look at its files. */
struct attach_places {
    bool known;
    bool no_proc;       /* where it would open what others hold */
    bool read_only_tmp; /* or none: the root is read-only, and nothing is mounted at /tmp */
    bool noexec_tmp;
};
/* After @result (of attach_outcome() or of stream_problem()) of @w: true, and *w is what to try
 * next. @may_mount: as the configuration says. */
bool attach_way_next(struct attach_way *w, int result, const struct attach_places *places,
                     bool may_mount);
/* Returns what is special about it, for messages: " with ...". "" of the memory file. Static. */
const char *attach_way_text(const struct attach_way *w);

/* From the text of /proc/PID/mountinfo. */
struct attach_places attach_places_read(struct span mountinfo);
