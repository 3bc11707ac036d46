/* SPDX-License-Identifier: Apache-2.0 */
/* A capture under way, as the files of capture/ share it. Thread: the engine's. */
#pragma once

#include "attach/deferred_frames.h"
#include "base/list.h"
#include "capture/captures.h"
#include "capture/inlined.h"
#include "capture/losses.h"
#include "capture/request_context.h"
#include "capture/source/source.h"
#include "event/events.h"

#define CAPTURE_PROCESSES_MAX 65536u
#define CAPTURE_THREADS_MAX 200000u
#define CAPTURE_NAMED_MOMENTS_MAX 20000u
#define CAPTURE_SECONDS_MAX UINT64_C(3600)   /* longest stored capture without a duration */
#define CAPTURE_LASTS_NS (60 * NSEC_PER_SEC) /* longer: half a caller's quota at most */

struct seen_thread {
    uint32_t process, host_tid;
};

/* The last sample of a thread in a capture: its CPU time until then, and how often the thread was
 * renamed. */
struct seen_run {
    uint64_t run_ns, time_ns;
    uint32_t samples, renamed;
};

struct seen_verdict {
    uint64_t checked_ns;
    uint32_t process; /* index in the record */
    bool wanted, warned;
    bool image_told;             /* the warning on a native image without names was recorded */
    uint64_t samples, generated; /* generated: samples through code without a file and a name */
    uint64_t ended_ns;           /* end of its first thread; 0: not noted */
};

#define EVENT_SETS_MAX 3 /* sets of one event */

/* A set of samples of an event. */
struct event_set {
    uint32_t set;    /* the broker's number of the set; NO_SET: none yet */
    uint64_t period; /* if smaller than the event's period, samples are thinned */
};

/* One of the events of a capture. */
struct capture_event {
    struct capture *capture;
    const struct event_source *source;
    void *state;               /* of the source; owned */
    struct empty_reason empty; /* copied from the source, which may change it */
    const struct event_info *info;
    char name[EVENT_NAME_BYTES];
    uint64_t period; /* as in struct wanted_event */
    bool ready;      /* its sets and probes are installed */
    uint64_t gap_ns; /* CLOCK_MONOTONIC since when it is no longer ready; 0: no gap */
    bool refused;    /* found impossible while other events were sampled */
    struct event_set sets[EVENT_SETS_MAX];
};

/* States of a capture. A capture enters them in this order, and skips those that it does not
 * need. */
enum capture_state {
    CAPTURE_PREPARING, /* its sets and probes are being installed */
    CAPTURE_RUNNING,   /* it samples the events that are ready, until end_ns */
    CAPTURE_FLUSHING,  /* stacks of finished waits are still pending, until due_ns */
    CAPTURE_SETTLING,  /* samples that the broker wrote by due_ns are not all read yet */
    CAPTURE_NAMING,    /* symbols and names of its samples are still being read */
    CAPTURE_DONE,      /* its profile or failure is delivered; it is in no list */
};

/* Where the profile of a capture goes. */
struct capture_delivery {
    struct capture_waiter waiter; /* if done is NULL, no request waits for the capture */
    uint64_t ticket;              /* of the request that waits for the first sample; 0: none */
    bool keep;                    /* store it when it ends */
    bool resource;                /* made by captures_create(): runs on its own, and is listed */
    char schedule[64];
    uint64_t max_age_s; /* retention of this profile; 0: that of the store */
};

/* Options of events, as in struct capture_request. */
struct capture_wish {
    bool counts_objects, forced, context;
    enum alloc_source source; /* of event alloc; SOURCE_PROBE also of events of waiting */
};

/* The processes and threads of a capture. */
struct capture_members {
    struct id_table processes;     /* struct proc_id */
    struct seen_verdict *verdicts; /* [processes.cap] */
    size_t verdicts_cap;
    struct id_table threads; /* struct seen_thread */
    uint32_t *thread_ids;    /* [threads.cap]: index in the record */
    size_t thread_ids_cap;
    struct seen_run *runs; /* [threads.cap] */
    size_t runs_cap;
    uint32_t renamed, too_often; /* threads with several names; threads with too many names */
};

