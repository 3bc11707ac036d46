/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/heap_pages.h"

#include "base/cleanup.h"
#include "proc/pagemap.h"

/* Returns the next number of a xorshift generator. It only has to give each page a fair chance. */
static uint64_t next_random(struct heap_pages *h)
{
    uint64_t x = h->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return h->random = x;
}

void heap_pages_add(struct heap_pages *h, uint64_t at, uint64_t page_bytes, const uint64_t *entries,
                    size_t n)
{
    uint64_t before = 0;

    for (size_t i = 0; i < n; i++, at += page_bytes) {
        uint64_t place;

        if (!pagemap_is_resident(entries[i])) {
            before = 0;
            continue;
        }
        place = h->seen < HEAP_SAMPLE_PAGES ? h->seen : next_random(h) % (h->seen + 1);
        h->seen++;
        if (place < HEAP_SAMPLE_PAGES) {
            h->count = MAX(h->count, (size_t)place + 1);
            h->chosen[place] = (struct heap_page){
                at, (uint32_t)MIN(before, HEAP_SAMPLE_BEFORE_BYTES / page_bytes * page_bytes)
            };
        }
        before += page_bytes;
    }
}
