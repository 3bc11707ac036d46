/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of earlier attaches. After each failure the next attach to that JVM is put off for
 * longer. If a JVM crashed with our agent in it, flamed never attaches again to that JVM after a
 * restart (member `like`). Thread: the engine's.
 */
#pragma once

#include "attach/delivery.h"
#include "discover/discover.h"

#define BACKOFF_MAX 256 /* the oldest entry without a crash is dropped first */

struct backoff_entry {
    struct proc_id id;
    char like[320];      /* the text that is the same after a restart */
    uint64_t begun_ns;   /* time of the last attach; 0: a free entry */
    uint64_t earlier_ns; /* time of the attach before it; 0: none */
    uint64_t real_ns;    /* time of the last attach that ended and was not cancelled; 0: none */
    unsigned open;       /* attaches that have not ended: our agent may be in the JVM */
    uint64_t ended_ns;   /* when the last of our agents got the order to end */
    uint64_t again_ns;   /* the earliest time of the next attach */
    unsigned failures;
    struct attach_way way; /* the delivery with a mount that worked; else zero */
    uint64_t gone_ns;      /* when the JVM ended; 0: not yet */
    bool judged;           /* its end was judged; the broker reports an end only once */
    char crash[96];        /* how it crashed; "": it did not */
};

/* The results of one engine's attaches. Zero at first. */
struct backoff {
    struct backoff_entry entries[BACKOFF_MAX];
    size_t next;
    uint64_t looked_ns; /* when backoff_poll() last asked the broker */
};

/* Stores that an attach to @p begins. backoff_end() or backoff_cancel() follows for each. */
void backoff_begin(struct backoff *b, const struct process *p);
/* Stores that the attach to @id succeeded or @failed. */
void backoff_note(struct backoff *b, const struct proc_id *id, bool failed);
/* Stores the delivery that worked for @id. */
void backoff_set_way(struct backoff *b, const struct proc_id *id, const struct attach_way *way);
/* Returns the delivery to begin with. @mode: ATTACH_LOAD or ATTACH_PERFMAP. */
struct attach_way backoff_way(const struct backoff *b, const struct proc_id *id, uint32_t mode);
/* Stores that the agent of one attach to @id got the order to end, or that the attach failed. */
void backoff_end(struct backoff *b, const struct proc_id *id);
/* Takes the last backoff_begin() of @id back: the attach did not take place. */
void backoff_cancel(struct backoff *b, const struct proc_id *id);
/* Judges whether @p, which is gone, crashed with our agent in it or soon after. If the kernel is
 * still freeing the process, backoff_poll() judges it later. @broker: borrowed. */
void backoff_gone(struct backoff *b, struct broker *broker, const struct process *p);
/* Judges processes that the kernel was still freeing, before the broker forgets how they ended.
 * Call it at each tick. @broker: borrowed. */
void backoff_poll(struct backoff *b, struct broker *broker, uint64_t now_ns);

/* Looks for a crash of a JVM like @p: the same program, JDK and place. Returns its signal and how
 * long after an attach it came, as text in @b; NULL: there was none. */
const char *backoff_crash(const struct backoff *b, const struct process *p);
/* Returns for how many ns the next attach is put off; 0: it is not. *ret_failures: number of failed
 * attaches, set only if it is put off. */
uint64_t backoff_wait_ns(const struct backoff *b, const struct proc_id *id, uint64_t now_ns,
                         unsigned *ret_failures);
