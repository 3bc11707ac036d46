/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual threads in a survey: their carriers, and the waits of those without one. Virtual threads
 * have no pool: what limits them are permits of semaphores, and pools of connections. */
#include "capture/looks_survey_impl.h"

void survey_keep_virtual(struct looks *l, const struct incoming *in)
{
    const struct sample_record *rec = in->rec;
    struct looked_virtual *jvm;
    uint32_t stack;

    if (rec->lock || rec->flags & SAMPLE_RUNNABLE || in->flags & PROFILE_SAMPLE_TRUNCATED)
        return;
    jvm = looked_virtuals_keep(&l->virtuals, in->process->id.host_pid, rec->time_ns);
    if (jvm &&
        record_hold(l->stacks, in->naming->stack->frames, in->naming->stack->count, &stack) == 0)
        looked_virtual_add(jvm, stack, (double)rec->value / (double)rec->wait_ns);
}

/* ---- carriers ---- */

/* Returns whether thread @i is of a pool of carriers, also while it runs. */
static bool is_carrier(const struct survey *s, size_t i)
{
    for (size_t k = 0; k < s->count; k++) {
        if (s->places[k].says.carrier &&
            (k == i || (s->places[i].pool[0] && strcmp(s->places[k].pool, s->places[i].pool) == 0)))
            return true;
    }
    return false;
}

/* Counts the carriers, and finds the place in which most of the pinned ones wait. */
void survey_judge_carriers(const struct survey *s, struct waits_carriers *ret)
{
    const struct place *most = NULL;
    double most_alike = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct place *one = &s->places[i];
        double alike = 0;

        ret->carriers += is_carrier(s, i);
        ret->pinned += one->says.pinned;
        for (size_t k = i; one->says.pinned && k < s->count; k++)
            alike += s->places[k].says.pinned && s->places[k].says.code == one->says.code &&
                     s->places[k].says.wait == one->says.wait &&
                     s->places[k].says.pinned_by == one->says.pinned_by;
        if (alike > most_alike) {
            most_alike = alike;
            most = one;
        }
    }
    if (!most)
        return;
    ret->wait = most->says.wait;
    if (most->says.code)
        survey_write_code(s, most->says.code, ret->code);
    if (most->says.pinned_by)
        survey_write_code(s, most->says.pinned_by, ret->place);
}

/* ---- permits ---- */

static const struct place *place_of(const struct survey *s, size_t i)
{
    return &s->places[SURVEY_THREADS_MAX + i];
}

static bool is_wait(const struct place *one, enum wait wait)
{
    return one->says.wait == WAIT_NAMES[wait];
}

/* Returns whether the threads at @one wait for a permit. During a call to a server, they already
 * have a connection. */
static bool wants_permit(const struct place *one)
{
    return one->known && one->says.permit && one->says.caller &&
           (is_wait(one, WAIT_PARK) || is_wait(one, WAIT_LOCK) || is_wait(one, WAIT_NOTIFY) ||
            is_wait(one, WAIT_SLEEP) || is_wait(one, WAIT_BLOCKED));
}

/* The methods in which virtual threads wait for permits. */
struct askers {
    uint32_t methods[LOOKED_VIRTUAL_MAX]; /* functions of the frame table */
    size_t count;
    uint64_t below[LOOKED_VIRTUAL_MAX]; /* by place: bits of the methods on its stack */
    uint64_t counting;                  /* bits of methods in which a waiting thread is not idle */
};
_Static_assert(LOOKED_VIRTUAL_MAX <= 64, "a bit for each method");

/* Returns the number of @method; a->count: no thread waits in it. */
static size_t asker_of(const struct askers *a, uint32_t method)
{
    size_t i = 0;

    while (i < a->count && a->methods[i] != method)
        i++;
    return i;
}

static void find_askers(const struct survey *s, struct askers *a)
{
    const struct frame_table *table = s->l->o.frames;
    uint32_t *frames = s->l->frames;

    for (size_t i = 0; i < s->virtual->count; i++) {
        const struct place *one = place_of(s, i);

        if (wants_permit(one) && asker_of(a, one->says.caller) == a->count)
            a->methods[a->count++] = one->says.caller;
    }
    for (size_t i = 0; i < s->virtual->count; i++) {
        size_t n = record_held(s->l->stacks, s->virtual->at[i].stack, frames, LOOKS_FRAMES_MAX);

        for (size_t at = 0; at < n && a->count; at++) {
            size_t k = asker_of(a, frame_table_get(table, frames[at])->function);

            a->below[i] |= k < a->count ? UINT64_C(1) << k : 0;
        }
    }
}

/* Finds the place with most waiting threads among those that method number @k of @a has given a
 * permit. */
static void find_having(const struct survey *s, const struct askers *a, size_t k,
                        struct waits_virtual *ret)
{
    const struct place *most = NULL;

    for (size_t i = 0; i < s->virtual->count; i++) {
        const struct place *one = place_of(s, i);
        double alike = 0;

        if (!one->known || wants_permit(one) || !(a->below[i] >> k & 1))
            continue;
        for (size_t j = 0; j < s->virtual->count; j++) {
            const struct place *other = place_of(s, j);

            alike += other->known && !wants_permit(other) && other->says.wait == one->says.wait &&
                             other->says.code == one->says.code && a->below[j] >> k & 1
                         ? s->virtual->at[j].threads
                         : 0;
        }
        if (alike > ret->having) {
            ret->having = alike;
            most = one;
        }
    }
    if (!most)
        return;
    ret->having_wait = most->says.wait;
    survey_write_code(s, most->says.code, ret->having_code);
}

/* Returns the waits for permits in method number @k of @a. */
static struct waits_virtual judge_asker(const struct survey *s, const struct askers *a, size_t k)
{
    struct waits_virtual of = { .waiting = 0 };

    for (size_t i = 0; i < s->virtual->count; i++) {
        const struct place *one = place_of(s, i);

        if (!wants_permit(one) || one->says.caller != a->methods[k])
            continue;
        of.waiting += s->virtual->at[i].threads;
        of.pooled |= one->says.code != one->says.caller;
    }
    find_having(s, a, k, &of);
    return of;
}

/* Returns the number of threads that wait within their work, and of those below method number @k of
 * @a. Threads at places without room count, too. */
static double count_busy(const struct survey *s, const struct askers *a, size_t k)
{
    double sum = s->virtual->left_out;

    for (size_t i = 0; i < s->virtual->count; i++) {
        const struct place *one = place_of(s, i);
        bool busy = one->says.busy || a->below[i] >> k & 1;

        if (wants_permit(one))
            busy = a->counting >> asker_of(a, one->says.caller) & 1;
        sum += one->known && busy ? s->virtual->at[i].threads : 0;
    }
    return sum;
}

void survey_judge_virtual(const struct survey *s, struct waits_virtual *ret)
{
    struct askers a = { .count = 0 };
    size_t most = 0;

    find_askers(s, &a);
    for (size_t k = 0; k < a.count; k++) {
        struct waits_virtual of = judge_asker(s, &a, k);

        /* Idle threads may wait by a semaphore that gives no permit to any thread. */
        if (!of.pooled && !(of.having > 0))
            continue;
        a.counting |= UINT64_C(1) << k;
        if (of.waiting > ret->waiting) {
            *ret = of;
            most = k;
        }
    }
    if (!a.counting)
        return;
    survey_write_code(s, a.methods[most], ret->code);
    ret->busy = count_busy(s, &a, most);
}