/* How the code of a capture is named. */
struct capture_names {
    enum symbols_source symbols;
    struct deferred
        *later; /* owned: addresses in attach_id's code, named at the end; NULL: memory names all */
    struct inlined *inlined; /* owned: native frames, expanded at the end; NULL: without lines */
    struct attachment *attachment; /* NULL: none, or not begun */
    struct proc_id attach_id;
    uint32_t attach_mode; /* enum attach_mode */
    bool nameless;        /* the JVM's memory is unreadable, so only an attach names code */
    bool exited;          /* the JVM of attach_id has exited before the attach */
};

struct capture {
    struct captures *captures; /* the list that it is in */
    struct capture *next;
    enum capture_state state; /* capture_enter() changes it */
    uint64_t due_ns;          /* CLOCK_MONOTONIC: next poll, or end of the state */
    uint64_t handle;
    struct target *target;
    struct caller caller; /* the capture counts against its quota */
    bool lasts;           /* the capture is longer than CAPTURE_LASTS_NS, or without an end */
    bool patient;         /* its samples may be named late, like those of the recorder */
    bool tables_warned;   /* the warning on missing unwind tables is recorded */
    struct record *record;
    struct capture_delivery to;
    struct capture_wish wish;
    struct capture_event events[EVENTS_AT_ONCE_MAX]; /* as in meta.events */
    size_t event_count;
    uint64_t start_ns, end_ns; /* end_ns UINT64_MAX: until ended */
    uint64_t asked_ns;         /* CLOCK_MONOTONIC of the request */
    uint64_t duration_ns;      /* 0: without an end */
    uint64_t random;           /* seed of the thinning */
    struct capture_members members;
    struct capture_names names;
    struct lost lost;
    struct error refusal; /* why the capture fails at the next tick; code 0: it does not */
    struct profile meta;
};

/* Returns whether an event of @c is ready. */
static inline bool capture_samples(const struct capture *c)
{
    return ANY_OF(i, c->event_count, c->events[i].ready);
}

/* Returns whether an event of @c records moments of JVMs. */
static inline bool capture_has_moments(const struct capture *c)
{
    return ANY_OF(i, c->event_count, c->events[i].source->has_moments);
}

/* Returns whether an event of @c is not ready but may become so. */
static inline bool capture_is_coming(const struct capture *c)
{
    return ANY_OF(i, c->event_count, !c->events[i].ready && !c->events[i].refused);
}

/* Returns the environment of probe_table_put(). */
static inline struct probe_env captures_probe_env(const struct captures *captures)
{
    return (struct probe_env){ captures->broker, captures->symbolizer };
}

/* Returns the sets of samples of @event, as bits. */
static inline uint32_t capture_event_sets(const struct capture_event *event)
{
    uint32_t sets = 0;

    for (size_t i = 0; i < EVENT_SETS_MAX; i++)
        sets |= event->sets[i].set == NO_SET ? 0 : 1u << event->sets[i].set;
    return sets;
}

/* Returns the sets of samples of @c, as bits. */
static inline uint32_t capture_sets(const struct capture *c)
{
    uint32_t sets = 0;

    for (size_t i = 0; i < c->event_count; i++)
        sets |= capture_event_sets(&c->events[i]);
    return sets;
}

/* Longest time from a request to its answer, in addition to the duration. The answer has the names
 * known by then. */
#define CAPTURE_ANSWER_NS (4 * NSEC_PER_SEC)
/* Limit of CAPTURE_PREPARING for all events of a capture. After that time, the capture runs with
 * the events that are ready. */
#define CAPTURE_PREPARE_NS (3 * NSEC_PER_SEC)
/* Longest time from a request to the end of its capture, in addition to the duration, however late
 * the capture began. */
#define CAPTURE_LATEST_NS (CAPTURE_ANSWER_NS - NSEC_PER_SEC / 2)

/* Returns the time (CLOCK_MONOTONIC) by which the answer of @c, which has an end, is sent. A
 * request that waits for a given duration gets it as if the capture had begun in time. If that
 * began later than CAPTURE_LATEST_NS, its end came earlier for the rest. */
