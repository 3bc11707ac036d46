/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/looks_survey_impl.h"

#include "base/cleanup.h"
#include "base/fnv1a.h"
#include "base/list.h"
#include "base/text.h"
#include "event/events.h"
#include "profile/thread_kinds.h"
#include "store/history_tally.h"

#include <math.h>
#include <stdlib.h>

#define POOL_WHOLE 0.9  /* the pool waits if this part of its threads waits */
#define POOL_STAYS 0.75 /* the same for a pool that waited at the last look */
#define LOCK_SAMPLE 1u  /* lowest bit of a sample's time: the sample is of a lock */

static uint32_t lock_of(const struct looked_thread *t)
{
    return t->placed ? t->lock_stack : t->left_lock;
}

/* Continues the hash @h by the place of @t. */
static uint64_t hash_place(uint64_t h, const struct looked_thread *t, bool waits)
{
    const uint32_t words[] = { t->host_tid, t->name, waits ? t->stack + 1 : t->runs,
                               waits ? lock_of(t) : 0 };

    return fnv1a(h, words, sizeof(words));
}

static uint64_t find_threads(struct survey *s, int32_t host_pid)
{
    const struct looked_threads *all = &s->l->threads;
    uint64_t hash = FNV1A_START;

    for (size_t i = 0; i < all->count; i++) {
        const struct looked_thread *t = &all->threads[i];

        if (t->host_pid != (uint32_t)host_pid)
            continue;
        if (s->count == SURVEY_THREADS_MAX) {
            s->left_out++;
            continue;
        }
        s->waits[s->count] = looked_thread_waits(all, t) && !t->no_java;
        hash = hash_place(hash, t, s->waits[s->count]);
        s->threads[s->count++] = t;
    }
    for (size_t i = 0; s->virtual && i < s->virtual->count; i++)
        hash = fnv1a(hash, &s->virtual->at[i], sizeof(s->virtual->at[i]));
    return s->count ? hash | 1 : 0;
}

/* ---- places as samples of a profile ---- */

static int add_stack(struct survey *s, struct record *r, struct profile_sample *sample,
                     uint32_t stack)
{
    size_t n = record_held(s->l->stacks, stack, s->l->frames, LOOKS_FRAMES_MAX);

    return record_sample(r, sample, s->l->frames, n);
}

static int add_thread(struct survey *s, struct record *r, size_t i)
{
    const struct looked_thread *t = s->threads[i];
    struct profile_thread thread = { .host_tid = (int32_t)t->host_tid, .name = t->name };
    struct profile_sample sample = { .time_ns = 2 * i,
                                     .value = 1,
                                     .count = 1,
                                     .mode = t->mode,
                                     .flags = t->flags | (unsigned)STATE_BLOCKED
                                                             << PROFILE_SAMPLE_STATE_SHIFT };
    uint32_t id;
    int r2 = record_process(r, &t->process, &thread.process);

    if (r2 == 0)
        r2 = record_thread(r, &thread, &id);
    if (r2 < 0)
        return r2;
    sample.thread = id & 0xffffff;
    r2 = add_stack(s, r, &sample, t->stack);
    if (r2 == 0 && lock_of(t)) {
        sample.time_ns |= LOCK_SAMPLE;
        r2 = add_stack(s, r, &sample, lock_of(t));
    }
    return r2;
}

/* Adds a place of virtual threads, as if one thread of the JVM waited there. */
static int add_virtual(struct survey *s, struct record *r, size_t i)
{
    struct profile_thread thread = { .host_tid = -1 };
    struct profile_sample sample = { .time_ns = 2 * (SURVEY_THREADS_MAX + i),
                                     .value = 1,
                                     .count = 1,
                                     .flags = (unsigned)STATE_BLOCKED
                                              << PROFILE_SAMPLE_STATE_SHIFT };
    uint32_t id;
    int r2 = record_process(r, &s->threads[0]->process, &thread.process);

    if (r2 == 0)
        r2 = record_thread(r, &thread, &id);
    if (r2 < 0)
        return r2;
    sample.thread = id & 0xffffff;
    return add_stack(s, r, &sample, s->virtual->at[i].stack);
}

/* Makes s->p of all known places. */
static int make_profile(struct survey *s)
{
    struct profile meta = { .end_ns = UINT64_MAX, .event_count = 1 };
    struct record *r;
    int result = record_new(s->l->o.frames, 2 * s->count + LOOKED_VIRTUAL_MAX, &r);

    if (result < 0)
        return result;
    meta.events[0] = profile_event_of(events_find("offcpu"), NSEC_PER_SEC);
    for (size_t i = 0; i < s->count && result == 0; i++) {
        if (s->waits[i])
            result = add_thread(s, r, i);
    }
    for (size_t i = 0; s->virtual && i < s->virtual->count && result == 0; i++)
        result = add_virtual(s, r, i);
    if (result == 0 && record_samples(r))
        result = record_finish(r, &meta, &s->p);
    record_free(r);
    return result;
}

