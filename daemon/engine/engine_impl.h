/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that the files of engine/ share. It belongs to the engine's thread unless a member says
 * otherwise.
 */
#pragma once

#include "attach/attaching.h"
#include "base/clock.h"
#include "base/memory_budget.h"
#include "capture/captures.h"
#include "capture/recorder.h"
#include "capture/sampling.h"
#include "capture/store_writer.h"
#include "discover/discover.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/mailbox.h"
#include "engine/spill.h"
#include "engine/virtual_waits.h"
#include "engine/watchdog.h"
#include "namer/namer.h"
#include "signal/signal.h"
#include "symbolize/symbolize.h"

#include <pthread.h>

struct engine {
    struct memory_budget memory;
    struct engine_opts opts;
    struct broker *broker;
    struct discover *discover;
    struct frame_table *frames;
    struct symbolizer *symbolizer;
    struct namer *namer; /* NULL: none */
    struct {
        size_t bytes;   /* table size in bytes that starts its renewal */
        uint64_t at_ns; /* CLOCK_MONOTONIC of the last attempt to renew the table */
    } renewal;
    struct unwinding *unwinding;
    struct anchors *anchors;
    struct store *store;               /* NULL: none; used from any thread */
    struct store_writer *store_writer; /* used from any thread */
    struct recorder *recorder;         /* NULL: off, or not started yet */
    uint64_t recorder_due_ns;          /* CLOCK_MONOTONIC of the next attempt to start it */
    struct spill *spill;               /* NULL: no history */
    struct scheduled *scheduled;
    struct signals *signals;
    char problems[ENGINE_PROBLEMS][ENGINE_PROBLEM_BYTES]; /* sentences for /readyz */
    struct sampling sampling;
    struct attaching attaching;
    struct captures captures;
    struct dispatch dispatch;
    struct virtual_waits virtual_waits;
    uint64_t behind_ns; /* CLOCK_MONOTONIC since when samples arrive faster than they are processed;
                           0: they do not */

    pthread_t thread;
    bool thread_started;
    int wake_fd, lost_fd; /* eventfds */
    struct mailbox mailbox;
    struct watch *watch;
};

/* ---- memory_sum.c ---- */

/* Limits the memory of @captures by the use of all other parts. These are what @memory counts, what
 * the table @names takes beyond that, and the file that is being read. */
void engine_memory_tick(struct captures *captures, const struct memory_budget *memory,
                        const struct frame_table *names);

/* ---- recorder_start.c ---- */

/* Starts the flight recorder and its history if they are configured. Returns 0 or -errno with @err;
 * then neither runs. */
int engine_start_recorder(struct engine *e, struct error *err);
/* Does the same once sampling works. Tries again every few seconds after a failure, and reports
 * that in the log and in ENGINE_PROBLEM_RECORDER. */
void engine_want_recorder(struct engine *e, uint64_t now_ns);

/* ---- frame_table_renewal.c: the table of frames and names ---- */

int names_new(struct engine *e, struct frame_table **ret); /* 0 or -ENOMEM */
/* Replaces the table when it is too large. */
void names_renew(struct engine *e);
