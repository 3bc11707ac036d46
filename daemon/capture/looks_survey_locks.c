/* SPDX-License-Identifier: Apache-2.0 */
/* Locks in a survey: the class that most threads wait for, and what the owner does. */
#include "capture/looks_survey_impl.h"

#include "base/text.h"

#define COMM_BYTES 15 /* bytes of a thread's name in the kernel */

/* Returns whether thread @name is @wanted; the kernel may keep only the beginning of @name. */
static bool is_called(struct span name, struct span wanted)
{
    if (name.n == COMM_BYTES && wanted.n > COMM_BYTES)
        wanted.n = COMM_BYTES;
    return name.n && span_eq(name, wanted);
}

/* Returns whether thread number @owner has not run since @waiter saw it hold the lock. If it has
 * run, it may not hold the lock any more. If both have left their places, that is unknown. */
static bool has_stayed(const struct survey *s, size_t owner, size_t waiter)
{
    const struct looked_thread *o = s->threads[owner], *w = s->threads[waiter];

    if (!s->places[owner].known)
        return w->pass == s->l->threads.no;
    return o->placed ? o->pass <= w->pass : !w->placed;
}

/* Describes what the owner of a lock does. Thread number @waiter waits for that lock. */
static void describe_owner(const struct survey *s, size_t waiter, struct waits_lock *ret)
{
    struct span owner = frame_table_get_string(s->l->o.frames, s->places[waiter].says.owner);

    text_clean_into(owner, ret->owner, sizeof(ret->owner));
    for (size_t i = 0; owner.n && i < s->count; i++) {
        const struct place *place = &s->places[i];

        if (!is_called(place->name, owner))
            continue;
        /* The owner was given the lock and has not woken up yet, or waits for another lock of that
         * class. Or its stack was not read, or not up to a name. */
        if (place->says.lock == s->places[waiter].says.lock || !has_stayed(s, i, waiter) ||
            (place->known ? !place->says.code && place->says.wait == WAIT_NAMES[WAIT_BLOCKED]
                          : !s->threads[i]->runs))
            return;
        ret->wait = place->known ? place->says.wait : "";
        if (place->says.code)
            survey_write_code(s, place->says.code, ret->code);
        return;
    }
}

/* Returns whether thread number @a has better knowledge of its lock's owner than @b: it has an
 * owner, and saw it later. */
static bool knows_more(const struct survey *s, size_t a, size_t b)
{
    bool a_has = s->places[a].says.owner, b_has = s->places[b].says.owner;

    return a_has && (!b_has || s->threads[a]->pass > s->threads[b]->pass);
}

void survey_judge_locks(struct survey *s, struct waits_lock *ret)
{
    size_t most = s->count;

    for (size_t i = 0; i < s->count; i++) {
        uint32_t lock = s->places[i].says.lock;
        size_t best = i;
        double waiters = 0;

        if (!lock || s->places[i].counted)
            continue;
        for (size_t k = i; k < s->count; k++) {
            if (s->places[k].says.lock != lock)
                continue;
            s->places[k].counted = true;
            waiters++;
            best = knows_more(s, k, best) ? k : best;
        }
        if (waiters <= ret->waiters)
            continue;
        ret->waiters = waiters;
        most = best;
    }
    if (most == s->count)
        return;
    text_clean_into(frame_table_get_string(
                        s->l->o.frames,
                        frame_table_get_function(s->l->o.frames, s->places[most].says.lock)->name),
                    ret->name, sizeof(ret->name));
    describe_owner(s, most, ret);
}
