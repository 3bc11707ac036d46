/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of profile/: the finished, immutable profile, and the recorder that builds one. A
 * published profile is refcounted and may be read from any thread at once.
 */
#pragma once

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "event/events.h"
#include "profile/frame.h"

#define PROFILE_WARNINGS_MAX 64
#define PROFILE_EVENTS_MAX 8
#define PROFILE_SCOPE_BYTES 96

enum sample_mode { SAMPLE_MODE_USER, SAMPLE_MODE_KERNEL };

struct profile_process { /* no padding: it is a key while recording */
    uint64_t start_ticks;
    int32_t host_pid;
    uint32_t exec_no;
    uint32_t name;      /* string: main class, jar or comm */
    uint32_t container; /* string: id, 0 none */
    uint32_t pod, pod_namespace;
    uint32_t owner;   /* user who may read it; 0: root only; not stored */
    uint32_t service; /* string: service of the JVM (discover/service.h); 0: not known */
    /* Strings that are not stored; 0: none. version: of the service. attributes: further ones of
     * OpenTelemetry, one "key=value" per line. */
    uint32_t version, attributes;
    uint64_t payer; /* in a profile of the recorder: owner that budgets are charged to; 0: not
                     * known */
};
_Static_assert(sizeof(struct profile_process) == 56, "profile_process must have no padding");

struct profile_thread {
    int32_t host_tid; /* 0 or less: stands for several threads with one name */
    uint32_t name;    /* string */
    uint32_t process; /* index */
};

struct profile_stack {
    uint32_t parent; /* index of the caller's node; 0 is the root node, which is its own parent */
    uint32_t frame;  /* index in frames */
    uint32_t depth;  /* 0 for the root node */
};

/* An event with samples in a profile. */
struct profile_event {
    char name[EVENT_NAME_BYTES]; /* "cpu" */
    char unit[16];               /* unit of values: "nanoseconds", "bytes", "count" */
    uint64_t period;             /* value between two samples, on average; 0: not known yet */
    bool valued;                 /* each sample has its own value; else the value is count x
                                  * period */
};

/* State of the lookup of a sample's request. */
enum profile_context_state {
    PROFILE_CONTEXT_UNASKED, /* requests were not read */
    PROFILE_CONTEXT_NO_TRACER,
    PROFILE_CONTEXT_UNREADABLE,
    PROFILE_CONTEXT_NO_REQUEST,
    PROFILE_CONTEXT_IDS, /* this and later states: there is a request, with ids or a name or both */
    PROFILE_CONTEXT_NAMED,
    PROFILE_CONTEXT_STATES,
};

/* One span of a request. */
struct profile_context { /* no padding: it is a key while recording */
    uint64_t trace_high, trace_low;
    uint64_t span;      /* span of the thread */
    uint64_t root;      /* the first span in its process; 0: not known */
    uint32_t operation; /* string: "GET /orders/{id}"; 0: not known */
    uint32_t state;     /* enum profile_context_state */
};
_Static_assert(sizeof(struct profile_context) == 40, "profile_context must have no padding");
/* Returns whether @c has ids of a request, not just an operation. */
static inline bool profile_context_has_ids(const struct profile_context *c)
{
    return c->trace_high || c->trace_low || c->span || c->root;
}
#define PROFILE_OPERATIONS_MAX 1000u /* operations per service; further ones share one name */

struct profile_sample {
    uint64_t time_ns;      /* CLOCK_MONOTONIC */
    uint64_t value;        /* in its event's unit; 0 while recording: count x period */
    uint32_t count;        /* number of samples that it stands for, at least 1 */
    uint32_t stack : 24;   /* index of the leaf's node; 0: no frames */
    uint32_t mode : 1;     /* enum sample_mode */
    uint32_t stands : 7;   /* merged looks of the recorder: threads that each stands for; 0: one */
    uint32_t thread : 24;  /* index */
    uint32_t event : 8;    /* index in the profile's events */
    uint32_t context : 18; /* index in contexts; 0: none */
    uint32_t flags : 14;   /* PROFILE_SAMPLE_* */
};
_Static_assert(sizeof(struct profile_sample) == 32, "a recorder keeps millions of them");
#define PROFILE_CONTEXTS_MAX (1u << 18)
#define PROFILE_STANDS_MAX 127 /* samples that stand for more say this */

/* Returns the number of threads that a merged look stands for, its own among them. */
static inline uint32_t profile_sample_stands(const struct profile_sample *s)
{
    return s->stands ? s->stands : 1;
}

/* Returns the length of a sample with a value in nanoseconds; of several waits, their mean. */
static inline uint64_t profile_sample_length(const struct profile_sample *s)
{
    return s->value / (s->count ? s->count : 1) / profile_sample_stands(s);
}

