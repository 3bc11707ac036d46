/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process the engine works on, and at what, at this moment. If the engine stands, that is
 * what holds it. The watch notes the owner before it ends flamed, and the next flamed quarantines
 * that owner (stall_exit.h).
 */
#pragma once

#include "proc/proc.h"

enum looking_at {
    LOOKING_NOWHERE,
    LOOKING_SAMPLE,   /* the frames of a sample are being named */
    LOOKING_FUNCTION, /* a function is looked for in its files */
    LOOKING_JVM,      /* whether it is a JVM, and the tables of its VM */
};

/* Says that the engine begins to work on @id. @jvm: it is known to be one. Thread: the one of
 * readers_use(). */
void looking_begin(enum looking_at at, const struct proc_id *id, bool jvm);
/* Says that it is done with that. Thread: the same. */
void looking_end(void);

struct looking {
    enum looking_at at;
    struct proc_id id;
    uint64_t owner; /* as proc_owner() */
    bool jvm;
};

/* Gives what the engine works on. It is whole if the engine has stood since before the call.
 * Thread: any. */
void looking_get(struct looking *ret);
/* Returns @at in words, to be put behind "while". */
const char *looking_text(enum looking_at at);
