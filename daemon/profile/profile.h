/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of profile/: the finished, immutable profile, and the recorder that builds one. A
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
    uint32_t owner; /* the user that may look into it, 0: root alone; the store does not keep it */
    uint32_t service; /* string: the service that a JVM is (discover/service.h); 0: not known */
    /* Strings; the store keeps neither. The service's version; further attributes of OpenTelemetry,
     * "key=value" on a line each. 0: none. */
    uint32_t version, attributes;
};
_Static_assert(sizeof(struct profile_process) == 48, "profile_process must have no padding");

struct profile_thread {
    int32_t
        host_tid;  /* not above 0: several threads under one name, which no text gives a number */
    uint32_t name; /* string */
    uint32_t process; /* index */
};

struct profile_stack {
    uint32_t parent; /* index of the caller's node; 0 is the root node, which is its own parent */
    uint32_t frame;  /* index in frames */
    uint32_t depth;  /* 0 for the root node */
};

/* What samples of a profile were taken of. */
struct profile_event {
    char name[EVENT_NAME_BYTES]; /* "cpu" */
    char unit[16];               /* "nanoseconds", "bytes", "count": of values */
    uint64_t period;             /* value between two samples, on average; 0: not known yet */
    bool valued;                 /* each sample has a value of its own; else it is count x period */
};

/* What is known of the request that a sample was taken in. */
enum profile_context_state {
    PROFILE_CONTEXT_UNASKED, /* nobody asked for it */
    PROFILE_CONTEXT_NO_TRACER,
    PROFILE_CONTEXT_UNREADABLE,
    PROFILE_CONTEXT_NO_REQUEST,
    PROFILE_CONTEXT_IDS, /* from here on it has ids */
    PROFILE_CONTEXT_NAMED,
    PROFILE_CONTEXT_STATES,
};

/* A request, in one of its spans. */
struct profile_context { /* no padding: it is a key while recording */
    uint64_t trace_high, trace_low;
    uint64_t span;      /* the one that the thread was in */
    uint64_t root;      /* the first one in its process; 0: not known */
    uint32_t operation; /* string: "GET /orders/{id}"; 0: not known */
    uint32_t state;     /* enum profile_context_state */
};
_Static_assert(sizeof(struct profile_context) == 40, "profile_context must have no padding");
/* Returns whether it is known which request @c is of, and not the operation alone. */
static inline bool profile_context_has_ids(const struct profile_context *c)
{
    return c->trace_high || c->trace_low || c->span || c->root;
}
#define PROFILE_OPERATIONS_MAX 1000u /* of a service; the others share a name */

struct profile_sample {
    uint64_t time_ns;      /* CLOCK_MONOTONIC */
    uint64_t value;        /* in its event's unit; 0 while recording: count x period */
    uint32_t count;        /* samples it stands for (>= 1) */
    uint32_t stack : 24;   /* index of the leaf's node; 0: no frames */
    uint32_t mode : 8;     /* enum sample_mode */
    uint32_t thread : 24;  /* index */
    uint32_t event : 8;    /* index in the profile's events */
    uint32_t context : 18; /* index in contexts; 0: none was asked for */
    uint32_t flags : 14;   /* PROFILE_SAMPLE_* */
};
_Static_assert(sizeof(struct profile_sample) == 32, "a recorder keeps millions of them");
#define PROFILE_CONTEXTS_MAX (1u << 18)
#define PROFILE_SAMPLE_UNKNOWN 1     /* at least one frame has no name */
#define PROFILE_SAMPLE_TRUNCATED 2   /* the root was not reached */
#define PROFILE_SAMPLE_STATE_SHIFT 2 /* bits 2..3: enum thread_state (profile/waits.h) */
#define PROFILE_SAMPLE_STATE(flags) ((flags) >> PROFILE_SAMPLE_STATE_SHIFT & 3)
#define PROFILE_SAMPLE_CATEGORY_SHIFT 4 /* bits 4..6: enum category (profile/category.h) */
#define PROFILE_SAMPLE_CATEGORY(flags) ((flags) >> PROFILE_SAMPLE_CATEGORY_SHIFT & 7)
#define PROFILE_SAMPLE_FROZEN                                                                      \
    0x80 /* the root was reached, but frames of a virtual thread were not */
