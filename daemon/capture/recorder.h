/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder, always on: the last samples of the whole node, and from the same samples the
 * CPU time of each JVM by category. Thread: the engine's.
 */
#pragma once

#include "base/id_table.h"
#include "capture/incoming.h"
#include "capture/sample_sets.h"
#include "profile/category.h"
#include "store/flight.h"

#define RECORDER_JVMS_MAX DISCOVER_PROCESSES_MAX

struct recorded_jvm {
    uint64_t samples[CATEGORY_COUNT + 1]; /* by category; 3 bits can say 7 */
};

struct recorder {
    struct flight *flight;
    struct frame_table *frames; /* borrowed: of its names */
    uint64_t period_ns;
    uint32_t set;
    struct id_table jvms;          /* struct proc_id */
    struct recorded_jvm *counters; /* [jvms.cap] */
    size_t counters_cap;
};

struct recorder_opts {
    struct broker *broker;      /* borrowed, for the call */
    struct sample_sets *sets;   /* the same: the sets that run */
    struct frame_table *frames; /* borrowed */
    double hz;                  /* above 0 */
    uint64_t keep_ns;           /* how far back it reaches at most */
    size_t max_bytes;
};

/* Begins to record. 0 and *ret; -errno with @err, and then the rest works without. */
int recorder_start(const struct recorder_opts *o, struct recorder **ret, struct error *err);
/* NULL is fine. Returns NULL. */
struct recorder *recorder_stop(struct recorder *rec);
/* Returns the set it samples with, as a bit; 0 where @rec is NULL. */
uint32_t recorder_sets(const struct recorder *rec);
/* Takes a sample of its set. */
void recorder_sample(struct recorder *rec, struct incoming *in);
/* Returns whether it has a sample of the process image @id. */
bool recorder_knows(const struct recorder *rec, const struct proc_id *id);
/* Keeps what @p did as a whole; m->name is of the table. */
void recorder_moment(struct recorder *rec, const struct process *p, const struct profile_moment *m);
/* Samples carry ids of @table, which is borrowed, from now on. @rec may be NULL. */
void recorder_use_table(struct recorder *rec, struct frame_table *table);
/* Forgets a process image whose counters nobody will read for long any more. @rec may be NULL. */
void recorder_forget(struct recorder *rec, const struct process *p);