#define PROFILE_SAMPLE_UNKNOWN 1     /* at least one frame has no name */
#define PROFILE_SAMPLE_TRUNCATED 2   /* the root was not reached */
#define PROFILE_SAMPLE_STATE_SHIFT 2 /* bits 2..3: enum thread_state (profile/waits.h) */
#define PROFILE_SAMPLE_STATE(flags) ((flags) >> PROFILE_SAMPLE_STATE_SHIFT & 3)
#define PROFILE_SAMPLE_CATEGORY_SHIFT 4 /* bits 4..6: enum category (profile/category.h) */
#define PROFILE_SAMPLE_CATEGORY(flags) ((flags) >> PROFILE_SAMPLE_CATEGORY_SHIFT & 7)
#define PROFILE_SAMPLE_FROZEN                                                                      \
    0x80 /* the root was reached, but frames of a virtual thread are missing */
#define PROFILE_SAMPLE_CUT (PROFILE_SAMPLE_TRUNCATED | PROFILE_SAMPLE_FROZEN)
#define PROFILE_SAMPLE_END_SHIFT 8 /* bits 8..12: enum unwind_end (unwind/unwind.h) */
#define PROFILE_SAMPLE_END(flags) ((flags) >> PROFILE_SAMPLE_END_SHIFT & 31)
#define PROFILE_ENDS 32

#define PROFILE_SAMPLE_REST                                                                        \
    0x2000 /* while recording: stays only if its safepoint has no other sample                     \
            * \ */

/* Return the reason why a stack is cut, as a label ("no_rule") and as words ("native code without
 * an unwind rule"). Static. */
const char *profile_end_name(unsigned end);
const char *profile_end_words(unsigned end);

/* Text in warnings that are valid for one whole profile only. A merged profile drops such warnings
 * of its parts. */
#define PROFILE_SEVERAL_TEXT "processes, and this profile adds them up: "
#define PROFILE_EMPTY_TEXT "no samples: "

/* The leaf frame of a wait for a lock with a known owner has the kind FRAME_THREAD and the owner's
 * name. The leaf frame of a live object has its age, in collections. Views remove both. */

/* Kinds of activity of a whole JVM. */
enum profile_moment_kind {
    MOMENT_IS_SAFEPOINT,
    MOMENT_IS_OPERATION,
    MOMENT_IS_GC,
    /* Number of events in a time, from the JVM's own counters. */
    MOMENT_COUNTS_COLLECTIONS,
    MOMENT_COUNTS_SAFEPOINTS,
    MOMENT_COUNTS_COMPILATIONS,
    MOMENT_COUNTS_CLASSES_LOADED,
    MOMENT_COUNTS_CLASSES_UNLOADED,
    /* Single events, with the thread that caused each. */
    MOMENT_IS_JIT,
    MOMENT_IS_CLASS_LOAD,
    MOMENT_IS_CLASS_UNLOAD,
    MOMENT_SORTS,
};
struct profile_moment {
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    /* Safepoints: time from the start until all threads had stopped. Counters: total duration, if
     * known. Others: 0. */
    uint64_t reach_ns;
    uint32_t name;     /* string: operation, collector, method or class; 0: not known */
    uint32_t process;  /* index */
    uint32_t kind;     /* enum profile_moment_kind */
    uint32_t count;    /* number of counted events; else 0 */
    uint32_t by;       /* string: thread that caused it; 0: not known */
    uint32_t compiler; /* string: compiler; 0: not known, or not a compilation */
};
#define PROFILE_MOMENTS_MAX 100000

/* The references to a profile, and the memory that profile_count() added. */
struct profile_hold {
    _Atomic unsigned refs;
    size_t counted_bytes;
};

/* The profile owns all arrays but events. Index 0 of frames, functions, modules and stacks is the
 * nameless entry. */
struct profile {
    struct intern *strings;
    struct module *modules;
    struct function *functions;
    uint32_t *routes; /* [function_count]: string, 0 or FUNCTION_ROUTE_NONE; NULL: all 0 */
    struct frame *frames;
    struct profile_stack *stacks;
    struct profile_process *processes;
    struct profile_thread *threads;
    struct profile_sample *samples; /* by time */
    struct profile_moment *moments; /* by start */
    size_t moment_count;
    struct profile_context *contexts; /* [0]: for samples without a context; NULL: none */
    size_t context_count;
    uint64_t context_states[PROFILE_CONTEXT_STATES]; /* samples */
    size_t module_count, function_count, frame_count, stack_count, process_count, thread_count,
        sample_count;

