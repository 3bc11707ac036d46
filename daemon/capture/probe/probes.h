/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of event alloc, only in JVMs of running captures. They are in libjvm.so, or in the agent
 * that an attachment (attach/attachment.h) has loaded. Finds where the probes go; the broker checks
 * that and puts them. Thread: the engine's.
 */
#pragma once

#include "capture/probe/probe_table.h"

#define PROBES_MAX 256 /* JVMs at a time: the broker's limit */

struct heap_probe {
    struct probe_entry entry; /* first */
    bool by_stubs;            /* libjvm has no symbols: probes at functions that stubs call */
    uint32_t tries;           /* tries so far, while the JVM's compilers had not made all stubs */
};

extern const struct probe_kind PROBES_LIBJVM, PROBES_AGENT;

/* Returns whether @id is probed at the calls of the stubs in its code cache. */
bool probes_by_stubs(const struct probe_table *t, const struct proc_id *id);
