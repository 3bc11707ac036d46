/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as requested: filtered, with synthetic frames for processes and threads, names spelled,
 * and equal stacks added up. Every renderer takes one. Immutable; thread: any.
 */
#pragma once

#include "base/cleanup.h"
#include "profile/match.h"
#include "profile/thread_kinds.h"

enum view_by {
    VIEW_BY_NONE,
    VIEW_BY_THREAD,
    VIEW_BY_POOL, /* threads with names that differ only in numbers */
    VIEW_BY_STATE,
    VIEW_BY_OPERATION,
    VIEW_BY_TRACE,
    VIEW_BY_SPAN,
    VIEW_BY_SERVICE,
    VIEW_BY_VERSION, /* version of the service */
    VIEW_BY_KIND,    /* enum thread_kind */
};
#define VIEW_BY_MAX 9 /* at most; each kind once */
enum view_names { VIEW_NAMES_FULL, VIEW_NAMES_SIMPLE, VIEW_NAMES_SIGNATURE, VIEW_NAMES_MERGED };

struct view_opts {
    uint8_t event;           /* index in the profile's events: the event shown */
    bool every_event;        /* with `exact`: sample_rows covers the samples of all events; sums
                              * still cover `event` only */
    bool threads;            /* one root frame per thread, unless `by` has threads; rows and samples
                              * are split by thread */
    uint8_t by[VIEW_BY_MAX]; /* enum view_by, up to the first 0: one root frame each, in this order.
                              * Leading services and versions are above the frame of the process,
                              * all others below it */
    bool no_user, no_kernel; /* leave out samples taken in that mode */
    bool hide_kernel;        /* one "[kernel]" in place of the kernel's functions */
    enum view_names names;
    bool lines;      /* ":line" after Java names */
    bool keep_lines; /* frames of one method at different lines stay separate, though names show no
                      * lines; native functions stay separate from code inlined into them */
    bool annotate;   /* async-profiler's suffixes */
    bool total;      /* weigh by value, not by number of samples */
    unsigned states; /* STATE_BIT()s (profile/waits.h): only samples in these states; 0: in all */
    bool no_idle;    /* leave out threads that wait for work */
    bool waits; /* add a leaf such as "[lock]" for the wait of a thread; `annotate` does, too */
    bool total_said; /* `total` was given by the caller; else bytes, and samples with their own
                      * values, weigh by value */
    bool owners;     /* samples that waited for a lock are split by the lock's owner */
    bool kinds;      /* samples are split by enum thread_kind */
    bool requests;   /* samples are split by request and by span */
    bool exact;      /* for formats that hold more than names: different frames with equal names
                      * stay separate, and sample_rows has the row of each sample */
    size_t depth;    /* 0: whole stacks; else at most this many frames, with "[...]" in place of the
                      * middle */
    /* Patterns for names as spelled by the options above; borrowed, NULL: none. */
    struct match *include;   /* keep only samples with a matching frame */
    struct match *exclude;   /* drop samples with a matching frame */
    struct match *operation; /* keep only samples with a matching operation */
    /* Keep only samples inside calls of matching methods (names without line) that lasted at least
     * over_ns; the event is wall. Not with `every_event`. */
    struct match *calls;
    uint64_t over_ns;
    bool joined;                    /* as in struct method_calls_opts */
    uint64_t trace_high, trace_low; /* keep only samples of this trace; 0, 0: of all */
    uint64_t span;                  /* keep only samples of this span; 0: of all */
};

/* A distinct frame as shown. */
struct view_frame {
    uint32_t name;         /* string of the view, spelled by the options */
    uint32_t module, file; /* strings of the view, 0: none */
    uint32_t line;         /* with `lines`, `keep_lines` or `exact`; else 0 */
    uint32_t kind;         /* enum frame_kind */
    uint32_t frame; /* with `exact`: index in profile->frames, 0 for synthetic ones; else 0 */
};

