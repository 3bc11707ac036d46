/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/virtual_waits.h"

#include "base/clock.h"
#include "base/fnv1a.h"
#include "hotspot/thread_dump.h"
#include "profile/thread_kinds.h"
#include "unwind/unwind.h"

#include <stdlib.h>

#define LOOK_MIN_NS (25 * NSEC_PER_MSEC) /* the interval is random: 20 looks a second */
#define LOOK_MAX_NS (75 * NSEC_PER_MSEC)
/* Time until the next look at a JVM without virtual threads. It is less than the second that a look
 * stands for. */
#define NONE_NS (750 * NSEC_PER_MSEC)
/* Intervals of the recorder's looks, which never pause and cover all JVMs. */
#define RECORDED_MIN_NS (500 * NSEC_PER_MSEC)
#define RECORDED_MAX_NS (1500 * NSEC_PER_MSEC)
/* The longest time that a look stands for. A look of 50 ms puts off the next by 10 s (pay()). */
#define RECORDED_WAIT_NS (15 * NSEC_PER_SEC)
#define RECORDED_NONE_NS (5 * NSEC_PER_SEC)
#define RECORDED_RENEW_NS (VIRTUAL_WISH_NS / 2)
#define RECORDED_SETS (1U << LOOKS_SET)
#define THREADS_WANTED 100 /* threads per look */
#define DRAWS_MIN 16
#define DRAWS_FIRST 256
#define DRAWS_MAX 2048
/* A look that could not read 1 in BAD_PART threads is discarded: a collection moved them. */
#define BAD_PART 10
/* All looks may take 1/TIME_PART of the engine's time. Looks at one JVM may take 1/TIME_PART_OF_JVM
 * (recorder: 1/TIME_PART_RECORDED). */
#define TIME_PART 4
#define TIME_PART_OF_JVM 10
#define TIME_PART_RECORDED 200
#define TIME_AHEAD_NS (20 * NSEC_PER_MSEC)
#define BAD_MAX 4 /* discarded looks in a row; the next look counts, with unread stacks */

void virtual_waits_deinit(struct virtual_waits *v)
{
    free(v->batch);
    v->batch = NULL;
}

static bool is_lock(const struct hotspot_dump_thread *t)
{
    return t->lock != DUMP_LOCK_NONE || t->state == THREAD_STATE_BLOCKED;
}

/* Returns whether @t waits, or waits for a carrier. The time of a mounted thread counts for its
 * carrier. */
static bool is_wanted(const struct hotspot_dump_thread *t)
{
    return t->stack != DUMP_STACK_MOUNTED && t->stack != DUMP_STACK_RUNNING &&
           t->state != THREAD_STATE_NEW && t->state != THREAD_STATE_TERMINATED &&
           t->state != THREAD_STATE_UNKNOWN;
}

static struct span words_of(const struct hotspot_dump_batch *b, const struct hotspot_dump_thread *t)
{
    return (struct span){ (const char *)(b->words + t->first), t->count * sizeof(*b->words) };
}

static uint64_t hash_of(const struct hotspot_dump_batch *b, const struct hotspot_dump_thread *t)
{
    uint8_t kinds[] = { t->state, t->stack, t->lock };
    struct span words = words_of(b, t);

    return fnv1a(fnv1a(fnv1a(FNV1A_START, words.p, words.n), &t->lock_klass, sizeof(t->lock_klass)),
                 kinds, sizeof(kinds));
}

/* Returns whether both threads wait for the same thing at the same place. */
static bool is_alike(const struct hotspot_dump_batch *b, const struct hotspot_dump_thread *t,
                     const struct hotspot_dump_thread *other)
{
    return t->state == other->state && t->stack == other->stack && t->lock == other->lock &&
           t->lock_klass == other->lock_klass && span_eq(words_of(b, t), words_of(b, other));
}

/* Groups equal threads, so that each group is named once. v->alike is the size of the group at its
 * first thread, 0 at the others. */
static void find_alike(struct virtual_waits *v)
{
    const struct hotspot_dump_batch *b = v->batch;

    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t at = 0;

        v->alike[i] = 0;
        v->hashes[i] = hash_of(b, &b->threads[i]);
        if (!is_wanted(&b->threads[i]))
            continue;
        while (at < i && !(v->alike[at] && v->hashes[at] == v->hashes[i] &&
                           is_alike(b, &b->threads[i], &b->threads[at])))
            at++;
        v->alike[at]++;
    }
}

