/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder, always on: it keeps the last samples of the whole node, and the CPU time of
 * each JVM by category. It also records where threads of JVMs wait (looks.h), and what they
 * allocate (recorded_allocs.h). Thread: the engine's.
 */
#pragma once

#include "base/id_table.h"
#include "capture/incoming.h"
#include "capture/looks.h"
#include "capture/recorded_allocs.h"
#include "capture/recorded_operations.h"
#include "capture/sample_sets.h"
#include "profile/category.h"
#include "store/flight.h"

#define RECORDER_JVMS_MAX DISCOVER_PROCESSES_MAX

struct recorded_jvm {
    uint64_t samples[CATEGORY_COUNT + 1];  /* samples by category, which may be 7, too: 3 bits */
    struct recorded_operations operations; /* operations of finished slices, as names come late */
};

/* The events of its slices. */
enum recorder_event {
    RECORDER_CPU,
    RECORDER_OFFCPU,
    RECORDER_LOCK,
    RECORDER_ALLOC, /* only if allocations are recorded */
    RECORDER_EVENTS
};

struct recorder {
    struct flight *flight;
    struct looks *looks;                  /* NULL: waits are not recorded */
    const struct probe_table *contexts;   /* borrowed: JVMs with a path to requests; NULL: none */
    const struct recorded_allocs *allocs; /* borrowed; NULL: allocations are not recorded */
    struct frame_table *frames;           /* borrowed: the names of samples */
    uint64_t period_ns;
    uint32_t set;
    struct id_table jvms;          /* struct proc_id */
    struct recorded_jvm *counters; /* [jvms.cap] */
    size_t counters_cap;
};

struct recorder_opts {
    struct broker *broker;      /* borrowed */
    struct sample_sets *sets;   /* borrowed for the call: the running sets */
    struct frame_table *frames; /* borrowed */
    double hz;                  /* above 0 */
    uint64_t keep_ns;           /* greatest age of a sample in the recorder */
    size_t max_bytes;
    const struct probe_table *contexts;   /* borrowed; NULL: requests are not recorded */
    const struct recorded_allocs *allocs; /* borrowed; NULL: allocations are not recorded */
    /* NULL: waits are not recorded. Else as in struct looks_opts, all borrowed: */
    struct discover *discover;
    void (*deliver)(void *cookie, const struct sample_record *rec, const uint64_t *frames);
    void (*walk)(void *cookie);
    void *cookie;
};

/* Starts the recorder. Return: 0 and *ret; -errno with @err: flamed then works without a
 * recorder. */
int recorder_start(const struct recorder_opts *o, struct recorder **ret, struct error *err);
/* Frees the recorder. Accepts NULL. Returns NULL. */
struct recorder *recorder_stop(struct recorder *rec);
/* Returns the recorder's set of CPU time, as a bit; 0 if @rec is NULL. */
uint32_t recorder_sets(const struct recorder *rec);
/* Returns whether the recorder takes records of set @set. @rec may be NULL. */
bool recorder_takes(const struct recorder *rec, uint32_t set);
/* Makes a pass over threads if it is due. @rec may be NULL. */
void recorder_tick(struct recorder *rec, uint64_t now_ns);
/* Gets the slices of @range, with all waits up to now. Returns as flight_parts(). */
int recorder_parts(struct recorder *rec, struct flight_range range, struct profile ***ret,
                   size_t *ret_count);
/* Takes a sample of the recorder's set, or of a pass over threads. */
void recorder_sample(struct recorder *rec, struct incoming *in);
/* Returns whether the recorder has sampled the JVM @id. */
bool recorder_knows(const struct recorder *rec, const struct proc_id *id);
/* Records a moment of the whole process @p; m->name is of the frame table. */
void recorder_moment(struct recorder *rec, struct process *p, const struct profile_moment *m);
/* Replaces the frame table by @table, which is borrowed. @rec may be NULL. */
void recorder_use_table(struct recorder *rec, struct frame_table *table);
/* Forgets the counters of process image @p. @rec may be NULL. */
void recorder_forget(struct recorder *rec, const struct process *p);
