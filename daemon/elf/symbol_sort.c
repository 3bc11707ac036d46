/* SPDX-License-Identifier: Apache-2.0 */
/* Introsort: quicksort, or heapsort where quicksort recurses too deeply. */
#include "elf/symbol_sort.h"

#define FEW 16 /* this many items or fewer are sorted by insertion */

static void swap(struct symbol_item *a, struct symbol_item *b)
{
    struct symbol_item t = *a;

    *a = *b;
    *b = t;
}

static void sort_few(struct symbol_item *items, size_t count, symbol_before_fn before)
{
    for (size_t i = 1; i < count; i++) {
        struct symbol_item item = items[i];
        size_t at = i;

        for (; at && before(&item, &items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static void sift(struct symbol_item *items, size_t at, size_t count, symbol_before_fn before)
{
    size_t child;

    while ((child = at * 2 + 1) < count) {
        if (child + 1 < count && before(&items[child], &items[child + 1]))
            child++;
        if (!before(&items[at], &items[child]))
            return;
        swap(&items[at], &items[child]);
        at = child;
    }
}

static void sort_heap(struct symbol_item *items, size_t count, symbol_before_fn before)
{
    for (size_t i = count / 2; i--;)
        sift(items, i, count, before);
    while (count > 1) {
        swap(&items[0], &items[--count]);
        sift(items, 0, count, before);
    }
}

/* Partitions @items by a median of three. Returns the size of the left part: at least one item, and
 * not all. */
static size_t part(struct symbol_item *items, size_t count, symbol_before_fn before)
{
    struct symbol_item *first = &items[0], *middle = &items[count / 2], *last = &items[count - 1];
    struct symbol_item pivot;
    size_t lo = 0, hi = count - 1;

    if (before(middle, first))
        swap(middle, first);
    if (before(last, middle)) {
        swap(last, middle);
        if (before(middle, first))
            swap(middle, first);
    }
    pivot = *middle;
    for (;;) {
        while (before(&items[lo], &pivot))
            lo++;
        while (before(&pivot, &items[hi]))
            hi--;
        if (lo >= hi)
            return hi + 1;
        swap(&items[lo++], &items[hi--]);
    }
}

static void sort_to(struct symbol_item *items, size_t count, symbol_before_fn before,
                    unsigned depth)
{
    while (count > FEW) {
        size_t left;

        if (!depth--) {
            sort_heap(items, count, before);
            return;
        }
        left = part(items, count, before);
        if (left < count - left) { /* recurse into the smaller part: that bounds the depth */
            sort_to(items, left, before, depth);
            items += left;
            count -= left;
        } else {
            sort_to(items + left, count - left, before, depth);
            count = left;
        }
    }
    sort_few(items, count, before);
}

void symbol_sort(struct symbol_item *items, size_t count, symbol_before_fn before)
{
    unsigned depth = 2;
    size_t i = 1;

    while (i < count && !before(&items[i], &items[i - 1]))
        i++;
    if (i >= count) /* already sorted, as linkers write them */
        return;
    for (size_t n = count; n; n /= 2)
        depth += 2;
    sort_to(items, count, before, depth);
}