static inline uint64_t capture_answer_ns(const struct capture *c)
{
    uint64_t late_ns = c->to.waiter.done && c->duration_ns ? c->start_ns - c->asked_ns : 0;

    return c->end_ns + CAPTURE_ANSWER_NS - MIN(late_ns, CAPTURE_LATEST_NS);
}

/* ---- captures.c ---- */

/* Frees @c, which is in no list and holds no set. Accepts NULL. Returns NULL. */
struct capture *capture_free(struct capture *c);
/* Creates an empty record, charged to the budget of all captures. Returns 0 or -errno. */
int capture_new_record(struct captures *captures, struct record **ret);
/* Returns the number of samples of @c, including samples that sources keep until its end. */
size_t capture_sample_count(const struct capture *c);
/* Makes a profile of the samples of @c so far, with the facts of @meta and the names known by now.
 * Returns 0 or -ENOMEM. */
int capture_make_profile(struct capture *c, const struct profile *meta, struct profile **ret);

/* ---- states.c ---- */

/* Changes the state of @c to @state, or to a later state if its events do not need @state. Does the
 * work that the new state begins with. */
void capture_enter(struct captures *captures, struct capture *c, enum capture_state state);

/* ---- begin.c ---- */

/* Sets @err for a capture that cannot begin because flamed stops. Returns BACKEND_UNAVAILABLE. */
int capture_stopping(struct error *err);

/* ---- admit.c ---- */

/* Returns whether @req is longer than CAPTURE_LASTS_NS, or has no end and is not live. */
bool capture_lasts(const struct capture_request *req);
/* Checks whether the caller of @req may begin another capture. At most half of a caller's captures
 * may be lasting (capture_lasts()), so that new callers find room within a minute. Return: 0, or
 * BACKEND_TOO_MANY with @err, which has the time to retry. */
int capture_admit(const struct captures *captures, const struct capture_request *req,
                  struct error *err);
/* Returns whether @caller may arm one more set of samples; if not, @err has the reason. A caller
 * may have half of all sets. Its only capture may have one more if another set remains for others.
 * While no other caller has a capture, it may have all sets but root's. */
bool capture_may_add_set(const struct captures *captures, const struct caller *caller,
                         struct error *err);

/* ---- prepare.c ---- */

/* Prepares the events of @c in CAPTURE_PREPARING: arms their sets and probes the one process of @c.
 * Return: 0: all events are ready. -EINPROGRESS with @err: call again. An outcome or -errno with
 * @err: @c cannot run. */
int capture_prepare(struct captures *captures, struct capture *c, struct error *err);
/* Does the same in CAPTURE_RUNNING for the events that were not ready when @c began. Warns of each
 * event that became ready, and of each that cannot. Returns whether an event became ready. */
bool capture_prepare_late(struct captures *captures, struct capture *c, uint64_t now_ns);

/* ---- event_sets.c ---- */

/* Arms the sets of @event of @c that are not armed yet. Return: 0: all of them sample. -EINPROGRESS
 * with @err: call again. -EBUSY or -errno with @err; @event keeps the sets taken so far. */
int capture_arm(struct captures *captures, struct capture *c, struct capture_event *event,
                struct error *err);
/* Releases the sets of @c. */
void capture_release_rates(struct captures *captures, struct capture *c);
/* Warns if a set of @c is faster than requested. */
void capture_warn_rates(struct capture *c);

/* ---- api/captures.c ---- */

/* Returns @c as /api/v1/captures shows it; owned by the caller. @progress: 0..1. */
json_t *capture_json(const struct store_capture *c, double progress);
/* Does the same for a capture that runs. Thread: the engine's. */
json_t *running_json(struct capture *c);

/* ---- processes.c ---- */

/* Returns the verdict of @c on @p, valid until the next call; NULL: out of memory. A process that
 * does not match is checked again every 100 ms, since its main class or container may become known
 * later. */
struct seen_verdict *capture_verdict(struct captures *captures, struct capture *c,
                                     const struct process *p, uint64_t now_ns);
/* Gets the record's index of the thread of a sample. *ret_run: the thread's CPU time and name so
 * far, valid until the next call. Returns 0 or -errno. */
