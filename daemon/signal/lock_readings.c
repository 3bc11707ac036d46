/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/lock_readings.h"

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

void lock_readings_note(struct lock_readings *r, const struct waits_lock *lock, uint64_t now_ns,
                        struct waits_lock *ret)
{
    size_t most = 0;

    r->all[r->noted % LOCK_READINGS].lock = *lock;
    r->all[r->noted++ % LOCK_READINGS].time_ns = now_ns;
    *ret = *lock;
    for (size_t back = 1; back <= MIN(r->noted, (size_t)LOCK_READINGS); back++) {
        const struct waits_lock *one = &r->all[(r->noted - back) % LOCK_READINGS].lock;
        size_t alike = 0;

        if (strcmp(one->name, lock->name) != 0)
            continue;
        for (size_t k = 1; k <= MIN(r->noted, (size_t)LOCK_READINGS); k++) {
            size_t at = (r->noted - k) % LOCK_READINGS;

            alike +=
                now_ns - r->all[at].time_ns < LOCK_READINGS_NS && did_alike(one, &r->all[at].lock);
        }
        if (alike <= most)
            continue;
        most = alike;
        *ret = *one;
    }
}