#define PROFILE_SAMPLE_CUT (PROFILE_SAMPLE_TRUNCATED | PROFILE_SAMPLE_FROZEN)
#define PROFILE_SAMPLE_END_SHIFT 8 /* bits 8..12: enum unwind_end (unwind/unwind.h) */
#define PROFILE_SAMPLE_END(flags) ((flags) >> PROFILE_SAMPLE_END_SHIFT & 31)
#define PROFILE_ENDS 32

#define PROFILE_SAMPLE_REST                                                                        \
    0x2000 /* while recording: of a safepoint, if it has no other sample                           \
            */

/* Returns why a stack is cut, as a label ("no_rule") and as words ("native code without an unwind
 * rule"). Static. */
const char *profile_end_name(unsigned end);
const char *profile_end_words(unsigned end);

/* What warnings say that are of the whole profile: another that takes over its samples has none of
 * them. */
#define PROFILE_SEVERAL_TEXT "processes, and this profile adds them up: "
#define PROFILE_EMPTY_TEXT "no samples: "

/* A wait for a lock whose owner is known has, on top of its stack, a frame of kind FRAME_THREAD
 * with the owner's name. A live object has one with its age, in collections. Views take it off. */

/* What a JVM did as a whole. */
enum profile_moment_kind {
    MOMENT_IS_SAFEPOINT,
    MOMENT_IS_OPERATION,
    MOMENT_IS_GC,
    /* From here on: how many in that time, by the JVM's own counters. */
    MOMENT_COUNTS_COLLECTIONS,
    MOMENT_COUNTS_SAFEPOINTS,
    MOMENT_COUNTS_COMPILATIONS,
    MOMENT_COUNTS_CLASSES_LOADED,
    MOMENT_COUNTS_CLASSES_UNLOADED,
    /* And from here on single ones again, with the thread that did it. */
    MOMENT_IS_JIT,
    MOMENT_IS_CLASS_LOAD,
    MOMENT_IS_CLASS_UNLOAD,
    MOMENT_SORTS,
};
struct profile_moment {
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    /* Of a safepoint: from its start until all threads had stopped. Of what is counted: how long it
     * took in all, if it is known. Else 0. */
    uint64_t reach_ns;
    uint32_t name;     /* string: the operation, the collector, method, class; 0: not known */
    uint32_t process;  /* index */
    uint32_t kind;     /* enum profile_moment_kind */
    uint32_t count;    /* of what is counted; else 0 */
    uint32_t by;       /* string: the thread that did it; 0: not known */
    uint32_t compiler; /* string; 0: not known, or no compilation */
};
#define PROFILE_MOMENTS_MAX 100000

/* All arrays but events are owned by the profile; [0] of frames, functions, modules and stacks is
 * the nameless one. */
struct profile {
    struct intern *strings;
    struct module *modules;
    struct function *functions;
    struct frame *frames;
    struct profile_stack *stacks;
    struct profile_process *processes;
    struct profile_thread *threads;
    struct profile_sample *samples; /* by time */
    struct profile_moment *moments; /* by start */
    size_t moment_count;
    struct profile_context *contexts; /* [0]: of samples without; NULL: there are none */
    size_t context_count;
    uint64_t context_states[PROFILE_CONTEXT_STATES]; /* samples */
    size_t module_count, function_count, frame_count, stack_count, process_count, thread_count,
        sample_count;

