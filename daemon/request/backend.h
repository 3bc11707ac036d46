/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What serve/ knows of the rest of flamed: this table of functions, which tests replace. Every
 * function may be called from any of serve's worker threads and may block for milliseconds. Errors
 * carry a sentence, the parameter and the remedy.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "event/events.h"
#include "proc/socket_holding.h"
#include "profile/profile.h"
#include "request/caller.h"

#include <jansson.h>

#define BACKEND_PIDS_MAX 256

/* Outcomes > 0: they become 404, 409, 429 and 503. @err says the rest. */
enum backend_outcome {
    BACKEND_NOT_FOUND = 1,
    BACKEND_CONFLICT = 2,
    BACKEND_TOO_MANY = 3,
    BACKEND_UNAVAILABLE = 4,
};

struct matcher_list;
struct thread_dump;

#define VIEWER_SCOPE_BYTES PROFILE_SCOPE_BYTES

/* What of the node somebody may see. The rest does not exist for him: it is in no list, and asking
 * for it gives BACKEND_NOT_FOUND. Values; borrowed for a call. */
struct viewer {
    bool whole;   /* all of it */
    uint32_t uid; /* else: the processes of this user; 0: none */
    /* And those that match all of these; NULL: none. Each of them asks for what is known of a
     * process (= and =~), so that nothing is seen before it is known. */
    const struct matcher_list *seen;
    /* Names what a capture is limited to: a viewer sees the captures of his scope alone, or, with
     * `whole`, all. "" where whole. */
    char scope[VIEWER_SCOPE_BYTES];
};

/* flamed itself, by its configuration. */
static const struct viewer VIEWER_WHOLE = { .whole = true };

/* Returns whether @v (NULL: nobody) sees captures of @scope. */
static inline bool viewer_sees_scope(const struct viewer *v, const char *scope)
{
    return v && (v->whole || (v->scope[0] && strcmp(v->scope, scope) == 0));
}

/* Returns the captures that @v (NULL: nobody) sees, as struct store_query asks for them. */
static inline const char *viewer_store_scope(const struct viewer *v)
{
    return v && v->whole ? NULL : v && v->scope[0] ? v->scope : "nobody";
}

/* Returns whether @v (NULL: nobody) sees the processes of the user @owner; 0: of nobody in
 * particular. */
static inline bool viewer_sees_user(const struct viewer *v, uint32_t owner)
{
    return v && (v->whole || (v->uid != 0 && v->uid == owner));
}

/* Which processes. All strings borrowed, NULL: not given. */
struct target_selector {
    int32_t pids[BACKEND_PIDS_MAX];
    size_t pid_count;
    const char *container, *pod, *pod_namespace, *jvm; /* jvm: a regular expression that compiles */
    const char *service;                               /* the name of one (discover/service.h) */
    int32_t ns_pid;                                    /* 0: not given */
    const struct matcher_list *matchers;               /* of request/matcher.h; NULL: none */
    const struct viewer *viewer;                       /* of these alone; NULL: nobody's */
};

enum symbols_source { SYMBOLS_AUTO, SYMBOLS_AGENT, SYMBOLS_MEMORY, SYMBOLS_PERFMAP, SYMBOLS_NONE };

struct wanted_event {
    const struct event_info *info; /* NULL: there is no such event */
    char name[EVENT_NAME_BYTES];
    uint64_t period; /* of event_period_valid() */
};
/* Has @event be the one of that name. */
static inline void wanted_event_set(struct wanted_event *event, struct span name)
{
    span_copy(name, event->name, sizeof(event->name));
    event->info = events_find(event->name);
}

/* What samples event alloc: auto is by probes. Malloc is of event nativemem. */
enum alloc_source {
    ALLOC_SOURCE_AUTO,
    ALLOC_SOURCE_PROBE,
    ALLOC_SOURCE_AGENT,
    ALLOC_SOURCE_MALLOC
};

