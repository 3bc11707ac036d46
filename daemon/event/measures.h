/* SPDX-License-Identifier: Apache-2.0 */
/* What expressions of triggers may name: measures of a JVM, each over the last 30 s. Values. */
#pragma once

enum measure {
#define MEASURE(id, name) MEASURE_##id,
#include "event/measures.def"
#undef MEASURE
    MEASURES
};
