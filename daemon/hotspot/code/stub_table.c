/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of stubs, sorted by start. */
#include "base/array.h"
#include "hotspot/code/stubs.h"

#define OVERLAPS_MAX 8 /* entries that begin between a stub's start and a pc in it */

void stubs_deinit(struct stubs *s)
{
    free(TAKE_PTR(s->named.at));
    free(TAKE_PTR(s->vtables.at));
    *s = (struct stubs){ 0 };
}

/* A stub inside another one follows it. */
ORDER_FUNCTION(compare_stubs, struct stub, COMPARE(x->start, y->start) ?: COMPARE(y->end, x->end))

void stub_table_sort(struct stub_table *t)
{
    if (t->count)
        qsort(t->at, t->count, sizeof(*t->at), compare_stubs);
}

int stub_table_add(struct stub_table *t, const struct stub *s)
{
    if (t->count == STUBS_MAX)
        return -ENOSPC;
    if (!array_grow(&t->at, &t->cap, t->count + 1, 256))
        return -ENOMEM;
    t->at[t->count++] = *s;
    return 0;
}

size_t stub_table_behind(const struct stub_table *t, uint64_t pc)
{
    return array_first(t->count, middle, t->at[middle].start <= pc);
}

const struct stub *stub_table_find(const struct stub_table *t, uint64_t pc)
{
    size_t low = stub_table_behind(t, pc);

    for (size_t i = 0; i < OVERLAPS_MAX && low > 0; i++, low--) {
        if (pc < t->at[low - 1].end)
            return &t->at[low - 1];
    }
    return NULL;
}
