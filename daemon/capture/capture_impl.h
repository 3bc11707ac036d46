/* SPDX-License-Identifier: Apache-2.0 */
/* A capture under way: what the files of capture/ share of it. Thread: the engine's. */
#pragma once

#include "attach/deferred_frames.h"
#include "capture/captures.h"
#include "capture/inlined.h"
#include "capture/losses.h"
#include "capture/request_context.h"
#include "capture/source/source.h"
#include "event/events.h"

#define CAPTURE_PROCESSES_MAX 65536u
#define CAPTURE_THREADS_MAX 200000u
#define CAPTURE_NAMED_MOMENTS_MAX 20000u
#define CAPTURE_SECONDS_MAX UINT64_C(3600)   /* of one that is given no duration */
#define CAPTURE_LASTS_NS (60 * NSEC_PER_SEC) /* longer ones are half of a caller's at most */

struct seen_thread {
    uint32_t process, host_tid;
};

/* A thread as of its last sample in a capture: how long it had run, its name, and how often it was
 * renamed. */
struct seen_run {
    uint64_t run_ns, time_ns;
    uint32_t samples;
    uint32_t name, renamed;
};

struct seen_verdict {
    uint64_t checked_ns;
    uint32_t process; /* index in the record */
    bool wanted, warned;
    bool image_told;             /* that it is a native image without names */
    uint64_t samples, generated; /* all of it, and those through code of no file and no name */
};

#define NO_SET UINT32_MAX
#define EVENT_SETS_MAX 2 /* of one event */

/* A set of samples of an event. */
struct event_set {
    uint32_t set;    /* the broker's number; NO_SET: none yet */
    uint64_t period; /* smaller than the event's: samples are thinned */
};

/* One of the events of a capture. */
struct capture_event {
    struct capture *capture;
    const struct event_source *source;
    void *state;               /* of the source; owned */
    struct empty_reason empty; /* as of the source, which may change it */
    const struct event_info *info;
    char name[EVENT_NAME_BYTES];
    uint64_t period; /* as in struct wanted_event */
    bool ready;      /* the kernel has in place what it needs */
    uint64_t gap_ns; /* since when it has not, after it had; 0: never so */
    bool refused;    /* that cannot be, as was found while the others were sampled */
    struct event_set sets[EVENT_SETS_MAX];
};

/* A capture goes through these in their order, and leaves out those that it has no need of. */
enum capture_state {
    CAPTURE_PREPARING, /* its sets and probes are being put in place */
    CAPTURE_RUNNING,   /* it samples the events that are ready, until end_ns */
    CAPTURE_FLUSHING,  /* stacks of waits that have ended are still pending, until due_ns */
    CAPTURE_SETTLING,  /* what the broker wrote by due_ns is still to be read */
    CAPTURE_NAMING,    /* symbols and names of its samples are still being read */
    CAPTURE_DONE,      /* it has its profile or its failure, and is in no list */
};

/* Who gets the profile of a capture. */
struct capture_delivery {
    struct capture_waiter waiter; /* without done: no request waits for it */
    uint64_t ticket;              /* of who waits for its first sample; 0: no request does */
    bool keep;                    /* goes to the store */
    bool resource;                /* runs on its own, and is listed while it runs */
    char schedule[64];
    uint64_t max_age_s; /* retention of its own, 0: the store's */
};

/* Options of events, as in struct capture_request. */
struct capture_wish {
    bool counts_objects, forced, context;
    enum alloc_source source; /* of event alloc */
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
    uint32_t renamed, too_often; /* threads that had several names; of them those with too many */
};

/* How the code of a capture gets names. */
struct capture_names {
    enum symbols_source symbols;
    struct deferred
        *later; /* places of attach_id's code, named at the end; NULL: memory names all */
    struct inlined *inlined; /* native frames, looked up for the end; NULL: no lines are wanted */
    struct attachment *attachment; /* NULL: not begun, or none */
    struct proc_id attach_id;
    uint32_t attach_mode; /* enum attach_mode */
    bool nameless;        /* memory names nothing: only what is attached to */
};

struct capture {
    struct captures *captures; /* that it is one of */
    struct capture *next;
    enum capture_state state; /* capture_enter() changes it */
    uint64_t due_ns;          /* of the state */
    uint64_t handle;
    struct target *target;
    struct caller caller; /* whose quota it counts to */
    bool lasts;           /* longer than CAPTURE_LASTS_NS, or without an end */
    bool patient;         /* its samples may be named as late as the recorder's */
    bool tables_warned;   /* of tables for unwinding that are not there */
    struct record *record;
    struct capture_delivery to;
    struct capture_wish wish;
    struct capture_event events[EVENTS_AT_ONCE_MAX]; /* as in meta.events */
    size_t event_count;
    uint64_t start_ns, end_ns; /* end_ns UINT64_MAX: until ended */
    uint64_t asked_ns;         /* when it was requested */
    uint64_t duration_ns;      /* 0: without an end */
    uint64_t random;           /* of the thinning */
    struct capture_members members;
    struct capture_names names;
    struct lost lost;
    struct error refusal; /* why it fails at the next tick; code 0: it does not */
    struct profile meta;
};

