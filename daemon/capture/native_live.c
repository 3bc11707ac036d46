/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/native_live.h"

#define HEADS 16384u /* a power of two */
#define NONE UINT32_MAX

/* The sample of a block, in a list of those with the same head, or of free ones. */
struct kept {
    uint32_t block, next;
    struct profile_sample sample;
};

struct native_live {
    uint32_t heads[HEADS], free;
    struct kept all[NATIVE_LIVE_MAX];
    uint32_t early[NATIVE_LIVE_EARLY];
    size_t early_count;
    struct native_live_found found;
};

int native_live_new(struct native_live **ret)
{
    struct native_live *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    memset(l->heads, 0xff, sizeof(l->heads));
    for (uint32_t i = 0; i < NATIVE_LIVE_MAX; i++)
        l->all[i].next = i + 1 < NATIVE_LIVE_MAX ? i + 1 : NONE;
    *ret = l;
    return 0;
}

struct native_live *native_live_free(struct native_live *l)
{
    free(l);
    return NULL;
}

/* Whether block @block has ended before it came. */
static bool take_early(struct native_live *l, uint32_t block)
{
    for (size_t i = 0; i < l->early_count; i++) {
        if (l->early[i] == block) {
            l->early[i] = l->early[--l->early_count];
            return true;
        }
    }
    return false;
}

bool native_live_keep(struct native_live *l, uint32_t block, const struct profile_sample *s)
{
    uint32_t *head = &l->heads[block & (HEADS - 1)], i = l->free;

    l->found.bytes += s->value;
    if (take_early(l, block)) {
        l->found.given_back++;
        return true;
    }
    if (i == NONE)
        return false;
    l->free = l->all[i].next;
    l->all[i] = (struct kept){ .block = block, .next = *head, .sample = *s };
    *head = i;
    return true;
}

void native_live_give_back(struct native_live *l, uint32_t block, bool early)
{
    uint32_t *at = &l->heads[block & (HEADS - 1)], i;

    while (*at != NONE && l->all[*at].block != block)
        at = &l->all[*at].next;
    i = *at;
    if (i != NONE) {
        *at = l->all[i].next;
        l->all[i].next = l->free;
        l->free = i;
        l->found.given_back++;
    } else if (early && l->early_count < NATIVE_LIVE_EARLY) {
        l->early[l->early_count++] = block;
    } else if (early) {
        l->found.lost_ends++;
    }
}

void native_live_miss(struct native_live *l, uint64_t bytes)
{
    l->found.bytes += bytes;
    l->found.missed_bytes += bytes;
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
    *ret = l->found;
}
