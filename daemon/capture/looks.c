/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/looks.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "capture/looks_survey.h"
#include "capture/profile_process.h"
#include "capture/request_context.h"
#include "proc/stall_readers.h"
#include "profile/waits.h"
#include "unwind/unwind.h"

#include <stdlib.h>
#include <unistd.h>

#define PROBLEM_NS (60 * NSEC_PER_SEC) /* time to the next try after a problem */
#define PATIENCE_MIN_NS (2 * NSEC_PER_SEC)
#define PATIENCE_MAX_NS (16 * NSEC_PER_SEC) /* after this time, incomplete places are kept */
#define READ_BYTES ((size_t)64 << 10)
/* The kernel visits more threads once these bytes were read, which is some 6 walked threads.
 * Between reading a thread's registers and walking its stack, flamed walks the others of these. */
#define CHUNK_BYTES ((size_t)2 << 10)

/* The stack of a waiting thread, for a sample of an event of the flight. */
struct found {
    uint8_t event;
    uint16_t flags;
    const uint32_t *frames;
    size_t n;
};

/* Adds a sample to the recorder: @threads threads, @t among them, spent @ns at @f, up to
 * @time_ns. */
static void put_sample(struct looks *l, const struct looked_thread *t, const struct found *f,
                       enum looked_state state, uint64_t time_ns, uint64_t ns, uint32_t threads)
{
    enum thread_state as = state == LOOKED_RUNNABLE ? STATE_RUNNABLE : STATE_BLOCKED;
    struct profile_thread thread = { .host_tid = (int32_t)t->host_tid, .name = t->name };
    struct profile_sample sample = { .time_ns = time_ns,
                                     .value = ns,
                                     .count = threads,
                                     .mode = t->mode,
                                     .event = f->event,
                                     .flags =
                                         f->flags | (uint16_t)(as << PROFILE_SAMPLE_STATE_SHIFT) };

    l->stats.dropped +=
        flight_sample(l->o.flight, &sample,
                      (struct flight_origin){ .process = &t->process,
                                              .thread = &thread,
                                              .request = l->o.contexts ? &t->request : NULL },
                      f->frames, f->n) < 0;
}

/* Does the same for a stack in l->stacks. */
static void put_held(struct looks *l, const struct looked_thread *t, uint32_t stack,
                     struct found *f, enum looked_state state, uint64_t ns)
{
    f->frames = l->frames;
    f->n = record_held(l->stacks, stack, l->frames, LOOKS_FRAMES_MAX);
    put_sample(l, t, f, state, t->looked_ns, ns, 1);
}

/* Implements looked_threads.put. A thread that waits for a lock waits for it until it runs
 * again. */
static void put(void *cookie, const struct looked_thread *t, enum looked_state state, uint64_t ns)
{
    struct looks *l = cookie;

    put_held(l, t, t->stack, &(struct found){ .event = l->o.event, .flags = t->flags }, state, ns);
    if (t->lock_stack)
        put_held(l, t, t->lock_stack,
                 &(struct found){ .event = l->o.lock_event, .flags = t->lock_flags },
                 LOOKED_BLOCKED, ns);
}

int looks_new(const struct looks_opts *o, struct looks **ret)
{
    struct looks *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->o = *o;
    l->threads.put = put;
    l->threads.cookie = l;
    looks_pace_init(&l->pace);
    l->frames = calloc(LOOKS_FRAMES_MAX, sizeof(*l->frames));
    if (!l->frames || record_new(o->frames, /* max_samples= */ 2, &l->stacks) < 0) {
        looks_free(l);
        return -ENOMEM;
    }
    *ret = l;
    return 0;
}

struct looks *looks_free(struct looks *l)
{
    if (!l)
        return NULL;
    looked_threads_deinit(&l->threads);
    looked_virtuals_deinit(&l->virtuals);
    survey_stacks_free(l->surveyed);
    record_free(l->stacks);
    free(l->processes);
    free(l->frames);
    free(l);
    return NULL;
}