/* Returns whether an event of @c is ready. */
static inline bool capture_samples(const struct capture *c)
{
    for (size_t i = 0; i < c->event_count; i++) {
        if (c->events[i].ready)
            return true;
    }
    return false;
}

/* Returns whether samples of @c come with the moments of JVMs. */
static inline bool capture_has_moments(const struct capture *c)
{
    for (size_t i = 0; i < c->event_count; i++) {
        if (c->events[i].source->has_moments)
            return true;
    }
    return false;
}

/* Returns whether an event of @c is not ready, and may become so. */
static inline bool capture_is_coming(const struct capture *c)
{
    for (size_t i = 0; i < c->event_count; i++) {
        if (!c->events[i].ready && !c->events[i].refused)
            return true;
    }
    return false;
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

/* An answer leaves this long after the request and the duration, with the names that are known by
 * then. */
#define CAPTURE_ANSWER_NS (4 * NSEC_PER_SEC)
/* In CAPTURE_PREPARING, for all events of a capture. Then it runs with those that are ready. */
#define CAPTURE_PREPARE_NS (3 * NSEC_PER_SEC)
/* A capture that a request waits for ends this long after the request and its duration, however
 * late it began. */
#define CAPTURE_LATEST_NS (CAPTURE_ANSWER_NS - NSEC_PER_SEC / 2)

/* Returns when the answer of @c leaves, which has an end. */
static inline uint64_t capture_answer_ns(const struct capture *c)
{
    return c->end_ns + CAPTURE_ANSWER_NS - MIN(c->start_ns - c->asked_ns, CAPTURE_ANSWER_NS);
}

/* ---- captures.c ---- */

/* Frees @c, which is in no list and holds no set; takes NULL. Returns NULL. */
struct capture *capture_free(struct capture *c);
/* Makes an empty record, whose memory counts to the budget of all captures. 0 or -errno. */
int capture_new_record(struct captures *captures, struct record **ret);
/* Returns how many samples @c has, also those that wait for its end. */
size_t capture_sample_count(const struct capture *c);
/* Makes a profile of what @c has so far, with the facts of @meta and the names that are known by
 * now. 0 or -ENOMEM. */
int capture_make_profile(struct capture *c, const struct profile *meta, struct profile **ret);

/* ---- states.c ---- */

/* Changes the state of @c to @state, or past it where its events need no such state, and does what
 * that begins with. */
void capture_enter(struct captures *captures, struct capture *c, enum capture_state state);

/* ---- begin.c ---- */

/* Says in @err that flamed ends, and so nothing begins. Returns BACKEND_UNAVAILABLE. */
int capture_stopping(struct error *err);

/* ---- admit.c ---- */

/* Returns whether @req takes long, or has no end but its client's will. */
bool capture_lasts(const struct capture_request *req);
/* Checks whether the caller of @req may begin another. Of those that last one caller may have half
 * of what it may have, so that who comes after it finds room within a minute. 0, or
 * BACKEND_TOO_MANY with
 * @err, which says when to ask again. */
int capture_admit(const struct captures *captures, const struct capture_request *req,
                  struct error *err);
/* Returns whether @caller may arm one more set of samples. One caller may have half of them, and
 * one is left for root, so that no caller keeps all others from sampling. False: @err says why. */
bool capture_may_add_set(const struct captures *captures, const struct caller *caller,
                         struct error *err);

/* ---- prepare.c ---- */

/* Takes the events of @c, in CAPTURE_PREPARING, towards their first samples: arms their sets and
 * has the one process of @c probed. 0: all are ready. -EINPROGRESS with @err: to be called again.
 * Else why it cannot run: an outcome or -errno with @err. */
int capture_prepare(struct captures *captures, struct capture *c, struct error *err);
/* Does the same in CAPTURE_RUNNING for the events that were not ready when @c began. Warns of those
 * that have become so, and of those that cannot. Returns whether one has. */
bool capture_prepare_late(struct captures *captures, struct capture *c, uint64_t now_ns);

/* ---- event_sets.c ---- */

/* Arms the sets of @event of @c, as far as that was not done. 0: they sample. -EINPROGRESS with
 * @err: ask again. -EBUSY or -errno with @err: it may have one nevertheless. */
int capture_arm(struct captures *captures, struct capture *c, struct capture_event *event,
                struct error *err);
/* Gives them back. */
void capture_release_rates(struct captures *captures, struct capture *c);
/* Warns where a set is faster than what was asked for. */
void capture_warn_rates(struct capture *c);

/* ---- api/captures.c ---- */

/* Returns @c as /api/v1/captures shows it, owned by the caller. @progress: 0..1. */
json_t *capture_json(const struct store_capture *c, double progress);
/* Returns the same of one that runs. Thread: the engine's. */
json_t *running_json(struct capture *c);

/* ---- processes.c ---- */

/* Returns whether @c wants @p, valid until the next call; NULL: no memory. A process that is not
 * wanted is matched again every 100 ms: its main class or container may become known later. */
struct seen_verdict *capture_verdict(struct captures *captures, struct capture *c,
                                     const struct process *p, uint64_t now_ns);
/* Gets the thread of a sample as an index of the record; *ret_run: what is known of how it ran,
 * valid until the next call. 0 or -errno. */
int capture_thread(struct capture *c, uint32_t process, const struct incoming *in, uint32_t *ret,
                   struct seen_run **ret_run);
/* Warns of its processes whose files could not be read because their file systems do not answer. */
void capture_warn_unanswered(struct captures *captures, struct capture *c);
/* Warns of its processes that found no room in the unwinder's tables. */
void capture_warn_no_room(struct captures *captures, struct capture *c);
/* Warns of its processes whose symbols were left out for want of memory. */
void capture_warn_left_out(struct captures *captures, struct capture *c);
/* Warns of its processes whose perf maps are longer than is read. */
void capture_warn_long_maps(struct captures *captures, struct capture *c);
/* Warns of its processes that ran code which lies in no file and has no names. */
void capture_warn_generated(struct capture *c);
void capture_warn_put_off(struct captures *captures, struct capture *c);
void capture_warn_mappings(struct captures *captures, struct capture *c);
/* Warns of threads that were renamed. */
void capture_warn_renamed(struct capture *c);
/* Forgets the processes and threads of @c, so that a new record gets them again. */
void capture_forget_members(struct capture *c);
/* Returns true when samples of more than one pid were wanted. */
bool capture_has_several_processes(const struct capture *c);

/* ---- counted.c ---- */

/* Returns the name of a moment as a string of frames, out of what a JVM says: cleaned. */
uint32_t capture_moment_name(struct captures *captures, const char *raw);

/* ---- request_context.c ---- */

/* Has the requests of @p read, if @c asks for them. */
void capture_want_context(struct captures *captures, struct capture *c, struct process *p);
/* Has the requests of @p read for the flight recorder, if it records them and there is room:
 * captures come first. From CLOCK_MONOTONIC @until_ns on, keeps what is read already. */
void captures_want_context(struct captures *captures, struct process *p, uint64_t until_ns);
/* Returns the request of @in, a sample of thread @thread of the record, for profile_sample.context.
 * 0: @c does not ask, or there is no room. */
uint32_t capture_context(const struct captures *captures, struct capture *c,
                         const struct incoming *in, uint32_t thread);

/* ---- take.c ---- */

/* Returns a hash that is unique to the sample and survives redelivery. */
uint64_t capture_draw(const struct capture *c, const struct sample_record *rec);
/* Returns whether @rec was taken while @c ran. */
bool capture_spans(const struct capture *c, const struct sample_record *rec);

/* ---- warnings.c ---- */

/* Warns at the end of @c of what it lacks, and notes it in c->meta. */
void capture_warn_quality(struct captures *captures, struct capture *c);
/* Warns that samples of the last seconds of @c were not read in time. */
void capture_warn_untaken(const struct captures *captures, struct capture *c);
/* Warns if the kernel drops samples that a timer takes every @period_ns. */
void capture_warn_dropped(struct capture *c, uint64_t period_ns);
/* Returns the ticks so far in processes outside flamed's pid namespace. */
uint64_t captures_hidden(const struct captures *captures);

/* ---- symbol_source.c ---- */

/* Decides what names the Java code of @c, and plans to attach if the request names such a source.
 * 0, BACKEND_CONFLICT, -errno. */
int capture_choose_names(struct captures *captures, struct capture *c, struct error *err);
/* Notes in the profile's facts what names Java code, if that is known: by the capture's wish, or by
 * @p, which may be NULL. */
void capture_note_symbols(struct capture *c, const struct process *p);
/* Has a new record ask for the names that are decided at the end. */
void capture_defer_names(struct capture *c);
/* Returns whether the source of names, or debug information, is still waited for: 4 s at most, and
 * not while flamed stops. */
bool capture_names_wait(struct captures *captures, struct capture *c, uint64_t now_ns);
/* Decides the names by what is known now, before a profile is made. */
void capture_decide_names(struct capture *c);
/* Warns at the end of what went wrong with names. */
void capture_tell_names(struct capture *c);
/* Notes in the profile of @c how it was named. */
void capture_add_names(const struct capture *c, struct profile *p);
void capture_drop_names(struct captures *captures, struct capture *c);
