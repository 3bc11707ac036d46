/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which JVMs have probes, for event alloc: those of captures that run, and no others. In libjvm.so,
 * or in the agent that an attachment (attach/attachment.h) has brought there. Finds where the
 * probes go; the broker checks that and puts them there. Thread: the engine's.
 */
#pragma once

#include "capture/probe/probe_table.h"

#define PROBES_MAX 256 /* JVMs at a time: as the broker has */

struct heap_probe {
    struct probe_entry entry; /* first */
    bool by_stubs;            /* at what the stubs that allocate call: libjvm has no symbols */
    uint32_t tries;           /* while its compilers had not made all stubs */
};

extern const struct probe_kind PROBES_LIBJVM, PROBES_AGENT;

/* Returns whether @id has probes, and by the stubs in its code cache. */
bool probes_by_stubs(const struct probe_table *t, const struct proc_id *id);
