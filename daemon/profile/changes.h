/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changed between two times: series by minute, of a profile whose samples tell their time, and
 * the test of each. docs/signals.md has the method. Thread: any; one at a time for a struct.
 */
#pragma once

#include "profile/rank_test.h"
#include "profile/view.h"

/* Series of each kind; more are left out, and counted. */
#define CHANGES_FUNCTIONS_MAX 5000
#define CHANGES_LOCKS_MAX 500
#define CHANGES_OPERATIONS_MAX 500
#define CHANGES_TESTS_MAX 1000 /* functions that are tested, the largest; others are counted */
#define CHANGES_STEPS_MIN 8    /* with fewer, nothing is significant among a hundred series */
#define CHANGES_EFFECT 0.2     /* percent: smaller changes are none */
#define CHANGES_PART 0.05      /* of what it was: smaller changes are drift */
#define CHANGES_NEW_MAX 4.0    /* times as much: what is newer ranks as that */
#define CHANGES_LITTLE 0.1     /* percent: what is below counts as new */
#define CHANGES_Q 0.01         /* of those that are shown, so many are false */

enum change_kind {
    CHANGE_FUNCTION,
    CHANGE_LOCK,
    CHANGE_WAIT,
    CHANGE_CATEGORY,
    CHANGE_OPERATION, /* of requests */
    CHANGE_KINDS
};

/* Returns what the API calls it. Static. */
const char *change_kind_name(enum change_kind kind);

/* The steps of both sides: a minute each, or less where there are few minutes. Those of a first. */
struct change_steps {
    uint64_t a_ns, b_ns; /* CLOCK_REALTIME: where each side begins */
    uint64_t step_ns;
    size_t a, b; /* how many each side has */
};

/* Divides both ranges into steps, and has steps of a minute begin with one. 0; -ENODATA: one is too
 * short; -EINVAL: one is too long. */
int change_steps_of(uint64_t a_from_ns, uint64_t a_to_ns, uint64_t b_from_ns, uint64_t b_to_ns,
                    struct change_steps *ret);
/* Returns which step a sample of @time_ns is in; a + b: in none. */
size_t change_step(const struct change_steps *m, uint64_t time_ns);

/* One thing by step. */
struct change_series {
    char *name; /* owned */
    enum change_kind kind;
    double *by_step; /* owned, [a + b] */
};

struct change_set {
    struct change_steps steps;
    struct change_series *series; /* owned */
    size_t count, room;
    size_t counts[CHANGE_KINDS], left_out[CHANGE_KINDS]; /* left out: once for each view */
    size_t untested;                                     /* functions beyond CHANGES_TESTS_MAX */
    bool one_sided[CHANGE_KINDS]; /* set by the caller: only one side was sampled; not compared */
    struct intern *names[CHANGE_KINDS]; /* owned */
    uint32_t *by_name[CHANGE_KINDS];    /* owned: by id of a name, the index of its series + 1 */
    double *whole[CHANGE_KINDS]; /* owned, [a + b]: what all of a kind are measured by: samples of
                                  * CPU time, or the time of busy threads */
    uint64_t samples[2];         /* that were added, of a and b */
};

/* A change that is significant. Values are percent of the CPU time, or of the time of busy threads,
 * in a. */
struct change {
    const struct change_series *of;
    double before, after, difference, low, high, q;
};

/* Begins a set. 0; -EINVAL: too few or too many steps; -ENOMEM. */
int change_set_init(struct change_set *s, const struct change_steps *steps);
void change_set_deinit(struct change_set *s);
/* Adds a series with @name, unless there is one. Return: its index; -ENOSPC, which is counted;
 * -ENOMEM. */
ptrdiff_t change_set_put(struct change_set *s, enum change_kind kind, struct span name);
/* Adds the samples of @v, a view with `exact` of one event, once for each @kind. They count by
 * function, by the class of their lock, by what they waited for, by category, or by the operation
 * of their request. Threads are busy in samples of CPU time that are added as CHANGE_FUNCTION, and
 * in waits of CHANGE_WAIT. 0 or -ENOMEM. */
int change_set_add(struct change_set *s, const struct view *v, enum change_kind kind);

/* Returns how many times as much it became, or was where it became less. */
double change_newness(const struct change *c);
/* Finds the changes that are significant, in an array that the caller frees. First is what changed
 * most for sure, by the near end of its interval, times how new it is (up to CHANGES_NEW_MAX).
 * They point into @s, whose values become percent. Steps without CPU time are dropped from @s
 * first, of both sides and all kinds. With fewer than CHANGES_STEPS_MIN left on a side there are no
 * changes. 0 or -ENOMEM. */
int changes_find(struct change_set *s, struct change **ret, size_t *ret_count);
/* Sorts changes by difference, the greatest first, whether it is more or less. */
void changes_sort(struct change *changes, size_t count);
/* Drops those functions and categories of @changes whose change is that of another one which they
 * call, or are called by. The newest stays, or of what is as new the deepest of the application's
 * own code. Drops an operation that is named by a function whose change is the same, too. The
 * order stays that of changes_find(). @views: of the functions of both sides, NULL: not known.
 * Return: how many are left. */
size_t changes_fold(const struct view *const views[2], struct change *changes, size_t count);
