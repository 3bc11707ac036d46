/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of capture/ share. Everything here belongs to the engine's thread unless it says
 * other. */
#pragma once

#include "base/clock.h"
#include "base/id_table.h"
#include "capture/engine.h"
#include "capture/rates.h"
#include "capture/target.h"
#include "discover/discover.h"
#include "sample/sample.h"
#include "symbolize/symbolize.h"

#include <pthread.h>

/* A call from another thread, run on the engine's: lives on the caller's stack until done. */
struct engine_call {
    struct engine_call *next;
    int (*fn)(struct engine *e, void *arg);
    void *arg;
    int result;
    bool done;
};

struct engine {
    struct engine_opts opts;
    struct broker *broker;
    struct discover *discover;
    struct frame_table *frames;
    struct symbolizer *symbolizer;
    struct ring *ring;         /* NULL where BPF does not work: facts.bpf_problem says why */
    struct broker_facts facts; /* as of the start */
    struct rates rates;
    struct capture *captures; /* list of the running ones */
    uint64_t last_handle;     /* of captures; never used again */
    size_t capture_count;
    struct named_stack *stack; /* scratch: one sample being named */
    uint64_t reconciled_ns;    /* when the BPF filter was last brought up to date */
    struct id_table filtered;  /* struct filtered_process: what the BPF filter holds */
    uint64_t swept_ns;         /* when /proc was last read in full for a request */
    uint64_t samples, unmatched;
    struct api_backend backend;

    pthread_t thread;
    bool thread_started;
    int wake_fd, lost_fd; /* eventfds */
    pthread_mutex_t lock; /* guards calls and stopping */
    pthread_cond_t called;
    struct engine_call *calls;
    bool stopping;
};

/* Runs @fn on the engine's thread and waits for it. Thread: any but the engine's. -ESHUTDOWN once
 * the engine stops. */
int engine_call(struct engine *e, int (*fn)(struct engine *e, void *arg), void *arg);

/* Reads /proc in full for a request that must not miss a young process, at most once a second. */
void engine_sweep(struct engine *e);

/* ---- running.c: captures under way ---- */

/* *ret_handle names the capture for captures_end(). */
int captures_start(struct engine *e, const struct capture_request *req, capture_done_fn done,
                   void *cookie, uint64_t *ret_handle, struct error *err);
/* Ends the capture if it still runs: finished early (@keep) or cancelled. */
void captures_end(struct engine *e, uint64_t handle, bool keep);
/* Hands a sample to the captures that want it. */
void captures_sample(struct engine *e, const struct sample_record *rec, const uint64_t *frames);
/* Finishes those whose time is over. All samples up to @now_ns must have been handed over. */
void captures_finish_due(struct engine *e, uint64_t now_ns);
/* Ends all with @r and the sentence of @err. */
void captures_fail_all(struct engine *e, int r, const struct error *err);
/* CLOCK_MONOTONIC of the next deadline; UINT64_MAX when none runs. */
uint64_t captures_next_deadline(const struct engine *e);
/* Makes the BPF filter hold just the processes that some capture wants. */
void captures_reconcile(struct engine *e, uint64_t now_ns);

/* ---- facts.c: what the engine knows, as JSON ---- */

int facts_jvms(struct engine *e, const struct target_selector *t, json_t **ret, struct error *err);
int facts_jvm(struct engine *e, int32_t host_pid, json_t **ret, struct error *err);
int facts_events(struct engine *e, json_t **ret, struct error *err);
int facts_ready(struct engine *e, json_t **ret, struct error *err);