static uint8_t lock_kind(const struct hotspot_dump_thread *t)
{
    switch ((enum hotspot_dump_lock)t->lock) {
    case DUMP_LOCK_NONE: /* blocked on a monitor */
    case DUMP_LOCK_MONITOR:
        return UNWIND_LOCK_MONITOR;
    case DUMP_LOCK_NOTIFY:
        return UNWIND_LOCK_WAIT;
    default:
        return UNWIND_LOCK_PARK;
    }
}

/* Copies the words of @t, which are all return addresses, without the stubs that lead to the
 * wait. */
static void copy_frames(struct virtual_waits *v, const struct hotspot_dump_thread *t,
                        uint32_t max_words, struct sample_record *rec)
{
    const uint64_t *words = v->batch->words + t->first;
    uint32_t n = 0, i;

    for (i = 0; i < t->count && n < max_words; i++) {
        bool interpreted = words[i] >> UNWIND_KIND_SHIFT == UNWIND_INTERPRETED;

        if (words[i] >> UNWIND_KIND_SHIFT == UNWIND_STUB)
            continue;
        if (n + interpreted >= max_words)
            break;
        v->frames[n++] = words[i];
        if (interpreted && ++i < t->count)
            v->frames[n++] = words[i];
    }
    rec->user_count = (uint16_t)n;
    if (t->stack == DUMP_STACK_CHANGED)
        rec->user_end = UNWIND_END_NOT_TAKEN;
    else if (t->stack == DUMP_STACK_CUT || i < t->count)
        rec->user_end = UNWIND_END_LIMIT;
    if (rec->user_end == UNWIND_END_LIMIT)
        rec->flags |= SAMPLE_USER_CUT;
}

static void hand_on(struct virtual_waits *v, struct dispatch *d, struct process *p,
                    const struct virtual_wish *w, const struct hotspot_dump_thread *t,
                    struct sample_record *rec)
{
    bool runnable = t->state == THREAD_STATE_RUNNABLE;

    rec->flags = runnable ? SAMPLE_RUNNABLE : 0;
    rec->user_end = UNWIND_END_ROOT;
    copy_frames(v, t, d->max_words, rec);
    for (uint8_t set = 0; set <= LOOKS_SET; set++) {
        rec->set = set;
        rec->lock = UNWIND_LOCK_NONE;
        rec->lock_class = 0;
        if (w->sets & 1U << set)
            dispatch_known(d, p, rec, v->frames);
        if (!(w->lock_sets & 1U << set) || runnable || !is_lock(t))
            continue;
        rec->lock = lock_kind(t);
        rec->lock_class = hotspot_lock_word(p->vm, t->lock_klass);
        dispatch_known(d, p, rec, v->frames);
    }
}

static bool is_recorded(const struct virtual_wish *w)
{
    return w->sets & RECORDED_SETS;
}

/* Drops the sets of @w that no event of waiting uses any more. */
static void keep_sets(struct virtual_wish *w, const struct captures *captures)
{
    for (uint32_t set = 0; set < BROKER_SETS_MAX; set++) {
        if (!waits_take_virtual(captures, set, /* locks= */ false))
            w->sets &= ~(1U << set);
        if (!waits_take_virtual(captures, set, /* locks= */ true))
            w->lock_sets &= ~(1U << set);
    }
}

/* Adds the threads of a look that could run to the sums of @w. */
static void add_load(struct virtual_wish *w, const struct hotspot_dump_batch *b)
{
    w->looks++;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct hotspot_dump_thread *t = &b->threads[i];

        if (t->stack == DUMP_STACK_MOUNTED)
            w->mounted += b->weight;
        else if (t->state == THREAD_STATE_RUNNABLE && t->stack != DUMP_STACK_CHANGED)
            w->runnable += b->weight;
    }
}

/* Returns the number of places that the next look draws, by the threads that this look found at its
 * places. */
static uint32_t next_draws(const struct hotspot_dump_batch *b)
{
    uint64_t draws = b->count ? (uint64_t)b->places * THREADS_WANTED / b->count : DRAWS_MAX;

    return (uint32_t)MIN(MAX(draws, (uint64_t)DRAWS_MIN), (uint64_t)DRAWS_MAX);
}

