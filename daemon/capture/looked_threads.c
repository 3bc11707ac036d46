/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/looked_threads.h"

#include "base/array.h"

#define THREADS_FIRST 256

void looked_threads_deinit(struct looked_threads *l)
{
    free(TAKE_PTR(l->threads));
    free(TAKE_PTR(l->next));
    free(TAKE_PTR(l->pids));
    l->pids_cap = 0;
    l->count = l->cap = l->next_count = l->next_cap = 0;
}

/* Puts the time at the place of @t that was not put yet. Time without a place is lost. */
static void put_place(struct looked_threads *l, struct looked_thread *t)
{
    for (int state = 0; state < LOOKED_STATES; state++) {
        uint64_t ns = t->place_ns[state];

        t->place_ns[state] = 0;
        if (ns && t->placed)
            l->put(l->cookie, t, (enum looked_state)state, ns);
        else
            l->lost_ns += ns;
    }
    t->put_ns = t->looked_ns;
}

static void leave_place(struct looked_threads *l, struct looked_thread *t)
{
    put_place(l, t);
    if (t->placed) {
        t->left_ns = t->looked_ns;
        t->left_lock = t->lock_stack;
    }
    t->placed = false;
    t->lock_stack = 0;
    t->pass = 0;
}

void looked_threads_begin(struct looked_threads *l, uint64_t now_ns, double weight, uint32_t parts,
                          uint32_t part)
{
    l->passing = true;
    l->no++;
    l->now_ns = now_ns;
    l->weight = weight;
    l->parts = parts;
    l->part = part;
    l->at = l->next_count = 0;
    l->level = shares_level(&l->wanted, LOOKED_THREADS_MAX - LOOKED_THREADS_FREE);
    if (l->level == UINT64_MAX) /* else the level belongs to counters with this seed */
        shares_init(&l->wanted, /* max= */ 0);
    else
        l->wanted = (struct shares){ .seed = l->wanted.seed };
}

/* Counts one more thread of @owner, and returns whether there is room for it. */
static bool has_room(struct looked_threads *l, uint64_t owner)
{
    shares_force(&l->wanted, owner, 1);
    if (l->next_count < LOOKED_THREADS_MAX && shares_used(&l->wanted, owner) <= l->level &&
        array_grow(&l->next, &l->next_cap, l->next_count + 1, THREADS_FIRST))
        return true;
    l->left_out++;
    return false;
}

/* Advances to thread @host_tid of the pass before. Threads of this part in between have ended. */
static void skip_to(struct looked_threads *l, uint64_t host_tid)
{
    for (; l->at < l->count && l->threads[l->at].host_tid < host_tid; l->at++) {
        struct looked_thread *t = &l->threads[l->at];

        if (t->host_tid % l->parts != l->part && has_room(l, t->owner))
            l->next[l->next_count++] = *t;
        else
            put_place(l, t);
    }
}

/* Returns thread @e of this pass, with its state of the pass before. NULL: there is no room, or
 * entries are not in order. */
static struct looked_thread *next_thread(struct looked_threads *l, const struct looks_entry *e,
                                         uint64_t owner)
{
    struct looked_thread *t;

    skip_to(l, e->host_tid);
    if (l->next_count && l->next[l->next_count - 1].host_tid >= e->host_tid)
        return NULL; /* out of order */
    if (!has_room(l, owner))
        return NULL;
    t = &l->next[l->next_count++];
    *t = (struct looked_thread){ .host_tid = e->host_tid, .host_pid = e->host_pid, .owner = owner };
    if (l->at < l->count && l->threads[l->at].host_tid == e->host_tid) {
        struct looked_thread *before = &l->threads[l->at++];

        if (before->host_pid == e->host_pid && before->ran_ns <= e->ran_ns)
            *t = *before;
        else
            put_place(l, before); /* another thread has that number now */
    }
    return t;
}

/* Sets the time that @t is owed for @state to @ns, within its limit. */
static void set_owed(struct looked_threads *l, struct looked_thread *t, enum looked_state state,
                     int64_t ns)
{
    const int64_t MOST = (int64_t)LOOKED_OWED_MAX_NS;

    l->lost_ns += ns > MOST ? (uint64_t)(ns - MOST) : 0;
    t->owed_ns[state] = MAX(MIN(ns, MOST), -MOST);
}

/* Adds the time since the last pass to the time owed. A new thread stands for other threads like it
 * that began and ended between two passes. So it is owed all the time between them. */
static void owe(struct looked_threads *l, struct looked_thread *t, const struct looks_entry *e,
                enum looked_state state)
{
    uint64_t between_ns = l->before_ns ? (l->now_ns - l->before_ns) * l->parts : 0;
    int64_t queued;

    if (!t->looked_ns && e->found != LOOKS_RUNS) {
        set_owed(l, t, state, (int64_t)between_ns);
    } else if (t->looked_ns) {
        queued = (int64_t)(e->queued_ns - MIN(t->queued_ns, e->queued_ns));
        set_owed(l, t, LOOKED_RUNNABLE, t->owed_ns[LOOKED_RUNNABLE] + queued);
        set_owed(l, t, LOOKED_BLOCKED,
                 t->owed_ns[LOOKED_BLOCKED] + (int64_t)(l->now_ns - t->looked_ns) - queued -
                     (int64_t)(e->ran_ns - t->ran_ns));
    }
    t->ran_ns = e->ran_ns;
    t->queued_ns = e->queued_ns;
    if (!t->looked_ns)
        t->put_ns = l->now_ns;
    t->looked_ns = l->now_ns;
}

