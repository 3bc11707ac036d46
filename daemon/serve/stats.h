/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the HTTP service, and their Prometheus text. */
#pragma once

#include "base/buf.h"

#define SERVE_ROUTES_MAX 64
#define SERVE_STATUSES_MAX 20

/* Answers by route and by status. The rows are in the order of the table of routes; the last row is
 * for requests without a route. */
struct answer_counts {
    uint64_t count[SERVE_ROUTES_MAX + 1][SERVE_STATUSES_MAX];
};

struct route;
struct serve_stats;

/* Counts an answer. @route: NULL for a request without a route. */
void stats_count(struct answer_counts *c, const struct route *route, unsigned status);
/* Appends all counters as Prometheus text. */
void stats_write(const struct answer_counts *c, const struct serve_stats *s, struct buf *out);