    char id[33]; /* of the capture in the store, "" where it is in none */
    struct profile_event events[PROFILE_EVENTS_MAX];
    uint32_t event_count;      /* >= 1 in a finished profile */
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t start_realtime_ns;
    char scope[PROFILE_SCOPE_BYTES]; /* what its capture was limited to: who may see it; "": all */
    char target[256];                /* what was asked for, as a person would say it; clean */
    bool by_process;   /* the target selects several processes: a first frame for each */
    char symbols[256]; /* source of Java names and why: "memory: ..." */
    uint64_t lost;     /* samples that were taken but did not arrive */
    uint64_t total, unknown, truncated;   /* samples (sum of counts), with an unnamed frame, cut */
    uint64_t truncated_by[PROFILE_ENDS];  /* the truncated ones by enum unwind_end */
    char *warnings[PROFILE_WARNINGS_MAX]; /* owned sentences with the remedy */
    size_t warning_count;

    size_t counted_bytes; /* what profile_count() added */
    _Atomic unsigned refs;
};

/* Return: the frame that names the thread which had the lock that sample @s waited for; 0: none. Of
 * a live object it says how many collections that has survived. */
static inline uint32_t profile_lock_owner(const struct profile *p, const struct profile_sample *s)
{
    uint32_t frame = s->stack ? p->stacks[s->stack].frame : 0;

    return frame && p->frames[frame].kind == FRAME_THREAD ? frame : 0;
}

/* Return: the index in @p of the event of the same name and unit, PROFILE_EVENTS_MAX where it has
 * none. */
uint32_t profile_find_event(const struct profile *p, const struct profile_event *e);
bool profile_has_event(const struct profile *p, const char *name);
/* Returns whether frame @frame, as profile_lock_owner() gives it of samples of event @event, is an
 * age: *ret_age, in collections. */
bool profile_age(const struct profile *p, uint32_t event, uint32_t frame, uint64_t *ret_age);
/* Return: the event as in profiles, sampled at @period (struct wanted_event). */
struct profile_event profile_event_of(const struct event_info *info, uint64_t period);
/* Samples per second of an event that counts time; else 0. */
static inline double profile_event_hz(const struct profile_event *e)
{
    return strcmp(e->unit, "nanoseconds") == 0 ? clock_hz(e->period) : 0.0;
}

/* Adds @e to @p's events, or takes its period where @p has the event at a longer one. Return: its
 * index, PROFILE_EVENTS_MAX where there is no room. */
uint32_t profile_add_event(struct profile *p, const struct profile_event *e);
/* Writes the names of @p's events with commas between them; what does not fit is left out. */
#define PROFILE_EVENT_NAMES_BYTES (PROFILE_EVENTS_MAX * sizeof(((struct profile_event *)0)->name))
/* Gives the names of its events, separated by commas. */
void profile_event_names(const struct profile *p, char ret[PROFILE_EVENT_NAMES_BYTES]);

/* Returns its bytes of memory. */
size_t profile_bytes(const struct profile *p); /* of memory */
/* Counts the memory of @p, which has one owner so far, until it is freed; and the sum of what is
 * counted. Thread: any. */
void profile_count(struct profile *p);
size_t profile_counted_bytes(void);
struct profile *profile_ref(struct profile *p);
struct profile *profile_unref(struct profile *p); /* accepts NULL, returns NULL */
CLEANUP_FUNCTION(profile_unrefp, profile, profile_unref)

/* ---- building ---- */

struct record; /* a capture being taken: thread: the engine's */

/* Borrows @frames for its life. @max_samples: beyond it of two samples one, by chance, stands for
 * both, and it says so. */
int record_new(const struct frame_table *frames, size_t max_samples, struct record **ret);
struct record *record_free(struct record *r);
/* What several records may take of memory together. @make_room is called before @r grows by more
 * than there is. It thins others (record_shrink()) that have more samples. @exhausted is called
 * when nothing is left to thin. Thread: the engine's. */
struct record_budget {
    size_t max_bytes;
    size_t used_bytes;  /* of the records */
    size_t other_bytes; /* and of what its owner counts besides */
    void (*make_room)(void *cookie, const struct record *r, size_t bytes);
    void (*exhausted)(void *cookie);
    void *cookie;
};
static inline bool record_budget_has(const struct record_budget *b, size_t bytes)
{
    return b->used_bytes + b->other_bytes + bytes <= b->max_bytes;
}
/* From now on @r counts to @b, which outlives it. If @b has no room, of two samples of @r one
 * stands for both. If there are none to thin, samples with new stacks are dropped. */
