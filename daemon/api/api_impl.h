/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of api/ share. */
#pragma once

#include "api/api.h"
#include "api/past_reach.h"
#include "engine/engine_parts.h"

#include <stdatomic.h>

struct match;

/* What broker_sample_checks() said last. */
struct event_checks {
    struct buf text; /* empty: it failed, or was not asked */
    uint64_t asked_ns;
};

/* The sources of answers. */
struct api {
    struct engine_parts engine;
    struct api_backend backend;
    _Atomic(struct push *) push; /* NULL: nothing is pushed */
    struct lookout *lookout;     /* owned; NULL: the thread has ended */
    struct event_checks checks;  /* thread: the engine's */
};

/* Runs @fn on the engine's thread and waits for it, as mailbox_ask(). */
int api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg, struct error *err);

/* ---- api/jvms.c: what the engine knows, as JSON ---- */

/* Returns the service of @p as JSON; what is not known is null. NULL: no memory. */
json_t *service_json(const struct process *p);
#define SERVICES_TICKS "start_ticks" /* member of a JVM; services_add_past() removes it */
/* A function that makes a document for document() of struct api_backend. Thread: the engine's for
 * functions named facts_*; else any but the engine's. */
typedef int document_fn(struct api *api, const struct document_query *q, json_t **ret,
                        struct error *err);
document_fn facts_services, facts_signals, facts_jvms, facts_jvm, facts_ready, facts_events,
    facts_preflight, document_changes, document_schedules, document_push, document_heap;
/* Adds facts of the history to @ret, the answer of facts_services(): JVMs that have ended, when
 * services were seen first and last, and marks. 0 or -errno with @err. Blocks for the disk. Thread:
 * any but the engine's. */
int services_add_past(struct api *api, const struct viewer *v, json_t *ret, struct error *err);
int facts_jvms_each(struct api *api, const struct target_selector *t, jvm_facts_fn fn, void *cookie,
                    struct error *err);
/* Returns the readiness for the case that the engine does not answer; @err says what is missing. */
json_t *facts_unavailable(const struct error *err);

#define CHANGES_WHY_BYTES 512
/* Does the same as document_changes() from the history alone, without the engine. */
int changes_kept(struct api *api, const struct target_selector *t, const struct time_range *a,
                 const struct time_range *b, json_t **ret, struct error *err);
/* ---- api/signals.c ---- */

#define SIGNAL_NAMES_BYTES 256
/* Writes the names of the signals of @p that are on, the most severe first, with blanks between
 * them. Returns the highest severity; 0: none is on. Thread: the engine's. */
unsigned signal_names(const struct api *api, const struct process *p, char ret[SIGNAL_NAMES_BYTES]);
/* Returns the same as a list. NULL: no memory. */
json_t *signal_names_json(const struct api *api, const struct process *p);
/* Appends flamed_signal of the JVMs that @v sees. Thread: the engine's. */
void signal_metrics(struct api *api, const struct viewer *v, struct buf *out);

/* ---- api/events.c ---- */

/* Checks a target as target_check() of struct api_backend does. Thread: the engine's. */
int facts_check(struct api *api, const struct target_selector *t, struct error *err);
/* Does the same as events_check() of struct api_backend. Thread: the engine's. */
int facts_events_check(struct api *api, const char *names, struct error *err);

/* ---- api/: functions of struct api_backend ---- */

/* Each function implements the member of struct api_backend with its name; @ctx is the struct
 * api. */
/* push.c: appends the metrics of each target of push. Thread: any. */
void push_metrics(struct api *api, struct buf *out);
int backend_trigger(void *ctx, const char *name, char ret_id[CAPTURE_ID_BYTES], struct error *err);
int backend_threads(void *ctx, const struct viewer *v, int32_t host_pid, struct thread_dump **ret,
                    struct error *err);
/* resolve.c: writes the error that @host_pid is no JVM, with the JVM that it started. @p: the
 * process; NULL: none. Returns BACKEND_NOT_FOUND. */
int jvm_missing(struct api *api, const struct target *t, int32_t host_pid, const struct process *p,
                struct error *err);
