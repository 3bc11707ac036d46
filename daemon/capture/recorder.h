/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder, always on: the last samples of the whole node, and from the same samples the
 * CPU time of each JVM by category. Besides, where threads of JVMs wait (looks.h). Thread: the
 * engine's.
 */
#pragma once

#include "base/id_table.h"
#include "capture/incoming.h"
#include "capture/looks.h"
#include "capture/recorded_operations.h"
#include "capture/sample_sets.h"
#include "profile/category.h"
#include "store/flight.h"

#define RECORDER_JVMS_MAX DISCOVER_PROCESSES_MAX

struct recorded_jvm {
    uint64_t samples[CATEGORY_COUNT + 1];  /* by category; 3 bits can say 7 */
    struct recorded_operations operations; /* of slices that have finished: names come late */
};

/* The events of its slices. */
enum recorder_event { RECORDER_CPU, RECORDER_OFFCPU, RECORDER_LOCK, RECORDER_EVENTS };

struct recorder {
    struct flight *flight;
    struct looks *looks;                /* NULL: threads that wait are not looked at */
    const struct probe_table *contexts; /* borrowed: JVMs with a path to requests; NULL: none */
    struct frame_table *frames;         /* borrowed: of its names */
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
    const struct probe_table *contexts; /* borrowed; NULL: requests are not recorded */
    /* NULL: threads that wait are not looked at. Else as in struct looks_opts, all borrowed: */
    struct discover *discover;
    void (*deliver)(void *cookie, const struct sample_record *rec, const uint64_t *frames);
    void *cookie;
};

/* Begins to record. 0 and *ret; -errno with @err, and then the rest works without. */
int recorder_start(const struct recorder_opts *o, struct recorder **ret, struct error *err);
/* NULL is fine. Returns NULL. */
struct recorder *recorder_stop(struct recorder *rec);
/* Returns the set it samples with, as a bit; 0 where @rec is NULL. */
uint32_t recorder_sets(const struct recorder *rec);
/* Returns whether it takes records of set @set. @rec may be NULL. */
bool recorder_takes(const struct recorder *rec, uint32_t set);
/* Looks at threads, if it is time for that. @rec may be NULL. */
void recorder_tick(struct recorder *rec, uint64_t now_ns);
/* Returns its slices of @range, as flight_parts(), with all that is known by now. */
int recorder_parts(struct recorder *rec, struct flight_range range, struct profile ***ret,
                   size_t *ret_count);
/* Takes a sample of its set, or of a thread that it looked at. */
void recorder_sample(struct recorder *rec, struct incoming *in);
/* Returns whether it has a sample of the process image @id. */
bool recorder_knows(const struct recorder *rec, const struct proc_id *id);
/* Keeps what @p did as a whole; m->name is of the table. */
void recorder_moment(struct recorder *rec, const struct process *p, const struct profile_moment *m);
/* Samples carry ids of @table, which is borrowed, from now on. @rec may be NULL. */
void recorder_use_table(struct recorder *rec, struct frame_table *table);
/* Forgets a process image whose counters nobody will read for long any more. @rec may be NULL. */
void recorder_forget(struct recorder *rec, const struct process *p);
