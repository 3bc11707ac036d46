/* SPDX-License-Identifier: Apache-2.0 */
/* Searches in lists by index. Thread: any. */
#pragma once

#include "base/macros.h"

/* Return whether @is holds for some index @i below @n, or for all of them. Both stop as soon as the
 * answer is certain. */
#define ANY_OF(i, n, is)                                                                           \
    ({                                                                                             \
        bool any_ = false;                                                                         \
        for (size_t i = 0; !any_ && i < (n); i++)                                                  \
            any_ = (is);                                                                           \
        any_;                                                                                      \
    })
#define ALL_OF(i, n, is) (!ANY_OF(i, n, !(is)))
/* Returns the first element of @list for which @is holds, with indexes @i below @n; NULL: none. */
#define FIRST_OF(i, list, n, is)                                                                   \
    ({                                                                                             \
        typeof(*(list)) *first_ = NULL;                                                            \
        for (size_t i = 0; !first_ && i < (n); i++)                                                \
            first_ = (is) ? &(list)[i] : NULL;                                                     \
        first_;                                                                                    \
    })

/* Orders numbers of 64 bits, for qsort(3). */
static inline int list_compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return COMPARE(x, y);
}
