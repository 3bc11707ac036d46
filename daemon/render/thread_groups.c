/* SPDX-License-Identifier: Apache-2.0 */
#include "render/thread_groups.h"

static int by_size(const void *a, const void *b)
{
    const struct thread_group *x = a, *y = b;

    if (!x->stack != !y->stack) /* groups without a stack come last */
        return x->stack ? -1 : 1;
    return COMPARE(y->count, x->count) ?: COMPARE(x->stack, y->stack);
}

/* Returns the key of the group of @t. */
static size_t key_of(const struct thread_dump *d, const struct dumped_thread *t)
{
    return t->stack ? t->stack : intern_count(d->strings) + MIN(t->why, THREAD_STACKS - 1);
}

static void add_thread(struct thread_group *g, const struct dumped_thread *t)
{
    if (g->count < THREAD_GROUP_NAMES)
        g->some[g->count] = t;
    g->count++;
    g->virtuals += t->is_virtual;
    g->states[t->state < DUMPED_STATES ? t->state : DUMPED_UNKNOWN]++;
}

int thread_groups(const struct thread_dump *d, struct thread_group **ret, size_t *ret_count)
{
    size_t strings = intern_count(d->strings), used = 0;
    /* 1 + place in groups, by stack or by the reason for a missing stack. */
    _cleanup_free_ uint32_t *at = calloc(strings + THREAD_STACKS + 1, sizeof(*at));
    struct thread_group *groups = NULL;
    size_t n = 0;

    if (!at)
        return -ENOMEM;
    for (size_t i = 0; i < d->count; i++) {
        if (!at[key_of(d, &d->threads[i])])
            at[key_of(d, &d->threads[i])] = (uint32_t)++n;
    }
    groups = calloc(n + 1, sizeof(*groups));
    if (!groups)
        return -ENOMEM;
    for (size_t i = 0; i < d->count; i++) {
        struct thread_group *g = &groups[at[key_of(d, &d->threads[i])] - 1];

        used += g->count == 0;
        g->stack = d->threads[i].stack;
        add_thread(g, &d->threads[i]);
    }
    qsort(groups, used, sizeof(*groups), by_size);
    *ret = groups;
    *ret_count = used;
    return 0;
}