void record_set_budget(struct record *r, struct record_budget *b);
size_t record_sample_bytes(const struct record *r); /* the part of its memory that can be thinned */
/* Halves the samples, as beyond the limit of record_new(), and gives their memory back. */
void record_shrink(struct record *r);
#define RECORD_SHRINK_MIN_BYTES ((size_t)96 << 10) /* with less, it is left whole */

/* Ids are indexes into the finished profile. Keys: processes by (pid, start, exec), threads by
 * (process, tid). @name etc. are ids of @frames' strings. 0 or -ENOMEM. */
int record_process(struct record *r, const struct profile_process *p, uint32_t *ret);
/* Gives process @process, which record_process() gave, other facts of the same image. A caller that
 * does so calls record_process() once for an image. */
void record_revise_process(struct record *r, uint32_t process, const struct profile_process *facts);
int record_thread(struct record *r, const struct profile_thread *t, uint32_t *ret);
/* Names thread @thread, which record_thread() gave, as it is called by now: a JVM names its threads
 * some time after they have started. A name that is the beginning of the one it has (the kernel
 * keeps 15 bytes) changes nothing. A caller that renames calls record_thread() for no thread twice.
 */
void record_rename_thread(struct record *r, uint32_t thread, uint32_t name);
/* Adds a sample; s->stack is not looked at. @stack: @n frame ids, leaf first. Of an event whose
 * samples have values of their own s->value is one. Return: 0, -ENOSPC (a limit; counted) or
 * -ENOMEM (counted). */
int record_sample(struct record *r, const struct profile_sample *s, const uint32_t *stack,
                  size_t n);

/* Adds @frame, called by what @caller stands for (0: by nothing): *ret stands for the stack that
 * ends with it. 0, -ENOSPC or -ENOMEM. */
int record_place(struct record *r, uint32_t caller, uint32_t frame, uint32_t *ret);
/* As record_sample(), of the stack that s->stack stands for. */
int record_sample_at(struct record *r, const struct profile_sample *s);

/* Gets the id of a request for profile_sample.context. @thread: of record_thread(); @name: of its
 * operation, clean, "": not known; c->operation is not looked at. The name that a request had last
 * is that of all its samples. *ret 0: there is no room (counted). 0 or -ENOMEM. */
int record_context(struct record *r, uint32_t thread, const struct profile_context *c,
                   struct span name, uint32_t *ret);
/* Keeps @stack for a sample that may be added later: *ret is its place. 0 or as record_sample(),
 * which counts it. */
int record_hold(struct record *r, const uint32_t *stack, size_t n, uint32_t *ret);
/* Copies the frames of a stack that is kept, leaf first, at most @max. Returns their number. */
size_t record_held(const struct record *r, uint32_t place, uint32_t *ret, size_t max);

/* Ids of frames from here on are of no table: RECORD_LATER + n stands for what is known only when
 * the profile is made. */
#define RECORD_LATER UINT32_C(0x80000000)
#define RECORD_LATER_FRAMES_MAX 64
/* What RECORD_LATER + @n has become: frame ids of the table, innermost first, and their number, at
 * least 1. Called by record_finish(). */
typedef size_t (*record_later_fn)(void *cookie, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX]);
void record_set_later(struct record *r, record_later_fn fn, void *cookie);

/* Keeps a moment; m->name is a string of @frames, m->process as of record_process(). Return: 0,
 * -ENOSPC (PROFILE_MOMENTS_MAX; counted), -ENOMEM (counted). */