/* ---- which processes ---- */

_Static_assert(LOOKS_PROCESSES_MAX >= DISCOVER_PROCESSES_MAX, "there is room for each JVM");

static struct looked_process *find_process(struct looks *l, int32_t host_pid)
{
    struct looked_process *p = l->processes;
    size_t at = array_first(l->process_count, middle, p[middle].id.host_pid < host_pid);

    return at < l->process_count && p[at].id.host_pid == host_pid ? &p[at] : NULL;
}

ORDER_FUNCTION(by_pid, struct looked_process, COMPARE(x->id.host_pid, y->id.host_pid))

/* Requests that the places of @p are written again later, also if they were written often. */
static void want_again(struct looked_process *p)
{
    p->incomplete = true;
    p->patience_ns = MIN(p->patience_ns, PATIENCE_MAX_NS);
}

/* Begins an epoch of @p: the next pass handles its threads as if they had run. */
static void begin_epoch(struct looks *l, struct looked_process *p, uint64_t now_ns)
{
    l->last_epoch = (l->last_epoch + 1) % LOOKS_EPOCH_WALKS ?: 1;
    p->epoch = l->last_epoch | (p->requests ? LOOKS_EPOCH_WALKS : 0);
    p->epoch_ns = now_ns;
    p->incomplete = false;
    if (broker_look_process(l->o.broker, p->id.host_pid, p->epoch, NULL) < 0)
        want_again(p);
}

static void begin_epochs(struct looks *l, uint64_t now_ns)
{
    for (size_t i = 0; i < l->process_count; i++)
        begin_epoch(l, &l->processes[i], now_ns);
}

struct choice {
    struct looks *before, *after;
    uint64_t now_ns;
};

static int choose(void *cookie, struct process *p)
{
    struct choice *c = cookie;
    struct looks *l = c->after;
    const struct looked_process *known = find_process(c->before, p->id.host_pid);
    bool ready = p->jvm == JVM_READY && p->vm,
         requests = l->o.contexts && context_is_read(l->o.contexts, &p->id);
    struct looked_process *mine = &l->processes[l->process_count];

    if (p->jvm == JVM_NO || p->exited || p->zombie)
        return 0;
    if (l->process_count == LOOKS_PROCESSES_MAX)
        return 1;
    l->process_count++;
    if (known && proc_id_equal(&known->id, &p->id) && known->ready == ready &&
        known->requests == requests) {
        *mine = *known;
        if (!mine->incomplete || mine->patience_ns > PATIENCE_MAX_NS ||
            c->now_ns - mine->epoch_ns < mine->patience_ns)
            return 0;
        mine->patience_ns *= 2;
    } else {
        *mine = (struct looked_process){ .id = p->id,
                                         .owner = process_payer(p),
                                         .ready = ready,
                                         .requests = requests,
                                         .patience_ns = PATIENCE_MIN_NS };
    }
    begin_epoch(l, mine, c->now_ns);
    return 0;
}

/* Selects for passes the JVMs that run now. */
static void choose_processes(struct looks *l, uint64_t now_ns)
{
    struct looks before = *l;
    struct looked_process *fresh = calloc(LOOKS_PROCESSES_MAX, sizeof(*fresh));

    if (!fresh)
        return;
    l->processes = fresh;
    l->process_count = 0;
    discover_each(l->o.discover, choose, &(struct choice){ &before, l, now_ns });
    qsort(l->processes, l->process_count, sizeof(*l->processes), by_pid);
    for (size_t i = 0; i < before.process_count; i++) {
        if (!find_process(l, before.processes[i].id.host_pid))
            broker_look_process(l->o.broker, before.processes[i].id.host_pid, 0, NULL);
    }
    free(before.processes);
}

/* Drops all places, so that the next passes write them again. */
static void begin_again(struct looks *l, uint64_t now_ns)
{
    looked_threads_forget(&l->threads);
    begin_epochs(l, now_ns);
}

