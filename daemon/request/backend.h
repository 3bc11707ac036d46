/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the daemon that serve/ calls, as a table that tests replace. Any of serve's
 * worker threads may call any function; it may block for milliseconds. Errors carry a sentence, the
 * parameter and the remedy.
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

/* Outcomes > 0, which become the HTTP status 404, 409, 429 and 503. @err has the sentence. */
enum backend_outcome {
    BACKEND_NOT_FOUND = 1,
    BACKEND_CONFLICT = 2,
    BACKEND_TOO_MANY = 3,
    BACKEND_UNAVAILABLE = 4,
};

struct matcher_list;
struct thread_dump;

#define VIEWER_SCOPE_BYTES PROFILE_SCOPE_BYTES

/* The processes of the node that a caller may see. Other processes do not exist for the caller: no
 * list contains them, and a request for one gives BACKEND_NOT_FOUND. Values; borrowed for a call.
 */
struct viewer {
    bool whole;   /* sees the whole node */
    uint32_t uid; /* if not whole: sees the processes of this user; 0: of none */
    /* Also sees processes that match all of these; NULL: none. They use = and =~ only. An unknown
     * fact never matches, so no process is seen before it is identified. */
    const struct matcher_list *seen;
    /* Identifies the part of the node: a viewer sees the captures with its own scope, or all if
     * `whole`. "" if `whole`. */
    char scope[VIEWER_SCOPE_BYTES];
};

/* The viewer for flamed itself, acting for its configuration. */
static const struct viewer VIEWER_WHOLE = { .whole = true };

/* Returns whether @v (NULL: sees nothing) sees captures of @scope. */
static inline bool viewer_sees_scope(const struct viewer *v, const char *scope)
{
    return v && (v->whole || (v->scope[0] && strcmp(v->scope, scope) == 0));
}

/* Returns the scope to query the store with for @v (NULL: sees nothing), as in struct
 * store_query. */
static inline const char *viewer_store_scope(const struct viewer *v)
{
    return v && v->whole ? NULL : v && v->scope[0] ? v->scope : "nobody";
}

/* Returns whether @v (NULL: sees nothing) sees the processes of the user @owner; 0: no single
 * owner. */
static inline bool viewer_sees_user(const struct viewer *v, uint32_t owner)
{
    return v && (v->whole || (v->uid != 0 && v->uid == owner));
}

/* Selects processes. All strings are borrowed; NULL: not given. */
struct target_selector {
    int32_t pids[BACKEND_PIDS_MAX];
    size_t pid_count;
    const char *container, *pod, *pod_namespace, *jvm; /* jvm: a valid regular expression */
    const char *container_ids; /* of the past: also selects these, each between line ends, as few
                                * processes have the name of their container there; NULL: none */
    const char *service;       /* name of a service (discover/service.h) */
    const struct history_place *place;   /* selects this place of the past alone, by
                                          * history_same_place(); NULL: any */
    int32_t ns_pid;                      /* 0: not given */
    const struct matcher_list *matchers; /* of request/matcher.h; NULL: none */
    const struct viewer *viewer;         /* limits the selection; NULL: selects no
                                          * process */
};

enum symbols_source { SYMBOLS_AUTO, SYMBOLS_AGENT, SYMBOLS_MEMORY, SYMBOLS_PERFMAP, SYMBOLS_NONE };

struct wanted_event {
    const struct event_info *info; /* NULL: unknown event */
    char name[EVENT_NAME_BYTES];
    uint64_t period; /* valid by event_period_valid() */
};
/* Sets @event to the event called @name. */
static inline void wanted_event_set(struct wanted_event *event, struct span name)
{
    span_copy(name, event->name, sizeof(event->name));
    event->info = events_find(event->name);
}

/* Sampler of event alloc: auto uses probes. MALLOC belongs to event nativemem. */
enum alloc_source {
    ALLOC_SOURCE_AUTO,
    ALLOC_SOURCE_PROBE,
    ALLOC_SOURCE_AGENT,
    ALLOC_SOURCE_MALLOC
};

