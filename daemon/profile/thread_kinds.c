/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/thread_kinds.h"

#include "base/ascii.h"
#include "base/fnv1a.h"
#include "base/id_table.h"

const char *const THREAD_KIND_NAMES[THREAD_KINDS] = { "platform", "carrier", "virtual", "pinned",
                                                      "unclear" };

/* Marks that the frames of a stack give to it; bits. */
enum mark {
    KNOWN = 1,
    SCHEDULES = 2, /* a carrier is about to run, or runs, a virtual thread */
    ENTERED = 4,   /* further frames, if any, belong to a virtual thread */
    INSIDE = 8,    /* has at least one frame of a virtual thread */
};

static const struct {
    const char *class_name, *name;
    enum mark mark;
} FRAMES[] = {
    { "java.lang.VirtualThread", "runContinuation", SCHEDULES },
    { "jdk.internal.vm.Continuation", "enterSpecial", ENTERED },
    { "jdk.internal.vm.Continuation", "enter", INSIDE },
};

/* A pool of carriers. No padding: it is a key. */
struct carrier_pool {
    uint64_t name; /* hash of the thread's name, without digits at its end */
    uint64_t process;
};

struct thread_kinds {
    const struct profile *p;
    bool none;          /* the profile has no virtual thread */
    uint8_t *functions; /* [function_count]: enum mark */
    uint8_t *stacks;    /* [stack_count]: enum mark */
    bool *carriers;     /* [thread_count] */
    struct waits *waits;
};

/* ---- stacks ---- */

static uint8_t marks_of_function(const struct profile *p, const struct function *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(FRAMES); i++) {
        if (span_eq_str(intern_get(p->strings, f->name), FRAMES[i].name) &&
            span_eq_str(intern_get(p->strings, f->class_name), FRAMES[i].class_name))
            return (uint8_t)FRAMES[i].mark;
    }
    return 0;
}

static uint8_t marks_of_stack(struct thread_kinds *k, uint32_t stack)
{
    uint8_t marks = KNOWN, *known = &k->stacks[stack];

    for (; !*known && k->p->stacks[stack].depth; stack = k->p->stacks[stack].parent)
        marks |= k->functions[k->p->frames[k->p->stacks[stack].frame].function];
    *known |= marks;
    return *known;
}

/* ---- carriers ---- */

static struct carrier_pool pool_of(const struct profile *p, const struct profile_thread *t)
{
    struct span name = intern_get(p->strings, t->name);

    while (name.n && ascii_is_digit(name.p[name.n - 1]))
        name.n--;
    return (struct carrier_pool){ .name = fnv1a(FNV1A_START, name.p, name.n),
                                  .process = t->process };
}

/* Marks all threads of a pool as carriers if one of them ran a virtual thread. The stacks do not
 * suffice: an idle carrier has the same stack as a thread of any other ForkJoinPool. */
static int find_carriers(struct thread_kinds *k)
{
    const struct profile *p = k->p;
    struct id_table pools;
    uint32_t id;
    int r = 0;

    id_table_init(&pools, sizeof(struct carrier_pool), (uint32_t)p->thread_count + 1);
    for (size_t i = 0; i < p->sample_count; i++) {
        uint32_t thread = p->samples[i].thread;

        if (thread < p->thread_count && !thread_kind_is_unmounted(p, thread) &&
            marks_of_stack(k, p->samples[i].stack) & ~KNOWN)
            k->carriers[thread] = true;
    }
    for (size_t i = 0; i < p->thread_count && r >= 0; i++) {
        struct carrier_pool pool = pool_of(p, &p->threads[i]);

        if (k->carriers[i])
            r = id_table_add(&pools, &pool, &id);
    }
    for (size_t i = 0; i < p->thread_count && r >= 0; i++) {
        struct carrier_pool pool = pool_of(p, &p->threads[i]);

        k->carriers[i] |= p->threads[i].name && id_table_find(&pools, &pool, &id);
    }
    id_table_deinit(&pools);
    return MIN(r, 0);
}

/* ---- kinds ---- */

