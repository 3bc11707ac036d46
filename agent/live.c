/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of weak references. A sweep goes round the table: each event checks a few places, and
 * frees places with dead objects. If the table is full of live objects, the threshold doubles,
 * until it is at least twice the weight of half of the objects. The sweep then drops objects at
 * random, so that each stays with the chance that the new threshold gives it. It stops when it has
 * a free place. So each remaining object was kept with a known chance, and each new object finds a
 * place.
 */
#include "agent/live.h"

#include "agent/common.h"

#include <sys/mman.h>

#define VISITS 8u /* places checked at each event; more in a full table, until one is free */
#define THRESHOLD_MAX (UINT64_C(1) << 40)

_Static_assert(VISITS + 1 <= LIVE_GONE_MAX, "each visit takes out one at most");

struct place {
    jni_ref ref; /* NULL: the place is free, or reserved by an event that is making the reference */
    uint64_t stands, threshold; /* bytes */
    uint32_t id;
};

struct live {
    uint64_t threshold; /* bytes; 0: the table was never full */
    uint64_t random;
    uint32_t last_id;
    uint32_t hand;
    uint32_t visited; /* places checked since the threshold was raised */
    uint32_t free_count;
    uint16_t free[STREAM_LIVE_MAX];
    struct place places[STREAM_LIVE_MAX];
};

static struct stream_live *published(struct stream_header *h, uint32_t slot)
{
    return (struct stream_live *)((char *)h + STREAM_TABLE_AT) + slot;
}

struct live *live_begin(struct stream_header *h)
{
    long r = raw6(SYS_mmap, 0, sizeof(struct live), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct live *l = (struct live *)r;

    if (r < 0 && r >= -4095)
        return NULL;
    for (uint32_t i = 0; i < STREAM_LIVE_MAX; i++) {
        l->free[i] = (uint16_t)(STREAM_LIVE_MAX - 1 - i);
        *published(h, i) = (struct stream_live){ 0 };
    }
    l->free_count = STREAM_LIVE_MAX;
    l->visited = STREAM_LIVE_MAX;
    l->random = host_ns(h) ^ (uint64_t)(uintptr_t)l;
    h->live_dead = h->live_held = 0;
    h->live_missed = 0;
    return l;
}

void live_hide(const struct live *l, struct stream_header *h)
{
    for (uint32_t i = 0; l && i < STREAM_LIVE_MAX; i++)
        __atomic_store_n(&published(h, i)->id, 0, __ATOMIC_RELEASE);
    h->live_held = 0;
}

void live_end(struct live *l, const jni_env *jni)
{
    for (uint32_t i = 0; l && jni && i < STREAM_LIVE_MAX; i++) {
        if (l->places[i].ref)
            live_delete_ref(jni, l->places[i].ref);
    }
    if (l)
        raw2(SYS_munmap, l, sizeof(*l));
}

/* ---- chance ---- */

static uint64_t next_random(struct live *l)
{
    uint64_t x = l->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Returns 1 with a chance of @part / @whole, else 0. */
static int draw(struct live *l, uint64_t part, uint64_t whole)
{
    return part >= whole || next_random(l) % whole < part;
}

/* ---- the sweep ---- */

/* Returns whether the object of @ref, one of our references, is dead. */
static int is_dead(jni_ref ref)
{
    const uint64_t *word = (const uint64_t *)((uint64_t)(uintptr_t)ref & ~STREAM_LIVE_KIND_BITS);

    return __atomic_load_n(word, __ATOMIC_RELAXED) >> STREAM_LIVE_ADDRESS_SHIFT == 0;
}

static void take_out(struct live *l, struct stream_header *h, uint32_t slot, struct live_turn *t)
{
    struct place *p = &l->places[slot];

    __atomic_store_n(&published(h, slot)->id, 0, __ATOMIC_RELEASE);
    t->gone[t->gone_count++] = p->ref;
    p->ref = NULL;
    l->free[l->free_count++] = (uint16_t)slot;
    h->live_held = STREAM_LIVE_MAX - l->free_count;
}

static void visit(struct live *l, struct stream_header *h, struct live_turn *t)
{
    uint32_t slot = l->hand;
    struct place *p = &l->places[slot];

    l->hand = (slot + 1) % STREAM_LIVE_MAX;
    l->visited += l->visited < STREAM_LIVE_MAX;
    if (!p->ref)
        return;
    if (is_dead(p->ref)) {
        if (!h->live_dead || (int32_t)(p->id - h->live_dead) > 0)
            h->live_dead = p->id;
        take_out(l, h, slot, t);
        return;
    }
    if (p->threshold == l->threshold)
        return;
    /* The object was kept with the chance stands / threshold. Draw again, so that it stays with the
     * smaller chance of the new threshold. */
    if (!draw(l, p->stands > p->threshold ? p->stands : p->threshold, l->threshold)) {
        take_out(l, h, slot, t);
        return;
    }
    p->threshold = l->threshold;
    __atomic_store_n(&published(h, slot)->threshold, p->threshold, __ATOMIC_RELEASE);
}

/* Returns how many objects have a chance of at most one half to stay with a threshold of @bytes. */
static uint32_t halved_by(const struct live *l, uint64_t bytes)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < STREAM_LIVE_MAX; i++)
        n += l->places[i].ref && l->places[i].stands <= bytes / 2;
    return n;
}

