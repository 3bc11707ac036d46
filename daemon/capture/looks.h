/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of threads for the flight recorder. About once a second, one pass visits the threads of
 * JVMs; if passes take longer than a millisecond, they come less often (looks_pace.h). A thread
 * that has not run since the last pass waits at the same place. For a thread that has run and
 * waits, the kernel gives the registers, and flamed walks the stack. If more threads have run than
 * may be walked, a random share stands for all. Thread: the engine's.
 */
#pragma once

#include "capture/incoming.h"
#include "capture/looked_threads.h"
#include "capture/looked_virtual.h"
#include "capture/looks_pace.h"
#include "capture/probe/probe_table.h"
#include "discover/discover.h"
#include "store/flight.h"

#define LOOKS_FRAMES_MAX 16384 /* frames per stack */
#define LOOKS_STACKS_MAX_BYTES ((size_t)8 << 20)

/* The set number in records of threads. */
#define LOOKS_SET BROKER_SETS_MAX

struct survey_stacks;

struct looked_process {
    struct proc_id id;
    uint64_t owner; /* proc_owner() */
    uint32_t epoch;
    bool ready;           /* its stacks can be walked */
    bool requests;        /* the requests of its threads are read */
    bool incomplete;      /* some of its stacks could not be walked */
    uint64_t epoch_ns;    /* CLOCK_MONOTONIC: begin of the epoch */
    uint64_t patience_ns; /* length of an epoch with incomplete stacks */
};

struct looks_stats {
    uint64_t passes, walked, passed_over; /* threads that had run: walked; not walked, */
    uint64_t alike;                       /* and those not walked because they waited as before */
    uint64_t time_ns;                     /* processor time of passes without walks */
    uint64_t threads, left_out, lost_ns;  /* as in looked_threads */
    uint64_t dropped;                     /* samples that did not fit into the recorder */
};

struct looks_opts {
    struct broker *broker; /* all pointers are borrowed */
    struct discover *discover;
    struct frame_table *frames;
    struct flight *flight;
    const struct probe_table *contexts; /* NULL: requests are not recorded */
    uint8_t event, lock_event;          /* events of the flight that samples are added to */
    /* Takes a record like those of the ring. Its sample comes back by looks_sample(). */
    void (*deliver)(void *cookie, const struct sample_record *rec, const uint64_t *frames);
    /* Walks the stacks of these records at once, before their threads run on. */
    void (*walk)(void *cookie);
    void *cookie;
};

struct looks {
    struct looks_opts o;
    struct looked_threads threads;
    struct looked_virtuals virtuals;  /* of virtual threads without a carrier */
    struct looked_process *processes; /* owned, by host_pid: the JVMs of passes */
    size_t process_count;
    struct record *stacks;          /* owned: stacks of places */
    struct survey_stacks *surveyed; /* owned: what surveys have read in them; NULL: nothing yet */
    uint32_t last_epoch;
    uint64_t due_ns;    /* CLOCK_MONOTONIC of the next pass */
    uint64_t passed_ns; /* CLOCK_MONOTONIC of the last pass; 0: none */
    struct looks_pace pace;
    double moved; /* threads that had run and wanted a walk in the last pass */
    uint32_t part;
    struct error problem; /* why no passes are made; code 0: passes are made */
    struct looks_stats stats;
    uint32_t *frames; /* owned, scratch: one stack */
};

/* Creates *ret. Passes begin with looks_tick(). Returns 0 or -ENOMEM. */
int looks_new(const struct looks_opts *o, struct looks **ret);
/* Frees it. Accepts NULL. Returns NULL. */
struct looks *looks_free(struct looks *l);
/* Makes a pass if it is due. Accepts NULL. */
void looks_tick(struct looks *l, uint64_t now_ns);
/* Takes a record that o.deliver() got, when it is named. */
void looks_sample(struct looks *l, const struct incoming *in);
/* Returns the time (CLOCK_MONOTONIC) up to which all waits are known: looked_threads_known_ns().
 * UINT64_MAX: no passes are made. Accepts NULL. */
uint64_t looks_known_ns(const struct looks *l);
/* Adds the time of all places so far to the recorder. Accepts NULL. */
void looks_put(struct looks *l);
/* Replaces the frame table by @table, which is borrowed; places are looked up again. Accepts
 * NULL. */
void looks_use_table(struct looks *l, struct frame_table *table);
/* Records that the virtual threads of JVM @host_pid were looked at at @look_ns. The samples of its
 * waiting threads have that time. Accepts NULL. */
void looks_look_virtual(struct looks *l, int32_t host_pid, uint64_t look_ns);
/* Adds @ns, the waits that looks at virtual threads left out, to the lost time. */
void looks_lose(struct looks *l, uint64_t ns);
/* Copies the counters to *ret. */
void looks_stats(const struct looks *l, struct looks_stats *ret);
