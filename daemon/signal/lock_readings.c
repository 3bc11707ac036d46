/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/lock_readings.h"

#include <math.h>

#define NS_PER_S 1e9

/* Returns whether it is known what the owner did. */
static bool says_what(const struct waits_lock *l)
{
    return l->owner[0] && l->wait;
}

static bool did_alike(const struct waits_lock *a, const struct waits_lock *b)
{
    return says_what(a) && says_what(b) && strcmp(a->name, b->name) == 0 &&
           strcmp(a->wait, b->wait) == 0 && strcmp(a->code, b->code) == 0;
}

static void age(struct lock_readings *r, uint64_t now_ns)
{
    uint64_t since_ns = now_ns - MIN(r->time_ns, now_ns);

    if (since_ns > LOCK_REST_NS)
        *r = (struct lock_readings){ .shown = 0 };
    for (size_t i = 0; i < LOCK_DEEDS; i++)
        r->all[i].looks *= exp2((double)since_ns / NS_PER_S / -LOCK_HALF_LIFE_S);
    r->time_ns = now_ns;
}

/* Returns the entry for what @lock shows: the entry that is alike, else the entry with fewest
 * looks. */
static struct lock_deed *place_of(struct lock_readings *r, const struct waits_lock *lock)
{
    struct lock_deed *least = &r->all[0];

    for (size_t i = 0; i < LOCK_DEEDS; i++) {
        if (did_alike(&r->all[i].lock, lock))
            return &r->all[i];
        if (r->all[i].looks < least->looks)
            least = &r->all[i];
    }
    least->looks = 0;
    return least;
}

/* Returns the index of what owners of a lock of class @name did most often; LOCK_DEEDS: unknown. */
static size_t find_most(const struct lock_readings *r, const char *name)
{
    size_t most = LOCK_DEEDS;
    double looks = 0;

    if (strcmp(r->all[r->shown].lock.name, name) == 0) {
        most = r->shown;
        looks = r->all[most].looks * LOCK_DEED_AHEAD;
    }
    for (size_t i = 0; i < LOCK_DEEDS; i++) {
        if (strcmp(r->all[i].lock.name, name) != 0 || r->all[i].looks <= looks)
            continue;
        most = i;
        looks = r->all[i].looks;
    }
    return most;
}

/* Returns the share of the looks at locks of @deed's class that showed @deed, 0 to 1. */
static double part_of(const struct lock_readings *r, const struct lock_deed *deed)
{
    double all = 0;

    for (size_t i = 0; i < LOCK_DEEDS; i++)
        all += strcmp(r->all[i].lock.name, deed->lock.name) == 0 ? r->all[i].looks : 0;
    return deed->looks / all;
}

void lock_readings_note(struct lock_readings *r, const struct waits_lock *lock, uint64_t now_ns,
                        struct waits_lock *ret)
{
    size_t most;

    age(r, now_ns);
    if (says_what(lock)) {
        struct lock_deed *deed = place_of(r, lock);

        deed->several =
            deed->looks > 0 && (deed->several || strcmp(deed->lock.owner, lock->owner) != 0);
        deed->lock = *lock;
        deed->looks++;
    }
    most = find_most(r, lock->name);
    *ret = most < LOCK_DEEDS ? r->all[most].lock : *lock;
    r->shown = most < LOCK_DEEDS ? most : r->shown;
    if (most == LOCK_DEEDS)
        return;
    ret->part = part_of(r, &r->all[most]);
    if (r->all[most].several)
        ret->owner[0] = '\0';
}