/* Raises the threshold, once the sweep has checked all places with the current threshold. */
static void raise(struct live *l, uint32_t interval)
{
    uint64_t next = l->threshold > interval ? l->threshold : interval;

    do
        next *= 2;
    while (next < THRESHOLD_MAX && halved_by(l, next) < STREAM_LIVE_MAX / 2);
    if (next > THRESHOLD_MAX)
        return;
    l->threshold = next;
    l->visited = 0;
}

/* Frees a place in a full table, mostly after a few checks. */
static void make_room(struct live *l, struct stream_header *h, uint32_t interval,
                      struct live_turn *t)
{
    for (uint32_t i = 0; i < 2 * STREAM_LIVE_MAX && !l->free_count; i++) {
        if (l->visited == STREAM_LIVE_MAX)
            raise(l, interval);
        visit(l, h, t);
    }
}

void live_look(struct live *l, struct stream_header *h, uint64_t bytes, uint32_t interval,
               struct live_turn *ret)
{
    uint64_t stands = bytes > interval ? bytes : interval;

    ret->slot = LIVE_NO_SLOT;
    ret->id = 0;
    ret->bytes = bytes;
    ret->interval = interval;
    ret->gone_count = 0;
    for (uint32_t i = 0; i < VISITS; i++)
        visit(l, h, ret);
    if (!l->free_count)
        make_room(l, h, interval, ret);
    if (!draw(l, stands, l->threshold))
        return;
    if (!l->free_count) {
        h->live_missed++;
        return;
    }
    l->last_id += l->last_id == UINT32_MAX ? 2 : 1;
    ret->id = l->last_id;
    ret->slot = l->free[--l->free_count];
    l->places[ret->slot] =
        (struct place){ .stands = stands, .threshold = l->threshold, .id = ret->id };
}

void live_put(struct live *l, struct stream_header *h, const struct live_turn *t, jni_ref ref)
{
    struct place *p = &l->places[t->slot];
    struct stream_live *out = published(h, t->slot);

    if (!ref) {
        l->free[l->free_count++] = (uint16_t)t->slot;
        h->live_missed++;
        return;
    }
    p->ref = ref;
    out->ref = (uint64_t)(uintptr_t)ref;
    out->bytes = t->bytes;
    out->threshold = p->threshold;
    out->interval = t->interval;
    __atomic_store_n(&out->id, t->id, __ATOMIC_RELEASE);
    h->live_held = STREAM_LIVE_MAX - l->free_count;
}

/* ---- functions of JNI ---- */

void live_delete_ref(const jni_env *jni, jni_ref ref)
{
    void (*f)(const jni_env *, jni_ref) = jni_function(jni, JNI_DELETE_WEAK_GLOBAL_REF);

    f(jni, ref);
}

void live_delete_gone(const struct live_turn *t, const jni_env *jni)
{
    for (uint32_t i = 0; i < t->gone_count; i++)
        live_delete_ref(jni, t->gone[i]);
}

jni_ref live_new_ref(const jni_env *jni, jni_ref object)
{
    jni_ref (*f)(const jni_env *, jni_ref) = jni_function(jni, JNI_NEW_WEAK_GLOBAL_REF);
    void (*clear)(const jni_env *) = jni_function(jni, JNI_EXCEPTION_CLEAR);
    jni_ref ref = f(jni, object);

    if (!ref)
        clear(jni); /* OutOfMemoryError */
    return ref;
}
