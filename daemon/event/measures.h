/* SPDX-License-Identifier: Apache-2.0 */
/* The measures of a JVM that expressions of triggers may name, each over the last 30 s. Values. */
#pragma once

enum measure {
#define MEASURE(id, name) MEASURE_##id,
#include "event/measures.def"
#undef MEASURE
    MEASURES
};
