/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two series of minutes differ: the rank test of Mann, Whitney and Wilcoxon. It asks only
 * that minutes of one series are alike and independent, and nothing of their distribution. Pure;
 * thread: any.
 */
#pragma once

#include "base/macros.h"

#define RANK_MINUTES_MAX 120 /* of one side */
#define RANK_MINUTES_MIN 5   /* with fewer, nothing is significant among many series */

struct rank_result {
    double p;          /* how likely as much is by chance; both sides */
    double difference; /* median of all differences of a minute of b and one of a */
    double low, high;  /* between them it lies with a probability of 95 % */
};

/* Compares @b with @a, of @na and @nb values each. Where neighbouring minutes are alike, they count
 * as fewer. 0; -EINVAL: too few or too many values; -ENOMEM. */
int rank_test(const double *a, size_t na, const double *b, size_t nb, struct rank_result *ret);

/* Turns the p of @n tests into q, in place (Benjamini and Hochberg). q is the share of false ones
 * among all that are at most as likely. 0 or -ENOMEM. */
int rank_adjust(double *p, size_t n);
