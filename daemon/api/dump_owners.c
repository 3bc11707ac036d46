/* SPDX-License-Identifier: Apache-2.0 */
#include "api/dump_owners.h"

#include "base/array.h"
#include "base/cleanup.h"

#define OWNERS_MAX (1U << 18)

void dump_owners_init(struct dump_owners *o)
{
    *o = (struct dump_owners){ 0 };
    u64_cache_init(&o->by_word, OWNERS_MAX);
}

void dump_owners_deinit(struct dump_owners *o)
{
    u64_cache_deinit(&o->by_word);
    free(o->all);
}

/* Finds or adds the entry of @word; NULL: no room. */
static struct dump_owner *owner_at(struct dump_owners *o, uint64_t word)
{
    uint32_t at;

    if (u64_cache_get(&o->by_word, word, &at))
        return &o->all[at - 1];
    if (o->count == OWNERS_MAX / 2 || !array_grow(&o->all, &o->room, o->count + 1, 64))
        return NULL;
    o->all[o->count] = (struct dump_owner){ 0 };
    u64_cache_put(&o->by_word, word, (uint32_t)++o->count);
    return &o->all[o->count - 1];
}

void dump_owners_list(struct dump_owners *o, const struct hotspot_thread *t)
{
    struct dump_owner *e = owner_at(o, t->java_thread);

    if (e) {
        e->low = t->stack_low;
        e->high = t->stack_high;
    }
}

void dump_owners_take(struct dump_owners *o, const struct hotspot_dump_batch *b)
{
    struct dump_owner *e;

    for (uint32_t i = 0; i < b->count; i++) {
        e = b->threads[i].java_thread ? owner_at(o, b->threads[i].java_thread) : NULL;
        if (e)
            e->id = b->threads[i].runs_id;
    }
    for (uint32_t i = 0; i < b->held_count; i++) {
        e = owner_at(o, b->held[i].key);
        if (e)
            e->id = b->held[i].java_id;
    }
}

ORDER_FUNCTION(compare_stacks, struct dump_owner, COMPARE(x->low, y->low))

/* Returns the entry with the stack that contains @word; NULL: none. @sorted: o->all by stacks. */
static const struct dump_owner *find_stack(const struct dump_owner *sorted, size_t count,
                                           uint64_t word)
{
    size_t below = array_first(count, mid, sorted[mid].low <= word);

    return below && word < sorted[below - 1].high ? &sorted[below - 1] : NULL;
}

void dump_owners_settle(const struct dump_owners *o, struct thread_dump *d)
{
    _cleanup_free_ struct dump_owner *sorted = calloc(o->count + 1, sizeof(*sorted));
    const struct dump_owner *e;
    uint32_t at;

    if (!sorted || !o->count)
        return;
    memcpy(sorted, o->all, o->count * sizeof(*sorted));
    qsort(sorted, o->count, sizeof(*sorted), compare_stacks);
    for (size_t i = 0; i < d->count; i++) {
        uint64_t word = d->threads[i].owner_word;

        if (!word)
            continue;
        e = u64_cache_get(&o->by_word, word, &at) ? &o->all[at - 1]
                                                  : find_stack(sorted, o->count, word);
        if (e)
            d->threads[i].owner_id = e->id;
    }
}
