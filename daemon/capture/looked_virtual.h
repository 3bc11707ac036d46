/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of virtual threads without a carrier, as the recorder's looks find them, for surveys
 * (looks_survey.h). Keeps one look per JVM for each survey, so other looks cost nothing. Pure;
 * thread: the owner's.
 */
#pragma once

#include "capture/virtual_wishes.h"

#define LOOKED_VIRTUAL_MAX 64                 /* places kept of a JVM; more are left out */
#define LOOKED_VIRTUAL_NS (30 * NSEC_PER_SEC) /* an older look is not used */

struct looked_virtual_place {
    uint32_t stack;
    double threads;
};

struct looked_virtual {
    int32_t host_pid;
    bool wanted;      /* the next look is kept */
    uint64_t look_ns; /* CLOCK_MONOTONIC of the look that is kept */
    double left_out;  /* number of threads at further places */
    size_t count;
    struct looked_virtual_place at[LOOKED_VIRTUAL_MAX];
};

struct looked_virtuals {
    struct looked_virtual *jvms; /* owned; NULL: no virtual thread was seen */
    size_t count;
};

/* Frees what it holds. */
void looked_virtuals_deinit(struct looked_virtuals *l);
/* Returns the entry of JVM @host_pid, to add a place of the look at @look_ns. NULL: the look is not
 * kept. */
struct looked_virtual *looked_virtuals_keep(struct looked_virtuals *l, int32_t host_pid,
                                            uint64_t look_ns);
/* Records that JVM @host_pid was looked at at @look_ns, even if no thread waits there any more. */
void looked_virtuals_look(struct looked_virtuals *l, int32_t host_pid, uint64_t look_ns);
/* Adds @threads that wait with @stack. */
void looked_virtual_add(struct looked_virtual *jvm, uint32_t stack, double threads);
/* Returns the kept look at @host_pid, and requests the next one. NULL: there is no look of the last
 * LOOKED_VIRTUAL_NS before @now_ns. */
const struct looked_virtual *looked_virtuals_get(struct looked_virtuals *l, int32_t host_pid,
                                                 uint64_t now_ns);
/* Drops all places, as their stacks are no longer held. */
void looked_virtuals_forget(struct looked_virtuals *l);
