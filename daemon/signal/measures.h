/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the measures that expressions of triggers may name from a JVM's numbers. Pure; thread:
 * any. */
#pragma once

#include "event/measures.h"
#include "signal/numbers.h"

/* Computes the measures of the last 30 s. NAN: not known. */
void measures_of(const struct numbers *n, double ret[MEASURES]);