/* Number of samples, and the sum of their values in the event's unit. */
struct view_sum {
    uint64_t samples, value;
};

struct view_row {
    uint32_t first, n; /* frames of the row: view->stack[first .. first+n), root first */
    uint32_t roots;    /* number of root frames for process, thread and groups */
    uint32_t body;     /* number of the frames from `roots` on: rows with the same number have the
                        * same frames. Numbers begin at 0, in the order of rows */
    uint64_t samples, value;   /* value in the event's unit */
    uint64_t inferred, unsure; /* samples with an inferred or unsure Java leaf (enum frame_leaf) */
    uint32_t thread;  /* index in profile->threads; UINT32_MAX when rows are not split by thread */
    uint8_t state;    /* enum thread_state */
    uint8_t wait;     /* enum wait of a row that is blocked */
    bool idle;        /* blocked while it waits for work */
    uint8_t kind;     /* with `kinds`: enum thread_kind */
    uint32_t owner;   /* with `owners`: profile_lock_owner() */
    uint32_t context; /* with `requests`: index in profile->contexts */
};

#define VIEW_NO_ROW UINT32_MAX
#define VIEW_ROOTS_MAX                                                                             \
    (1 + VIEW_BY_MAX) /* frames that stand for the process and groups of a row                     \
                       */
#define VIEW_SENTENCE_BYTES 224
#define VIEW_WARNINGS 3       /* warnings of the view itself */
#define VIEW_CALLS_WARNINGS 4 /* warnings of the view's calls */
/* with fewer samples, a share of 50 % may be off by over 10 points by chance */
#define VIEW_FEW_SAMPLES 100

struct view {
    struct profile *profile; /* a reference */
    struct view_opts opts;
    struct intern *strings;
    struct view_frame *frames;
    uint32_t *stack;
    struct view_row *rows; /* sorted by names of frames, root first, so stacks with an equal prefix
                            * are neighbours */
    size_t frame_count, stack_words, row_count, body_count;
    uint64_t samples, value, unknown, truncated; /* totals after filtering */
    uint64_t inferred, unsure;                   /* totals of these members of the rows */
    double looks;          /* number of looks at threads that `samples` stand for:
                            * view_looks_of() */
    struct view_sum idle;  /* samples left out by view_opts.no_idle */
    uint64_t without_ids;  /* samples left out by a trace or span because their ids were not kept */
    uint32_t *sample_rows; /* with `exact`: row of each sample of the profile (VIEW_NO_ROW: left
                            * out); else NULL */
    char left_out[VIEW_SENTENCE_BYTES]; /* sentence about `idle`; "": none */
    char no_ids[VIEW_SENTENCE_BYTES];   /* sentence about without_ids; "": none */
    char few[VIEW_SENTENCE_BYTES];      /* sentence about too few samples; "": none */
    struct method_calls *calls;         /* owned, with view_opts.calls; else NULL */
    /* Warnings of the profile and of the calls, and the sentences above; all borrowed. */
    const char *warnings[PROFILE_WARNINGS_MAX + VIEW_CALLS_WARNINGS + VIEW_WARNINGS];
    size_t warning_count;
};

/* Makes a view of @p. 0; -EINVAL (a regular expression takes too long); -EFBIG; -ENOMEM. */
int view_new(struct profile *p, const struct view_opts *o, struct view **ret, struct error *err);
struct view *view_free(struct view *v);
CLEANUP_FUNCTION(view_freep, view, view_free)
/* Collects the warnings of a view that has counted its samples. */
void view_warn(struct view *v);
/* Returns whether samples of @e weigh by value: as requested, else by the event's default. */
bool view_weighs_by_value(const struct view_opts *o, const struct profile_event *e);
/* Returns the event that @v shows samples of. */
static inline const struct profile_event *view_event(const struct view *v)
{
    return &v->profile->events[v->opts.event];
}
static inline struct span view_string(const struct view *v, uint32_t id)
{
    return intern_get(v->strings, id);
}
