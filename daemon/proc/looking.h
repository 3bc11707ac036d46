/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process the engine works on now, and for what. If the engine stalls, that process is the
 * cause. The watchdog notes its owner before it ends flamed, and the next flamed quarantines that
 * owner (stall_exit.h).
 */
#pragma once

#include "proc/proc.h"

enum looking_at {
    LOOKING_NOWHERE,
    LOOKING_SAMPLE,   /* the frames of a sample are being named */
    LOOKING_FUNCTION, /* a function is looked for in its files */
    LOOKING_JVM,      /* the process is being recognised as a JVM, or its VM's tables are being
                       * read */
    LOOKING_CODE,     /* the code that its agent reports is being read */
};

/* Notes that the engine begins to work on @id. @jvm: @id is known to be a JVM. Thread: the caller
 * of readers_use(). */
void looking_begin(enum looking_at at, const struct proc_id *id, bool jvm);
/* Notes that the engine has finished that work. Thread: the same. */
void looking_end(void);

struct looking {
    enum looking_at at;
    struct proc_id id;
    uint64_t owner; /* the result of proc_owner() */
    bool jvm;
};

/* Gets what the engine works on. The result is consistent only if the engine has been stalled since
 * before the call. Thread: any. */
void looking_get(struct looking *ret);
/* Returns @at as a clause that follows "while". */
const char *looking_text(enum looking_at at);
