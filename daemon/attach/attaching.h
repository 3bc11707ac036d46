/* SPDX-License-Identifier: Apache-2.0 */
/* The state of attaching: the parts that it uses, the current attaches, and the results of earlier
 * ones. Each engine has one. Thread: the engine's. */
#pragma once

#include "attach/backoff.h"
#include "base/shares.h"
#include "broker_client/broker.h"
#include "discover/discover.h"
#include "helper/job.h"

#include <stdatomic.h>

struct attachment;

/* How an attach ended: a step (enum attach_step) or one of these. */
enum attach_end {
    ATTACH_END_REFUSED = ATTACH_STEP_END, /* the JVM refused it in its answer */
    ATTACH_END_PREFLIGHT,                 /* not begun: the preflight found an obstacle */
    ATTACH_END_OWNER, /* not begun: processes of the owner's earlier attaches still exist */
    ATTACH_ENDS,
};

struct attaching {
    struct broker *broker;          /* borrowed */
    struct discover *discover;      /* borrowed */
    struct shares *memory;          /* borrowed: counts the code that agents report */
    int proc_fd;                    /* borrowed: a directory fd of /proc */
    bool allow_injection;           /* attach to JVMs where a request asks for it */
    bool allow_mounts;              /* also mount in their containers if no other way works */
    struct attachment *attachments; /* list of the attaches that captures want */
    struct backoff backoff;
    _Atomic uint64_t ended[ATTACH_ENDS]; /* thread: any */
    _Atomic uint64_t files[2]; /* files for agents: without pages of ours, and with; thread: any */
};