/* Returns whether to discard the look because too much of it is unread. The next look then covers
 * its time. */
static bool is_bad(struct virtual_wish *w, const struct hotspot_dump_batch *b)
{
    uint32_t changed = b->broken;

    for (uint32_t i = 0; i < b->count; i++)
        changed += b->threads[i].stack == DUMP_STACK_CHANGED;
    if (changed * BAD_PART <= b->count || w->bad >= BAD_MAX) {
        w->bad = 0;
        return false;
    }
    w->bad++;
    return true;
}

/* Stores a complete look at @p at @now_ns. Counts the time before the look that no sample stands
 * for. Samples of the look stand for @wait_ns each. */
static void looked(struct virtual_waits *v, struct virtual_wish *w, const struct dispatch *d,
                   const struct process *p, uint64_t now_ns, uint64_t wait_ns)
{
    struct virtual_missed missed = { .from_ns = MAX(w->looked_ns, p->exec_time_ns),
                                     .to_ns = now_ns - wait_ns };
    const struct hotspot_dump_batch *b = v->batch;

    for (uint32_t i = 0; i < b->count; i++) {
        missed.threads += v->alike[i] * b->weight;
        missed.lockers += is_lock(&b->threads[i]) ? v->alike[i] * b->weight : 0;
    }
    if (!is_recorded(w))
        waits_miss_virtual(d->captures, w, p, &missed);
    else if (w->looked_ns && missed.from_ns < missed.to_ns)
        looks_lose((*d->recorder)->looks,
                   (uint64_t)((double)(missed.to_ns - missed.from_ns) * missed.threads));
    w->looked_ns = now_ns;
    w->threads = missed.threads;
    w->lockers = missed.lockers;
    if (is_recorded(w))
        looks_look_virtual((*d->recorder)->looks, p->id.host_pid, now_ns);
}

static void look(struct virtual_waits *v, struct virtual_wish *w, struct dispatch *d,
                 struct process *p)
{
    struct hotspot_dump_batch *b = v->batch;
    struct sample_record rec = { .host_pid = (uint32_t)p->id.host_pid,
                                 .exec_id = p->exec_id,
                                 .comm = THREAD_KIND_UNMOUNTED };
    uint64_t now_ns;
    int r;

    b->is_virtual = true;
    b->draws = w->draws ? w->draws : DRAWS_FIRST;
    b->random = (uint64_t)random() << 31 ^ (uint64_t)random();
    b->count = 0;
    b->tracks_all = false;
    r = hotspot_dump_threads(p->vm, b);
    now_ns = clock_monotonic_ns();
    if (r == -E2BIG) {
        w->draws = MAX(b->draws / 2, (uint32_t)DRAWS_MIN);
        return;
    }
    if (r > 0 || (r == 0 && !b->places && !b->broken))
        looked(v, w, d, p, now_ns, /* wait_ns= */ 0); /* the JVM has no virtual thread */
    if (r != 0 || !b->places) {
        w->due_ns = now_ns + (is_recorded(w)    ? RECORDED_NONE_NS
                              : r == -ETIMEDOUT ? LOOK_MAX_NS
                                                : NONE_NS);
        return;
    }
    w->draws = next_draws(b);
    if (is_bad(w, b))
        return;
    /* The time that a look stands for is bounded. A capture takes the part within its duration. */
    rec.time_ns = now_ns;
    rec.wait_ns = MIN(w->looked_ns ? now_ns - w->looked_ns : VIRTUAL_LOOK_NS,
                      is_recorded(w) ? RECORDED_WAIT_NS : VIRTUAL_LOOK_NS);
    w->untracked = !b->tracks_all;
    keep_sets(w, d->captures);
    find_alike(v);
    add_load(w, b);
    looked(v, w, d, p, now_ns, rec.wait_ns);
    for (uint32_t i = 0; i < b->count; i++) {
        rec.weight = v->alike[i];
        rec.value = (uint64_t)((double)rec.wait_ns * b->weight * rec.weight);
        if (rec.weight)
            hand_on(v, d, p, w, &b->threads[i], &rec);
    }
}

/* Charges the time of a look. A JVM that takes long to read, maybe by an attacker, gets fewer
 * looks. */
