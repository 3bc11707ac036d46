/* SPDX-License-Identifier: Apache-2.0 */
/* A capture under way, as the files of capture/ that work on it share it. Thread: the engine's. */
#pragma once

#include "attach/deferred_frames.h"
#include "capture/inlined.h"
#include "engine/engine_impl.h"
#include "event/events.h"

#define CAPTURE_PROCESSES_MAX 65536u
#define CAPTURE_THREADS_MAX 200000u
#define CAPTURE_SECONDS_MAX UINT64_C(3600)   /* of one that is given no duration */
#define CAPTURE_LASTS_NS (60 * NSEC_PER_SEC) /* longer ones are half of a caller's at most */

/* Key of what a capture decided about a process image; no padding. */
struct seen_process {
    uint64_t start_ticks;
    int32_t host_pid;
    uint32_t exec_no;
};

struct seen_thread {
    uint32_t process, host_tid;
};

struct seen_verdict {
    uint64_t checked_ns;
    uint32_t process; /* index in the record */
    bool wanted, warned;
};

struct capture {
    struct capture *next;
    uint64_t handle;
    struct target *target;
    struct caller caller; /* whose quota it counts to */
    bool lasts;           /* takes long, or has no end */
    struct record *record;
    capture_done_fn done; /* NULL: nobody waits */
    void *cookie;
    bool keep;     /* goes to the store */
    bool resource; /* is listed while it runs */
    bool patient;  /* its samples may wait for their names as long as the recorder's */
    char schedule[64];
    uint64_t max_age_s; /* retention of its own, 0: the store's */
    const struct event_info *event;
    uint64_t period;           /* in the event's unit */
    uint64_t start_ns, end_ns; /* end_ns UINT64_MAX: until ended */
    uint64_t prepared_ns;      /* how long it took from the request to its start */
    enum symbols_source symbols;
    uint32_t set;
    uint64_t set_period;           /* smaller than period: samples are thinned */
    uint64_t random;               /* of the thinning */
    struct id_table processes;     /* struct seen_process */
    struct seen_verdict *verdicts; /* [processes.cap] */
    size_t verdicts_cap;
    struct id_table threads; /* struct seen_thread */
    uint32_t *thread_ids;    /* [threads.cap]: index in the record */
    size_t thread_ids_cap;
    struct broker_sample_stats stats_before;
    struct later *later; /* places of attach_id's code, named at the end; NULL: memory names all */
    struct inlined *inlined; /* native frames, looked up for the end; NULL: no lines are wanted */
    struct attachment *attachment; /* NULL: not begun, or none */
    struct proc_id attach_id;
    uint32_t attach_mode; /* enum attach_mode */
    bool waits_for_names; /* sampling is over, a source has not answered yet */
    bool agent_first;     /* where both know a place the attached source names it */
    struct profile meta;
};

/* Past what it was asked for, the answer leaves with what is known. */
#define CAPTURE_ANSWER_NS (4 * NSEC_PER_SEC)

/* When that is, of one that has an end. */
static inline uint64_t capture_answer_ns(const struct capture *c)
{
    return c->end_ns + CAPTURE_ANSWER_NS - MIN(c->prepared_ns, CAPTURE_ANSWER_NS);
}

/* ---- admit.c ---- */

/* Whether @req takes long, or has no end but its client's will. */
bool capture_lasts(const struct capture_request *req);
/* Whether the caller of @req may begin another. Of those that last one caller may have half of what
 * it may have, so that who comes after it finds room within a minute. 0, or BACKEND_TOO_MANY with
 * @err, which says when to ask again. */
int capture_admit(const struct engine *e, const struct capture_request *req, struct error *err);

/* ---- api/captures.c ---- */

/* As /api/v1/captures shows it, owned by the caller. @progress: 0..1. */
json_t *capture_json(const struct store_capture *c, double progress);
/* The same of one that runs. Thread: the engine's. */
json_t *running_json(struct capture *c);

/* ---- processes.c ---- */

/* What @c makes of @p: valid until the next call; NULL: no memory. A no is asked again every 100
 * ms, because a main class or a container may become known later. */
struct seen_verdict *capture_verdict(struct engine *e, struct capture *c, const struct process *p,
                                     uint64_t now_ns);
/* The thread of a sample as an index of the record. 0 or -errno. */
int capture_thread(struct capture *c, uint32_t process, const struct incoming *in, uint32_t *ret);
/* Warns of its processes whose files could not be read because their file systems do not answer. */
void capture_warn_unanswered(struct engine *e, struct capture *c);
void capture_warn_put_off(struct engine *e, struct capture *c);
/* The record is a new one: processes and threads are to be told to it again. */
void capture_forget_members(struct capture *c);
/* True when samples of more than one pid were wanted. */
bool capture_has_several_processes(const struct capture *c);

/* ---- warnings.c ---- */

/* At its end, once: what it lacks, as warnings, and in c->meta. */
void capture_warn_quality(struct engine *e, struct capture *c);

/* ---- symbol_source.c ---- */

/* At the start: decides who names Java code. @background: nobody waits for it, so that nothing is
 * injected unless it is asked for. 0, BACKEND_CONFLICT, -errno. */
int capture_choose_names(struct engine *e, struct capture *c, bool background, struct error *err);
/* The record, a new one, asks for names that are decided at the end. */
void capture_defer_names(struct capture *c);
/* Whether the end is to wait for the source, or for debug information; for 4 s at most. */
bool capture_names_wait(struct engine *e, struct capture *c, uint64_t now_ns);
/* Before a profile is made: what is known now decides. */
void capture_decide_names(struct capture *c);
/* At the end: what went wrong, as warnings. */
void capture_tell_names(struct capture *c);
/* In the profile that was made: how it was named. */
void capture_add_names(const struct capture *c, struct profile *p);
void capture_drop_names(struct engine *e, struct capture *c);
