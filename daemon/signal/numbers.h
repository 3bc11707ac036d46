/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of one JVM over the last hour, a point every ten seconds, in bounded room. What is
 * not known is NAN, and so is what is computed of too little. Pure; thread: the owner's.
 */
#pragma once

#include "base/clock.h"
#include "base/macros.h"

#include <math.h>

#define NUMBERS_STEP_NS (10 * NSEC_PER_SEC)
#define NUMBERS_POINTS_MAX 366  /* of a JVM: a little more than an hour */
#define NUMBERS_TREND_POINTS 30 /* that a trend is made of at most */

enum number {
#define NUMBER(id, kind) NUMBER_##id,
#include "signal/numbers.def"
#undef NUMBER
    NUMBERS
};

/* A reading: counts since some beginning, and values. */
struct number_reading {
    double v[NUMBERS];
};

struct number_point {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    float seconds;  /* since the reading before */
    float v[NUMBERS];
};

struct numbers {
    struct number_point *points; /* owned; a ring once there are NUMBERS_POINTS_MAX */
    size_t count, room, first;
    struct number_reading last; /* the newest reading */
    uint64_t last_ns;           /* 0: there was none */
};

/* Sets all numbers of @r unknown. */
void reading_clear(struct number_reading *r);
/* Notes a reading; a point comes of every one but the first. A count that fell makes its difference
 * unknown. False: no memory; then the point is missing. */
bool numbers_add(struct numbers *n, uint64_t at_ns, const struct number_reading *r);
/* Frees what it holds, and begins again. */
void numbers_deinit(struct numbers *n);

/* Returns the @i-th point, the oldest first. */
const struct number_point *numbers_at(const struct numbers *n, size_t i);
/* Returns how many of the newest points are of the last @window_s seconds. */
size_t numbers_within(const struct numbers *n, double window_s);
/* Returns the newest value. */
double numbers_last(const struct numbers *n, enum number which);
/* Returns by how much a count rose in the last @window_s seconds. NAN if less than two thirds of
 * them are known. */
double numbers_sum(const struct numbers *n, enum number which, double window_s);
/* Returns the same a second. */
double numbers_rate(const struct numbers *n, enum number which, double window_s);
/* Returns the share of time that a count of ns took, 1 for all of one processor. */
double numbers_share(const struct numbers *n, enum number which, double window_s);
/* Returns the mean, or the greatest value, of the last @window_s seconds. NAN as of a sum. */
double numbers_mean(const struct numbers *n, enum number which, double window_s);
double numbers_max(const struct numbers *n, enum number which, double window_s);

struct trend {
    size_t points;
    double seconds;     /* from the first to the last of them */
    double first, last; /* values */
    double per_second;  /* slope of the line with the least squares */
    double agreement;   /* of all pairs: those that rise less those that fall, from -1 to 1 */
    bool above_all;     /* the last is the greatest of the whole history */
};

/* Computes how a value moved in the last @window_s seconds. @only: of points in which this count
 * rose; NUMBERS: of all. False: fewer than four points, or they are of less than two thirds of the
 * window. */
bool numbers_trend(const struct numbers *n, enum number which, enum number only, double window_s,
                   struct trend *ret);