/* resolve.c: finds the JVM @host_pid with its facts, if @v sees it. 0; BACKEND_NOT_FOUND;
 * -errno. */
int jvm_find(struct api *api, const struct viewer *v, int32_t host_pid, struct process **ret,
             struct error *err);
/* Does the same, and requires that its memory can be read, so that p->vm is set; else returns
 * BACKEND_CONFLICT. */
int jvm_find_readable(struct api *api, const struct viewer *v, int32_t host_pid,
                      struct process **ret, struct error *err);
/* Bytes of the ids of containers with one name: some 8,000. Each process of the past is compared
 * with them. */
#define CONTAINER_IDS_MAX_BYTES (512 * 1024)

/* A selector for questions about the past, with its texts. */
struct resolved {
    struct target_selector selector;
    char pod[256];
    struct buf ids;
};
/* resolve.c: translates @t for questions about the past. ret->selector points into @t and @ret,
 * which needs resolved_deinit() in every case. Blocks for the disk. 0; BACKEND_NOT_FOUND (a pid
 * inside a container); -EINVAL (a short id is ambiguous); -E2BIG (too many containers had the
 * name). */
int selector_resolve(struct api *api, const struct target_selector *t, struct resolved *ret,
                     struct error *err);
void resolved_deinit(struct resolved *r);
/* past_containers.c: returns whether a process of the past is in the container of @t; true if @t
 * selects none. @id: of the process's container. @attributes: as in struct profile_process; those
 * of a JVM name its container. */
bool selector_has_container(const struct target_selector *t, const char *id,
                            const char *attributes);
/* Adds the container @id to @ids, a list as in struct target_selector. */
void container_ids_add(struct buf *ids, const char *id);
int backend_perf_map(void *ctx, const struct viewer *v, int32_t host_pid,
                     enum symbols_source symbols, bool unfold, struct buf *out, struct error *err);
int backend_capture_create(void *ctx, const struct capture_request *req,
                           char ret_id[CAPTURE_ID_BYTES], struct error *err);
int backend_capture_snapshot(void *ctx, struct capture *c, bool reset, struct profile **ret,
                             struct error *err);
int backend_captures(void *ctx, const struct captures_query *q, json_t **ret, struct error *err);
int backend_capture(void *ctx, const struct viewer *v, const char *id, json_t **ret,
                    bool *ret_running, struct error *err);
int backend_capture_profile(void *ctx, const struct viewer *v, const char *id, struct profile **ret,
                            struct error *err);
int backend_capture_stop(void *ctx, const struct viewer *v, const char *id, struct error *err);
int backend_capture_delete(void *ctx, const struct viewer *v, const char *id, struct error *err);
int backend_past(void *ctx, const struct target_selector *t, const struct time_range *range,
                 const char *event, enum past_from from, struct profile **ret, struct error *err);
/* past_recorded.c: does the same as past_known() of struct api_backend. */
int backend_past_known(void *ctx, uint64_t *ret_ns, struct error *err);
/* Makes a query to the store for finished captures of @t that overlap a range, of the part of the
 * node that its viewer sees. Its strings point into @t. */
struct store_query captures_of(const struct target_selector *t, uint64_t from_ns, uint64_t to_ns);
/* Returns true if @c, which captures_of() found for @t, has a process that is of @t as a whole, and
 * that @jvm (NULL: any) matches. */
bool capture_has_wanted(const struct store_capture *c, const struct target_selector *t,
                        struct match *jvm);
/* capture_waiting.c: passes the facts of @p, a finished capture of @schedule that waits for the
 * store, to @fn. Its state is STORE_RUNNING, as it is not on disk yet. Returns what @fn returns, or
 * -ENOMEM. */
int waiting_facts(const struct profile *p, const char *schedule, store_capture_fn fn, void *cookie);
/* How a range of the past is stored as a capture. */
struct past_kept {
    const char *schedule; /* NULL: none */
    uint64_t max_age_s;   /* 0: the default of the store */
};
/* Does the same as past_keep() of struct api_backend. */
int past_keep(struct api *api, const struct target_selector *t, const struct time_range *range,
              const char *event, const struct past_kept *as, char ret_id[CAPTURE_ID_BYTES],
              struct error *err);
