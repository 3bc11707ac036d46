/* SPDX-License-Identifier: Apache-2.0 */
/* The measures that expressions of triggers may name, out of a JVM's numbers. Pure; thread: any. */
#pragma once

#include "event/measures.h"
#include "signal/numbers.h"

/* Computes those of the last 30 s. NAN: not known. */
void measures_of(const struct numbers *n, double ret[MEASURES]);
