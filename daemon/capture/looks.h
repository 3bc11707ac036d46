/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting by looking, for the flight recorder: about once a second one pass over the threads of
 * JVMs. A thread that has not run since the last pass is where it was. Of one that has, and waits,
 * the kernel gives its registers, and flamed walks its stack. If more have run than may be walked,
 * a share of them by chance stands for all. Thread: the engine's.
 */
#pragma once

#include "capture/incoming.h"
#include "capture/looked_threads.h"
#include "capture/probe/probe_table.h"
#include "discover/discover.h"
#include "store/flight.h"

#define LOOKS_WALKS_A_SECOND 100 /* stacks that are walked in a second, on average, */
#define LOOKS_WALKS_MAX 1000     /* and in one pass */
#define LOOKS_FRAMES_MAX 16384   /* of a stack */
#define LOOKS_STACKS_MAX_BYTES ((size_t)8 << 20)

/* The number that records of threads have in place of a set's. */
#define LOOKS_SET BROKER_SETS_MAX

struct looked_process {
    struct proc_id id;
    uint64_t owner; /* proc_owner() */
    uint32_t epoch;
    bool ready;           /* its stacks can be walked */
    bool incomplete;      /* some could not be */
    uint64_t epoch_ns;    /* CLOCK_MONOTONIC: when that began */
    uint64_t patience_ns; /* how long it stays, if stacks are incomplete */
};

struct looks_stats {
    uint64_t passes, walked, passed_over; /* threads that had run, and were walked, or were not */
    uint64_t time_ns;                     /* processor time of passes, without walks */
    uint64_t threads, left_out, lost_ns;  /* as in looked_threads */
    uint64_t dropped;                     /* samples that did not fit into the recorder */
};

struct looks_opts {
    struct broker *broker; /* borrowed, as all of these */
    struct discover *discover;
    struct frame_table *frames;
    struct flight *flight;
    const struct probe_table *contexts; /* NULL: requests are not recorded */
    uint8_t event, lock_event;          /* of the flight: where its samples go */
    /* Takes a record as the ring gives them; what it leads to comes back by looks_sample(). */
    void (*deliver)(void *cookie, const struct sample_record *rec, const uint64_t *frames);
    void *cookie;
};

struct looks {
    struct looks_opts o;
    struct looked_threads threads;
    struct looked_process *processes; /* owned, those that passes look at, by host_pid */
    size_t process_count;
    struct record *stacks; /* owned: of places */
    uint32_t last_epoch;
    uint64_t due_ns;    /* CLOCK_MONOTONIC, of the next pass */
    uint64_t passed_ns; /* the same, of the last */
    double walks;       /* that may be made now */
    uint64_t moved;     /* threads that had run, in the last pass */
    uint32_t part;
    struct error problem; /* why there are no passes; code 0: there are */
    struct looks_stats stats;
    uint32_t *frames; /* owned, scratch: of one stack */
};

/* Begins to look. 0 or -ENOMEM. */
int looks_new(const struct looks_opts *o, struct looks **ret);
/* Ends it. NULL is fine. Returns NULL. */
struct looks *looks_free(struct looks *l);
/* Makes a pass if it is time for one. */
void looks_tick(struct looks *l, uint64_t now_ns);
/* Takes a record that it delivered, once it is named. */
void looks_sample(struct looks *l, const struct incoming *in);
/* Has the recorder hold the time of all places so far. */
void looks_put(struct looks *l);
/* Samples carry ids of @table, which is borrowed, from now on; places are looked up again. */
void looks_use_table(struct looks *l, struct frame_table *table);
/* Gives its counters. */
void looks_stats(const struct looks *l, struct looks_stats *ret);
