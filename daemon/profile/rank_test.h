/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether two series of minutes differ: the rank test of Mann, Whitney and Wilcoxon. It
 * assumes that the minutes of a series are independent and identically distributed, but by no
 * particular distribution. Pure; thread: any.
 */
#pragma once

#include "base/macros.h"

#define RANK_MINUTES_MAX 120 /* limit of the values of one side */
#define RANK_MINUTES_MIN 5   /* with fewer values, nothing is significant among many series */

struct rank_result {
    double p;          /* two-sided probability of such a difference by chance */
    double difference; /* median of all differences of a minute of b and one of a */
    double low, high;  /* 95 % confidence interval of the difference */
};

/* Compares the @nb values of @b with the @na values of @a. Correlated neighbouring minutes count as
 * fewer minutes. 0; -EINVAL: too few or too many values; -ENOMEM. */
int rank_test(const double *a, size_t na, const double *b, size_t nb, struct rank_result *ret);

/* Converts the p of @n tests to q, in place (Benjamini and Hochberg). q is the expected share of
 * false positives among all tests with at most this p. 0 or -ENOMEM. */
int rank_adjust(double *p, size_t n);