static void renew_stacks(struct looks *l)
{
    struct record *fresh = NULL;

    looked_virtuals_forget(&l->virtuals);
    l->surveyed = survey_stacks_free(l->surveyed);
    begin_again(l, clock_monotonic_ns());
    if (record_new(l->o.frames, /* max_samples= */ 2, &fresh) < 0)
        return; /* no place refers to the old record */
    record_free(l->stacks);
    l->stacks = fresh;
}

void looks_use_table(struct looks *l, struct frame_table *table)
{
    if (!l)
        return;
    l->o.frames = table;
    renew_stacks(l);
}

/* ---- a pass ---- */

/* Handles a thread that flamed does not know, although the program left out its place as already
 * written. */
static void note_forgotten(struct looks *l, const struct looks_entry *e)
{
    struct looked_process *p = find_process(l, (int32_t)e->host_pid);

    if (p)
        want_again(p);
}

/* Takes one entry from at most @n bytes. Returns its size; 0: it is incomplete or wrong. */
static size_t take_entry(struct looks *l, const char *p, size_t n)
{
    const struct looks_entry *e = (const void *)p;
    const struct sample_record *found = (const void *)(p + sizeof(*e));
    const struct looked_process *of;
    struct sample_record rec;
    uint64_t ns;
    bool passed;

    if (n < sizeof(*e) || n - sizeof(*e) < e->bytes)
        return 0;
    if (e->found == LOOKS_PLACE &&
        (e->bytes < sizeof(rec) ||
         e->bytes != sizeof(rec) + ((size_t)found->kernel_count + found->user_count) * 8))
        return 0;
    of = find_process(l, (int32_t)e->host_pid);
    ns = looked_threads_take(&l->threads, e, of ? of->owner : OWNER_FOREIGN);
    if (l->threads.forgotten)
        note_forgotten(l, e);
    passed = e->found == LOOKS_PASSED || e->found == LOOKS_LEFT;
    l->moved += e->alike ? 1.0 / LOOKS_ALIKE_SHARE : passed || e->found == LOOKS_PLACE;
    l->stats.passed_over += passed;
    l->stats.alike += e->found == LOOKS_ALIKE;
    if (e->found == LOOKS_PLACE) {
        rec = *found;
        rec.set = LOOKS_SET;
        rec.flush = l->threads.no;
        rec.value = ns;
        rec.weight = e->alike ? 1 : (uint32_t)(l->threads.weight + 0.5);
        rec.wait_ns = MAX(ns, UINT64_C(1));
        l->stats.walked++;
        l->o.deliver(l->o.cookie, &rec, (const uint64_t *)(const void *)(found + 1));
    }
    return sizeof(*e) + e->bytes;
}

/* Returns the processor time of the calling thread. */
static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Walks the stacks of the places that were taken since the counter was @before. Adds the time to
 * *t. */
static void walk(struct looks *l, uint64_t before, struct looks_work *t)
{
    uint64_t own_ns, readers_ns;

    if (l->stats.walked == before)
        return;
    own_ns = cpu_ns();
    readers_ns = readers_cpu_ns();
    l->o.walk(l->o.cookie);
    t->walks_own_ns += cpu_ns() - own_ns;
    t->walks_readers_ns += readers_cpu_ns() - readers_ns;
}

/* Reads the iterator to its end, and walks the places in between. Adds the time of walks to *t.
 * Returns false if it ended early. */
static bool read_pass(struct looks *l, int fd, struct looks_work *t)
{
    _cleanup_free_ char *buffer = malloc(READ_BYTES);
    size_t n = 0, at, bytes;
    ssize_t got = 1;
    uint64_t walked;

    while (buffer && got != 0) {
        got = read(fd, buffer + n, MIN(CHUNK_BYTES, READ_BYTES - n));
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
        walked = l->stats.walked;
        for (at = 0; (bytes = take_entry(l, buffer + at, n - at)) > 0; at += bytes)
            ;
        n -= at;
        memmove(buffer, buffer + at, n);
        walk(l, walked, t);
    }
    return buffer && got == 0 && n == 0;
}