struct capture_request {
    struct target_selector target;
    struct wanted_event events[EVENTS_AT_ONCE_MAX]; /* each once */
    size_t event_count;                             /* >= 1 */
    uint64_t duration_ns;                           /* 0: until cancelled */
    enum symbols_source symbols;
    enum alloc_source source;
    struct caller caller; /* whose quota it counts to */
    bool counts_objects;  /* a sample counts as many waits or objects as it stands for */
    bool lines;           /* inlined functions and lines of native code are wanted */
    bool context;         /* the requests that samples are taken in are wanted */
    bool forced;          /* event malloc: also of processes that call it very often */
    bool keep;            /* goes to the store when it ends */
    bool live; /* only snapshots are wanted, a second or so apart: names need not be in at once */
};

struct capture; /* opaque */

#define CAPTURE_ID_BYTES 33 /* 32 hex digits and a NUL */

/* Wall-clock range, [from, to), nanoseconds since 1970; 0 and UINT64_MAX where not given. */
struct time_range {
    uint64_t from_ns, to_ns;
};

/* Which stored and running captures a list shows. Strings borrowed, NULL: not given. */
struct captures_query {
    struct target_selector target; /* matched against what was recorded of their processes */
    struct time_range range;       /* those that overlap it */
    const char *event;             /* one */
    const char *state, *schedule;
    const char *cursor; /* as "next" of the page before gave it */
    size_t limit;       /* 1..1000 */
};

/* Called at most once per started capture, on a thread of the backend's; must not block: it samples
 * from now on. May come before capture_start() returns, never after capture_done_fn. */
typedef void (*capture_begun_fn)(void *cookie);

/* Called exactly once per started capture, on a thread of the backend's; must not block. @p: a
 * reference that the callee owns; NULL when it failed: then @outcome (> 0 or -errno) and @err say
 * why. With a profile, @err is NULL, or says why it could not be stored (it then has no capture id
 * to be asked for by). */
typedef void (*capture_done_fn)(void *cookie, int outcome, struct profile *p,
                                const struct error *err);

/* What waits for a capture. */
struct capture_waiter {
    capture_begun_fn begun;
    capture_done_fn done;
    void *cookie; /* of both */
};

/* A capture samples within this time after it was started or created, or fails. */
#define BACKEND_BEGIN_MAX_NS (20 * NSEC_PER_SEC)

/* What is known of a JVM. Texts are "" where they are not known, and borrowed for a call. */
struct jvm_facts {
    int32_t host_pid;
    uint32_t uid;
    const char *main, *java_version;
    const char *service; /* the name of the one that it is */
    const char *signals; /* names of those that are on, with blanks between them */
    double cpu_percent;  /* of one CPU, lately */
    const char *container_id, *container_runtime, *container_name;
    const char *pod_uid, *pod_name, *pod_namespace;
};

typedef void (*jvm_facts_fn)(void *cookie, const struct jvm_facts *f);

/* Where samples of the past come from. */
enum past_from {
    PAST_ALL,      /* the flight recorder and its history, and stored captures of times before */
    PAST_RECORDED, /* the flight recorder and its history */
    PAST_STORED,   /* stored captures */
};

