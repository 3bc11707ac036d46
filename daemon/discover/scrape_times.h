/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts the next request for /metrics from the times of the last ones. With several scrapers the
 * shortest time between two requests counts. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SCRAPE_GAPS 4 /* gaps between the last scrapes */

struct scrape_times {
    uint64_t last_ns; /* time of the last scrape; 0: there was none */
    uint64_t gaps_ns[SCRAPE_GAPS];
    unsigned next;
};

/* Stores a scrape at @now_ns. */
void scrape_times_add(struct scrape_times *t, uint64_t now_ns);
/* Returns true if the next scrape may come within @lead_ns from @now_ns. Also returns true before
 * two scrapes were seen, and if a scrape is late. */
bool scrape_is_near(const struct scrape_times *t, uint64_t lead_ns, uint64_t now_ns);
