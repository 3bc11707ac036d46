/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorded_operations.h"

#include "base/array.h"
#include "base/list.h"

#define OTHERS SPAN("[other operations]")

void recorded_operations_deinit(struct recorded_operations *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->items[i].name);
    free(o->items);
    *o = (struct recorded_operations){ .count = 0 };
}

/* Returns the operation called @name; NULL: there is none. */
static struct recorded_operation *find(struct recorded_operations *o, struct span name)
{
    return FIRST_OF(i, o->items, o->count, span_eq_str(name, o->items[i].name));
}

/* Returns a new operation; NULL: no memory. */
static struct recorded_operation *append(struct recorded_operations *o, struct span name)
{
    struct recorded_operation one = { .name = span_dup(name) };

    if (!one.name || !array_grow(&o->items, &o->cap, o->count + 1, 8)) {
        free(one.name);
        return NULL;
    }
    o->items[o->count] = one;
    return &o->items[o->count++];
}

int recorded_operations_add(struct recorded_operations *o, struct span name, enum recorded_use use,
                            uint64_t value)
{
    struct recorded_operation *of = find(o, name);

    if (!of && o->count >= RECORDED_OPERATIONS_MAX) {
        name = OTHERS;
        of = find(o, name);
    }
    if (!of)
        of = append(o, name);
    if (!of)
        return -ENOMEM;
    of->used[use] += value;
    return 0;
}
