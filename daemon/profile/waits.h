/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread did while it was sampled: it ran, waited for a processor, or waited for something
 * else. The names on its stack tell for what, and whether it was idle. Names of HotSpot are those
 * of JDK 8 to 28, of the kernel those of Linux 5.8 to 6.18. One thread at a time.
 */
#pragma once

#include "profile/profile.h"

/* Of samples that count time. Values are part of stored profiles: there STATE_NONE is one that ran.
 */
enum thread_state { STATE_NONE, STATE_RUNNING, STATE_RUNNABLE, STATE_BLOCKED, STATE_COUNT };

/* "running", "runnable", "blocked"; "" for STATE_NONE. */
extern const char *const STATE_NAMES[STATE_COUNT];
#define STATE_BIT(state) (1u << (state))

enum wait {
#define WAIT(id, name) WAIT_##id,
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

/* Return: STATE_NONE of an event that counts no time. */
enum thread_state sample_state(const struct profile *p, const struct profile_sample *s);

/* What is known of the stacks of one profile, as they are asked for. */
struct waits;

/* Borrows @p. 0 or -ENOMEM. */
int waits_new(const struct profile *p, struct waits **ret);
/* Accepts NULL, returns NULL. */
struct waits *waits_free(struct waits *w);
/* Return: what a thread that is blocked with @stack waits for; WAIT_BLOCKED where no frame says.
 * *ret_idle: it waits for work, and has none. */
enum wait waits_of(struct waits *w, uint32_t stack, bool *ret_idle);