struct api_backend {
    void *ctx;
    /* Starts a capture, which samples once the kernel has in place what its events need. Its
     * duration counts from then on; @waiter is done 4 s after its start and duration at the latest.
     * 0 and *ret, valid until @waiter->done was called; else an outcome or -errno, and that is not
     * called. */
    int (*capture_start)(void *ctx, const struct capture_request *req,
                         const struct capture_waiter *waiter, struct capture **ret,
                         struct error *err);
    /* Ends @c early: sampling stops within 100 ms and @done is called with what there is (@keep) or
     * with -ECANCELED. Harmless if @done was already called but its cookie not yet freed. Must not
     * block: the thread of all connections calls it, and the others must not wait for what a
     * capture waits for. */
    void (*capture_end)(void *ctx, struct capture *c, bool keep);
    /* A target's processes without sampling: HEAD, and checks. */
    int (*target_check)(void *ctx, const struct target_selector *t, struct error *err);
    /* New references owned by the caller: {"jvms":[...]}, one JVM, {"events":[...]}. @match: of
     * those with it in name or description (event/event_match.h), tracepoints, too, and "left_out",
     * how many more there are; NULL: of all, without tracepoints. */
    int (*jvms)(void *ctx, const struct target_selector *t, json_t **ret, struct error *err);
    /* {"services":[...]}: of the JVMs that run and that the viewer sees. */
    int (*services)(void *ctx, const struct viewer *v, json_t **ret, struct error *err);
    /* {"signals":[...]}: of the JVMs that @t selects, also those that ended lately. */
    int (*signals)(void *ctx, const struct target_selector *t, json_t **ret, struct error *err);
    int (*jvm)(void *ctx, const struct viewer *v, int32_t host_pid, json_t **ret,
               struct error *err);
    /* Calls @fn, which must not block, for each JVM that jvms() lists. */
    int (*jvms_each)(void *ctx, const struct target_selector *t, jvm_facts_fn fn, void *cookie,
                     struct error *err);
    int (*events)(void *ctx, const struct viewer *v, int32_t host_pid, const char *match,
                  json_t **ret, struct error *err);
    /* Checks whether this machine has the events @names, with commas between them, which
     * events_find() knows. 0; BACKEND_UNAVAILABLE; -EINVAL (the filter of a tracepoint). */
    int (*events_check)(void *ctx, const char *names, struct error *err);
    /* 0: ready. BACKEND_UNAVAILABLE: something is missing. *ret: {"status":…,"problems":[{...}],…}.
     */
    int (*ready)(void *ctx, const struct viewer *v, json_t **ret, struct error *err);

    /* ---- captures as resources, the past, schedules: NULL where this build or machine has none
     * ---- */