int record_moment(struct record *r, const struct profile_moment *m);
/* Adds a warning once (equal sentences are one). Beyond PROFILE_WARNINGS_MAX, they are counted. */
void record_warn(struct record *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Adds a warning of one process among many, once. These take half of the places, so that there is
 * room for what concerns all. Sentences beyond that are counted, each once. */
void record_warn_process(struct record *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Counts a sample for which there was no room where it came from: the profile tells it as lost. */
void record_drop(struct record *r, uint32_t count);
size_t record_samples(const struct record *r); /* sum of counts so far */
size_t record_bytes(const struct record *r);   /* of memory */
/* Makes the immutable profile out of it, copying the names it uses; @r stays usable (a later call
 * gives a longer profile). Fields of *meta (events ... symbols, lost) are copied; samples of events
 * that it has not are of its first. 0 or -ENOMEM. */
int record_finish(struct record *r, const struct profile *meta, struct profile **ret);

/* Adds a warning to @p, which has one owner so far. Beyond PROFILE_WARNINGS_MAX, or without
 * memory, it is dropped. */
void profile_warn(struct profile *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Warns that @selector, such as "jvm=Work", chose several processes, if @p has samples of several.
 * @p is nobody else's yet. */
void profile_warn_several(struct profile *p, const char *selector);

/* Weighs the samples of event @event, which were taken while a JVM waited for its threads. Those of
 * one safepoint share the time that it took to reach. One without samples keeps the sample with
 * PROFILE_SAMPLE_REST; others lose it. Samples of no safepoint go. @p is nobody else's
 * yet. 0 or -ENOMEM. */
int profile_weigh_safepoints(struct profile *p, uint32_t event);
/* "safepoint", "operation", "gc", "collections". Static. */
const char *profile_moment_kind_name(uint32_t kind);
/* Returns whether such a moment counts others. */
static inline bool profile_moment_counts(uint32_t kind)
{
    return kind >= MOMENT_COUNTS_COLLECTIONS && kind < MOMENT_IS_JIT;
}
/* Returns whether the thread that did it may be known. */
static inline bool profile_moment_is_somebodys(uint32_t kind)
{
    return kind >= MOMENT_IS_JIT;
}

/* ---- algebra ---- */

/* Moves all times of a profile that has one owner so far, so that it starts at @start_ns of
 * CLOCK_REALTIME. */
void profile_shift(struct profile *p, uint64_t start_ns);

/* Which samples of a profile are meant; of profile_merge() the times are CLOCK_REALTIME. */
struct profile_slice {
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC, [from, to); 0, UINT64_MAX: all */
    bool (*wants)(void *cookie, const struct profile *p, const struct profile_process *process);
    void *cookie; /* for wants; NULL wants: every process */
    /* The events of each profile that are wanted, as bits by their index; 0: all. */
    uint32_t of;
    const struct profile_event *as; /* what they become; NULL: what they are */
    /* A sample with a state covers the time of its value, up to its own: the part that lies in the
     * slice counts. Else a sample counts by its own time. */
    bool spans;
    bool whole; /* what is before from_ns counts, too, as of from_ns; pauses do not */
};

/* Adds the chosen samples of profiles up, one profile after the other, so that only one of them
 * need be in memory. Names, threads and processes that are equal become one. Samples of the same
 * event with another period count for more or less (rounded: it says so). The periods of @meta's
 * events should be the shortest. Samples of events that @meta lacks are left out (it says so). What
 * a part has lost counts by how much of its time is chosen. Facts not derived from samples (events,
 * target, times) and warnings (borrowed) come from *meta, which must outlive the merger as must
 * @slice (NULL: all). 0 or -ENOMEM. */
struct merger;
int merger_new(const struct profile_slice *slice, const struct profile *meta, struct merger **ret);
int merger_add(struct merger *m, const struct profile *p);
int merger_finish(struct merger *m, struct profile **ret);
struct merger *merger_free(struct merger *m);
CLEANUP_FUNCTION(merger_freep, merger, merger_free)

/* Does the same of @count profiles that are there already; the result's events are theirs, each
 * with the shortest of its periods. */
int profile_merge(struct profile *const *profiles, size_t count, const struct profile_slice *slice,
                  const struct profile *meta, struct profile **ret);
