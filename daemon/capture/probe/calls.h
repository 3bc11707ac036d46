/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes at calls of a function (event LIB:SYMBOL) or of malloc (event malloc, mallocs.h), in
 * processes of running captures. Finds where functions begin; the broker checks that and puts the
 * probes. Thread: the engine's.
 */
#pragma once

#include "capture/probe/mallocs.h"
#include "capture/probe/probe_table.h"

#define CALLS_MAX 1024 /* functions probed at a time, over all processes: the broker's limit */

/* A probed function in a process. Its set of samples identifies the function. */
struct call_probe {
    struct probe_entry entry; /* first */
    bool cut;                 /* it lost its probes for too many calls: for calls_take_cut() */
    uint64_t cut_ns;          /* CLOCK_MONOTONIC of that; 0: it has not */
    bool forced;              /* a capture accepts any number of calls */
    struct mallocs rate;      /* rate of calls, for events malloc and nativelive */
};

extern const struct probe_kind CALLS;

/* The calls to probe. */
struct wanted_calls {
    uint32_t set;
    const char *event; /* name of the event */
    bool mallocs;      /* probe the functions of malloc */
    bool followed;     /* with mallocs: follow blocks until they are freed */
    bool forced;       /* with mallocs: accept any number of calls */
};

/* Probes @wanted in @p unless that is probed already. Returns as probe_table_put(). -ENXIO with
 * @err: @p has not mapped the file. -EDQUOT with @err: @p called malloc too often, and has lost its
 * probes. */
int calls_put(struct probe_table *t, const struct probe_env *env, struct process *p,
              const struct wanted_calls *wanted, uint64_t until_ns, struct error *err);
/* Stores the image and set of an entry that has lost its probes, because of too many calls or to
 * another owner's processes. Gives each such entry once; returns false if there are no more. */
bool calls_take_cut(struct probe_table *t, struct proc_id *ret_id, uint32_t *ret_set);
/* Returns the time (CLOCK_MONOTONIC) since which the probes of set @set are those of process image
 * @id. Earlier samples are of an image that an exec replaced. UINT64_MAX: the image has no probes,
 * or too many calls. */
uint64_t calls_since_ns(const struct probe_table *t, const struct proc_id *id, uint32_t set);
/* Returns the time (CLOCK_MONOTONIC) at which image @id lost its probes of set @set for too many
 * calls. 0: it has not, or is unknown. */
uint64_t calls_cut_ns(const struct probe_table *t, const struct proc_id *id, uint32_t set);
