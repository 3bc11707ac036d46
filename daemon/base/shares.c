/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shares.h"

#include <assert.h>
#include <stdatomic.h>
#include <sys/random.h>

static atomic_uint_least64_t miscounted;

void shares_init(struct shares *s, uint64_t max)
{
    *s = (struct shares){ .max = max };
    if (getrandom(&s->seed, sizeof(s->seed), 0) != sizeof(s->seed))
        s->seed = (uint64_t)(uintptr_t)s; /* random bytes are not available early in the boot */
}

void shares_init_part(struct shares *s, uint64_t max, struct shares *whole)
{
    shares_init(s, max);
    s->whole = whole;
    if (whole)
        s->seed = whole->seed; /* an owner has the same counter in both */
}

void shares_leave(struct shares *s)
{
    for (struct shares *w = s->whole; w; w = w->whole) {
        w->used -= MIN(s->used, w->used);
        for (size_t i = 0; i < SHARES_PLACES; i++)
            w->of[i] -= MIN(s->of[i], w->of[i]);
    }
    s->whole = NULL;
}

void shares_rejoin(struct shares *s, struct shares *whole)
{
    assert(!s->whole && s->seed == whole->seed);
    for (struct shares *w = s->whole = whole; w; w = w->whole) {
        w->used += s->used;
        for (size_t i = 0; i < SHARES_PLACES; i++)
            w->of[i] += s->of[i];
    }
}

/* Returns the index of the counter of @owner, by the finalizer of MurmurHash3 with a key. */
static size_t place(const struct shares *s, uint64_t owner)
{
    uint64_t h = owner ^ s->seed;

    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ s->seed << 1) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (size_t)(h >> 32) % SHARES_PLACES;
}

uint64_t shares_used(const struct shares *s, uint64_t owner)
{
    return s->of[place(s, owner)];
}

static uint64_t a_little(const struct shares *s)
{
    return s->max / SHARES_LITTLE + (s->max % SHARES_LITTLE != 0);
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Does shares_room() without the limit of the whole. */
static uint64_t own_room(const struct shares *s, uint64_t owner)
{
    uint64_t mine = shares_used(s, owner), for_all = s->max - s->max / 4, little = a_little(s);
    uint64_t rest = SHARES_OF_REST * (for_all - MIN(s->used, for_all));
    /* The largest n with mine + n <= SHARES_OF_REST * (rest - n). */
    uint64_t room =
        rest > mine && owner != OWNER_FOREIGN ? (rest - mine) / (SHARES_OF_REST + 1) : 0;

    if (little > mine)
        room = MAX(room, MIN(little - mine, s->max - MIN(s->used, s->max)));
    return room;
}

uint64_t shares_room(const struct shares *s, uint64_t owner)
{
    uint64_t room = own_room(s, owner);

    return s->whole ? MIN(room, shares_room(s->whole, owner)) : room;
}

uint64_t shares_room_short(const struct shares *s, uint64_t owner)
{
    const struct shares *w = s->whole;
    uint64_t room = own_room(s, owner), part = w ? w->max / SHARES_SHORT : 0;

    if (!w)
        return room;
    if (w->whole)
        return MIN(room, shares_room_short(w, owner));
    return MIN(room, MAX(less(w->max - part, w->used), less(part, s->used)));
}

uint64_t shares_room_of_part(const struct shares *s, uint64_t owner)
{
    uint64_t mine = shares_used(s, owner);
    uint64_t room = MIN(less(s->max / 2, mine), less(s->max - s->max / 4, s->used));

    if (owner == OWNER_FOREIGN)
        room = MIN(less(a_little(s), mine), less(s->max, s->used));
    else
        room = MAX(room, MIN(less(s->max / SHARES_MODEST, mine), less(s->max, s->used)));
    return room;
}

uint64_t shares_room_lasting(const struct shares *s, uint64_t owner)
{
    uint64_t room = shares_room_of_part(s, owner);

    return s->whole ? MIN(room, shares_room_lasting(s->whole, owner)) : room;
}

bool shares_take(struct shares *s, uint64_t owner, uint64_t n)
{
    if (n > shares_room(s, owner)) {
        s->refused++;
        return false;
    }
    shares_force(s, owner, n);
    return true;
}

void shares_force(struct shares *s, uint64_t owner, uint64_t n)
{
    s->used += n;
    s->of[place(s, owner)] += n;
    if (s->whole)
        shares_force(s->whole, owner, n);
}

void shares_give(struct shares *s, uint64_t owner, uint64_t n)
{
    uint64_t *of = &s->of[place(s, owner)], has = MIN(*of, s->used);

    assert(n <= has);
    if (n > has) {
        atomic_fetch_add(&miscounted, 1);
        n = has;
    }
    s->used -= n;
    *of -= n;
    if (s->whole)
        shares_give(s->whole, owner, n);
}

static uint64_t sum_below(const struct shares *s, uint64_t level)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < SHARES_PLACES; i++)
        sum += MIN(s->of[i], level);
    return sum;
}

uint64_t shares_level(const struct shares *s, uint64_t max)
{
    uint64_t low = 0, high = max;

    if (s->used <= max)
        return UINT64_MAX;
    while (low < high) { /* the highest level that fits is in [low, high] */
        uint64_t middle = high - (high - low) / 2;

        if (sum_below(s, middle) <= max)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

uint64_t shares_miscounted(void)
{
    return atomic_load(&miscounted);
}
