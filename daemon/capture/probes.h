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

/* Puts probes into @p unless it has them. Waits for its symbols until CLOCK_MONOTONIC @until_ns at
 * most; 0: the capture runs already. Return: 0. -EAGAIN: its symbols are being read, or it is
 * starting; ask again. -EINPROGRESS: the kernel is putting them; ask again. -ESRCH: it has ended.
 * -errno; each but the first two with @err, which says why it cannot be probed. */
int probes_put(struct probes *all, struct broker *b, struct symbolizer *s, struct process *p,
               uint64_t until_ns, struct error *err);
/* Returns whether @id has probes, and by the stubs in its code cache. */
bool probes_by_stubs(struct probes *all, const struct proc_id *id);
/* Says that those of @id are still wanted. */
void probes_want(struct probes *all, const struct proc_id *id);
/* Says that no capture that cannot begin yet asks again for those of process @host_pid. */
void probes_unhold(struct probes *all, int32_t host_pid);
/* Begins a look at all processes: probes_put() and probes_want() say which are wanted, */
void probes_look(struct probes *all);
/* and here those go that are not. */
void probes_looked(struct probes *all, struct broker *b);
/* Notes that the sets that they were for are gone, and the probes with them. */
void probes_forget(struct probes *all);