    char id[33]; /* id of the capture in the store, "": not stored */
    struct profile_event events[PROFILE_EVENTS_MAX];
    uint32_t event_count;      /* at least 1 in a finished profile */
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t start_realtime_ns;
    char scope[PROFILE_SCOPE_BYTES]; /* scope of the capture, for access checks; "": all */
    char target[256];                /* the requested target in words; clean */
    bool by_process;   /* the target selects several processes: each has a first frame */
    char symbols[256]; /* source of Java names and why: "memory: ..." */
    uint64_t lost;     /* samples that the sampler took but flamed did not get */
    uint64_t total, unknown, truncated;   /* sums of counts: all samples, those with an unnamed
                                           * frame, cut ones */
    uint64_t truncated_by[PROFILE_ENDS];  /* cut samples by enum unwind_end */
    char *warnings[PROFILE_WARNINGS_MAX]; /* owned sentences with the remedy */
    size_t warning_count;

    struct profile_hold hold;
};

/* Returns the frame with the name of the owner of the lock that sample @s waited for; 0: none. For
 * a live object, the frame has the number of collections survived. */
static inline uint32_t profile_lock_owner(const struct profile *p, const struct profile_sample *s)
{
    uint32_t frame = s->stack ? p->stacks[s->stack].frame : 0;

    return frame && p->frames[frame].kind == FRAME_THREAD ? frame : 0;
}

/* Returns the index in @p of the event with the name and unit of @e; PROFILE_EVENTS_MAX: none. */
uint32_t profile_find_event(const struct profile *p, const struct profile_event *e);
bool profile_has_event(const struct profile *p, const char *name);
/* Returns whether @frame, the profile_lock_owner() of a sample of event @event, stands for an age.
 * *ret_age: that age, in collections. */
bool profile_age(const struct profile *p, uint32_t event, uint32_t frame, uint64_t *ret_age);
/* Returns the event of a profile for @info, sampled at @period (struct wanted_event). */
struct profile_event profile_event_of(const struct event_info *info, uint64_t period);
/* Returns samples per second of an event that counts time; else 0. */
static inline double profile_event_hz(const struct profile_event *e)
{
    return strcmp(e->unit, "nanoseconds") == 0 ? clock_hz(e->period) : 0.0;
}

/* Adds @e to the events of @p, or lowers the period of the same event to that of @e. Returns its
 * index; PROFILE_EVENTS_MAX: no room. */
uint32_t profile_add_event(struct profile *p, const struct profile_event *e);
/* Size of a buffer for the names of all events. */
#define PROFILE_EVENT_NAMES_BYTES (PROFILE_EVENTS_MAX * sizeof(((struct profile_event *)0)->name))
/* Writes the names of the events of @p, separated by commas. */
void profile_event_names(const struct profile *p, char ret[PROFILE_EVENT_NAMES_BYTES]);

/* Returns the memory of @p, in bytes. */
size_t profile_bytes(const struct profile *p);
/* Counts the memory of @p, which has one owner so far, until @p is freed. profile_counted_bytes()
 * returns the total of counted profiles. Thread: any. */
void profile_count(struct profile *p);
size_t profile_counted_bytes(void);
struct profile *profile_ref(struct profile *p);
struct profile *profile_unref(struct profile *p); /* accepts NULL, returns NULL */
CLEANUP_FUNCTION(profile_unrefp, profile, profile_unref)

/* ---- building ---- */

struct record; /* samples of a running capture; thread: the engine's */

/* Creates a record that borrows @frames for its life. Beyond @max_samples, one of two samples,
 * chosen by chance, stands for both, and a warning says so. 0 or -ENOMEM. */
int record_new(const struct frame_table *frames, size_t max_samples, struct record **ret);
struct record *record_free(struct record *r);
/* Frees memory that only new stacks need. From then on, only record_finish() may be called. */
void record_seal(struct record *r);
/* Memory budget that several records share. @make_room is called before @r grows beyond it, and
 * thins records with more samples (record_shrink()). @exhausted is called when no record is left to
 * thin. Thread: the engine's. */
struct record_budget {
    size_t max_bytes;
    size_t taken_bytes; /* part of the configured limit that is in other use; max_bytes is the
                         * rest */
    size_t used_bytes;  /* bytes of the records */
    size_t other_bytes; /* bytes of other memory that the owner counts */
    void (*make_room)(void *cookie, const struct record *r, size_t bytes);
    void (*exhausted)(void *cookie);
    void *cookie;
};
static inline bool record_budget_has(const struct record_budget *b, size_t bytes)
{
    return b->used_bytes + b->other_bytes + bytes <= b->max_bytes;
}
/* Writes what @taken_bytes of the limit are used for, for sentences; "": nothing. */
#define RECORD_TAKEN_BYTES 80
const char *record_taken_text(size_t taken_bytes, char buf[RECORD_TAKEN_BYTES]);
/* Charges @r to @b, which outlives it. Without room in @b, one of two samples of @r stands for
 * both. Without samples to thin, samples with new stacks are dropped. */