/* Decides how many threads the pass walks. Returns the number of threads that have run for each
 * walked thread. Without walks, a later pass handles the threads. */
static double plan(struct looks *l, uint64_t now_ns, struct looks_pass *ret)
{
    double share = 1;
    double walks = looks_pace_walks(&l->pace, l->passed_ns ? now_ns - l->passed_ns : 0);

    if (l->moved > walks && walks > 0)
        share = walks / l->moved;
    ret->walks = walks > 0 ? (uint32_t)(walks * 2) + 2 : 0; /* the random share may exceed it */
    ret->share = share < 1 ? (uint32_t)(share * (double)LOOKS_SHARE_ALL) : LOOKS_SHARE_ALL;
    ret->parts = (uint32_t)(l->threads.count / LOOKED_A_PASS_MAX) + 1;
    ret->part = ret->parts > 1 ? l->part++ % ret->parts : 0;
    return 1 / share;
}

void looks_tick(struct looks *l, uint64_t now_ns)
{
    _cleanup_close_ int fd = -1;
    struct looks_pass pass;
    struct looks_work t = { 0 };
    uint64_t begun_ns, walked;
    double weight;
    int r;

    if (!l || now_ns < l->due_ns)
        return;
    l->o.walk(l->o.cookie); /* records that captures left; not charged to the pass */
    begun_ns = cpu_ns();
    l->due_ns = now_ns + looks_pace_next(&l->pace, (uint64_t)random());
    weight = plan(l, now_ns, &pass);
    r = broker_look(l->o.broker, &pass, &fd, &l->problem);
    if (r < 0) {
        if (r != -EINPROGRESS)
            l->due_ns = now_ns + PROBLEM_NS;
        return;
    }
    if (!l->passed_ns) /* the program has just been loaded, and knows no process */
        l->process_count = 0;
    l->problem = ERROR_NULL;
    choose_processes(l, now_ns);
    now_ns = l->passed_ns = clock_monotonic_ns();
    l->moved = 0;
    looked_threads_begin(&l->threads, now_ns, weight, pass.parts, pass.part);
    walked = l->stats.walked;
    if (!read_pass(l, fd, &t)) /* unread threads count as ended, and may come back */
        begin_epochs(l, now_ns);
    looked_threads_end(&l->threads);
    if (record_bytes(l->stacks) > LOOKS_STACKS_MAX_BYTES)
        renew_stacks(l);
    t.walks = l->stats.walked - walked;
    t.ns = clock_monotonic_ns() - now_ns;
    t.own_ns = cpu_ns() - begun_ns - t.walks_own_ns;
    looks_pace_learn(&l->pace, &t);
    l->stats.passes++;
    l->stats.time_ns += t.own_ns;
}

/* ---- named samples ---- */

/* Records that a stack could not be walked, or a lock not be read, so that a later pass tries
 * again. */
static void note_incomplete(struct looks *l, const struct incoming *in)
{
    bool cut = in->flags & PROFILE_SAMPLE_TRUNCATED &&
               PROFILE_SAMPLE_END(in->flags) == UNWIND_END_NO_PROCESS;
    struct looked_process *p;

    if (!cut && !(in->rec->flags & SAMPLE_WANTS_THREAD))
        return;
    p = find_process(l, in->process->id.host_pid);
    if (p)
        p->incomplete = true;
}

/* Stores the mode, name, process and request of @in in @t. */
static void know(struct looks *l, const struct incoming *in, struct looked_thread *t)
{
    t->mode = in->rec->flags & SAMPLE_IN_KERNEL ? SAMPLE_MODE_KERNEL : SAMPLE_MODE_USER;
    t->name = in->thread_name;
    profile_process_of(l->o.frames, in->process, &t->process);
    t->process.owner = in->process->owner;
    t->process.payer = process_payer(in->process);
    if (l->o.contexts)
        context_recorded(l->o.contexts, in, &t->request);
}

