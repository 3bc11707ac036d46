/* SPDX-License-Identifier: Apache-2.0 */
/* The state of attaching: what it works with, the present attaches and the results of earlier ones.
 * An engine has one; thread: the engine's. */
#pragma once

#include "attach/backoff.h"
#include "broker_client/broker.h"
#include "discover/discover.h"
#include "helper/job.h"

#include <stdatomic.h>

struct attachment;

/* How an attach ended: a step (enum attach_step) or one of these. */
enum attach_end {
    ATTACH_END_REFUSED = ATTACH_STEP_END, /* by the JVM, in its answer */
    ATTACH_END_PREFLIGHT,                 /* not begun: the preflight found an obstacle */
    ATTACH_END_OWNER,                     /* not begun: its owner still holds processes of
                                           * earlier attaches */
    ATTACH_ENDS,
};

struct attaching {
    struct broker *broker;          /* borrowed */
    struct discover *discover;      /* borrowed */
    int proc_fd;                    /* borrowed: a directory fd of /proc */
    bool allow_injection;           /* attach to JVMs where a request asks for it */
    bool allow_mounts;              /* and mount in their containers if no other way works */
    struct attachment *attachments; /* list of those that captures want */
    struct backoff backoff;
    _Atomic uint64_t ended[ATTACH_ENDS]; /* thread: any */
};
