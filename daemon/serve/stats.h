/* SPDX-License-Identifier: Apache-2.0 */
/* What the service counts of its own work, and how Prometheus reads it. */
#pragma once

#include "base/buf.h"

#define SERVE_ROUTES_MAX 64
#define SERVE_STATUSES_MAX 20

/* Answers by row of the table of routes (the last: of none) and by status. */
struct answer_counts {
    uint64_t count[SERVE_ROUTES_MAX + 1][SERVE_STATUSES_MAX];
};

struct route;
struct serve_stats;

/* @route: NULL for a request that fits none. */
void stats_count(struct answer_counts *c, const struct route *route, unsigned status);
/* Appends all of it as Prometheus text. */
void stats_write(const struct answer_counts *c, const struct serve_stats *s, struct buf *out);