int capture_thread(struct capture *c, uint32_t process, const struct incoming *in, uint32_t *ret,
                   struct seen_run **ret_run);
/* Returns the first process that @c samples at index *@i or behind, and sets *@i behind it. NULL:
 * no further process. */
const struct proc_id *capture_next_process(const struct capture *c, uint32_t *i);
/* Warns of what flamed could not read of the capture's processes: see process_warnings.c. */
void capture_warn_processes(struct captures *captures, struct capture *c);
/* Notes in @v the end of @p, which has exited, if the request of @c named its pid. The end of @c
 * warns of it, unless other threads of @p still run. */
void capture_note_end(struct capture *c, struct seen_verdict *v, const struct process *p);
/* Warns of threads that were renamed. */
void capture_warn_renamed(struct capture *c);
/* Forgets the processes and threads of @c, so that a new record gets them again. */
void capture_forget_members(struct capture *c);
/* Returns whether @c wanted samples of more than one pid. */
bool capture_has_several_processes(const struct capture *c);

/* ---- counted.c ---- */

/* Returns the cleaned name of a moment, from a JVM's raw text, as a string of frames. */
uint32_t capture_moment_name(struct captures *captures, const char *raw);

/* ---- request_context.c ---- */

/* Requests that the requests of the threads of @p are read, if @c wants them. */
void capture_want_context(struct captures *captures, struct capture *c, struct process *p);
/* Does the same for the flight recorder, if it records requests and there is room: captures take
 * precedence. After CLOCK_MONOTONIC @until_ns, only keeps paths that were read before. */
void captures_want_context(struct captures *captures, struct process *p, uint64_t until_ns);
/* Returns the request of @in, a sample of thread @thread of the record, for profile_sample.context.
 * Returns 0 if @c does not want requests, or there is no room. */
uint32_t capture_context(const struct captures *captures, struct capture *c,
                         const struct incoming *in, uint32_t thread);

/* ---- take.c ---- */

/* Returns a hash that is unique to the sample and survives redelivery. */
uint64_t capture_draw(const struct capture *c, const struct sample_record *rec);
/* Returns whether @rec was taken while @c ran. */
bool capture_spans(const struct capture *c, const struct sample_record *rec);

/* ---- warnings.c ---- */

/* Records the warnings of a capture that ends, and its losses in c->meta. */
void capture_warn_quality(struct captures *captures, struct capture *c);
/* Warns that samples of the last seconds of @c were not read in time. */
void capture_warn_untaken(const struct captures *captures, struct capture *c);
/* Warns if the kernel drops samples that a timer takes every @period_ns. */
void capture_warn_dropped(struct capture *c, uint64_t period_ns);
/* Returns the number of ticks so far in processes outside flamed's pid namespace. */
uint64_t captures_hidden(const struct captures *captures);

/* ---- symbol_source.c ---- */

/* Decides which source names the Java code of @c, and plans an attach if the request names such a
 * source. Returns 0, BACKEND_CONFLICT or -errno. */
int capture_choose_names(struct captures *captures, struct capture *c, struct error *err);
/* Stores in the profile's facts which source names Java code, according to the request, or to @p
 * (may be NULL). Does nothing if that is not known yet. */
void capture_note_symbols(struct capture *c, const struct process *p);
/* Lets the record of @c ask for names that are decided at its end. */
void capture_defer_names(struct capture *c);
/* Asks, at the end of sampling, the source that is used then, unless flamed stops. */
void capture_ask_names(struct captures *captures, struct capture *c);
/* Returns whether the capture still waits for the source of names, or for debug information. It
 * waits for 4 s at most, and not while flamed stops. */
bool capture_names_wait(struct captures *captures, struct capture *c, uint64_t now_ns);
/* Decides the names by the sources read so far, before a profile is made. */
void capture_decide_names(struct capture *c);
/* Warns, at the end of @c, of problems with the source of names. */
void capture_tell_names(struct capture *c);
/* Stores in the profile of @c which source named its code, and what debug information is
 * missing. */
void capture_add_names(const struct capture *c, struct profile *p);
void capture_drop_names(struct captures *captures, struct capture *c);
