/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which processes calls of a function are counted (event LIB:SYMBOL), or calls of malloc (event
 * malloc, mallocs.h). Those are the processes of captures that run. Finds where functions begin;
 * the broker checks that and puts probes there. Thread: the engine's.
 */
#pragma once

#include "capture/probe/mallocs.h"
#include "capture/probe/probe_table.h"

#define CALLS_MAX 1024 /* functions in processes at a time: as the broker has */

/* A function in a process. Its set of samples says which. */
struct call_probe {
    struct probe_entry entry; /* first */
    bool cut;                 /* it was probed until it called too often: for calls_take_cut() */
    bool forced;              /* a capture takes any number of its calls */
    struct mallocs rate;      /* of events malloc and nativelive */
};

extern const struct probe_kind CALLS;

/* What is to be counted. */
struct wanted_calls {
    uint32_t set;
    const char *event; /* its name */
    bool mallocs;      /* functions of malloc */
    bool followed;     /* of these: blocks are, until they are freed */
    bool forced;       /* of these: as often as they may be called */
};

/* Has @wanted counted in @p unless it is. As probe_table_put(); -ENXIO: @p has mapped no such file;
 * -EDQUOT: it called malloc too often, and is not counted any more; both with @err. */
int calls_put(struct probe_table *t, const struct probe_env *env, struct process *p,
              const struct wanted_calls *wanted, uint64_t until_ns, struct error *err);
/* Returns one that has lost its probes since it called too often, each once; NULL: no more. */
struct call_probe *calls_take_cut(struct probe_table *t);
/* Returns since when (CLOCK_MONOTONIC) probes of set @set are those of process image @id. Earlier
 * samples are of an image that an exec replaced. UINT64_MAX: it has none, or too many calls. */
uint64_t calls_since_ns(const struct probe_table *t, const struct proc_id *id, uint32_t set);