struct capture_request {
    struct target_selector target;
    struct wanted_event events[EVENTS_AT_ONCE_MAX]; /* each event once */
    size_t event_count;                             /* >= 1 */
    uint64_t duration_ns;                           /* 0: until cancelled */
    enum symbols_source symbols;
    enum alloc_source source;
    struct caller caller; /* quota that the capture counts against */
    bool counts_objects;  /* a sample counts as the number of waits or objects that it represents */
    bool lines;           /* resolve inlined functions and lines of native code */
    bool context;         /* read the request of each sample */
    bool forced;          /* event malloc: also in processes that call it very often */
    bool keep;            /* the store keeps the profile when the capture ends */
    bool live;            /* used for snapshots alone, about one a second: names may come late */
};

struct capture; /* opaque */

#define CAPTURE_ID_BYTES 33 /* 32 hex digits and NUL */

/* Wall-clock range [from, to) in nanoseconds since 1970; 0 and UINT64_MAX if not given. */
struct time_range {
    uint64_t from_ns, to_ns;
};

/* Filters a list of stored and running captures. Strings borrowed; NULL: not given. */
struct captures_query {
    struct target_selector target; /* matched against the recorded facts of their processes */
    struct time_range range;       /* captures that overlap it */
    const char *event;             /* one event */
    const char *state, *schedule;
    const char *cursor; /* "next" of the previous page */
    size_t limit;       /* 1..1000 */
};

/* Called at most once per started capture, when it begins to sample, on a thread of the backend;
 * must not block. The call may come before capture_start() returns, but never after
 * capture_done_fn. */
typedef void (*capture_begun_fn)(void *cookie);

/* Called exactly once per started capture, on a thread of the backend; must not block. @p: a
 * reference that the callee owns. NULL: the capture failed; @outcome (> 0 or -errno) and @err say
 * why. With a profile, @err is NULL, or says why the profile was not stored and thus has no capture
 * id. */
typedef void (*capture_done_fn)(void *cookie, int outcome, struct profile *p,
                                const struct error *err);

/* Callbacks of the caller that waits for a capture. */
struct capture_waiter {
    capture_begun_fn begun;
    capture_done_fn done;
    void *cookie; /* passed to both */
};

/* A started or created capture begins to sample within this time, or fails. */
#define BACKEND_BEGIN_MAX_NS (20 * NSEC_PER_SEC)

/* Facts of a JVM. Texts are "" where unknown, and borrowed for a call. */
struct jvm_facts {
    int32_t host_pid;
    uint32_t uid;
    const char *main, *java_version;
    const char *service; /* name of its service */
    const char *signals; /* names of its active signals, separated by blanks */
    const char *release; /* what its release changed, or when it came; "" or NULL: not known */
    unsigned severity;   /* severity of the worst active signal; 0: none is active */
    double cpu_percent;  /* per cent of one CPU, in the last seconds */
    const char *container_id, *container_runtime, *container_name;
    const char *pod_uid, *pod_name, *pod_namespace;
};

typedef void (*jvm_facts_fn)(void *cookie, const struct jvm_facts *f);

/* Sources of past samples. */
enum past_from {
    PAST_ALL,      /* flight recorder, history, and stored captures for earlier times */
    PAST_SUMMED,   /* the same, but samples of the history are added up and have no times */
    PAST_RECORDED, /* flight recorder and history */
    PAST_STORED,   /* stored captures */
};

/* Answers of the backend as JSON. Each comment names the members of struct document_query that
 * count. */
