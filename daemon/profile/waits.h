/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a sampled thread: running, waiting for a processor, or blocked. The functions on its
 * stack determine the wait, and whether the thread is idle. Names of HotSpot are those of JDK 8 to
 * 28, names of the kernel those of Linux 5.8 to 6.18. One thread at a time.
 */
#pragma once

#include "profile/profile.h"

/* State of a thread in samples that count time. Values are part of stored profiles, in which
 * STATE_NONE means running. */
enum thread_state { STATE_NONE, STATE_RUNNING, STATE_RUNNABLE, STATE_BLOCKED, STATE_COUNT };

/* "running", "runnable", "blocked"; "" for STATE_NONE. */
extern const char *const STATE_NAMES[STATE_COUNT];
#define STATE_BIT(state) (1u << (state))

enum wait {
#define WAIT(id, name, words) WAIT_##id,
#include "profile/waits.def"
#undef WAIT
    WAIT_COUNT
};

/* "sleep", "lock", ... Static. */
extern const char *const WAIT_NAMES[WAIT_COUNT];

/* Returns the kind of the synthetic frame that stands for @wait. */
static inline enum frame_kind wait_frame(enum wait wait)
{
    return (enum frame_kind)(FRAME_WAIT_RUNNABLE + (unsigned)wait);
}
static inline bool frame_kind_is_wait(uint32_t kind)
{
    return kind >= FRAME_WAIT_RUNNABLE && kind <= FRAME_WAIT_BLOCKED;
}

/* Returns the state of @s; STATE_NONE: the event counts no time. */
enum thread_state sample_state(const struct profile *p, const struct profile_sample *s);

/* The waits of one profile's stacks, computed on demand. */
struct waits;

/* Borrows @p. 0 or -ENOMEM. */
int waits_new(const struct profile *p, struct waits **ret);
/* Accepts NULL, returns NULL. */
struct waits *waits_free(struct waits *w);
/* Returns the wait of a thread that is blocked with @stack; WAIT_BLOCKED: no frame determines it.
 * *ret_idle: the thread waits for work. */
enum wait waits_of(struct waits *w, uint32_t stack, bool *ret_idle);
