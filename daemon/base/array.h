/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow. The owner keeps the array, its count and its capacity. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes room for @need elements in the array *@list, which has room for *@cap: doubles *@cap,
 * beginning at @first. Returns false if there is no memory; then nothing has changed. */
#define array_grow(list, cap, need, first)                                                         \
    array_grow_bytes((list), (cap), (need), (first), sizeof(**(list)))
bool array_grow_bytes(void *list, size_t *cap, size_t need, size_t first, size_t size);

#define ARRAY_LARGE 65536 /* from this many elements on, an array grows by a quarter */

/* Returns the capacity that follows @cap in an array that begins with @first elements: twice @cap,
 * or a quarter more for a large array. */
static inline uint32_t array_next(uint32_t cap, uint32_t first)
{
    return !cap ? first : cap + (cap < ARRAY_LARGE ? cap : cap / 4);
}

/* Makes room for exactly @want elements and zeroes the new ones. Fails like array_grow(). */
#define array_extend(list, cap, want) array_extend_bytes((list), (cap), (want), sizeof(**(list)))
bool array_extend_bytes(void *list, size_t *cap, size_t want, size_t size);

/* Returns the first index below @n for which the condition @behind, on index @at, is false; @n:
 * none. The condition must be true for all indexes before that one. */
#define array_first(n, at, behind)                                                                 \
    ({                                                                                             \
        size_t _low = 0, _high = (n);                                                              \
                                                                                                   \
        while (_low < _high) {                                                                     \
            size_t at = _low + (_high - _low) / 2;                                                 \
                                                                                                   \
            if (behind)                                                                            \
                _low = at + 1;                                                                     \
            else                                                                                   \
                _high = at;                                                                        \
        }                                                                                          \
        _low;                                                                                      \
    })
