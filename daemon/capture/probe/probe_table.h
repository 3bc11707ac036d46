/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that have probes of one kind: only processes of captures. The table requests probes
 * from the broker, polls until they are installed, and removes them when no capture wants them. A
 * kind decides where they go. Thread: the engine's.
 */
#pragma once

#include "base/places.h"
#include "capture/probe/asked_probes.h"
#include "symbolize/symbolize.h"

#define PROBE_NO_SET UINT32_MAX /* for kinds with common probes for all sets of their event */

struct probe_table;

/* What putting probes needs; borrowed. */
struct probe_env {
    struct broker *broker;
    struct symbolizer *symbolizer;
};

/* Probes in a process: the first member of a kind's own entry. */
struct probe_entry {
    struct probe_entry *next;
    struct proc_id id;
    uint32_t set;
    uint64_t owner;    /* proc_owner() */
    uint64_t since_ns; /* CLOCK_MONOTONIC; samples from then on are of this image */
    struct asked_probes asked;
    bool may_stand; /* probes were installed or requested since they were last removed */
};

struct probe_kind {
    size_t entry_bytes;
    size_t entries_max; /* beyond it, an entry of the owner with most is dropped */
    /* Most entries that have probes or soon will. If it is less than entries_max, the broker can
     * take one more until the probes of another entry are removed. */
    size_t standing_max;
    const char *have_all; /* for messages: "JVMs have probes" */
    bool keeps_gone;      /* probe_table_take_gone() is called after each reconciliation */
    /* Finds where the probes go, and requests them from the broker. @what: as passed to
     * probe_table_put(). Return: 0. -EAGAIN, ASKED_PROBES_READING: call again. -ENOENT: call once
     * again, with fresh mappings. PROC_GONE; -errno with @err. */
    int (*put)(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
               struct process *p, const void *what, struct error *err);
    /* Removes all probes of the entry, through the broker. */
    void (*take_out)(struct broker *b, const struct probe_entry *e);
    /* Checks a wanted entry, at each reconciliation; NULL: not needed. */
    void (*look)(struct broker *b, struct probe_entry *e);
};

struct probe_table {
    const struct probe_kind *kind;
    struct probe_entry *first;
    struct probe_entry *gone; /* had probes, and gave way to another owner's entry */
    size_t count;             /* of the first list */
    struct places places;     /* owners' shares of the entries */
};

/* Returns whether @r, a result of probe_table_put(), is a failure and does not mean "call
 * again". */
static inline bool probe_put_failed(int r)
{
    return r < 0 && r != -EAGAIN && r != -EINPROGRESS;
}

/* Frees all entries. */
void probe_table_deinit(struct probe_table *t);
/* Returns the entry of process image @id and @set; NULL: there is none. */
struct probe_entry *probe_table_find(const struct probe_table *t, const struct proc_id *id,
                                     uint32_t set);
/* Probes @p for @set, unless it is probed already. @what: for the function `put` of the kind. After
 * an exec, removes the probes of the image before. Return: 0. -EINPROGRESS with @err: the kernel is
 * installing the probes, or symbols are being read before CLOCK_MONOTONIC @until_ns; call again.
 * -EAGAIN: symbols are being read after @until_ns, or @p is starting. -ESRCH: @p has ended. -errno;
 * the last two with @err. */
int probe_table_put(struct probe_table *t, const struct probe_env *env, struct process *p,
                    uint32_t set, const void *what, uint64_t until_ns, struct error *err);
/* Marks the probes of @id and @set as wanted, if there are any. */
void probe_table_want(struct probe_table *t, const struct proc_id *id, uint32_t set);
/* Begins a reconciliation: probe_table_put() and probe_table_want() mark what is wanted. */
void probe_table_sweep_begin(struct probe_table *t);
/* Ends the reconciliation: removes entries that are not wanted. */
void probe_table_sweep_end(struct probe_table *t, struct broker *b);
/* Stores the image and set of an entry that lost its probes to another owner's, and forgets it.
 * Returns false if there is none. */
bool probe_table_take_gone(struct probe_table *t, struct proc_id *ret_id, uint32_t *ret_set);
/* Call it when @set has ended, and its probes with it. With PROBE_NO_SET another set may keep the
 * probes: wanted ones are put again, others are removed. */
void probe_table_lost(struct probe_table *t, uint32_t set);