/* ---- reading places ---- */

/* Returns whether a thread in @wait is busy: it waits for other threads, not for new work. */
static bool is_busy(const struct place *place, enum wait wait)
{
    switch (wait) {
    case WAIT_SLEEP:
    case WAIT_NOTIFY:
    case WAIT_PARK:
    case WAIT_POLL:
    case WAIT_BLOCKED:
    case WAIT_STOPPED:
        return place->task;
    default:
        return true;
    }
}

static void read_place(struct waits *waits, struct survey_code *code, uint32_t stack,
                       struct place *ret)
{
    bool idle;
    enum wait wait = waits_of(waits, stack, &idle);

    ret->known = true;
    ret->wait = WAIT_NAMES[wait];
    survey_read_code(code, stack, ret);
    ret->input |=
        wait == WAIT_SLEEP || wait == WAIT_NOTIFY || wait == WAIT_POLL || wait == WAIT_STOPPED;
    ret->input &= !ret->result;
    /* A thread that waits for a processor waits for nothing of its pool. The signals run-queue and
     * cpu-limit report it. */
    ret->task &= !idle && wait != WAIT_RUNNABLE;
    ret->busy = !idle && ret->code && is_busy(ret, wait);
}

/* Reads a lock's stack: the leaf is the owner, if known, and its parent the class. */
static void read_lock(const struct profile *p, uint32_t stack, struct place *ret)
{
    const struct frame *frame = &p->frames[p->stacks[stack].frame];

    if (frame->kind == FRAME_THREAD) {
        ret->owner = intern_get(p->strings, p->functions[frame->function].name);
        frame = &p->frames[p->stacks[p->stacks[stack].parent].frame];
    }
    if (frame->kind == FRAME_WAIT_LOCK)
        ret->lock = frame->function;
}

static void read_kind(struct thread_kinds *kinds, const struct profile_sample *sample,
                      struct place *ret)
{
    ret->carrier = thread_kinds_carries(kinds, sample->thread);
    ret->pinned = thread_kinds_of(kinds, sample) == THREAD_PINNED;
    if (ret->pinned)
        ret->pinned_by = thread_kinds_pinned_by(kinds, sample->stack);
}

static int read_places(struct survey *s)
{
    struct waits *waits = NULL;
    struct survey_code code = { .traits = NULL };
    struct thread_kinds *kinds = NULL;
    int r = s->p ? waits_new(s->p, &waits) : 0;
    char pool[POOL_BYTES];

    if (r == 0 && s->p)
        r = survey_code_init(&code, s->p);
    if (r == 0 && s->p)
        r = thread_kinds_new(s->p, &kinds);
    for (size_t i = 0; i < s->count && r == 0; i++) {
        struct place *place = &s->places[i];

        *place =
            (struct place){ .name = frame_table_get_string(s->l->o.frames, s->threads[i]->name) };
        span_copy(tally_pool_name(place->name, pool, sizeof(pool)), place->pool, POOL_BYTES);
    }
    for (size_t i = 0; r == 0 && s->p && i < s->p->sample_count; i++) {
        const struct profile_sample *sample = &s->p->samples[i];
        struct place *place = &s->places[sample->time_ns / 2];

        if (sample->time_ns & LOCK_SAMPLE) {
            read_lock(s->p, sample->stack, place);
            continue;
        }
        place->stack = sample->stack;
        read_place(waits, &code, sample->stack, place);
        read_kind(kinds, sample, place);
    }
    thread_kinds_free(kinds);
    survey_code_deinit(&code);
    waits_free(waits);
    return r;
}

/* ---- the result ---- */

static bool waits_alike(const struct place *a, const struct place *b)
{
    return a->task && a->busy && !a->lock && !a->pinned && a->wait == b->wait &&
           a->code == b->code && strcmp(a->pool, b->pool) == 0;
}

/* Counts the threads of the pool of @one, and the threads that wait as @one does. A thread without
 * a name may be of any pool. */