    /* Begins a capture that runs on its own; without a duration for 3,600 s at most. Returns when
     * it samples, or cannot. */
    int (*capture_create)(void *ctx, const struct capture_request *req,
                          char ret_id[CAPTURE_ID_BYTES], struct error *err);
    /* What was recorded since the start, or since the last call with @reset, of a capture that
     * capture_start() began: for live views. @ret: a reference. BACKEND_NOT_FOUND once it ended. */
    int (*capture_snapshot)(void *ctx, struct capture *c, bool reset, struct profile **ret,
                            struct error *err);
    /* {"captures":[...],"next":CURSOR or null}, newest first. */
    int (*captures)(void *ctx, const struct captures_query *q, json_t **ret, struct error *err);
    /* One of them, {"id":…,"state":…,…}; of a running one with progress and samples so far.
     * *ret_running: more comes of it; may be NULL. */
    int (*capture)(void *ctx, const struct viewer *v, const char *id, json_t **ret,
                   bool *ret_running, struct error *err);
    /* Its profile; of a running one what there is so far. BACKEND_NOT_FOUND; BACKEND_CONFLICT when
     * it failed. */
    int (*capture_profile)(void *ctx, const struct viewer *v, const char *id, struct profile **ret,
                           struct error *err);
    int (*capture_stop)(void *ctx, const struct viewer *v, const char *id, struct error *err);
    int (*capture_delete)(void *ctx, const struct viewer *v, const char *id, struct error *err);
    /* The past: samples of @t in @range out of @from. @event: names with commas between them.
     * @single: `pid` means the last process with that pid. */
    int (*past)(void *ctx, const struct target_selector *t, const struct time_range *range,
                const char *event, enum past_from from, struct profile **ret, struct error *err);
    /* Does as past() with all sources, and puts what it gives into the store as a capture of its
     * own. */
    int (*past_keep)(void *ctx, const struct target_selector *t, const struct time_range *range,
                     const char *event, char ret_id[CAPTURE_ID_BYTES], struct error *err);
    /* {"from":…,"to":…,"bucket_seconds":…,"series":[{"jvm"|"category":…,"pid":…,"samples":[…]}]}
     * out of the flight recorder. @by: "jvm", "category" or "jvm-category" (both keys). *ret_count:
     * of series. */
    int (*timeline)(void *ctx, const struct target_selector *t, const struct time_range *range,
                    size_t buckets, const char *by, json_t **ret, size_t *ret_count,
                    struct error *err);
    /* {"changes":[...],"sentences":[...],"minutes":{"a":…,"b":…}}: what differs in @b from @a, of
     * the samples that the flight recorder, the history and the store have of @t. Both NULL: the
     * last minutes against those before the last deploy, or yesterday's. */
    int (*changes)(void *ctx, const struct target_selector *t, const struct time_range *a,
                   const struct time_range *b, json_t **ret, struct error *err);
    /* {"schedules":[{"name":…,"match":…,"event":…,"hz":…,"every_seconds":…,…,"last_error":…}],
     * "triggers":[…]}, as configured. */
    int (*schedules)(void *ctx, const struct viewer *v, json_t **ret, struct error *err);
    /* {"targets":[{"name":…,"url":…,"last_success":…,"queued_minutes":…,…}]}: the engines that get
     * profiles; none for a viewer of a part. */
    int (*push)(void *ctx, const struct viewer *v, json_t **ret, struct error *err);
    /* Starts the capture that the configuration names @name, and returns as capture_create().
     * BACKEND_NOT_FOUND with the nearest name, or where no process matches; BACKEND_TOO_MANY in its
     * cooldown, with err->retry_s. */
    int (*trigger)(void *ctx, const char *name, char ret_id[CAPTURE_ID_BYTES], struct error *err);
    /* Appends Prometheus text of everything but serve's own counters; for a viewer of a part, of
     * his JVMs alone. */
    int (*metrics)(void *ctx, const struct viewer *v, struct buf *out, struct error *err);
    /* {"pid":…,"steps":[{"step":…,"ok":…,"reason":…,"remedy":…}],"symbols":{"agent":…,"memory":…,
     * "perfmap":…},"auto":…}: what an attach would meet. Touches nothing in the JVM. */
    int (*preflight)(void *ctx, const struct viewer *v, int32_t host_pid, json_t **ret,
                     struct error *err);
    /* {"pid":…,"time":…,"rss":…,"policy":…,"generations":[…],"metaspace":{…},…}: the JVM's memory
     * as it counts it itself. BACKEND_CONFLICT where it counts nothing, or cannot be read. */
    int (*heap)(void *ctx, const struct viewer *v, int32_t host_pid, json_t **ret,
                struct error *err);
    /* All Java threads of the JVM, platform and virtual, as they are now (profile/thread_dump.h).
     * The caller owns *ret. May take seconds. BACKEND_CONFLICT where its memory cannot be read. */
    int (*threads)(void *ctx, const struct viewer *v, int32_t host_pid, struct thread_dump **ret,
                   struct error *err);
    /* Appends the JVM's map in the format of /tmp/perf-PID.map. SYMBOLS_AUTO: memory. @unfold: a
     * line per range of inlined frames, "outer->inner" (not by perfmap). May take as long as an
     * attach: 10 s at most. */
    int (*perf_map)(void *ctx, const struct viewer *v, int32_t host_pid,
                    enum symbols_source symbols, bool unfold, struct buf *out, struct error *err);
    /* The processes that hold the sockets @keys, at most SOCKETS_ASKED_MAX, into one of @ret for
     * each. 0; -ETIMEDOUT: it cannot be told now; -EBUSY: nor was it tried; -EOPNOTSUPP: the kernel
     * cannot tell it; -errno. May take seconds. @keys, @net_ns: as broker_socket_holders(). */
    int (*socket_holders)(void *ctx, const uint64_t *keys, size_t n, uint64_t net_ns,
                          struct socket_holding *ret);
};
