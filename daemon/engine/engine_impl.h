/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of engine/, capture/ and api/ share. Everything here belongs to the engine's
 * thread unless it says other. */
#pragma once

#include "base/clock.h"
#include "base/id_table.h"
#include "capture/pending_samples.h"
#include "capture/process_selector.h"
#include "capture/sample_sets.h"
#include "discover/discover.h"
#include "engine/engine.h"
#include "engine/latency_histogram.h"
#include "engine/store_writer.h"
#include "engine/watchdog.h"
#include "profile/rebase.h"
#include "sample/sample.h"
#include "store/flight.h"
#include "symbolize/symbolize.h"
#include "unwind_tables/java_threads.h"
#include "unwind_tables/unwinding.h"

#include <pthread.h>
#include <stdatomic.h>

/* A call from another thread, run on the engine's: lives on the caller's stack until done. */
struct engine_call {
    struct engine_call *next;
    int (*fn)(struct engine *e, void *arg);
    void *arg;
    int result;
    bool begun, done;
    bool posted; /* nobody waits for it: freed when it has run */
};

struct engine {
    struct engine_opts opts;
    struct broker *broker;
    struct discover *discover;
    struct frame_table *frames;
    struct symbolizer *symbolizer;
    size_t names_bytes; /* beyond it they begin again */
    struct unwinding *unwinding;
    struct anchors *anchors;
    struct store *store;       /* NULL: none; used from any thread */
    struct keeper *keeper;     /* used from any thread */
    struct recorder *recorder; /* NULL: off */
    struct scheduled *scheduled;
    char config_problem[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 96]; /* for /readyz */
    char tls_problem[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 96];    /* for /readyz */
    struct ring *ring;         /* NULL where nothing is sampled: facts.bpf_problem says why */
    struct broker_facts facts; /* as of the last look of sampling.c */
    uint64_t sampling_looked_ns;
    struct rates rates;
    struct capture *captures;       /* list of the running ones */
    struct attachment *attachments; /* list of those that captures want */
    uint64_t last_handle;           /* of captures; never used again */
    size_t capture_count;
    struct record_budget budget; /* of what captures hold */
    uint64_t captures_thinned;   /* times that one was, for another's sake */
    uint64_t captures_cut_short; /* ended early for want of memory */
    uint64_t cut_short_ns;       /* when the last one was */
    struct named_stack *stack;   /* scratch: one sample being named */
    struct held held;            /* samples that wait for symbols */
    uint64_t held_looked_ns;
    uint64_t sampled_ns;    /* when the last sample that was handed over was taken */
    uint64_t behind_ns;     /* since when there are more samples than it gets done; 0: it is not */
    uint64_t reconciled_ns; /* when the BPF filter was last brought up to date */
    uint32_t filtered_all;  /* sets of every process, as the BPF filter holds them */
    struct id_table filtered; /* struct filtered_process: what the BPF filter holds */
    uint64_t swept_ns;        /* when /proc was last read in full for a request */
    uint64_t samples, unmatched, unknown;
    uint64_t truncated[PROFILE_ENDS];
    struct delays delays; /* from a sample to its names */
    struct api_backend backend;

    pthread_t thread;
    bool thread_started;
    int wake_fd, lost_fd; /* eventfds */
    pthread_mutex_t lock; /* guards calls and stopping */
    pthread_cond_t called;
    struct engine_call *calls;
    bool stopping;
    atomic_uint_least64_t alive_ns; /* CLOCK_MONOTONIC: the thread's last sign of life */
    struct watch *watch;
};

/* ---- mailbox.c ---- */

/* Without a heartbeat for this long the engine is stalled; callers stop waiting. It is less than
 * the 10 s of waiting for the broker, and what a capture's answer waits for past its end. */
#define ENGINE_PATIENCE_NS (5 * NSEC_PER_SEC)

/* Runs @fn on the engine's thread and waits for it. Thread: any but the engine's. Its result; where
 * the engine ends, or stands before it came to @fn, BACKEND_UNAVAILABLE with the sentence. */
int engine_ask(struct engine *e, int (*fn)(struct engine *e, void *arg), void *arg,
               struct error *err);

/* Has @fn run there with a copy of the @n bytes of @arg, and waits for nothing. Thread: any. Where
 * the engine ends, or without memory, it does not run. */