void record_set_budget(struct record *r, struct record_budget *b);
size_t record_sample_bytes(const struct record *r); /* bytes that can be thinned */
/* Charges @bytes of samples that are kept beside @r until its end. record_free() returns them. The
 * first charge always succeeds. Returns false if the budget has no room for another one. */
bool record_beside(struct record *r, size_t bytes);
/* Halves the samples, as at the limit of record_new(), and frees their memory. */
void record_shrink(struct record *r);
#define RECORD_SHRINK_MIN_BYTES ((size_t)96 << 10) /* records with less are not thinned */

/* Find or add a process or a thread with equal fields: *ret is its index in the finished profile.
 * Strings are ids of @frames. 0, -ENOSPC or -ENOMEM. */
int record_process(struct record *r, const struct profile_process *p, uint32_t *ret);
/* Replaces the facts of process @process of record_process() by newer ones of the same image. A
 * caller that uses it must call record_process() only once per image. */
void record_revise_process(struct record *r, uint32_t process, const struct profile_process *facts);
int record_thread(struct record *r, const struct profile_thread *t, uint32_t *ret);
/* Renames thread @thread of record_thread(): a JVM names its threads some time after their start. A
 * prefix of the present name (the kernel keeps 15 bytes) changes nothing. A caller that uses it
 * must call record_thread() only once per thread. */
void record_rename_thread(struct record *r, uint32_t thread, uint32_t name);
/* Returns the present name of thread @thread. */
uint32_t record_thread_name(const struct record *r, uint32_t thread);
/* Adds a sample; s->stack is ignored. @stack: @n frame ids, leaf first. s->value is used if samples
 * of the event have their own values. Returns 0, -ENOSPC (a limit; counted) or -ENOMEM
 * (counted). */
int record_sample(struct record *r, const struct profile_sample *s, const uint32_t *stack,
                  size_t n);

/* Finds or adds the stack that ends with @frame, called from the stack @caller (0: none). *ret: its
 * place. 0, -ENOSPC or -ENOMEM. */
int record_place(struct record *r, uint32_t caller, uint32_t frame, uint32_t *ret);
/* Adds a sample like record_sample(); s->stack is the place of a stack. */
int record_sample_at(struct record *r, const struct profile_sample *s);

/* Finds or adds a request for profile_sample.context. @thread: of record_thread(); @name: of its
 * operation, clean, "": not known; c->operation is ignored. @time_ns: when the name was read. All
 * samples of a request get its latest name. *ret: its id, 0: no room (counted). 0 or -ENOMEM. */
int record_context(struct record *r, uint32_t thread, const struct profile_context *c,
                   struct span name, uint64_t time_ns, uint32_t *ret);
/* Stores @stack for a sample that may be added later. *ret: its place. 0, -ENOSPC or -ENOMEM (both
 * counted). */
int record_hold(struct record *r, const uint32_t *stack, size_t n, uint32_t *ret);
/* Copies at most @max frames of the stack at @place, leaf first. Returns their number. */
size_t record_held(const struct record *r, uint32_t place, uint32_t *ret, size_t max);

/* Frame ids from here on are not in the table: RECORD_LATER + n stands for frames that become known
 * only when the profile is made. */
#define RECORD_LATER UINT32_C(0x80000000)
#define RECORD_LATER_FRAMES_MAX 65 /* 64 inlined into each other, and one that is unsure */
/* Resolves RECORD_LATER + @n to frame ids of the table, innermost first. Returns their number, at
 * least 1. record_finish() calls it. */
typedef size_t (*record_later_fn)(void *cookie, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX]);
void record_set_later(struct record *r, record_later_fn fn, void *cookie);

/* Stores a moment; m->name is a string of @frames, m->process an index of record_process(). Returns
 * 0, -ENOSPC (PROFILE_MOMENTS_MAX; counted), -ENOMEM (counted). */
int record_moment(struct record *r, const struct profile_moment *m);
/* Adds a warning unless an equal one exists. Beyond PROFILE_WARNINGS_MAX, warnings are only
 * counted. */
