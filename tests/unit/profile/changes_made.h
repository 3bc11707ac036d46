/* SPDX-License-Identifier: Apache-2.0 */
/* A made service for tests of changes: minutes of functions, pauses and allocation, drawn at
 * random. */
#pragma once

#include "suite.h"

#include "profile/changes.h"

#include <math.h>

#define FUNCTIONS 300
#define A 10
#define B 10
#define MINUTE_NS (60 * NSEC_PER_SEC)
#define SAMPLES 1140.0 /* in a minute at 19 Hz on one CPU */

static uint64_t state;

/* Begins the drawn numbers again: call it before each test. */
static inline void draw_again(void)
{
    state = 5;
}

static inline double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static inline double normal(void)
{
    double first = uniform();

    return sqrt(-2 * log(first)) * cos(2 * M_PI * uniform());
}

/* Draws a number of samples with the mean @mean. */
static inline double drawn(double mean)
{
    return fmax(floor(mean + sqrt(mean) * normal() + 0.5), 0);
}

/* Adds some 12 pauses, which take 1 % of the time. The numbers drawn for functions stay the same.
 */
static inline void add_pauses(struct change_set *s, size_t minute, double load)
{
    uint64_t kept = state, count;
    double ns;

    state ^= UINT64_C(0x5bd1e995);
    uniform();
    count = (uint64_t)drawn(12 * load);
    ns = (double)count * 5e7 * exp(0.3 * normal());
    state = kept;
    ck_assert_int_eq(
        change_set_add_pauses(
            s, &(struct change_pauses){ minute * MINUTE_NS, MINUTE_NS, count, (uint64_t)ns }),
        0);
}

#define PLACES 40
#define PLACE 5          /* its bytes grow by a share */
#define ALLOCATED 1200.0 /* samples in a minute, of the recorder */
#define PLACE_NAME "byte[] in shop.Orders.place"
static double grows; /* share of all bytes */

/* Adds the bytes that places allocate, in proportion to the load. The numbers drawn for functions
 * stay the same. */
static inline void add_allocations(struct change_set *s, size_t minute, double load)
{
    uint64_t kept = state;
    ptrdiff_t all = change_set_put(s, CHANGE_ALLOCATION, SPAN(CHANGE_ALL_OBJECTS));
    double sum = 0;

    state ^= UINT64_C(0x2545f491);
    uniform();
    for (int i = 0; i < PLACES; i++)
        sum += 1.0 / (i + 2);
    for (int i = 0; i < PLACES; i++) {
        double share = 1.0 / (i + 2) / sum + (i == PLACE && minute >= A ? grows : 0), bytes;
        char name[64];
        ptrdiff_t at;

        snprintf(name, sizeof(name), i == PLACE ? PLACE_NAME : "int[] in a.B.c%d", i);
        at = change_set_put(s, CHANGE_ALLOCATION, span_of(name));
        ck_assert(all >= 0 && at >= 0);
        bytes = 5e6 * drawn(ALLOCATED * load * share);
        s->series[at].by_step[minute] += bytes;
        s->series[all].by_step[minute] += bytes;
        s->whole[CHANGE_ALLOCATION][minute] += bytes;
    }
    state = kept;
}

/* Makes a service: shares fall off as one over the rank, and load and mix vary from minute to
 * minute. In the minutes of b, function @f takes
 * @more of the whole in addition. @wander: variation of the mix. */
static inline void make(struct change_set *s, int f, double more, double wander)
{
    struct change_steps m = {
        .a_ns = 0, .b_ns = A * MINUTE_NS, .step_ns = MINUTE_NS, .a = A, .b = B
    };
    double sum = 0, mix[FUNCTIONS] = { 0 };

    ck_assert_int_eq(change_set_init(s, &m), 0);
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[32];

        snprintf(name, sizeof(name), "f%d", i);
        ck_assert_int_eq((int)change_set_put(s, CHANGE_FUNCTION, span_of(name)), i);
        sum += 1.0 / (i + 2);
    }
    for (size_t minute = 0; minute < A + B; minute++) {
        double load = 0.7 + 0.6 * uniform();

        for (int i = 0; i < FUNCTIONS; i++) {
            double share = 1.0 / (i + 2) / sum, n;

            mix[i] = 0.5 * mix[i] + wander * normal();
            n = drawn(SAMPLES * load * share * exp(mix[i]));
            if (i == f && minute >= A)
                n += drawn(SAMPLES * load * more);
            s->series[i].by_step[minute] = n;
            s->whole[CHANGE_FUNCTION][minute] += n;
        }
        add_pauses(s, minute, load);
        add_allocations(s, minute, load);
    }
}
