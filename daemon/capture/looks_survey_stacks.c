/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks in surveys. What a stack shows does not change, and threads return to the same places, so
 * each stack is read once: a profile is made of the stacks that no survey has met yet.
 */
#include "capture/looks_survey_impl.h"

#include "base/array.h"
#include "base/id_table.h"
#include "event/events.h"
#include "profile/thread_kinds.h"

#include <stdlib.h>

#define SURVEY_STACKS_AT_ONCE (SURVEY_PLACES_MAX + SURVEY_THREADS_MAX) /* places, and locks */
_Static_assert(SURVEY_STACKS_MAX > SURVEY_STACKS_AT_ONCE, "a survey finds room");

/* No padding: it is a key. */
struct stack_key {
    uint32_t stack; /* in l->stacks */
    uint32_t flags; /* as in struct profile_sample, without the state */
};

struct survey_stacks {
    struct id_table keys;    /* struct stack_key */
    struct stack_says *says; /* owned, by number of the key */
    size_t cap;
    uint32_t read; /* keys from here on are not read yet */
};

struct survey_stacks *survey_stacks_free(struct survey_stacks *known)
{
    if (known) {
        id_table_deinit(&known->keys);
        free(known->says);
        free(known);
    }
    return NULL;
}

/* Makes room for the stacks of one survey. 0 or -ENOMEM. */
static int make_room(struct looks *l)
{
    if (l->surveyed && l->surveyed->keys.count > SURVEY_STACKS_MAX - SURVEY_STACKS_AT_ONCE)
        l->surveyed = survey_stacks_free(l->surveyed);
    if (l->surveyed)
        return 0;
    l->surveyed = calloc(1, sizeof(*l->surveyed));
    if (!l->surveyed)
        return -ENOMEM;
    id_table_init(&l->surveyed->keys, sizeof(struct stack_key), SURVEY_STACKS_MAX);
    return 0;
}

/* ---- stacks as samples of a profile ---- */

/* Adds the stack of key @id, as if a thread of its own waited there. */
static int add_stack(struct looks *l, struct record *r, uint32_t id)
{
    const struct stack_key *key = id_table_get(&l->surveyed->keys, id);
    size_t n = record_held(l->stacks, key->stack, l->frames, LOOKS_FRAMES_MAX);
    struct profile_thread thread = { .host_tid = (int32_t)id + 1 };
    struct profile_sample sample = {
        .time_ns = id,
        .value = 1,
        .count = 1,
        .flags = (uint16_t)(key->flags | (unsigned)STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT)
    };
    uint32_t thread_id = 0;
    int result = record_process(r, &(struct profile_process){ 0 }, &thread.process);

    if (result == 0)
        result = record_thread(r, &thread, &thread_id);
    sample.thread = thread_id & 0xffffff;
    return result ?: record_sample(r, &sample, l->frames, n);
}

/* Makes *ret of the stacks that were not read yet. */
static int make_profile(struct looks *l, struct profile **ret)
{
    struct profile meta = { .end_ns = UINT64_MAX, .event_count = 1 };
    uint32_t end = l->surveyed->keys.count;
    struct record *r;
    int result = record_new(l->o.frames, end - l->surveyed->read, &r);

    if (result < 0)
        return result;
    meta.events[0] = profile_event_of(events_find("offcpu"), NSEC_PER_SEC);
    for (uint32_t id = l->surveyed->read; id < end && result == 0; id++)
        result = add_stack(l, r, id);
    if (result == 0)
        result = record_finish(r, &meta, ret);
    record_free(r);
    return result;
}

/* ---- reading a profile ---- */

struct stack_reader {
    const struct profile *p;
    struct waits *waits;
    struct survey_code code;
    struct thread_kinds *kinds;
};

static int reader_init(struct stack_reader *r, const struct profile *p)
{
    *r = (struct stack_reader){ .p = p };
    return waits_new(p, &r->waits) ?:
           survey_code_init(&r->code, p) ?:
           thread_kinds_new(p, &r->kinds);
}

static void reader_deinit(struct stack_reader *r)
{
    thread_kinds_free(r->kinds);
    survey_code_deinit(&r->code);
    waits_free(r->waits);
}

/* Returns whether a thread in @wait is busy: it waits for other threads, not for new work. */
static bool is_busy(const struct stack_says *says, enum wait wait)
{
    switch (wait) {
    case WAIT_SLEEP:
    case WAIT_NOTIFY:
    case WAIT_PARK:
    case WAIT_POLL:
    case WAIT_BLOCKED:
    case WAIT_STOPPED:
        return says->task;
    default:
        return true;
    }
}

static void read_wait(struct stack_reader *r, uint32_t stack, struct stack_says *ret)
{
    bool idle;
    enum wait wait = waits_of(r->waits, stack, &idle);

    ret->wait = WAIT_NAMES[wait];
    survey_read_code(&r->code, stack, ret);
    ret->input |=
        wait == WAIT_SLEEP || wait == WAIT_NOTIFY || wait == WAIT_POLL || wait == WAIT_STOPPED;
    ret->input &= !ret->result;
    /* A thread that waits for a processor waits for nothing of its pool. The signals run-queue and
     * cpu-limit report it. */
    ret->task &= !idle && wait != WAIT_RUNNABLE;
    ret->busy = !idle && ret->code && is_busy(ret, wait);
}