enum backend_document {
    DOCUMENT_JVMS,     /* {"jvms":[...]} of the target */
    DOCUMENT_JVM,      /* the JVM host_pid */
    DOCUMENT_SERVICES, /* {"services":[...]} of the running JVMs that the viewer sees */
    DOCUMENT_SIGNALS,  /* {"signals":[...], "past":[...]} of the target's JVMs, including those that
                        * ended lately */
    /* {"events":[...]} of the process host_pid; 0: of the machine. Without match: all events but
     * tracepoints. With match: events and tracepoints with a matching name or description
     * (event/event_match.h), and "left_out", the number of further ones. */
    DOCUMENT_EVENTS,
    /* {"status":…,"problems":[{...}],…}. BACKEND_UNAVAILABLE: flamed is not ready; there may be a
     * document even then. */
    DOCUMENT_READY,
    /* {"changes":[...],"sentences":[...],"minutes":{"a":…,"b":…},"ranges":{"a":{"from":…,"to":…},
     * "b":…}}: differences between the ranges a and b of the target, from flight recorder, history
     * and store. If a and b are NULL, compares the last minutes with those before the last deploy,
     * or with yesterday's. */
    DOCUMENT_CHANGES,
    /* {"schedules":[{"name":…,"match":…,"event":…,"hz":…,"every_seconds":…,…,"last_error":…}],
     * "triggers":[…]} of the configuration. */
    DOCUMENT_SCHEDULES,
    /* {"targets":[{"name":…,"url":…,"last_success":…,"queued_minutes":…,…}]}: the engines to push
     * to; empty unless the viewer sees the whole node. */
    DOCUMENT_PUSH,
    /* {"pid":…,"steps":[{"step":…,"ok":…,"reason":…,"remedy":…}],"symbols":{"agent":…,"memory":…,
     * "perfmap":…},"auto":…}: the obstacles to an attach. Touches nothing in the JVM host_pid. */
    DOCUMENT_PREFLIGHT,
    /* {"pid":…,"time":…,"rss":…,"policy":…,"generations":[…],"metaspace":{…},…}: memory of the JVM
     * host_pid by its own counters. BACKEND_CONFLICT: the JVM has no such counters, or they are
     * unreadable. */
    DOCUMENT_HEAP,
    DOCUMENTS
};

struct document_query {
    const struct viewer *viewer;
    const struct target_selector *target;
    int32_t host_pid;
    const char *match;              /* NULL: not given */
    const struct time_range *a, *b; /* NULL: not given; both or neither */
};

struct api_backend {
    void *ctx;
    /* Starts a capture. It samples once the kernel has installed what its events need; its duration
     * counts from then. @waiter is called at most 4 s after start and duration. Returns 0 and *ret,
     * valid until @waiter->done was called. Otherwise returns an outcome or -errno, and calls no
     * callback. */
    int (*capture_start)(void *ctx, const struct capture_request *req,
                         const struct capture_waiter *waiter, struct capture **ret,
                         struct error *err);
    /* Ends @c early: sampling stops within 100 ms, and @done gets the profile so far (@keep) or
     * -ECANCELED. Harmless after @done, as long as the cookie exists. Must not block: it runs on
     * the thread of all connections. */
    void (*capture_end)(void *ctx, struct capture *c, bool keep);
    /* Checks the processes of a target without sampling, for HEAD requests and for checks. */
    int (*target_check)(void *ctx, const struct target_selector *t, struct error *err);
    /* Gets a document, which the caller owns. */
    int (*document)(void *ctx, enum backend_document which, const struct document_query *q,
                    json_t **ret, struct error *err);
    /* Calls @fn, which must not block, for each JVM of @t. */
    int (*jvms_each)(void *ctx, const struct target_selector *t, jvm_facts_fn fn, void *cookie,
                     struct error *err);
    /* Checks whether this machine has the events @names, separated by commas and known to
     * events_find(). Return: 0; BACKEND_UNAVAILABLE; -EINVAL: the filter of a tracepoint. */
    int (*events_check)(void *ctx, const char *names, struct error *err);
    /* ---- captures as resources, the past, triggers ---- */