int thread_kinds_new(const struct profile *p, struct thread_kinds **ret)
{
    struct thread_kinds *k = calloc(1, sizeof(*k));
    int r = 0;

    if (!k)
        return -ENOMEM;
    k->p = p;
    k->none = true;
    k->functions = calloc(p->function_count + 1, sizeof(*k->functions));
    k->stacks = calloc(p->stack_count + 1, sizeof(*k->stacks));
    k->carriers = calloc(p->thread_count + 1, sizeof(*k->carriers));
    if (!k->functions || !k->stacks || !k->carriers)
        r = -ENOMEM;
    for (size_t i = 0; i < p->function_count && r == 0; i++) {
        k->functions[i] = marks_of_function(p, &p->functions[i]);
        k->none &= !k->functions[i];
    }
    if (r == 0 && !k->none)
        r = find_carriers(k);
    if (r == 0 && !k->none)
        r = waits_new(p, &k->waits);
    if (r == 0)
        *ret = k;
    else
        thread_kinds_free(k);
    return r;
}

struct thread_kinds *thread_kinds_free(struct thread_kinds *k)
{
    if (k) {
        waits_free(k->waits);
        free(k->functions);
        free(k->stacks);
        free(k->carriers);
        free(k);
    }
    return NULL;
}

/* Returns whether a blocked thread with @stack waits for another thread, or for a time. False if
 * the VM or the kernel has just stopped it, which ends soon. */
static bool is_held_up(struct thread_kinds *k, uint32_t stack)
{
    bool idle;

    switch (waits_of(k->waits, stack, &idle)) {
    case WAIT_SLEEP:
    case WAIT_LOCK:
    case WAIT_NOTIFY:
    case WAIT_PARK:
    case WAIT_POLL:
    case WAIT_NETWORK:
    case WAIT_PIPE:
        return true;
    default:
        return false;
    }
}

bool thread_kind_is_unmounted(const struct profile *p, uint32_t thread)
{
    const struct profile_thread *t = thread < p->thread_count ? &p->threads[thread] : NULL;

    return t && t->host_tid <= 0 &&
           span_eq_str(intern_get(p->strings, t->name), THREAD_KIND_UNMOUNTED);
}

bool thread_kinds_carries(const struct thread_kinds *k, uint32_t thread)
{
    return thread < k->p->thread_count && k->carriers[thread];
}

enum thread_kind thread_kinds_of(struct thread_kinds *k, const struct profile_sample *s)
{
    const struct profile *p = k->p;
    uint8_t marks;

    if (thread_kind_is_unmounted(p, s->thread))
        return THREAD_VIRTUAL;
    if (k->none)
        return THREAD_PLATFORM;
    marks = marks_of_stack(k, s->stack);
    if (marks & INSIDE || (marks & ENTERED && s->flags & PROFILE_SAMPLE_FROZEN)) {
        if (sample_state(p, s) == STATE_BLOCKED && is_held_up(k, s->stack))
            return THREAD_PINNED;
        return THREAD_VIRTUAL;
    }
    if (marks & (SCHEDULES | ENTERED))
        return THREAD_CARRIER;
    if (!thread_kinds_carries(k, s->thread))
        return THREAD_PLATFORM;
    return s->flags & PROFILE_SAMPLE_TRUNCATED ? THREAD_UNCLEAR : THREAD_CARRIER;
}

/* Returns true if @wait is a wait that a native method makes itself, not the VM. */
static bool is_native_wait(enum wait wait)
{
    return wait == WAIT_NETWORK || wait == WAIT_POLL || wait == WAIT_PIPE;
}

uint32_t thread_kinds_pinned_by(struct thread_kinds *k, uint32_t stack)
{
    const struct profile *p = k->p;
    uint32_t java = 0;
    bool idle, native = false, vm = false;
    enum wait wait = k->waits ? waits_of(k->waits, stack, &idle) : WAIT_BLOCKED;

    for (; p->stacks[stack].depth; stack = p->stacks[stack].parent) {
        const struct frame *frame = &p->frames[p->stacks[stack].frame];

        native |= frame->kind == FRAME_NATIVE;
        vm |= frame->kind == FRAME_JVM;
        if (!frame_kind_is_java(frame->kind))
            continue;
        if (!java && native && (is_native_wait(wait) || !vm))
            return frame->function;
        if (java && vm && span_eq_str(intern_get(p->strings, p->functions[java].name), "<clinit>"))
            return java;
        if (java && native)
            return frame->function;
        java = frame->function;
        native = vm = false;
    }
    return 0;
}