static void pay(struct virtual_waits *v, struct virtual_wish *w, uint64_t began_ns)
{
    uint64_t now_ns = clock_monotonic_ns(), took_ns = now_ns - MIN(began_ns, now_ns);
    unsigned part = is_recorded(w) ? TIME_PART_RECORDED : TIME_PART_OF_JVM;

    w->due_ns = MAX(w->due_ns, now_ns + took_ns * (part - 1));
    v->paid_ns = MAX(v->paid_ns, began_ns) + took_ns * TIME_PART;
}

static uint64_t next_look_ns(const struct virtual_wish *w, uint64_t now_ns)
{
    uint64_t min = is_recorded(w) ? RECORDED_MIN_NS : LOOK_MIN_NS;
    uint64_t max = is_recorded(w) ? RECORDED_MAX_NS : LOOK_MAX_NS;

    return now_ns + min + (uint64_t)random() % (max - min);
}

/* @renewed_ns: when wishes were renewed last. */
static void look_at(struct virtual_waits *v, struct virtual_wishes *wishes, struct dispatch *d,
                    uint64_t renewed_ns, uint64_t now_ns)
{
    virtual_wishes_age(wishes, renewed_ns);
    if (wishes->count && !v->batch)
        v->batch = calloc(1, sizeof(*v->batch));
    for (uint32_t i = 0; v->batch && i < wishes->count && v->paid_ns < now_ns + TIME_AHEAD_NS;
         i++) {
        struct virtual_wish *w = &wishes->of[v->next++ % wishes->count];
        struct process *p = discover_find(d->discover, w->id.host_pid);
        uint64_t began_ns;

        if (now_ns < w->due_ns || !p || !proc_id_equal(&p->id, &w->id) || p->jvm != JVM_READY ||
            !p->vm)
            continue;
        w->due_ns = next_look_ns(w, now_ns);
        began_ns = clock_monotonic_ns();
        look(v, w, d, p);
        pay(v, w, began_ns);
    }
}

struct renewal {
    struct virtual_wishes *wishes;
    uint64_t now_ns;
};

static int renew(void *cookie, struct process *p)
{
    struct renewal *r = cookie;

    if (p->jvm != JVM_READY || !p->vm || hotspot_vm_jdk(p->vm) < 21 || p->exited)
        return 0;
    for (unsigned locks = 0; locks < 2; locks++)
        virtual_wishes_add(r->wishes, &p->id, process_payer(p), LOOKS_SET, locks, r->now_ns);
    return 0;
}

void virtual_waits_tick(struct virtual_waits *v, struct virtual_wishes *wishes, struct dispatch *d,
                        uint64_t now_ns)
{
    if (recorder_takes(*d->recorder, LOOKS_SET) && now_ns - v->recorded_ns >= RECORDED_RENEW_NS) {
        v->recorded_ns = now_ns;
        discover_each(d->discover, renew, &(struct renewal){ &v->recorded, now_ns });
    }
    /* A long tick reconciles late: the wishes of captures have not ended by that. */
    look_at(v, wishes, d, d->captures->running ? d->captures->filter.reconciled_ns : now_ns,
            now_ns);
    look_at(v, &v->recorded, d, now_ns, now_ns);
}

/* ---- the end of sampling by probes ---- */

#define CLOSING_TRIES 4

/* Reads virtual threads of @p into the batch: as many as it holds. Tries again if some are
 * unreadable. *ret_bad: some were unreadable each time. */
static int read_threads(struct virtual_waits *v, struct process *p, bool *ret_bad)
{
    struct hotspot_dump_batch *b = v->batch;
    struct virtual_wish none = { 0 };
    uint32_t draws = DRAWS_MAX;
    bool was_slow = false;
    int r = -E2BIG;

    for (unsigned i = 0; r == -E2BIG || (*ret_bad && i < CLOSING_TRIES); i++) {
        if (r == -E2BIG && i) { /* the machine may be busy for a moment, or there are many */
            draws /= was_slow ? 2 : 1;
            was_slow = true;
        }
        if (draws < DRAWS_MIN)
            return r;
        b->is_virtual = true;
        b->draws = draws;
        b->random = (uint64_t)random() << 31 ^ (uint64_t)random();
        b->count = 0;
        b->tracks_all = false;
        r = hotspot_dump_threads(p->vm, b);
        *ret_bad = r == 0 && (b->broken || is_bad(&none, b));
    }
    return r;
}

/* Finds the lock that @t waits for, and puts it into @rec. @known: the wait of @t, or NULL. Returns
 * false if @t waits for no lock. */
