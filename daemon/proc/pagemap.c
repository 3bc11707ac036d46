/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/pagemap.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define FILE_OR_SHARED (UINT64_C(1) << 61)
#define EXCLUSIVE (UINT64_C(1) << 56)

bool pagemap_is_resident(uint64_t entry)
{
    return entry & PRESENT && entry & (FILE_OR_SHARED | EXCLUSIVE);
}

void pagemap_count(const uint64_t *entries, size_t n, struct page_counts *c)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t e = entries[i];

        if (e & PRESENT)
            *(pagemap_is_resident(e) ? &c->resident : &c->lone) += 1;
        else if (e & SWAPPED)
            c->swapped++;
    }
}
