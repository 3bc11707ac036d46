/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses pages of the Java heap at random, while all of its pages are counted. Pure. */
#pragma once

#include "hotspot/heap_sample.h"

struct heap_pages {
    uint64_t seen;   /* pages in memory so far */
    uint64_t random; /* state of the generator; the first value is any number but 0 */
    size_t count;
    struct heap_page chosen[HEAP_SAMPLE_PAGES];
};

/* Chooses among the @n pages of @entries (proc/pagemap.h); the first page is at @at. Each page in
 * memory is chosen with the same probability. */
void heap_pages_add(struct heap_pages *h, uint64_t at, uint64_t page_bytes, const uint64_t *entries,
                    size_t n);
