/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/looks_survey_impl.h"

#include "base/fnv1a.h"
#include "base/list.h"
#include "base/text.h"
#include "store/history_tally.h"

#include <math.h>
#include <stdlib.h>

#define POOL_WHOLE 0.9  /* the pool waits if this part of its threads waits */
#define POOL_STAYS 0.75 /* the same for a pool that waited at the last look */

/* Continues the hash @h by the place of @t. */
static uint64_t hash_place(uint64_t h, const struct looked_thread *t, bool waits)
{
    const uint32_t words[] = { t->host_tid, t->name, waits ? t->stack + 1 : t->runs,
                               waits ? survey_lock_of(t) : 0 };

    return fnv1a(h, words, sizeof(words));
}

static uint64_t find_threads(struct survey *s, int32_t host_pid)
{
    const struct looked_threads *all = &s->l->threads;
    const uint32_t *pids = looked_threads_pids(&s->l->threads);
    uint64_t hash = FNV1A_START;

    for (size_t i = 0; pids && i < all->count; i++) {
        const struct looked_thread *t = &all->threads[i];

        if (pids[i] != (uint32_t)host_pid)
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

/* Reads the places of all threads. 0 or -ENOMEM. */
static int read_places(struct survey *s)
{
    char pool[POOL_BYTES];

    for (size_t i = 0; i < s->count; i++) {
        struct place *place = &s->places[i];

        *place =
            (struct place){ .name = frame_table_get_string(s->l->o.frames, s->threads[i]->name) };
        span_copy(tally_pool_name(place->name, pool, sizeof(pool)), place->pool, POOL_BYTES);
    }
    return survey_read_stacks(s);
}

/* ---- the result ---- */

static bool waits_alike(const struct place *a, const struct place *b)
{
    const struct stack_says *x = &a->says, *y = &b->says;

    return x->task && x->busy && !x->lock && !x->pinned && x->wait == y->wait &&
           x->code == y->code && strcmp(a->pool, b->pool) == 0;
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
    return ANY_OF(i, s->count,
                  s->places[i].says.result && strcmp(s->places[i].pool, one->pool) != 0);
}

/* Finds the pools that wait most: @most[0] among threads that wait for no result, @most[1] among
 * the others. Threads that wait for a lock are left to survey_judge_locks(), pinned ones to
 * survey_judge_carriers(). */
static void find_pools(struct survey *s, struct waits_pool most[2])
{
    for (size_t i = 0; i < s->count; i++) {
        const struct place *one = &s->places[i];
        struct waits_pool of = { .wait = one->says.wait };

        if (!strchr(one->pool, '*') || one->counted || !waits_alike(one, one))
            continue;
        count_pool(s, one, &of);
        if (of.threads < 2 || !waits_more(&of, &most[one->says.result]) ||
            (one->says.input && !may_be_awaited(s, one)))
            continue;
        text_clean_into(span_of(one->pool), of.name, sizeof(of.name));
        survey_write_code(s, one->says.code, of.code);
        most[one->says.result] = of;
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
        ret->busy += s->places[i].known ? s->places[i].says.busy : s->threads[i]->runs;
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
    } else if (made_of && read_places(s) == 0) {
        struct waits_pool before = ret->pool;

        *ret = (struct waits_now){ .made_of = made_of,
                                   .runnable = (double)NAN,
                                   .mounted = (double)NAN };
        judge(s, &before, ret);
        ok = true;
    }
    if (ok)
        ret->left_out = s->left_out;
    free(s);
    return ok;
}