static void count_pool(struct survey *s, const struct place *one, struct waits_pool *ret)
{
    for (size_t i = 0; i < s->count; i++) {
        struct place *other = &s->places[i];
        bool alike = waits_alike(other, one);

        other->counted |= alike;
        if (alike && ret->waiting < WAITS_POOL_TIDS)
            ret->host_tids[(size_t)ret->waiting] = s->threads[i]->host_tid;
        ret->waiting += alike;
        ret->threads += !other->name.n || strcmp(other->pool, one->pool) == 0;
    }
}

/* Returns whether a larger share of the threads of @of waits than of @than. If the shares are
 * equal, returns whether more threads of @of wait. */
static bool waits_more(const struct waits_pool *of, const struct waits_pool *than)
{
    double more = of->waiting * fmax(than->threads, 1) - than->waiting * of->threads;

    return more > 0 || (more == 0 && of->waiting > than->waiting);
}

/* Returns whether a thread outside the pool of @one waits for a result. */
static bool may_be_awaited(const struct survey *s, const struct place *one)
{
    return ANY_OF(i, s->count, s->places[i].result && strcmp(s->places[i].pool, one->pool) != 0);
}

/* Finds the pools that wait most: @most[0] among threads that wait for no result, @most[1] among
 * the others. Threads that wait for a lock are left to survey_judge_locks(), pinned ones to
 * survey_judge_carriers(). */
static void find_pools(struct survey *s, struct waits_pool most[2])
{
    for (size_t i = 0; i < s->count; i++) {
        const struct place *one = &s->places[i];
        struct waits_pool of = { .wait = one->wait };

        if (!strchr(one->pool, '*') || one->counted || !waits_alike(one, one))
            continue;
        count_pool(s, one, &of);
        if (of.threads < 2 || !waits_more(&of, &most[one->result]) ||
            (one->input && !may_be_awaited(s, one)))
            continue;
        text_clean_into(span_of(one->pool), of.name, sizeof(of.name));
        survey_write_code(s, one->code, of.code);
        most[one->result] = of;
    }
}

/* Finds the pool that waits most. A pool that waits nearly whole, and for no result, comes first:
 * other pools may wait for it. The pool named @before is preferred, so that the name does not
 * change with each look. */
static void judge_pools(struct survey *s, const char *before, struct waits_pool *ret)
{
    struct waits_pool most[2] = { { .threads = 0 } };
    const struct waits_pool *first = &most[0], *late = &most[1];
    double whole;

    find_pools(s, most);
    whole = strcmp(first->name, before) == 0 ? POOL_STAYS : POOL_WHOLE;
    if (!first->threads || (first->waiting < whole * first->threads && !waits_more(first, late))) {
        *ret = *late;
        return;
    }
    *ret = *first;
    if (late->waiting < POOL_WHOLE * late->threads)
        return;
    ret->late = late->waiting;
    memcpy(ret->late_name, late->name, sizeof(ret->late_name));
}

static void judge(struct survey *s, const struct waits_pool *before, struct waits_now *ret)
{
    for (size_t i = 0; i < s->count; i++)
        ret->busy += s->places[i].known ? s->places[i].busy : s->threads[i]->runs;
    if (!s->p)
        return;
    survey_judge_locks(s, &ret->lock);
    judge_pools(s, before->name, &ret->pool);
    survey_judge_carriers(s, &ret->carriers);
    if (s->virtual)
        survey_judge_virtual(s, &ret->virtual);
}

/* Begins a survey. It is large, so what each thread writes is not cleared. */
static struct survey *survey_new(struct looks *l, int32_t host_pid)
{
    struct survey *s = malloc(sizeof(*s));

    if (!s)
        return NULL;
    s->l = l;
    s->count = s->left_out = 0;
    s->p = NULL;
    s->virtual = looked_virtuals_get(&l->virtuals, host_pid, clock_monotonic_ns());
    if (s->virtual)
        memset(s->places + SURVEY_THREADS_MAX, 0, LOOKED_VIRTUAL_MAX * sizeof(*s->places));
    return s;
}

bool looks_survey(struct looks *l, int32_t host_pid, struct waits_now *ret)
{
    struct survey *s = survey_new(l, host_pid);
    uint64_t made_of;
    bool ok = false;

    if (!s)
        return false;
    made_of = find_threads(s, host_pid);
    if (made_of && made_of == ret->made_of) {
        ok = true;
    } else if (made_of && make_profile(s) == 0 && read_places(s) == 0) {
        struct waits_pool before = ret->pool;

        *ret = (struct waits_now){ .made_of = made_of,
                                   .runnable = (double)NAN,
                                   .mounted = (double)NAN };
        judge(s, &before, ret);
        ok = true;
    }
    if (ok)
        ret->left_out = s->left_out;
    profile_unref(s->p);
    free(s);
    return ok;
}
