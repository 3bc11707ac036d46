/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When /metrics is asked for next, from when it was asked for last. With several scrapers that is
 * the shortest time between any two. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SCRAPE_GAPS 4 /* between the last scrapes */

struct scrape_times {
    uint64_t last_ns; /* 0: there was none */
    uint64_t gaps_ns[SCRAPE_GAPS];
    unsigned next;
};

/* Notes a scrape at @now_ns. */
void scrape_times_add(struct scrape_times *t, uint64_t now_ns);
/* Returns whether the next one may come in @lead_ns from @now_ns. True where no two were seen yet,
 * and where one is late. */
bool scrape_is_near(const struct scrape_times *t, uint64_t lead_ns, uint64_t now_ns);
