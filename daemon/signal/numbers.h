/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of one JVM over the last hour, a point every ten seconds, in bounded memory. A number
 * that is not known is NAN, and so is a result from too few points. Pure; thread: the owner's.
 */
#pragma once

#include "base/clock.h"
#include "base/macros.h"

#include <math.h>

#define NUMBERS_STEP_NS (10 * NSEC_PER_SEC)
#define NUMBERS_POINTS_MAX 366  /* points of a JVM: a little more than an hour */
#define NUMBERS_TREND_POINTS 30 /* most points from which a trend is computed */

enum number {
#define NUMBER(id, kind) NUMBER_##id,
#include "signal/numbers.def"
#undef NUMBER
    NUMBERS
};

/* One reading: counters and present values. */
struct number_reading {
    double v[NUMBERS];
    uint64_t cgroup; /* a hash of the files of its cgroups that were read */
};

struct number_point {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    float seconds;  /* time since the previous reading */
    float v[NUMBERS];
};

struct numbers {
    struct number_point *points; /* owned; a ring once there are NUMBERS_POINTS_MAX */
    size_t count, room, first;
    struct number_reading last; /* the newest reading */
    uint64_t last_ns;           /* time of the newest reading; 0: there was none */
};

/* Sets all numbers of @r unknown. */
void reading_clear(struct number_reading *r);
/* Adds a reading. Each one except the first makes a point. If a counter fell, its difference is
 * unknown. So are those of the cgroup's counters if they come from other files, or from the node.
 * Returns false if there is no memory; then the point is missing. */
bool numbers_add(struct numbers *n, uint64_t at_ns, const struct number_reading *r);
/* Frees the memory of @n and leaves @n empty. */
void numbers_deinit(struct numbers *n);

/* Returns the @i-th point, the oldest first. */
const struct number_point *numbers_at(const struct numbers *n, size_t i);
/* Returns how many of the newest points are of the last @window_s seconds. */
size_t numbers_within(const struct numbers *n, double window_s);
/* Returns the newest value. */
double numbers_last(const struct numbers *n, enum number which);
/* Returns the rise of a counter in the last @window_s seconds; NAN: less than two thirds of that
 * time are known. */
double numbers_sum(const struct numbers *n, enum number which, double window_s);
/* Returns the rise of a counter per second. */
double numbers_rate(const struct numbers *n, enum number which, double window_s);
/* Returns the rise of a counter of ns as a share of the time that passed; 1 is all of one
 * processor. */
double numbers_share(const struct numbers *n, enum number which, double window_s);
/* Return the mean and the greatest value of the last @window_s seconds. NAN as for a sum. */
double numbers_mean(const struct numbers *n, enum number which, double window_s);
double numbers_max(const struct numbers *n, enum number which, double window_s);

struct trend {
    size_t points;
    double seconds;     /* seconds from the first to the last point */
    double first, last; /* values */
    double per_second;  /* slope of the line with the least squares */
    double agreement;   /* share of pairs of points that rise minus the share of pairs that fall: -1
                           to 1 */
    bool above_all;     /* the last value is the greatest of all points */
};

/* Computes the trend of a value in the last @window_s seconds. @only: takes only points in which
 * this counter rose, and the last one before the window; NUMBERS: all points. Returns false if
 * there are fewer than four points, or if they cover less than two thirds of the window. */
bool numbers_trend(const struct numbers *n, enum number which, enum number only, double window_s,
                   struct trend *ret);