void engine_post(struct engine *e, int (*fn)(struct engine *e, void *arg), const void *arg,
                 size_t n);

/* A sign of life: between any two things that take time. Thread: the engine's. */
void engine_alive(struct engine *e);

/* For how many seconds the engine stands; 0: it does not. Thread: any. */
unsigned engine_stands_s(struct engine *e);

/* For this long the engine works on one thing while others wait for their turn: samples, calls,
 * captures that end. */
#define ENGINE_TURN_NS (50 * NSEC_PER_MSEC)

/* Runs what is queued, or what of it fits into a turn. False when the engine is to stop. Thread:
 * the engine's. */
bool engine_run_calls(struct engine *e);
/* Whether there are calls to run. Thread: the engine's. */
bool engine_is_called(struct engine *e);

/* ---- engine.c ---- */

/* Reads /proc in full for a request that must not miss a young process, at most once a second. */
void engine_sweep(struct engine *e);

/* A sample as it goes through: named at most once each way. */
struct incoming {
    const struct sample_record *rec;
    const uint64_t *frames;
    struct process *process;
    int named;            /* how e->stack is named now: -1 not yet, 0 without Java names, 1 with,
                           * 2 with some that are decided later */
    bool counted;         /* in the engine's numbers */
    bool may_wait;        /* for symbols that are being read */
    bool waits;           /* it does: it is handed on again when they are there */
    uint16_t flags;       /* PROFILE_SAMPLE_*, once named */
    uint32_t thread_name; /* string of e->frames, once named */
};
/* Names it into e->stack, with or without Java names. Where it waits then, nobody takes it yet. */
void incoming_name(struct engine *e, struct incoming *in, bool java);
/* The same, with Java names; @later decides some of them. */
void incoming_name_later(struct engine *e, struct incoming *in, const struct code_later *later);
/* The sample as profiles keep it, once named; its thread is the caller's to set. */
void incoming_sample(const struct incoming *in, struct profile_sample *ret);

/* Hands on the samples that waited for symbols which are there now; all of those taken before
 * @all_until_ns. */
void engine_release(struct engine *e, uint64_t all_until_ns);

/* ---- frame_table_renewal.c: the table of frames and names ---- */

int names_new(struct frame_table **ret); /* 0 or -ENOMEM */
/* Begins again when it holds too many. */
void names_renew(struct engine *e);

/* ---- captures.c: captures under way ---- */

/* The frames and names of what is being captured, for a table that takes the old one's place: as
 * in profile/rebase.h. */
int captures_rebase_add(const struct engine *e, struct rebase *b);
void captures_rebase(struct engine *e, const struct rebase *b, struct frame_table *frames);

/* *ret_handle names the capture for captures_end(). */
int captures_start(struct engine *e, const struct capture_request *req, capture_done_fn done,
                   void *cookie, uint64_t *ret_handle, struct error *err);
/* Starts one that is a resource: it runs on its own and goes to the store. @schedule may be NULL.
 */
int captures_create(struct engine *e, const struct capture_request *req, const char *schedule,
                    uint64_t max_age_s, char ret_id[CAPTURE_ID_BYTES], struct error *err);
/* What @c has so far, or since the last @reset. -EBUSY: there is no memory for it now. */
int captures_snapshot(struct engine *e, struct capture *c, bool reset, struct profile **ret,
                      struct error *err);
/* Ends the capture if it still runs: finished early (@keep) or cancelled. */
void captures_end(struct engine *e, uint64_t handle, bool keep);
/* Hands a sample to the captures that want it. */
void captures_sample(struct engine *e, struct incoming *in);
/* Whether any capture takes samples of @set. */
bool captures_want(const struct engine *e, uint32_t set);
/* Finishes those whose time is over. All samples up to @now_ns must have been handed over. */
void captures_finish_due(struct engine *e, uint64_t now_ns);
/* Ends all with @r and the sentence of @err. */
void captures_fail_all(struct engine *e, int r, const struct error *err);
/* CLOCK_MONOTONIC of the next deadline; UINT64_MAX when none runs. */
uint64_t captures_next_deadline(const struct engine *e);
/* Whether one runs whose samples must be named at once. */
bool captures_hurry(const struct engine *e);
/* Makes the BPF filter hold just the processes that some capture wants. */
void captures_reconcile(struct engine *e, uint64_t now_ns);
/* The broker stopped @set, and took it out of the filter. */
void captures_filter_stopped(struct engine *e, uint32_t set);