void record_warn(struct record *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Adds a warning about one process, unless an equal one exists. Such warnings take at most half of
 * the places, so that warnings about all processes have room. Further warnings are counted, each
 * sentence once. */
void record_warn_process(struct record *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Counts @count samples that had no room at their source; the profile counts them as lost. */
void record_drop(struct record *r, uint32_t count);
/* Returns the warnings so far; borrowed until the next call for @r. */
const char *const *record_warnings(const struct record *r, size_t *ret_count);
size_t record_samples(const struct record *r); /* sum of the counts of samples so far */
size_t record_bytes(const struct record *r);   /* bytes of memory */
/* Makes an immutable profile, with copies of the names used; @r stays usable, and a later call
 * returns a longer profile. Fields of *meta (events ... symbols, lost) are copied; samples of
 * events that *meta lacks count for its first event. 0 or -ENOMEM. */
int record_finish(struct record *r, const struct profile *meta, struct profile **ret);

/* Adds a warning to @p, which has one owner so far. Beyond PROFILE_WARNINGS_MAX, or without memory,
 * the warning is dropped. */
void profile_warn(struct profile *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Warns that @selector, such as "jvm=Work", chose several processes, if @p has samples of several.
 * @p has one owner so far. */
void profile_warn_several(struct profile *p, const char *selector);

/* Sets the values of the samples of event @event, which are taken while a JVM waits for its threads
 * to stop. The samples of a safepoint share the time to reach it. A sample with PROFILE_SAMPLE_REST
 * stays only if its safepoint has no other sample. Samples outside safepoints are dropped. @p has
 * one owner so far. 0 or -ENOMEM. */
int profile_weigh_safepoints(struct profile *p, uint32_t event);
/* Returns "safepoint", "operation", "gc", "collections", ... Static. */
const char *profile_moment_kind_name(uint32_t kind);
/* Returns whether moments of @kind are counters. */
static inline bool profile_moment_counts(uint32_t kind)
{
    return kind >= MOMENT_COUNTS_COLLECTIONS && kind < MOMENT_IS_JIT;
}
/* Returns whether moments of @kind may have a known thread. */
static inline bool profile_moment_is_somebodys(uint32_t kind)
{
    return kind >= MOMENT_IS_JIT;
}

/* ---- algebra ---- */

/* Gives @p, which has one owner so far, the facts of *meta that are not derived from samples: the
 * target, the times, and the events. The events must be those of @p. */
void profile_describe(struct profile *p, const struct profile *meta);
/* Moves all times of @p, which has one owner so far, so that it starts at @start_ns of
 * CLOCK_REALTIME. */
void profile_shift(struct profile *p, uint64_t start_ns);

/* Selection of samples; for profile_merge() the times are CLOCK_REALTIME. */
struct profile_slice {
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC, [from, to); 0, UINT64_MAX: all */
    bool (*wants)(void *cookie, const struct profile *p, const struct profile_process *process);
    void *cookie; /* argument of `wants`; `wants` NULL: every process */
    /* Bit set of wanted events, by index in each profile; 0: all. */
    uint32_t of;
    const struct profile_event *as; /* event that all wanted events become; NULL: unchanged */
    /* With `spans`, a sample with a state covers the time of its value, up to its own time. Only
     * the part in the slice counts. Otherwise a sample counts wholly at its own time. */
    bool spans;
    bool whole; /* samples before from_ns count as if at from_ns; moments before from_ns do not
                 * count */
};

/* Adds up the chosen samples of profiles, one profile after the other, so that only one profile
 * need be in memory. Equal names, threads and processes are joined. Samples of an event with
 * another period are scaled and rounded, with a warning. The periods of @meta's events should be
 * the shortest. Samples of events that @meta lacks are left out, with a warning. Lost samples of a
 * profile count by the share of its time within the slice. Facts not derived from samples (events,
 * target, times) and warnings (borrowed) come from *meta. *meta and @slice (NULL: all) must outlive
 * the merger. 0 or -ENOMEM. */
struct merger;
int merger_new(const struct profile_slice *slice, const struct profile *meta, struct merger **ret);
int merger_add(struct merger *m, const struct profile *p);
int merger_finish(struct merger *m, struct profile **ret);
struct merger *merger_free(struct merger *m);
CLEANUP_FUNCTION(merger_freep, merger, merger_free)

/* Merges @count profiles in memory like a merger. The result has all their events, each with its
 * shortest period. */
int profile_merge(struct profile *const *profiles, size_t count, const struct profile_slice *slice,
                  const struct profile *meta, struct profile **ret);
/* Does the same with profiles of one time, each of other events of the same processes. Moments and
 * lost samples are not of an event, so those that every profile has count once. */
int profile_join(struct profile *const *profiles, size_t count, const struct profile *meta,
                 struct profile **ret);