static void read_kind(struct stack_reader *r, const struct profile_sample *sample,
                      struct stack_says *ret)
{
    ret->carrier = thread_kinds_carries(r->kinds, sample->thread);
    ret->pinned = thread_kinds_of(r->kinds, sample) == THREAD_PINNED;
    if (ret->pinned)
        ret->pinned_by = thread_kinds_pinned_by(r->kinds, sample->stack);
}

/* Replaces functions of the profile by those of the frame table. @key: the stack that became @stack
 * of the profile. */
static void use_table(struct looks *l, const struct profile *p, const struct stack_key *key,
                      uint32_t stack, struct stack_says *says)
{
    size_t n = record_held(l->stacks, key->stack, l->frames, LOOKS_FRAMES_MAX);
    struct stack_says out = *says;

    for (size_t i = 0; i < n && p->stacks[stack].depth; i++) {
        uint32_t of_profile = p->frames[p->stacks[stack].frame].function,
                 of_table = frame_table_get(l->o.frames, l->frames[i])->function;

        if (of_profile == says->code)
            out.code = of_table;
        if (of_profile == says->caller)
            out.caller = of_table;
        if (of_profile == says->pinned_by)
            out.pinned_by = of_table;
        stack = p->stacks[stack].parent;
    }
    *says = out;
}

/* Reads a lock's stack: the leaf is the owner, if known, and its parent the class. */
static void read_lock(struct looks *l, const struct stack_key *key, struct stack_says *ret)
{
    size_t n = record_held(l->stacks, key->stack, l->frames, LOOKS_FRAMES_MAX), i = 0;
    const struct frame *frame = frame_table_get(l->o.frames, n ? l->frames[0] : 0);

    if (frame->kind == FRAME_THREAD) {
        ret->owner = frame_table_get_function(l->o.frames, frame->function)->name;
        i = 1;
    }
    frame = frame_table_get(l->o.frames, i < n ? l->frames[i] : 0);
    if (frame->kind == FRAME_WAIT_LOCK)
        ret->lock = frame->function;
}

static int read_profile(struct looks *l, const struct profile *p)
{
    struct stack_reader r;
    int result = reader_init(&r, p);

    for (size_t i = 0; i < p->sample_count && result == 0; i++) {
        const struct profile_sample *sample = &p->samples[i];
        uint32_t id = (uint32_t)sample->time_ns;
        const struct stack_key *key = id_table_get(&l->surveyed->keys, id);
        struct stack_says *says = &l->surveyed->says[id];

        read_wait(&r, sample->stack, says);
        read_kind(&r, sample, says);
        use_table(l, p, key, sample->stack, says);
        read_lock(l, key, says);
    }
    reader_deinit(&r);
    return result;
}

/* ---- the places of a survey ---- */

/* Numbers the stack @stack. 0 or -ENOMEM. */
static int number(struct looks *l, uint32_t stack, unsigned flags, uint32_t *ret)
{
    struct stack_key key = { stack, flags };

    return MIN(id_table_add(&l->surveyed->keys, &key, ret), 0);
}

/* Reads the stacks that were numbered and not read yet. */
static int read_new(struct looks *l)
{
    struct survey_stacks *known = l->surveyed;
    struct profile *p = NULL;
    int result;

    if (known->read == known->keys.count)
        return 0;
    if (!array_grow(&known->says, &known->cap, known->keys.count, 64))
        return -ENOMEM;
    memset(&known->says[known->read], 0, (known->keys.count - known->read) * sizeof(*known->says));
    result = make_profile(l, &p);
    if (result == 0)
        result = read_profile(l, p);
    profile_unref(p);
    known->read = known->keys.count;
    return result;
}

/* The numbers of the stacks of a survey. */
struct numbered {
    uint32_t places[SURVEY_PLACES_MAX], locks[SURVEY_THREADS_MAX];
};

static int number_all(struct survey *s, struct numbered *ret)
{
    int result = make_room(s->l);

    for (size_t i = 0; i < s->count && result == 0; i++) {
        const struct looked_thread *t = s->threads[i];

        s->places[i].known = s->waits[i];
        if (s->waits[i])
            result = number(s->l, t->stack, t->flags, &ret->places[i])
                         ?: number(s->l, survey_lock_of(t), 0, &ret->locks[i]);
    }
    for (size_t i = 0; s->virtual && i < s->virtual->count && result == 0; i++)
        result = number(s->l, s->virtual->at[i].stack, 0, &ret->places[SURVEY_THREADS_MAX + i]);
    return result;
}

int survey_read_stacks(struct survey *s)
{
    const struct stack_says *says;
    struct numbered numbers;
    int result = number_all(s, &numbers);

    if (result == 0)
        result = read_new(s->l);
    if (result < 0) { /* some numbers have no stack_says */
        s->l->surveyed = survey_stacks_free(s->l->surveyed);
        return result;
    }
    says = s->l->surveyed->says;
    for (size_t i = 0; i < s->count; i++) {
        if (!s->waits[i])
            continue;
        s->places[i].says = says[numbers.places[i]];
        s->places[i].says.lock = says[numbers.locks[i]].lock;
        s->places[i].says.owner = says[numbers.locks[i]].owner;
    }
    for (size_t i = 0; s->virtual && i < s->virtual->count; i++) {
        struct place *place = &s->places[SURVEY_THREADS_MAX + i];

        place->known = true;
        place->says = says[numbers.places[SURVEY_THREADS_MAX + i]];
    }
    return 0;
}