/* ---- memory.c: what captures hold together ---- */

void capture_memory_init(struct engine *e);
/* Bytes that the captures of @caller hold that run. */
size_t capture_memory_of(const struct engine *e, const struct caller *caller);
/* Looks at what has become free. Each tick. */
void capture_memory_tick(struct engine *e);

/* ---- recorder.c: the flight recorder, always on ---- */

/* @hz 0: off. 0, or -errno with @err (then the rest works without). */
int recorder_start(struct engine *e, double hz, uint64_t keep_ns, size_t max_bytes,
                   struct error *err);
void recorder_stop(struct engine *e);
/* The set it samples with, as a bit; 0 when off. */
uint32_t recorder_sets(const struct engine *e);
void recorder_sample(struct engine *e, struct incoming *in);
/* Samples carry ids of @table from now on. */
void recorder_use_table(struct engine *e, const struct frame_table *table);
/* A process image whose counters nobody will read for long any more. */
void recorder_forget(struct engine *e, const struct process *p);

/* ---- api/jvms.c: what the engine knows, as JSON ---- */

/* Functions of struct api_backend, which says what they take and return. */
int facts_jvms(struct engine *e, const struct target_selector *t, json_t **ret, struct error *err);
int facts_jvm(struct engine *e, const struct viewer *v, int32_t host_pid, json_t **ret,
              struct error *err);
int facts_events(struct engine *e, json_t **ret, struct error *err);
int facts_ready(struct engine *e, const struct viewer *v, json_t **ret, struct error *err);
/* Readiness where the engine does not tell: what @err says is missing. */
json_t *facts_unavailable(const struct error *err);

/* ---- api/: functions of struct api_backend ---- */

/* Fills the table of functions with those below. */
void backend_fill(struct engine *e, struct api_backend *be);
int backend_preflight(void *ctx, const struct viewer *v, int32_t host_pid, json_t **ret,
                      struct error *err);
/* resolve.c: @t as questions about the past understand it. @ret points into @t and @pod. 0;
 * BACKEND_NOT_FOUND (a pid inside a container); -EINVAL (an id's beginning fits several). */
int selector_resolve(struct engine *e, const struct target_selector *t, struct target_selector *ret,
                     char pod[256], struct error *err);
int backend_perf_map(void *ctx, const struct viewer *v, int32_t host_pid,
                     enum symbols_source symbols, bool unfold, struct buf *out, struct error *err);
int backend_capture_create(void *ctx, const struct capture_request *req,
                           char ret_id[CAPTURE_ID_BYTES], struct error *err);
int backend_capture_snapshot(void *ctx, struct capture *c, bool reset, struct profile **ret,
                             struct error *err);
int backend_captures(void *ctx, const struct captures_query *q, json_t **ret, struct error *err);
int backend_capture(void *ctx, const struct viewer *v, const char *id, json_t **ret,
                    struct error *err);
int backend_capture_profile(void *ctx, const struct viewer *v, const char *id, struct profile **ret,
                            struct error *err);
int backend_capture_stop(void *ctx, const struct viewer *v, const char *id, struct error *err);
int backend_capture_delete(void *ctx, const struct viewer *v, const char *id, struct error *err);
int backend_past(void *ctx, const struct target_selector *t, const struct time_range *range,
                 const char *event, bool stored, struct profile **ret, struct error *err);
/* As backend_past(), out of what @sources says (bits). *ret_oldest_ns: CLOCK_REALTIME of the oldest
 * sample in the recorder, 0 where it is off or empty; written always. Thread: any but the
 * engine's. */
#define PAST_RECORDER 1u
#define PAST_STORE 2u
int past_profile(struct engine *e, const struct target_selector *t, const struct time_range *range,
                 const char *event, unsigned sources, struct profile **ret, uint64_t *ret_oldest_ns,
                 struct error *err);
/* As struct api_backend says. */
int backend_timeline(void *ctx, const struct target_selector *t, const struct time_range *range,
                     size_t buckets, const char *by, json_t **ret, struct error *err);
int backend_metrics(void *ctx, const struct viewer *v, struct buf *out, struct error *err);
