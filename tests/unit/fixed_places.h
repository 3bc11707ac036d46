/* SPDX-License-Identifier: Apache-2.0 */
/* The owners 1, 2, 3, ... of a test have a counter each (base/shares.h), in each run. */
#pragma once

#include "base/memory_budget.h"

/* Before anything is taken, and before others become parts of @b. */
static inline void fix_places(struct memory_budget *b)
{
    struct shares *const all[] = { &b->kept,      &b->waiting, &b->lasting,   &b->symbols,
                                   &b->perf_maps, &b->copies,  &b->code_maps, &b->inlines };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        all[i]->seed = 1;
}
