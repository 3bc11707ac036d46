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
        if (s->places[k].carrier && (k == i || (strchr(s->places[i].pool, '*') &&
                                                strcmp(s->places[k].pool, s->places[i].pool) == 0)))
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
        ret->pinned += one->pinned;
        for (size_t k = i; one->pinned && k < s->count; k++)
            alike += s->places[k].pinned && s->places[k].code == one->code &&
                     s->places[k].wait == one->wait && s->places[k].pinned_by == one->pinned_by;
        if (alike > most_alike) {
            most_alike = alike;
            most = one;
        }
    }
    if (!most)
        return;
    ret->wait = most->wait;
    if (most->code)
        survey_write_code(s, most->code, ret->code);
    if (most->pinned_by)
        survey_write_code(s, most->pinned_by, ret->place);
}

/* ---- permits ---- */

static const struct place *place_of(const struct survey *s, size_t i)
{
    return &s->places[SURVEY_THREADS_MAX + i];
}

static bool is_wait(const struct place *one, enum wait wait)
{
    return one->wait == WAIT_NAMES[wait];
}

/* Returns whether the threads at @one wait for a permit. In a call to a server they have a
 * connection already. */
static bool wants_permit(const struct place *one)
{
    return one->known && one->permit && one->caller &&
           (is_wait(one, WAIT_PARK) || is_wait(one, WAIT_LOCK) || is_wait(one, WAIT_NOTIFY) ||
            is_wait(one, WAIT_SLEEP) || is_wait(one, WAIT_BLOCKED));
}

/* Returns whether the stack of @one has @function, which is not its leaf code. */
static bool is_below(const struct profile *p, const struct place *one, uint32_t function)
{
    for (uint32_t at = one->stack; p->stacks[at].depth; at = p->stacks[at].parent) {
        if (p->frames[p->stacks[at].frame].function == function)
            return true;
    }
    return false;
}

/* Returns the number of threads that wait for permits in @caller. */
static double waiting_in(const struct survey *s, uint32_t caller)
{
    double sum = 0;

    for (size_t i = 0; i < s->virtual->count; i++)
        sum += wants_permit(place_of(s, i)) && place_of(s, i)->caller == caller
                   ? s->virtual->at[i].threads
                   : 0;
    return sum;
}

/* Finds the place at which most threads wait that @caller has given a permit. */
static void find_having(const struct survey *s, uint32_t caller, struct waits_virtual *ret)
{
    const struct place *most = NULL;

    for (size_t i = 0; i < s->virtual->count; i++) {
        const struct place *one = place_of(s, i);
        double alike = 0;

        if (!one->known || wants_permit(one) || !is_below(s->p, one, caller))
            continue;
        for (size_t k = 0; k < s->virtual->count; k++) {
            const struct place *other = place_of(s, k);

            alike += other->known && !wants_permit(other) && other->wait == one->wait &&
                             other->code == one->code && is_below(s->p, other, caller)
                         ? s->virtual->at[k].threads
                         : 0;
        }
        if (alike > ret->having) {
            ret->having = alike;
            most = one;
        }
    }
    if (!most)
        return;
    ret->having_wait = most->wait;
    survey_write_code(s, most->code, ret->having_code);
}

void survey_judge_virtual(const struct survey *s, struct waits_virtual *ret)
{
    const struct place *most = NULL;

    for (size_t i = 0; i < s->virtual->count; i++) {
        const struct place *one = place_of(s, i);
        double waiting = wants_permit(one) ? waiting_in(s, one->caller) : 0;

        if (waiting > ret->waiting) {
            ret->waiting = waiting;
            most = one;
        }
    }
    if (!most)
        return;
    for (size_t i = 0; i < s->virtual->count; i++) {
        const struct place *one = place_of(s, i);

        if (one->known && (wants_permit(one) || one->busy || is_below(s->p, one, most->caller)))
            ret->busy += s->virtual->at[i].threads;
    }
    ret->pooled = most->code != most->caller;
    survey_write_code(s, most->caller, ret->code);
    find_having(s, most->caller, ret);
}
