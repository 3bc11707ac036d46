/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of a survey share. */
#pragma once

#include "capture/looks_survey.h"

#include "profile/waits.h"

#define POOL_BYTES 64 /* bytes of a pool's name; a longer name has no pool */
#define SURVEY_PLACES_MAX (SURVEY_THREADS_MAX + LOOKED_VIRTUAL_MAX)

/* What a stack shows about the thread that waits there. Functions are of the frame table; 0: none.
 */
struct stack_says {
    const char *wait; /* static */
    bool busy, task;  /* busy: it waits during its work; task: within a task of an executor */
    bool input;       /* it waits for its next input, as tasks without end do */
    bool result;      /* it waits for a result of another thread */
    bool permit;      /* it waits for a permit, or for an object of a pool */
    bool carrier, pinned;
    uint32_t code;      /* the method that waits */
    uint32_t caller;    /* first function outside the JDK and pools of objects */
    uint32_t pinned_by; /* the function that pins */
    uint32_t lock;      /* of a lock's stack: function of its class */
    uint32_t owner;     /* of a lock's stack: string of its owner's name; 0: unknown */
};

/* A thread, and its place. */
struct place {
    char pool[POOL_BYTES];
    struct span name; /* name of the thread, in the frame table */
    bool known;       /* the thread's place is known */
    bool counted;     /* already counted with another thread */
    struct stack_says says;
};

struct survey {
    struct looks *l;
    const struct looked_thread *threads[SURVEY_THREADS_MAX];
    struct place places[SURVEY_PLACES_MAX]; /* of threads; then of those of `virtual` */
    bool waits[SURVEY_THREADS_MAX];         /* looked_thread_waits(), in a method */
    size_t count, left_out;
    const struct looked_virtual *virtual; /* NULL: no virtual thread is known */
};

/* Returns the stack of the lock that @t waits for, in l->stacks; 0: none. */
static inline uint32_t survey_lock_of(const struct looked_thread *t)
{
    return t->placed ? t->lock_stack : t->left_lock;
}

/* looks_survey_stacks.c: reads all places of @s. 0 or -ENOMEM. */
int survey_read_stacks(struct survey *s);

/* ---- looks_survey_code.c ---- */

struct survey_code {
    const struct profile *p;
    uint8_t *traits; /* owned, [function_count]; 0: not looked up */
};

/* Begins to read the code of @p. 0 or -ENOMEM. */
int survey_code_init(struct survey_code *c, const struct profile *p);
void survey_code_deinit(struct survey_code *c);
/* Reads what the methods of @stack say. Finds the method that waits: the one nearest to the leaf
 * that is not the JDK's, else the nearest. Functions are of the profile. */
void survey_read_code(struct survey_code *c, uint32_t stack, struct stack_says *ret);

/* looks_survey_text.c: writes "Class.method" of @function without its package. */
void survey_write_code(const struct survey *s, uint32_t function, char out[WAITS_CODE_BYTES]);
/* looks_survey_locks.c: finds the class of locks with the most waiting threads. */
void survey_judge_locks(struct survey *s, struct waits_lock *ret);
/* looks_survey_virtual.c: counts the carriers, and finds the place in which most of the pinned ones
 * wait. */
void survey_judge_carriers(const struct survey *s, struct waits_carriers *ret);
/* looks_survey_virtual.c: finds the method in which most virtual threads wait for a permit or for
 * an object of a pool. Also finds what the others below that method wait for. */
void survey_judge_virtual(const struct survey *s, struct waits_virtual *ret);