    /* Creates a capture that runs without a waiter, for at most 3,600 s if no duration is given.
     * Returns when the capture samples or has failed. */
    int (*capture_create)(void *ctx, const struct capture_request *req,
                          char ret_id[CAPTURE_ID_BYTES], struct error *err);
    /* Gets the samples since the start, or since the last call with @reset, of a capture of
     * capture_start(): for live views. @ret: a reference. Returns BACKEND_NOT_FOUND after the
     * capture has ended. */
    int (*capture_snapshot)(void *ctx, struct capture *c, bool reset, struct profile **ret,
                            struct error *err);
    /* Gets {"captures":[...],"next":CURSOR or null}, newest first. */
    int (*captures)(void *ctx, const struct captures_query *q, json_t **ret, struct error *err);
    /* Gets one capture, {"id":…,"state":…,…}; while it runs, with progress and the number of
     * samples. *ret_running (may be NULL): whether it still runs. */
    int (*capture)(void *ctx, const struct viewer *v, const char *id, json_t **ret,
                   bool *ret_running, struct error *err);
    /* Gets the profile of a capture, the samples so far while it runs. Returns BACKEND_NOT_FOUND,
     * or BACKEND_CONFLICT if the capture failed. */
    int (*capture_profile)(void *ctx, const struct viewer *v, const char *id, struct profile **ret,
                           struct error *err);
    int (*capture_stop)(void *ctx, const struct viewer *v, const char *id, struct error *err);
    int (*capture_delete)(void *ctx, const struct viewer *v, const char *id, struct error *err);
    /* Gets the samples of @t in @range from the sources @from. @event: names separated by commas.
     * @single: `pid` means only the last process with that pid. */
    int (*past)(void *ctx, const struct target_selector *t, const struct time_range *range,
                const char *event, enum past_from from, struct profile **ret, struct error *err);
    /* Gets the time (CLOCK_REALTIME) up to which the flight recorder knows all waits. Waits that it
     * learns of later are after that time. UINT64_MAX: it records no waits. */
    int (*past_known)(void *ctx, uint64_t *ret_ns, struct error *err);
    /* Stores as a capture what past() gives from all sources. */
    int (*past_keep)(void *ctx, const struct target_selector *t, const struct time_range *range,
                     const char *event, char ret_id[CAPTURE_ID_BYTES], struct error *err);
    /* Gets
     * {"from":…,"to":…,"bucket_seconds":…,"series":[{"jvm"|"category":…,"pid":…,"samples":[…]}]}
     * from the flight recorder. @by: "jvm", "category" or "jvm-category" (both keys). *ret_count:
     * number of series. */
    int (*timeline)(void *ctx, const struct target_selector *t, const struct time_range *range,
                    size_t buckets, const char *by, json_t **ret, size_t *ret_count,
                    struct error *err);
    /* Starts a capture by the trigger @name. Returns the results of capture_create().
     * BACKEND_NOT_FOUND: there is no such trigger (@err has the most similar name), or no process
     * matches. BACKEND_TOO_MANY: the trigger's cooldown lasts, for err->retry_s. */
    int (*trigger)(void *ctx, const char *name, char ret_id[CAPTURE_ID_BYTES], struct error *err);
    /* Appends Prometheus text, without serve's own counters. A viewer of a part of the node gets
     * only the JVMs that it sees. @exemplars: adds OpenMetrics exemplars to lines that have some.
     */
    int (*metrics)(void *ctx, const struct viewer *v, bool exemplars, struct buf *out,
                   struct error *err);
    /* Gets the current state of all Java threads, platform and virtual (profile/thread_dump.h). The
     * caller owns *ret. May take seconds. BACKEND_CONFLICT: the JVM's memory is unreadable. */
    int (*threads)(void *ctx, const struct viewer *v, int32_t host_pid, struct thread_dump **ret,
                   struct error *err);
    /* Appends the JVM's map in the format of /tmp/perf-PID.map. SYMBOLS_AUTO: from memory. @unfold:
     * writes one line for each range of inlined frames, "outer->inner" (not with perfmap). May take
     * as long as an attach, at most 10 s. */
    int (*perf_map)(void *ctx, const struct viewer *v, int32_t host_pid,
                    enum symbols_source symbols, bool unfold, struct buf *out, struct error *err);
    /* Gets the processes that hold the sockets @keys, at most SOCKETS_ASKED_MAX, one item of @ret
     * for each. May take seconds. @keys, @net_ns: as in broker_socket_holders(). Returns 0 or
     * -errno. -ETIMEDOUT: there was not enough time. -EBUSY: there was no try. -EOPNOTSUPP: the
     * kernel cannot report holders. */
    int (*socket_holders)(void *ctx, const uint64_t *keys, size_t n, uint64_t net_ns,
                          struct socket_holding *ret);
};
