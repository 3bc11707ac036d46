/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as somebody asked to see it: filtered, with synthetic frames for processes and threads,
 * names spelled as wanted, equal stacks added up. What every renderer takes. Immutable; thread:
 * any.
 */
#pragma once

#include "base/cleanup.h"
#include "profile/match.h"
#include "profile/waits.h"

enum view_by {
    VIEW_BY_NONE,
    VIEW_BY_THREAD,
    VIEW_BY_POOL, /* threads with names that differ by numbers alone */
    VIEW_BY_STATE,
    VIEW_BY_OPERATION,
    VIEW_BY_TRACE,
    VIEW_BY_SPAN,
    VIEW_BY_SERVICE,
    VIEW_BY_VERSION, /* of the service */
};
#define VIEW_BY_MAX 8 /* each once */
enum view_names { VIEW_NAMES_FULL, VIEW_NAMES_SIMPLE, VIEW_NAMES_SIGNATURE, VIEW_NAMES_MERGED };

struct view_opts {
    uint8_t event;           /* its samples are shown: index in the profile's events */
    bool every_event;        /* with `exact`: sample_rows has the samples of all events; what is
                              * added up is still that one's */
    bool threads;            /* a frame per thread at the root, unless `by` says where; rows and
                              * samples stay apart by thread */
    uint8_t by[VIEW_BY_MAX]; /* enum view_by, up to the first 0: a frame for each at the root, in
                              * this order. Services and versions that come first stand above the
                              * process, all else below it */
    bool no_user, no_kernel; /* leave out samples taken in that mode */
    bool hide_kernel;        /* one "[kernel]" in place of the kernel's functions */
    enum view_names names;
    bool lines;      /* ":line" after Java names */
    bool keep_lines; /* frames of one method at different lines stay apart, though no name shows it,
                      * and so do native functions from what is inlined into them */
    bool annotate;   /* async-profiler's suffixes */
    bool total;      /* weigh by value, not samples */
    unsigned states; /* STATE_BIT()s (profile/waits.h): only samples of these; 0: of all */
    bool no_idle;    /* leave out threads that wait for work */
    bool waits; /* a leaf such as "[lock]" says what a thread waited for; also with `annotate` */
    bool total_said; /* else bytes, and samples that have values of their own, weigh by these */
    bool owners;     /* samples that waited for a lock stay apart by the thread that had it */
    bool requests;   /* samples of different requests, or of different spans of one, stay apart */
    bool exact;      /* for formats that hold more than names: frames of equal names stay apart, and
                      * the view says which row each sample is in */
    size_t depth;    /* 0: whole; else at most this many frames, the middle replaced by "[...]" */
    /* On names as spelled by the options above; borrowed, NULL: none. */
    struct match *include;   /* keep only samples whose stack has a matching frame */
    struct match *exclude;   /* drop samples whose stack has one */
    struct match *operation; /* keep only samples of an operation of such a name */
    /* Keep only samples inside calls of such methods, on names without line, that lasted at least
     * over_ns; the event is wall. Not with `every_event`. */
    struct match *calls;
    uint64_t over_ns;
    bool joined; /* the profile is put together of several captures: as in method_calls.h */
    uint64_t trace_high, trace_low; /* and of this trace; 0, 0: of any */
    uint64_t span;                  /* and of this span; 0: of any */
};

/* A distinct frame as shown. */
struct view_frame {
    uint32_t name;         /* string of the view: as the options spell it */
    uint32_t module, file; /* strings of the view, 0: none */
    uint32_t line;         /* with `lines`, `keep_lines` or `exact`; else 0 */
    uint32_t kind;         /* enum frame_kind */
    uint32_t frame; /* with `exact`: index in profile->frames, 0 for synthetic ones; else 0 */
};

/* How many samples, and their values added up, in the event's unit. */
struct view_sum {
    uint64_t samples, value;
};

struct view_row {
    uint32_t first, n; /* its frames: view->stack[first .. first+n), root first */
    uint32_t roots;    /* how many of them stand for its process, thread and groups */
    uint32_t body;     /* rows with the same one have the same frames from `roots` on: numbered from
                        * 0 on, in the order of rows */
    uint64_t samples, value;   /* value in the event's unit */
    uint64_t inferred, unsure; /* samples whose Java leaf is known so (enum frame_leaf) */
    uint32_t thread;  /* index in profile->threads; UINT32_MAX when rows are not split by thread */
    uint8_t state;    /* enum thread_state */
    uint8_t wait;     /* enum wait of a row that is blocked */
    bool idle;        /* it is blocked, and waits for work */
    uint32_t owner;   /* with `owners`: profile_lock_owner() */
    uint32_t context; /* with `requests`: index in profile->contexts */
};

#define VIEW_NO_ROW UINT32_MAX
#define VIEW_ROOTS_MAX                                                                             \
    (1 + VIEW_BY_MAX) /* frames that stand for the process and groups of a row                     \
                       */
#define VIEW_SENTENCE_BYTES 224
#define VIEW_WARNINGS 3       /* of the view itself, */
#define VIEW_CALLS_WARNINGS 4 /* and of its calls */
#define VIEW_FEW_SAMPLES 100  /* with fewer, a share of half is off by over 10 points by chance */

struct view {
    struct profile *profile; /* a reference */
    struct view_opts opts;
    struct intern *strings;
    struct view_frame *frames;
    uint32_t *stack;
    struct view_row *rows; /* sorted by their frames' names, root first, so that stacks which read
                            * the same, and equal prefixes, are neighbours */
    size_t frame_count, stack_words, row_count, body_count;
    uint64_t samples, value, unknown, truncated; /* totals of what is left after filtering */
    uint64_t inferred, unsure;                   /* the same, as in struct view_row */
    struct view_sum idle;                        /* what view_opts.no_idle left out */
    uint64_t without_ids;  /* samples that a trace or span leaves out, as no ids were kept */
    uint32_t *sample_rows; /* with `exact`: of each sample of the profile its row, VIEW_NO_ROW where
                            * it is left out; else NULL */
    char left_out[VIEW_SENTENCE_BYTES]; /* what view_opts.no_idle left out; "": nothing */
    char no_ids[VIEW_SENTENCE_BYTES];   /* the same of without_ids */
    char few[VIEW_SENTENCE_BYTES];      /* that its samples are few; "": they are not */
    struct method_calls *calls;         /* owned, with view_opts.calls; else NULL */
    /* Those of the profile, then of the calls, then these two. Borrowed from all. */
    const char *warnings[PROFILE_WARNINGS_MAX + VIEW_CALLS_WARNINGS + VIEW_WARNINGS];
    size_t warning_count;
};

/* 0; -EINVAL (a regular expression takes too long); -EFBIG; -ENOMEM. */
int view_new(struct profile *p, const struct view_opts *o, struct view **ret, struct error *err);
struct view *view_free(struct view *v);
CLEANUP_FUNCTION(view_freep, view, view_free)
/* Collects the warnings of a view that has counted its samples. */
void view_warn(struct view *v);
/* Returns whether samples of @e weigh by their values: as the request says, else as tells more. */
bool view_weighs_by_value(const struct view_opts *o, const struct profile_event *e);
/* Returns the event whose samples @v shows. */
static inline const struct profile_event *view_event(const struct view *v)
{
    return &v->profile->events[v->opts.event];
}
static inline struct span view_string(const struct view *v, uint32_t id)
{
    return intern_get(v->strings, id);
}
