/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two time ranges of a profile with timed samples: makes series of values by time step,
 * and tests each for a significant change. docs/signals.md describes the method. Thread: any; one
 * at a time for a struct.
 */
#pragma once

#include "profile/rank_test.h"
#include "profile/view.h"

/* Limits of series per kind; further series are left out and counted. */
#define CHANGES_FUNCTIONS_MAX 5000
#define CHANGES_LOCKS_MAX 500
#define CHANGES_OPERATIONS_MAX 500
#define CHANGES_ALLOCATIONS_MAX 1000
#define CHANGES_TESTS_MAX 1000 /* the largest functions are tested; others are counted */
/* With fewer steps per side, no change among a hundred series can be significant by ranks. If side
 * a alone has fewer, its mean is compared (mean_test.h). */
#define CHANGES_STEPS_MIN 9
#define CHANGES_EFFECT 0.2    /* percent; smaller changes are dropped */
#define CHANGES_PART 0.05     /* share of the value before; smaller changes count as drift */
#define CHANGES_PAUSES 1.0    /* pauses per minute; smaller changes are dropped */
#define CHANGES_ALLOCATED 1.0 /* percent of the bytes; smaller changes are dropped */
/* Same as CHANGES_PART, for pauses, which are irregular, and for allocation, which has few
 * samples. */
#define CHANGES_PART_PAUSES 0.2
/* share of the steps of each side that must have samples of allocation */
#define CHANGES_COVER 0.9
#define CHANGES_NEW_MAX 4.0 /* upper bound of change_newness() in the ranking */
#define CHANGES_LITTLE 0.1  /* percent: added to the divisor of change_newness() */
#define CHANGES_Q 0.005     /* upper bound of the share of false changes among all reported ones */
#define CHANGES_LONG 30     /* with this many steps of a, CHANGES_Q_LONG replaces CHANGES_Q */
#define CHANGES_Q_LONG 0.001

enum change_kind {
    CHANGE_FUNCTION,
    CHANGE_LOCK,
    CHANGE_WAIT,
    CHANGE_CATEGORY,
    CHANGE_OPERATION,   /* operations of requests */
    CHANGE_ALLOCATION,  /* bytes by class and place, and of all objects */
    CHANGE_PAUSE_TIME,  /* of collections: percent of the elapsed time */
    CHANGE_PAUSE_COUNT, /* number of pauses per minute; has the same name in the API */
    CHANGE_KINDS
};

/* Returns the name of @kind in the API. Static. */
const char *change_kind_name(enum change_kind kind);
static inline bool change_is_pause(enum change_kind kind)
{
    return kind == CHANGE_PAUSE_TIME || kind == CHANGE_PAUSE_COUNT;
}

/* Returns whether changes of @kind are percent of the time of busy threads. */
static inline bool change_is_of_waits(enum change_kind kind)
{
    return kind == CHANGE_LOCK || kind == CHANGE_WAIT;
}

/* Equal time steps of both sides: a minute each, or less if a range is short. Steps of a come
 * first. */
struct change_steps {
    uint64_t a_ns, b_ns; /* CLOCK_REALTIME: start of each side */
    uint64_t step_ns;
    size_t a, b; /* number of steps of each side */
};

/* Divides both ranges into steps. Steps of a minute begin at full minutes. 0; -ENODATA: a range is
 * too short; -EINVAL: a range is too long. */
int change_steps_of(uint64_t a_from_ns, uint64_t a_to_ns, uint64_t b_from_ns, uint64_t b_to_ns,
                    struct change_steps *ret);
/* Returns the index of the step that contains @time_ns; a + b: none does. */
size_t change_step(const struct change_steps *m, uint64_t time_ns);

/* Values of one function, lock class, wait, category or operation by step. */
struct change_series {
    char *name;   /* owned */
    char *method; /* owned: method of an operation without a tracer, "shop.Orders.get"; else NULL */
    enum change_kind kind;
    double *by_step; /* owned, [a + b] */
};

/* Which test the steps with CPU time suffice for. */
enum change_cover {
    CHANGE_COVER_NONE,
    CHANGE_COVER_FEW, /* side a has few steps, one after the other: their mean is compared */
    CHANGE_COVER_RANKS,
};

struct change_set {
    struct change_steps steps;
    struct change_series *series; /* owned */
    size_t count, room;
    size_t counts[CHANGE_KINDS], left_out[CHANGE_KINDS]; /* left_out: series without room, counted
                                                          * once per view */
    size_t untested;                                     /* functions beyond CHANGES_TESTS_MAX */
    bool one_sided[CHANGE_KINDS]; /* set by the caller: only one side is known, so the kind is not
                                   * compared */
    struct intern *names[CHANGE_KINDS]; /* owned */
    uint32_t *by_name[CHANGE_KINDS];    /* owned: index of a series + 1, by id of its name */
    double *whole[CHANGE_KINDS]; /* owned, [a + b]: total of a kind: samples of CPU time, time of
                                  * busy threads or, for pauses, elapsed time */
    struct {
        double value, count;
    } drawn[CHANGE_KINDS];   /* sum of all samples of a kind, or pauses; and their number */
    uint64_t samples[2];     /* samples added as CHANGE_FUNCTION, of a and b */
    enum change_cover cover; /* set by changes_find() */
    bool *skipped;           /* owned, [a + b]: steps with allocations that are known only in
                              * part */
};

