/* SPDX-License-Identifier: Apache-2.0 */
/* Delays from samples to their names, as a histogram with fixed bounds. Thread: the engine's. */
#pragma once

#include "base/buf.h"

#define DELAYS_BOUNDS 10

struct delays {
    uint64_t counts[DELAYS_BOUNDS + 1]; /* delays by bound; the last count: above all bounds */
    uint64_t sum_ns;
};

/* Counts one delay. */
void delays_add(struct delays *d, uint64_t ns);
/* Appends Prometheus text of a histogram in seconds. */
void delays_write(const struct delays *d, const char *name, const char *help, struct buf *out);