int backend_past_keep(void *ctx, const struct target_selector *t, const struct time_range *range,
                      const char *event, char ret_id[CAPTURE_ID_BYTES], struct error *err);
/* The state of the recorder at the time of a request. */
struct past_recorder {
    uint64_t oldest_ns;  /* CLOCK_REALTIME of its oldest sample; 0: it is off or empty */
    uint64_t since_ns;   /* from this time on the answer uses it, not the history; UINT64_MAX if
                          * oldest_ns is 0 */
    uint64_t period_ns;  /* between its samples; 0: the recorder is off, or was not used */
    uint64_t longest_ns; /* length of the longest part of the history; 0: none was used */
    char reach[PAST_REACH_BYTES]; /* sentence that less is kept than was requested; "": nothing is
                                   * missing */
};
/* Does the same as backend_past(), from the bits @sources. Always writes *ret_recorder. Thread: any
 * but the engine's. */
#define PAST_RECORDER 1u
#define PAST_STORE 2u
#define PAST_HISTORY 4u
#define PAST_MINUTES 8u   /* single minutes of the history, if they are still kept */
#define PAST_TIMELESS 16u /* the times of samples of the history are not needed */
int past_profile(struct api *api, const struct target_selector *t, const struct time_range *range,
                 const char *event, unsigned sources, struct profile **ret,
                 struct past_recorder *ret_recorder, struct error *err);
/* The sums of the history's parts in a range. */
struct past_sums {
    uint64_t coarsest_ns; /* longer parts are read only if there are no shorter ones */
    history_sums_fn fn;   /* called for each part, in order of time */
    void *cookie;
    struct history_reach reach; /* which parts were read */
};
/* Does the same as past_profile() for CPU samples, but passes the history's parts to @sums. *ret
 * stays NULL if the other sources have no samples. @store: also reads stored captures. */
int past_timeline(struct api *api, const struct target_selector *t, const struct time_range *range,
                  bool store, struct past_sums *sums, struct profile **ret,
                  struct past_recorder *ret_recorder, struct error *err);
/* timeline_marks.c: makes the marks of a timeline of @t, as JSON by time: releases, clocks that
 * were set, captures. @warnings gets sentences about marks that are left out. NULL with -errno in
 * *ret_error and @err. Blocks for the disk. */
json_t *timeline_marks(struct api *api, const struct target_selector *t,
                       const struct time_range *range, json_t *warnings, int *ret_error,
                       struct error *err);
/* Implements timeline() of struct api_backend. */
int backend_timeline(void *ctx, const struct target_selector *t, const struct time_range *range,
                     size_t buckets, const char *by, json_t **ret, size_t *ret_count,
                     struct error *err);
/* timeline_moments.c: makes JSON of the longest collections and safepoints of @p, by time.
 * *ret_left_out: the number of others. Thread: any. */
json_t *timeline_moments(const struct profile *p, size_t *ret_left_out);
/* timeline_stops.c: appends to @moments one entry for each JVM and bucket: the history's
 * collections in the minutes that end by @recorded_ns, and its throttling. Adds the number of
 * entries without room to *left_out. Reads at most PAST_STOPS_MAX minutes of JVMs. Thread: any. 0;
 * 1: earlier minutes are left out; -errno. */
int timeline_stops(struct api *api, const struct target_selector *t, const struct time_range *range,
                   size_t buckets, uint64_t recorded_ns, json_t *moments, size_t *left_out,
                   struct error *err);
/* Appends metrics of the history's contents and cost. Thread: any. */
void history_metrics(struct api *api, struct buf *out);
/* Appends histograms of the stops of the JVMs that @v sees. Thread: the engine's. */
void moment_metrics(struct api *api, const struct viewer *v, struct buf *out);
/* Appends the time of functions and locks of the services that @v sees. Thread: any. */
void service_metrics(struct api *api, const struct viewer *v, bool exemplars, struct buf *out);
int backend_metrics(void *ctx, const struct viewer *v, bool exemplars, struct buf *out,
                    struct error *err);
