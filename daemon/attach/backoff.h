/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of earlier attaches to a JVM. After a failure the next attach is put off, longer each
 * time. A JVM that is like one which crashed with our agent in it is never attached to again.
 * Thread: the engine's.
 */
#pragma once

#include "attach/delivery.h"
#include "discover/discover.h"

#define BACKOFF_MAX 256 /* the oldest without a crash is forgotten first */

struct backoff_entry {
    struct proc_id id;
    char like[320];    /* what a restarted one has in common with it */
    uint64_t begun_ns; /* the last attach; 0: a free entry */
    uint64_t ended_ns; /* when our agent had the order to end; UINT64_MAX: not yet */
    uint64_t again_ns; /* no attach before */
    unsigned failures;
    struct attach_way way; /* with something mounted, that worked; else zero */
    uint64_t gone_ns;      /* it has ended; 0: not yet */
    bool judged;           /* how it ended is known: the broker says that only once */
    char crash[96];        /* "": it did not */
};

/* Of one engine. Zero at first. */
struct backoff {
    struct backoff_entry entries[BACKOFF_MAX];
    size_t next;
    uint64_t looked_ns; /* when backoff_poll() last asked the broker */
};

/* Notes that an attach to @p begins. */
void backoff_begin(struct backoff *b, const struct process *p);
/* Notes that it was answered, or failed. */
void backoff_note(struct backoff *b, const struct proc_id *id, bool failed);
/* Keeps the way that worked. */
void backoff_set_way(struct backoff *b, const struct proc_id *id, const struct attach_way *way);
/* Return: the way to begin with. @mode: ATTACH_LOAD or ATTACH_PERFMAP. */
struct attach_way backoff_way(const struct backoff *b, const struct proc_id *id, uint32_t mode);
/* Notes that our agent has the order to end. */
void backoff_end(struct backoff *b, const struct proc_id *id);
/* Judges whether @p, which is gone, crashed with our agent in it, or soon after. If the kernel
 * still clears it away, backoff_poll() does. @broker: borrowed. */
void backoff_gone(struct backoff *b, struct broker *broker, const struct process *p);
/* Judges those, before the broker forgets how they ended. To be called at each tick. @broker:
 * borrowed. */
void backoff_poll(struct backoff *b, struct broker *broker, uint64_t now_ns);

/* Looks for a crash of one that is like @p: its program, its JDK, where it runs. Return: which
 * signal ended it, and how long after an attach; points into @b; NULL: none did. */
const char *backoff_crash(const struct backoff *b, const struct process *p);
/* Return: how long the next attach is put off in ns; 0: not at all. *ret_failures: how many failed,
 * written only if it is put off. */
uint64_t backoff_wait_ns(const struct backoff *b, const struct proc_id *id, uint64_t now_ns,
                         unsigned *ret_failures);