/* A significant change. Values are percent of the CPU time in a, or of the time of busy threads in
 * a. Values of pauses: see enum change_kind. */
struct change {
    const struct change_series *of;
    double before, after, difference, low, high, q;
};

/* Begins a set. 0; -EINVAL: too few or too many steps; -ENOMEM. */
int change_set_init(struct change_set *s, const struct change_steps *steps);
void change_set_deinit(struct change_set *s);
#define CHANGE_ALL_OBJECTS "all objects" /* name of the series with all allocation */
/* Returns the test that the steps with CPU time suffice for. */
enum change_cover change_set_cover(const struct change_set *s);
/* Returns the samples of CPU time that b would have at the rate of a; steps without CPU time do not
 * count. What depends on it is not chosen by b itself: a service with few samples would else be
 * compared only where b is unusual. */
double change_set_expected(const struct change_set *s);
/* Returns whether CHANGES_COVER of the steps of side @side (0: a) with CPU time have samples of
 * @kind. Skipped steps count as without samples of CHANGE_ALLOCATION. */
bool change_set_has(const struct change_set *s, enum change_kind kind, size_t side);
/* Notes that allocations of [from, to) (CLOCK_REALTIME) are known only in part. change_set_has()
 * treats these steps as without samples. changes_find() gives them the mean of their side, in
 * proportion to their CPU time. */
void change_set_skip_allocations(struct change_set *s, uint64_t from_ns, uint64_t to_ns);
/* Returns the number of steps with CPU time that change_set_skip_allocations() noted. */
size_t change_set_skipped(const struct change_set *s);
/* Gives skipped steps the values that changes_find() uses. */
void change_set_fill_skipped(struct change_set *s);
/* Divides the times that have CPU time into shorter steps, if a side of @s has too few such steps.
 * So a service that was recorded only shortly before its release can be compared. Returns false if
 * no side has too few steps, or if shorter steps are not possible. */
bool change_steps_narrow(const struct change_set *s, struct change_steps *ret);
/* Takes the samples of both sides in @steps again, into the same set. 0 or -errno. */
typedef int (*change_take_fn)(void *cookie, const struct change_steps *steps);
/* Narrows the steps of @s until both sides have enough of them, a few times at most. The time that
 * steps show to have samples may begin and end with nearly a step without any. If narrowing does
 * not suffice, the first steps are taken again, or else those of the history, which has only whole
 * minutes, if these suffice. 0 or the result of @take. */
int change_steps_fit(struct change_set *s, change_take_fn take, void *cookie);
/* Finds or adds the series with @name. Returns its index; -ENOSPC (counted); -ENOMEM. */
ptrdiff_t change_set_put(struct change_set *s, enum change_kind kind, struct span name);
/* Adds the samples of @v by @kind: function, lock class, wait, category, operation of the request,
 * or allocated bytes. @v is a view with `exact` of one event; call it once per view and kind. The
 * time of busy threads is the CPU time added as CHANGE_FUNCTION, and the waits added as
 * CHANGE_WAIT. 0 or -ENOMEM. */
int change_set_add(struct change_set *s, const struct view *v, enum change_kind kind);

/* Notes that values added to @step may cover @ns of elapsed time, if that exceeds the length of a
 * step. Pauses are compared with elapsed time. */
void change_set_pass(struct change_set *s, size_t step, uint64_t ns);
/* Pauses of a JVM in a time. */
struct change_pauses {
    uint64_t at_ns, length_ns; /* CLOCK_REALTIME of some moment in that time; its length */
    uint64_t count, ns;        /* number and sum of the pauses */
};

/* Adds pauses to the step of p->at_ns. 0 or -ENOMEM. */
int change_set_add_pauses(struct change_set *s, const struct change_pauses *p);
/* Returns the mean on a side (0: a) of the series of @kind, a kind with at most one series. 0:
 * there is none. */
double change_set_mean(const struct change_set *s, enum change_kind kind, size_t side);

/* Returns the factor by which the value grew or shrank, at least 1. */
double change_newness(const struct change *c);
/* Finds the significant changes: *ret is an array that the caller frees. Changes are ordered by the
 * near end of the interval times the newness (up to CHANGES_NEW_MAX), the largest first. They point
 * into @s. The values of @s become percent. Steps without CPU time are dropped from @s first, on
 * both sides and for all kinds. If they suffice for no test (s->cover), *ret_count is 0. Returns 0
 * or -ENOMEM. */
int changes_find(struct change_set *s, struct change **ret, size_t *ret_count);
/* Sorts changes by the absolute difference, the greatest first. */
void changes_sort(struct change *changes, size_t count);
/* Drops functions and categories of @changes that share their change with a caller or a callee. The
 * newest change stays; among equally new changes, the deepest in the application's own code stays.
 * Also drops an operation if the function that names it has the same change. Drops the change of
 * waits for locks, or of allocation of all objects, if one class or place has half of it. Drops the
 * number of pauses if the time of pauses also changed. The order of changes_find() stays. @views:
 * views of the functions of both sides; NULL: not known. Returns the number of changes left. */
size_t changes_fold(const struct view *const views[2], struct change *changes, size_t count);
