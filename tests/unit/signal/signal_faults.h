/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM with made-up numbers, which signals are judged by. */
#pragma once

#include "suite.h"

#include "signal/watched.h"

#define MIB 1048576.0
#define GIB (1024 * MIB)
#define BEGIN_S 600    /* when the fault begins */
#define FIRES_S 50     /* at most this long after the fault's begin, the signal is on */
#define END_S 1500     /* when the fault ends */
#define RELEASED_S 120 /* at most this long after the fault's end, the signal is off */
#define STEP_S 10

struct making {
    struct number_reading r; /* the reading before, then this one */
    double s;                /* since the start of the JVM */
    bool sick;               /* true during the fault */
    double sick_s;           /* since the fault began */
};

/* Adds the numbers of 10 s of a healthy service: half a CPU, and a collection of 8 ms every 5 s. */
void healthy(struct making *m);
/* Makes the threads of @m wait for processors for 58 % of the time. */
void queues(struct making *m);
/* Begins @w, a JVM of the process @p. */
void begin(struct making *m, struct watched *w, struct process *p);
/* Frees what @w has. */
void finish(struct watched *w);
/* Adds the reading of @m and judges it. */
void judge(struct making *m, struct watched *w);
/* Makes a healthy reading, sick by @make_sick between BEGIN_S and END_S, and judges it. */
void go_on(struct watched *w, struct making *m, void (*make_sick)(struct making *m));
/* Checks that only @expected is on, beside signals of severity 1; NULL: no signal at all. */
void check_only(const struct watched *w, const char *expected, double s);
/* Returns the state of the signal @name. */
const struct signal_state *state_of(const struct watched *w, const char *name);
