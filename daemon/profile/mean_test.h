/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether the means of two series differ if one is too short for the rank test:
 * Student's t test with one variance for both. It assumes that both series vary alike, so the
 * longer one shows how much the shorter one may. Pure; thread: any.
 */
#pragma once

#include "profile/rank_test.h"

#define MEAN_MINUTES_MIN                                                                           \
    10 /* of both sides together: fewer do not show how much a value varies                        \
        */

/* Compares the @nb values of @b with the @na values of @a. @grain: the value of one sample. A value
 * varies at least as much as the number of its samples does by chance. 0; -EINVAL: too few values.
 */
int mean_test(const double *a, size_t na, const double *b, size_t nb, double grain,
              struct rank_result *ret);