static bool put_lock(const struct process *p, const struct hotspot_dump_thread *t,
                     const struct yields_wait *known, struct sample_record *rec)
{
    bool monitor = known && (known->lock == UNWIND_LOCK_MONITOR || known->lock == UNWIND_LOCK_WAIT);

    if (!monitor && !is_lock(t))
        return false;
    rec->lock = monitor ? known->lock : lock_kind(t);
    rec->lock_class = monitor ? known->lock_class : hotspot_lock_word(p->vm, t->lock_klass);
    return true;
}

/* Hands on the waiting thread @t. @known: the wait that its probe stored; NULL: the wait began
 * before the probes were installed. */
static void close_thread(struct virtual_waits *v, struct dispatch *d, struct process *p,
                         const struct waits_closing *closing, const struct hotspot_dump_thread *t,
                         const struct yields_wait *known, uint64_t at_ns)
{
    uint64_t since_ns = known ? known->since_ns : closing->from_ns;
    struct sample_record rec = { .time_ns = at_ns,
                                 .wait_ns = at_ns - MIN(since_ns, at_ns),
                                 .host_pid = (uint32_t)p->id.host_pid,
                                 .exec_id = p->exec_id,
                                 .weight = 1,
                                 .flush = closing->no,
                                 .set = (uint8_t)closing->set,
                                 .flags = known && known->runnable ? SAMPLE_RUNNABLE : 0,
                                 .user_end = UNWIND_END_ROOT,
                                 .comm = THREAD_KIND_UNMOUNTED };

    if (!rec.wait_ns || (closing->locks && !put_lock(p, t, known, &rec)))
        return;
    rec.value = (uint64_t)((double)rec.wait_ns * v->batch->weight);
    copy_frames(v, t, d->max_words, &rec);
    dispatch_known(d, p, &rec, v->frames);
}

/* Hands on the waiting threads of the batch. A thread with a wait that ended between both readings
 * of the waits is in a sample of its probe. A thread without an entry is left out if begins of
 * waits were lost. */
static void close_threads(struct virtual_waits *v, struct dispatch *d, struct process *p,
                          struct waits_closing *closing, const struct known_waits *before,
                          const struct known_waits *after, uint64_t at_ns)
{
    for (uint32_t i = 0; i < v->batch->count; i++) {
        const struct hotspot_dump_thread *t = &v->batch->threads[i];
        const struct yields_wait *was = known_waits_find(before, t->java_id),
                                 *is = known_waits_find(after, t->java_id);

        if (!is_wanted(t) || t->stack == DUMP_STACK_NONE || !was != !is)
            continue;
        if (!was && closing->missed) {
            closing->incomplete = true;
            closing->unbegun_ns +=
                (uint64_t)((double)(at_ns - MIN(closing->from_ns, at_ns)) * v->batch->weight);
        } else if (!was || was->since_ns == is->since_ns)
            close_thread(v, d, p, closing, t, is, at_ns);
    }
}

uint64_t virtual_waits_close(struct virtual_waits *v, struct dispatch *d, struct process *p,
                             struct waits_closing *closing)
{
    struct known_waits before = { 0 }, after = { 0 };
    uint64_t at_ns;
    bool bad = false;
    int r;

    if (!v->batch)
        v->batch = calloc(1, sizeof(*v->batch));
    if (!v->batch || p->jvm != JVM_READY || !p->vm)
        return 0;
    r = known_waits_get(d->broker, p->id.host_pid, &before) ?: read_threads(v, p, &bad);
    at_ns = clock_monotonic_ns();
    closing->incomplete = bad;
    closing->untracked = r == 0 && v->batch->places && !v->batch->tracks_all;
    if (r == 0) /* 1: the JVM has no virtual thread */
        r = known_waits_get(d->broker, p->id.host_pid, &after);
    if (r == 0)
        close_threads(v, d, p, closing, &before, &after, at_ns);
    /* If the look read only a part of the threads, it does not know which threads are listed. */
    if (r == 0 && (closing->untracked || bad) && v->batch->weight <= 1)
        closing->unlisted_ns = known_waits_unlisted(&after, v->batch, closing->from_ns, at_ns);
    known_waits_deinit(&before);
    known_waits_deinit(&after);
    return r < 0 ? 0 : at_ns;
}
