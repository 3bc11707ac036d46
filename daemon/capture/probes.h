/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which JVMs have probes, for event alloc: those of captures that run, and no others. In libjvm.so,
 * or in the agent that an attachment (attach/attachment.h) has brought there. Finds where the
 * probes go; the broker checks that and puts them there. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "capture/asked_probes.h"
#include "capture/sample_sets.h"
#include "symbolize/symbolize.h"

#define PROBES_MAX 256 /* JVMs at a time: as the broker has */

struct probed {
    struct proc_id id;
    struct asked_probes asked;
    bool by_stubs;  /* at what the stubs that allocate call: libjvm has no symbols */
    uint32_t tries; /* while its compilers had not made all stubs */
};

struct probes {
    enum broker_probed where;
    struct probed all[PROBES_MAX];
    size_t count;
};

/* Puts probes into @p unless it has them. Return: 0. -EINPROGRESS with @err: the kernel is
 * installing them, or symbols are being read and CLOCK_MONOTONIC @until_ns has not come; ask again.
 * -EAGAIN: the same of symbols after @until_ns, or it is starting. -ESRCH: it has ended. -errno;
 * the last two with @err, which says why it cannot be probed. */
int probes_put(struct probes *all, struct broker *b, struct symbolizer *s, struct process *p,
               uint64_t until_ns, struct error *err);
/* Returns whether @id has probes, and by the stubs in its code cache. */
bool probes_by_stubs(struct probes *all, const struct proc_id *id);
/* Marks the probes of @id as wanted, if it has any. */
void probes_want(struct probes *all, const struct proc_id *id);
/* Begins a reconciliation: probes_put() and probes_want() mark what is wanted. */
void probes_look(struct probes *all);
/* Ends it: takes out what is not wanted. */
void probes_looked(struct probes *all, struct broker *b);
/* Notes that the sets that they were for are gone, and the probes with them. */
void probes_forget(struct probes *all);
