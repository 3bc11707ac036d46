/* SPDX-License-Identifier: Apache-2.0 */
/* What attaching works with, the attaches under way, and what came of earlier ones. One of an
 * engine; thread: the engine's. */
#pragma once

#include "attach/backoff.h"
#include "broker_client/broker.h"
#include "discover/discover.h"
#include "helper/job.h"

#include <stdatomic.h>

struct attachment;

/* Attaches by how they ended: at which step (enum attach_step); and these. */
enum attach_end {
    ATTACH_END_REFUSED = ATTACH_STEP_END, /* by the JVM, in its answer */
    ATTACH_END_PREFLIGHT,                 /* not begun: something stood in the way */
    ATTACH_END_OWNER,                     /* not begun: its owner keeps what earlier ones left */
    ATTACH_ENDS,
};

struct attaching {
    struct broker *broker;          /* borrowed */
    struct discover *discover;      /* borrowed */
    int proc_fd;                    /* borrowed: a directory fd of /proc */
    bool allow_injection;           /* attach to JVMs where a request asks for it */
    bool allow_mounts;              /* and mount in their containers where nothing else does it */
    struct attachment *attachments; /* list of those that captures want */
    struct backoff backoff;
    _Atomic uint64_t ended[ATTACH_ENDS]; /* thread: any */
};