/* Returns whether the pass of @rec wrote the place of @t. */
static bool is_of_place(const struct looked_thread *t, const struct sample_record *rec)
{
    return t && t->pass == rec->flush;
}

/* Returns whether @t already has the same place, with a stack at least as good as that of @in. */
static bool has_better(const struct looked_thread *t, const struct incoming *in)
{
    bool has = in->rec->lock ? t->lock_stack != 0 : t->placed;

    return has && !in->rec->value && in->flags & PROFILE_SAMPLE_TRUNCATED;
}

/* Returns whether no frame of @stack may be of a method. */
static bool has_no_java(const struct looks *l, const struct named_stack *stack)
{
    for (size_t i = 0; i < stack->count; i++) {
        enum frame_kind kind = FRAME_UNKNOWN; /* of a frame that is known later */

        if (stack->frames[i] < RECORD_LATER)
            kind = (enum frame_kind)frame_table_get(l->o.frames, stack->frames[i])->kind;
        if (kind == FRAME_UNKNOWN || frame_kind_is_java(kind))
            return false;
    }
    return true;
}

/* Stores the stack of @in as the place of @t, or of the lock that it waits for; either may come
 * first. Returns false if out of memory. */
static bool hold(struct looks *l, const struct incoming *in, struct looked_thread *t)
{
    const struct named_stack *stack = in->naming->stack;
    bool lock = in->rec->lock;

    if (record_hold(l->stacks, stack->frames, stack->count, lock ? &t->lock_stack : &t->stack) < 0)
        return false;
    if (lock) {
        t->lock_flags = in->flags;
        return true;
    }
    know(l, in, t);
    t->flags = in->flags;
    t->no_java = has_no_java(l, stack);
    t->placed = true;
    return true;
}

void looks_sample(struct looks *l, const struct incoming *in)
{
    const struct sample_record *rec = in->rec;
    enum looked_state state =
        rec->flags & SAMPLE_RUNNABLE && !rec->lock ? LOOKED_RUNNABLE : LOOKED_BLOCKED;
    struct looked_thread *t = looked_threads_find(&l->threads, rec->host_tid),
                         one = { .host_tid = rec->host_tid };
    struct found f = { .event = rec->lock ? l->o.lock_event : l->o.event,
                       .flags = in->flags,
                       .frames = in->naming->stack->frames,
                       .n = in->naming->stack->count };

    note_incomplete(l, in);
    if (sample_is_virtual(rec))
        survey_keep_virtual(l, in);
    if (is_of_place(t, rec) && (has_better(t, in) || hold(l, in, t)) && rec->weight <= 1) {
        /* The time of a wait for a lock is counted with its place. */
        t->place_ns[state] += rec->lock ? 0 : rec->value;
    } else if (rec->value) { /* the sample stands for several threads, or its thread has moved on */
        know(l, in, &one);
        put_sample(l, &one, &f, state, rec->time_ns, rec->value, MAX(rec->weight, 1U));
    }
}

uint64_t looks_known_ns(const struct looks *l)
{
    return l && l->passed_ns && l->problem.code == 0 ? looked_threads_known_ns(&l->threads)
                                                     : UINT64_MAX;
}

void looks_put(struct looks *l)
{
    if (l)
        looked_threads_put(&l->threads);
}

void looks_look_virtual(struct looks *l, int32_t host_pid, uint64_t look_ns)
{
    if (l)
        looked_virtuals_look(&l->virtuals, host_pid, look_ns);
}

void looks_lose(struct looks *l, uint64_t ns)
{
    if (l)
        l->threads.lost_ns += ns;
}

void looks_stats(const struct looks *l, struct looks_stats *ret)
{
    *ret = l->stats;
    ret->threads = l->threads.count;
    ret->left_out = l->threads.left_out;
    ret->lost_ns = l->threads.lost_ns;
}