/* Returns the time that is owed for @state, and resets it. */
static uint64_t settle(struct looked_thread *t, enum looked_state state)
{
    int64_t ns = t->owed_ns[state];

    if (ns <= 0)
        return 0;
    t->owed_ns[state] = 0;
    return (uint64_t)ns;
}

uint64_t looked_threads_take(struct looked_threads *l, const struct looks_entry *e, uint64_t owner)
{
    enum looked_state state = e->runnable ? LOOKED_RUNNABLE : LOOKED_BLOCKED;
    struct looked_thread *t = next_thread(l, e, owner);
    bool granted = e->found == LOOKS_SAME || e->found == LOOKS_ALIKE,
         stays = t && granted && t->pass;
    uint64_t ns;

    l->forgotten = false;
    if (!t)
        return 0;
    if (stays && !t->placed && l->now_ns - t->put_ns >= LOOKED_NAMED_NS)
        stays = false; /* the stack was lost on its way */
    if (t->placed && t->ran_ns == e->ran_ns && e->found != LOOKS_RUNS)
        stays = true; /* the place is written again, for a better stack */
    if (!stays)
        leave_place(l, t);
    owe(l, t, e, state);
    t->runs = e->found == LOOKS_RUNS || e->runnable;
    l->forgotten = granted && !stays;
    if (e->found == LOOKS_RUNS)
        return 0;
    if (stays) { /* the thread was blocked there before it was woken */
        t->place_ns[LOOKED_BLOCKED] += settle(t, LOOKED_BLOCKED);
        if (state == LOOKED_RUNNABLE)
            t->place_ns[LOOKED_RUNNABLE] += settle(t, LOOKED_RUNNABLE);
        if (l->now_ns - t->put_ns >= LOOKED_PUT_NS && t->placed)
            put_place(l, t);
        t->pass = e->found == LOOKS_PLACE ? l->no : t->pass;
        return 0;
    }
    if (e->found == LOOKS_LEFT || l->forgotten)
        return 0; /* no thread stands for others: the time stays owed */
    ns = settle(t, state);
    if (e->found != LOOKS_PLACE) {
        l->lost_ns += l->weight > 1 ? 0 : ns; /* weight > 1: other threads stand for it */
        return 0;
    }
    t->pass = l->no;
    t->put_ns = l->now_ns;
    return e->alike ? ns : (uint64_t)((double)ns * l->weight + 0.5);
}

void looked_threads_end(struct looked_threads *l)
{
    struct looked_thread *threads = l->threads;
    size_t cap = l->cap;

    skip_to(l, UINT64_MAX);
    l->threads = l->next;
    l->count = l->next_count;
    l->cap = l->next_cap;
    l->next = threads;
    l->next_cap = cap;
    l->next_count = 0;
    l->at = 0;
    l->pids_count = SIZE_MAX;
    l->before_ns = l->now_ns;
    l->passing = false;
}

static struct looked_thread *find_in(struct looked_thread *threads, size_t count, uint32_t host_tid)
{
    size_t at = array_first(count, middle, threads[middle].host_tid < host_tid);

    return at < count && threads[at].host_tid == host_tid ? &threads[at] : NULL;
}

struct looked_thread *looked_threads_find(struct looked_threads *l, uint32_t host_tid)
{
    struct looked_thread *t = l->passing ? find_in(l->next, l->next_count, host_tid) : NULL;

    return t ?: find_in(l->threads + l->at, l->count - l->at, host_tid);
}

const uint32_t *looked_threads_pids(struct looked_threads *l)
{
    if (l->pids && l->pids_count == l->count)
        return l->pids;
    if (!array_grow(&l->pids, &l->pids_cap, MAX(l->count, (size_t)1), THREADS_FIRST))
        return NULL;
    for (size_t i = 0; i < l->count; i++)
        l->pids[i] = l->threads[i].host_pid;
    l->pids_count = l->count;
    return l->pids;
}

bool looked_thread_waits(const struct looked_threads *l, const struct looked_thread *t)
{
    return !t->runs && (t->placed || (t->left_ns && l->before_ns < t->left_ns + LOOKED_LEFT_NS));
}

/* Returns the begin of the time of @t that has no place yet. */
static uint64_t known_of(const struct looked_thread *t)
{
    uint64_t most_ns = 0;

    for (int state = 0; state < LOOKED_STATES; state++) {
        uint64_t ns = (uint64_t)MAX(t->owed_ns[state], INT64_C(0));

        most_ns = MAX(most_ns, ns + (t->placed ? 0 : t->place_ns[state]));
    }
    if (t->pass && !t->placed)
        most_ns += LOOKED_OWED_MAX_NS; /* time of the stack that is being named */
    return t->looked_ns - MIN(most_ns, t->looked_ns);
}

uint64_t looked_threads_known_ns(const struct looked_threads *l)
{
    uint64_t known_ns = l->before_ns;

    for (size_t i = 0; i < l->count; i++)
        known_ns = MIN(known_ns, known_of(&l->threads[i]));
    return known_ns;
}

void looked_threads_put(struct looked_threads *l)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->threads[i].placed)
            put_place(l, &l->threads[i]);
    }
}

void looked_threads_forget(struct looked_threads *l)
{
    for (size_t i = 0; i < l->count; i++) {
        leave_place(l, &l->threads[i]);
        l->threads[i].left_ns = 0;
    }
}
