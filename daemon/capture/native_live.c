/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/native_live.h"

#define HEADS 16384u /* a power of two */
#define NONE UINT32_MAX
#define STEP 512u /* samples of a charge */
_Static_assert(NATIVE_LIVE_MAX % STEP == 0, "the last step is whole");

/* The sample of a block, in the list of its head or in the free list. */
struct kept {
    uint32_t block, next;
    struct proc_id id;
    struct profile_sample sample;
};

/* An end that came before the sample of its block. */
struct early_end {
    uint32_t block;
    enum native_live_end how;
};

struct native_live {
    struct record *record;       /* borrowed: its budget is charged */
    uint32_t heads[HEADS], free; /* free: the list of entries that were given back */
    uint32_t used;               /* the entries from here on were never in use */
    struct early_end early[NATIVE_LIVE_EARLY];
    size_t early_count;
    size_t count;           /* samples that are kept */
    uint64_t lost_until_ns; /* samples from before this time are of blocks that are not followed */
    struct native_live_found found;
    struct kept all[NATIVE_LIVE_MAX];
};

int native_live_new(struct record *r, struct native_live **ret)
{
    struct native_live *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    memset(l->heads, 0xff, sizeof(l->heads));
    l->free = NONE;
    l->record = r;
    record_beside(r, offsetof(struct native_live, all));
    *ret = l;
    return 0;
}

struct native_live *native_live_free(struct native_live *l)
{
    free(l);
    return NULL;
}

static void count_end(struct native_live *l, uint64_t bytes, enum native_live_end how)
{
    l->found.ended[how]++;
    if (how == NATIVE_LIVE_CROWDED || how == NATIVE_LIVE_LOST)
        l->found.missed_bytes += bytes;
}

/* Returns whether block @block, of @value bytes, ended before its sample came. If so, counts the
 * end. */
static bool take_early(struct native_live *l, uint32_t block, uint64_t value)
{
    for (size_t i = 0; i < l->early_count; i++) {
        if (l->early[i].block == block) {
            count_end(l, value, l->early[i].how);
            l->early[i] = l->early[--l->early_count];
            return true;
        }
    }
    return false;
}

/* Takes a free entry. NONE: there is no room. */
static uint32_t take_entry(struct native_live *l)
{
    uint32_t i = l->free;

    if (i != NONE) {
        l->free = l->all[i].next;
        return i;
    }
    if (l->used == NATIVE_LIVE_MAX ||
        (l->used % STEP == 0 && !record_beside(l->record, STEP * sizeof(*l->all))))
        return NONE;
    return l->used++;
}

bool native_live_keep(struct native_live *l, uint32_t block, const struct proc_id *id,
                      const struct profile_sample *s)
{
    uint32_t *head = &l->heads[block & (HEADS - 1)], i;

    l->found.bytes += s->value;
    if (take_early(l, block, s->value))
        return true;
    if (s->time_ns < l->lost_until_ns) {
        count_end(l, s->value, NATIVE_LIVE_LOST);
        return true;
    }
    i = take_entry(l);
    if (i == NONE)
        return false;
    l->all[i] = (struct kept){ .block = block, .next = *head, .id = *id, .sample = *s };
    *head = i;
    l->count++;
    return true;
}

/* Removes entry *@at from its list, and counts its end as @how. */
static void let_go(struct native_live *l, uint32_t *at, enum native_live_end how)
{
    uint32_t i = *at;

    *at = l->all[i].next;
    l->all[i].next = l->free;
    l->free = i;
    l->count--;
    count_end(l, l->all[i].sample.value, how);
}

void native_live_end(struct native_live *l, uint32_t block, enum native_live_end how, bool early)
{
    uint32_t *at = &l->heads[block & (HEADS - 1)];

    while (*at != NONE && l->all[*at].block != block)
        at = &l->all[*at].next;
    if (*at != NONE)
        let_go(l, at, how);
    else if (early && l->early_count < NATIVE_LIVE_EARLY)
        l->early[l->early_count++] = (struct early_end){ block, how };
    else if (early)
        l->found.lost_ends++;
}

/* Ends all blocks of process @id; NULL: of all processes. */
static void end_all(struct native_live *l, const struct proc_id *id, enum native_live_end how)
{
    for (uint32_t h = 0; h < HEADS; h++) {
        uint32_t *at = &l->heads[h];

        while (*at != NONE) {
            if (!id || proc_id_equal(&l->all[*at].id, id))
                let_go(l, at, how);
            else
                at = &l->all[*at].next;
        }
    }
}

void native_live_end_process(struct native_live *l, const struct proc_id *id,
                             enum native_live_end how)
{
    end_all(l, id, how);
}

void native_live_lose_all(struct native_live *l, uint64_t until_ns)
{
    end_all(l, /* id= */ NULL, NATIVE_LIVE_LOST);
    l->lost_until_ns = until_ns;
}

size_t native_live_kept(const struct native_live *l)
{
    return l->count;
}

void native_live_count(struct native_live *l, uint64_t bytes, enum native_live_end how)
{
    l->found.bytes += bytes;
    count_end(l, bytes, how);
}

void native_live_each(struct native_live *l, uint64_t until_ns, native_live_fn fn, void *cookie,
                      struct native_live_found *ret)
{
    for (uint32_t h = 0; h < HEADS; h++) {
        for (uint32_t i = l->heads[h]; i != NONE; i = l->all[i].next) {
            bool old = l->all[i].sample.time_ns < until_ns;

            l->found.live += old;
            l->found.young += !old;
            if (old)
                fn(cookie, &l->all[i].sample);
        }
        l->heads[h] = NONE;
    }
    l->free = NONE;
    l->count = 0;
    *ret = l->found;
}
