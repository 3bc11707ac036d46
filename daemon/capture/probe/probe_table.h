/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes have probes of one kind: those of captures, and no others. The table asks the
 * broker for them, asks again until they are in, and takes them out when no capture wants them. A
 * kind says where they go. Thread: the engine's.
 */
#pragma once

#include "base/places.h"
#include "capture/probe/asked_probes.h"
#include "symbolize/symbolize.h"

#define PROBE_NO_SET UINT32_MAX /* of kinds whose probes are those of all sets of their event */

struct probe_table;

/* What probing takes; borrowed. */
struct probe_env {
    struct broker *broker;
    struct symbolizer *symbolizer;
};

/* Probes in a process: the first member of what a kind keeps of it. */
struct probe_entry {
    struct probe_entry *next;
    struct proc_id id;
    uint32_t set;
    uint64_t owner;    /* proc_owner() */
    uint64_t since_ns; /* from then on samples of its probes are of this image of the process */
    struct asked_probes asked;
    bool may_stand; /* some stood, or were coming, since they were last taken out */
};

struct probe_kind {
    size_t entry_bytes;
    size_t entries_max;   /* if there are so many, the owner with most of them gives way */
    size_t standing_max;  /* with probes, or soon to have them. If it is less than entries_max, the
                           * broker can take one more, until another's are taken out */
    const char *have_all; /* who is probed: "JVMs have probes" */
    /* Finds where the probes go, and asks the broker for them. @what: of probe_table_put(). 0.
     * -EAGAIN, ASKED_PROBES_READING: to be called again. -ENOENT: once again, with fresh mappings.
     * PROC_GONE; -errno with @err. */
    int (*put)(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
               struct process *p, const void *what, struct error *err);
    /* Has the broker take out all of them. */
    void (*take_out)(struct broker *b, const struct probe_entry *e);
    /* Looks at one that is wanted, at each reconciliation; NULL: not needed. */
    void (*look)(struct broker *b, struct probe_entry *e);
};

struct probe_table {
    const struct probe_kind *kind;
    struct probe_entry *first;
    size_t count;
    struct places places; /* entries */
};

/* Returns whether @r, a result of probe_table_put(), is a failure and not "ask again". */
static inline bool probe_put_failed(int r)
{
    return r < 0 && r != -EAGAIN && r != -EINPROGRESS;
}

/* Frees all entries. */
void probe_table_deinit(struct probe_table *t);
/* Returns the entry of process image @id and @set; NULL: there is none. */
struct probe_entry *probe_table_find(const struct probe_table *t, const struct proc_id *id,
                                     uint32_t set);
/* Has @p probed for @set, unless it is; @what is for its kind. After an exec the probes of the
 * image before are taken out. Return: 0. -EINPROGRESS with @err: the kernel is installing the
 * probes, or symbols are being read and CLOCK_MONOTONIC @until_ns has not come; ask again. -EAGAIN:
 * the same of symbols after @until_ns, or @p is starting. -ESRCH: it has ended. -errno; the last
 * two with @err. */
int probe_table_put(struct probe_table *t, const struct probe_env *env, struct process *p,
                    uint32_t set, const void *what, uint64_t until_ns, struct error *err);
/* Marks the probes of @id and @set as wanted, if there are any. */
void probe_table_want(struct probe_table *t, const struct proc_id *id, uint32_t set);
/* Begins a reconciliation: probe_table_put() and probe_table_want() mark what is wanted. */
void probe_table_sweep_begin(struct probe_table *t);
/* Ends it: takes out what is not wanted. */
void probe_table_sweep_end(struct probe_table *t, struct broker *b);
/* Notes that @set has ended, and its probes with it. With PROBE_NO_SET another set may keep them:
 * they are put again if they are wanted, and else taken out. */
void probe_table_lost(struct probe_table *t, uint32_t set);
