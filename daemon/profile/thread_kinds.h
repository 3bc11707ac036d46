/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies threads as virtual threads, their carriers and platform threads, by names of frames.
 * The names in the class library are the same in JDK 21 to 28. One thread at a time.
 */
#pragma once

#include "profile/waits.h"

/* Name of the thread that stands for all virtual threads without a carrier. */
#define THREAD_KIND_UNMOUNTED "virtual threads"

enum thread_kind {
    THREAD_PLATFORM, /* a thread of the kernel that is not a carrier */
    THREAD_CARRIER,  /* a carrier's own work: scheduling, mounting, waiting for virtual threads */
    THREAD_VIRTUAL,
    THREAD_PINNED,  /* a virtual thread that waits and keeps its carrier */
    THREAD_UNCLEAR, /* a carrier with a cut stack: its own work, or that of a virtual thread */
    THREAD_KINDS
};

/* "platform", "carrier", ... Static. */
extern const char *const THREAD_KIND_NAMES[THREAD_KINDS];

/* Returns whether thread @thread of @p stands for all virtual threads without a carrier. */
bool thread_kind_is_unmounted(const struct profile *p, uint32_t thread);

/* The kinds of one profile's samples, computed on demand. */
struct thread_kinds;

/* Borrows @p. 0 or -ENOMEM. */
int thread_kinds_new(const struct profile *p, struct thread_kinds **ret);
/* Accepts NULL, returns NULL. */
struct thread_kinds *thread_kinds_free(struct thread_kinds *k);
/* Returns the kind of the thread of @s, a sample of the profile. */
enum thread_kind thread_kinds_of(struct thread_kinds *k, const struct profile_sample *s);
/* Returns the function that keeps a waiting virtual thread with @stack on its carrier. It is the
 * innermost native method that waits itself or has called Java code, or a class initializer. 0: not
 * known, or a monitor pins it. */
uint32_t thread_kinds_pinned_by(struct thread_kinds *k, uint32_t stack);
/* Returns whether thread @thread of the profile carries virtual threads. */
bool thread_kinds_carries(const struct thread_kinds *k, uint32_t thread);
