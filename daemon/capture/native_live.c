/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/native_live.h"

#define HEADS 16384u /* a power of two */
#define NONE UINT32_MAX

/* The sample of a block, in a list of those with the same head, or of free ones. */
struct kept {
    uint32_t block, next;
    int32_t host_pid;
    struct profile_sample sample;
};

/* An end that came before its sample. */
struct early_end {
    uint32_t block;
    bool lost; /* nobody follows it any more */
};

struct native_live {
    uint32_t heads[HEADS], free;
    struct kept all[NATIVE_LIVE_MAX];
    struct early_end early[NATIVE_LIVE_EARLY];
    size_t early_count;
    uint64_t lost_until_ns; /* samples before that are of blocks that nobody follows */
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

/* Whether block @block, of @value bytes, has ended before it came. Counts it then. */
static bool take_early(struct native_live *l, uint32_t block, uint64_t value)
{
    for (size_t i = 0; i < l->early_count; i++) {
        if (l->early[i].block == block) {
            if (l->early[i].lost)
                l->found.missed_bytes += value;
            else
                l->found.given_back++;
            l->early[i] = l->early[--l->early_count];
            return true;
        }
    }
    return false;
}

bool native_live_keep(struct native_live *l, uint32_t block, int32_t host_pid,
                      const struct profile_sample *s)
{
    uint32_t *head = &l->heads[block & (HEADS - 1)], i = l->free;

    l->found.bytes += s->value;
    if (take_early(l, block, s->value))
        return true;
    if (s->time_ns < l->lost_until_ns) {
        l->found.missed_bytes += s->value;
        return true;
    }
    if (i == NONE)
        return false;
    l->free = l->all[i].next;
    l->all[i] = (struct kept){ .block = block, .next = *head, .host_pid = host_pid, .sample = *s };
    *head = i;
    return true;
}

/* Takes the one that *@at leads to out of its list, and counts how it ended. */
static void let_go(struct native_live *l, uint32_t *at, bool lost)
{
    uint32_t i = *at;

    *at = l->all[i].next;
    l->all[i].next = l->free;
    l->free = i;
    if (lost)
        l->found.missed_bytes += l->all[i].sample.value;
    else
        l->found.given_back++;
}

static void end(struct native_live *l, uint32_t block, bool lost, bool early)
{
    uint32_t *at = &l->heads[block & (HEADS - 1)];

    while (*at != NONE && l->all[*at].block != block)
        at = &l->all[*at].next;
    if (*at != NONE)
        let_go(l, at, lost);
    else if (early && l->early_count < NATIVE_LIVE_EARLY)
        l->early[l->early_count++] = (struct early_end){ block, lost };
    else if (early)
        l->found.lost_ends++;
}

void native_live_give_back(struct native_live *l, uint32_t block, bool early)
{
    end(l, block, /* lost= */ false, early);
}

void native_live_lose(struct native_live *l, uint32_t block, bool early)
{
    end(l, block, /* lost= */ true, early);
}

/* @host_pid 0: of all processes. */
static void lose_of(struct native_live *l, int32_t host_pid)
{
    for (uint32_t h = 0; h < HEADS; h++) {
        uint32_t *at = &l->heads[h];

        while (*at != NONE) {
            if (!host_pid || l->all[*at].host_pid == host_pid)
                let_go(l, at, /* lost= */ true);
            else
                at = &l->all[*at].next;
        }
    }
}

void native_live_lose_process(struct native_live *l, int32_t host_pid)
{
    lose_of(l, host_pid);
}

void native_live_lose_all(struct native_live *l, uint64_t until_ns)
{
    lose_of(l, /* host_pid= */ 0);
    l->lost_until_ns = until_ns;
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
