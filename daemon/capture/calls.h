/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which processes calls of a function are counted (event LIB:SYMBOL), or calls of malloc (event
 * malloc, mallocs.h). Those are the processes of captures that run. Finds where functions begin;
 * the broker checks that and puts probes there. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "capture/asked_probes.h"
#include "capture/mallocs.h"
#include "capture/sample_sets.h"
#include "symbolize/symbolize.h"

#define CALLS_MAX 1024 /* functions in processes at a time: as the broker has */

/* A function in a process. */
struct called {
    struct proc_id id;
    uint32_t set; /* of samples, which says what function */
    struct asked_probes asked;
    bool cut;            /* they were, until it called too often: for calls_take_cut() */
    bool forced;         /* by one that takes any number of calls, since then */
    struct mallocs rate; /* of event malloc */
    uint64_t since_ns;   /* from when on probes there are those of this image */
};

struct calls {
    struct called all[CALLS_MAX];
    size_t count;
};

/* What is to be counted. */
struct wanted_calls {
    uint32_t set;
    const char *event; /* its name */
    bool forced;       /* of malloc: as often as it may be called */
};

/* What counting takes; borrowed. */
struct calls_env {
    struct calls *calls;
    struct broker *broker;
    struct symbolizer *symbolizer;
};

/* Has @wanted counted in @p unless it is. Return: 0. -EINPROGRESS with @err: the kernel is
 * installing its probes, or symbols are being read and CLOCK_MONOTONIC @until_ns has not come; ask
 * again. -EAGAIN: the same of symbols after @until_ns. -ENXIO: @p has mapped no such file. -EDQUOT:
 * it called malloc too often, and is not counted any more. -errno. The last three with @err. */
int calls_put(const struct calls_env *env, struct process *p, const struct wanted_calls *wanted,
              uint64_t until_ns, struct error *err);
/* Marks the probes of set @set in @id as wanted, if it has any. */
void calls_want(struct calls *all, const struct proc_id *id, uint32_t set);
/* Begins a reconciliation: calls_put() and calls_want() mark what is wanted. */
void calls_look(struct calls *all);
/* Ends it: takes out what is not wanted, and what calls malloc too often. */
void calls_looked(struct calls *all, struct broker *b);
/* Returns one that has lost its probes since it called too often, each once; NULL: no more. */
struct called *calls_take_cut(struct calls *all);
/* Returns when (CLOCK_MONOTONIC) the probes of set @set in process @id became those of this image.
 * Samples from before are of one that an exec replaced. UINT64_MAX: it has none, or too many calls.
 */
uint64_t calls_since_ns(struct calls *all, const struct proc_id *id, uint32_t set);
/* Set @set is gone, and its probes with it. */
void calls_forget(struct calls *all, uint32_t set);
