/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of allocation (JVMTI's SampledObjectAlloc, JDK 11 and later). This session is separate
 * from the session of compiled code: it has its own JVMTI environment and file. It uses only the
 * file's header. The JVM picks the objects, each byte with the same chance. The callback checks the
 * lease, limits the rate and calls an empty function. flamed has a probe on that function, which
 * reads the arguments and the stack. So the JVM stores nothing of a sample, except weak references
 * to objects that flamed follows (live.c).
 *
 * Only one agent in a JVM may have the capability. It is given back when the session ends.
 */
#include "agent/common.h"
#include "agent/live.h"

#include <sys/mman.h>

#define INTERVAL_DEFAULT (UINT32_C(512) << 10) /* JVMTI's default */
#define INTERVAL_MIN UINT32_C(1024)
#define INTERVAL_MAX (UINT32_C(1) << 30)
#define WINDOW_NS UINT64_C(100000000)
#define WINDOW_EVENTS 100u /* events a window; with more, the interval doubles */
#define WINDOW_FEW 45u     /* with fewer, the interval halves, down to the requested one */
#define DRAWN_BITS 12
#define DRAWN_THREADS (1u << DRAWN_BITS) /* places for the intervals of threads */
#define BUSY_LOOKS 100u                  /* tries to become the busy thread */
#define BUSY_LOOK_NS 20000000

/* Guarded by lock, except kept. JVMTI and JNI are called without the lock: a thread that is
 * suspended stops there, and threads that allocate must not wait for it. */
static struct {
    uint32_t lock;
    uint32_t busy;   /* 1: a thread begins or ends the session, or changes its interval */
    jvmti_env *env;  /* NULL: no session */
    jvmti_env *kept; /* kept for the next session (see agent.c); only the busy thread uses it */
    struct stream_header *header;
    uint32_t asked, interval; /* bytes */
    uint64_t window_ns;       /* when the window began */
    uint32_t in_window;       /* events in the window */
    struct live *live;        /* NULL: objects are not followed */
    uint32_t live_no;         /* number of that table; changes when the table is removed */
    /* By a hash of the thread. They stay when a session ends, as the JVM's draws do. */
    struct {
        uint32_t thread; /* key */
        uint32_t interval;
    } drawn[DRAWN_THREADS];
} sampling;

/* The function that is probed: one instruction that the kernel can emulate, and a return. On x86-64
 * the instruction must not be a no-op of five bytes. Newer kernels would turn a probe there into a
 * call, and map a page for it that stays. It has an unwind entry, by which flamed-broker checks the
 * place. */
void flamed_agent_sampled(const void *klass, uint64_t bytes, uint64_t interval, uint64_t id);
#if defined(__x86_64__)
#define DO_NOTHING                                                                                 \
    "push %rbp\n"                                                                                  \
    ".cfi_def_cfa_offset 16\n"                                                                     \
    "pop %rbp\n"                                                                                   \
    ".cfi_def_cfa_offset 8\n"
#else
#define DO_NOTHING "nop\n"
#endif
__asm__(".pushsection .text\n"
        ".balign 16\n"
        ".globl flamed_agent_sampled\n"
        ".type flamed_agent_sampled, %function\n"
        "flamed_agent_sampled:\n"
        ".cfi_startproc\n" DO_NOTHING "ret\n"
        ".cfi_endproc\n"
        ".size flamed_agent_sampled, . - flamed_agent_sampled\n"
        ".popsection\n");

static int32_t set_interval(jvmti_env *env, uint32_t bytes)
{
    int32_t (*f)(jvmti_env *, int32_t) = jvmti_function(env, JVMTI_SET_HEAP_SAMPLING_INTERVAL);

    return f(env, (int32_t)bytes);
}

/* Returns the interval that flamed requests, within bounds, as the JVM can write that field. */
static uint32_t asked_interval(const struct stream_header *h)
{
    uint64_t bytes = __atomic_load_n(&h->interval, __ATOMIC_RELAXED);

    return bytes == 0             ? INTERVAL_DEFAULT
           : bytes < INTERVAL_MIN ? INTERVAL_MIN
           : bytes > INTERVAL_MAX ? INTERVAL_MAX
                                  : (uint32_t)bytes;
}

static struct jvmti_capabilities wanted_capabilities(void)
{
    struct jvmti_capabilities caps = { { 0 } };

    caps.bits[JVMTI_CAP_SAMPLED_OBJECT_ALLOC / 32] = UINT32_C(1)
                                                     << JVMTI_CAP_SAMPLED_OBJECT_ALLOC % 32;
    return caps;
}

static void set_busy(uint32_t busy)
{
    lock_take(&sampling.lock);
    sampling.busy = busy;
    lock_drop(&sampling.lock);
}

/* Makes the caller the busy thread. Returns 0 if another thread stays busy for too long, such as a
 * suspended thread. */
static int wait_busy(void)
{
    const struct {
        int64_t s, ns;
    } look = { 0, BUSY_LOOK_NS };

    for (uint32_t i = 0; i < BUSY_LOOKS; i++) {
        uint32_t was;

        lock_take(&sampling.lock);
        was = sampling.busy;
        sampling.busy = 1;
        lock_drop(&sampling.lock);
        if (!was)
            return 1;
        raw4(SYS_futex, &sampling.busy, FUTEX_WAIT_PRIVATE, 1,
             &look); /* no filter of system calls forbids this, as JVMs make this call themselves */
    }
    return 0;
}

/* Detaches the table of followed objects, for live_end(). With the lock held. */
static struct live *detach_live(void)
{
    struct live *l = sampling.live;

    if (l) {
        live_hide(l, sampling.header);
        sampling.live = NULL;
        sampling.live_no++;
    }
    return l;
}

/* Detaches the session and returns its table. With the lock held, by the busy thread. */
static struct live *detach(void)
{
    struct live *l = detach_live();

    sampling.env = NULL;
    sampling.header = NULL;
    return l;
}

static void give_back(jvmti_env *env)
{
    int32_t (*give)(jvmti_env *, const struct jvmti_capabilities *) =
        jvmti_function(env, JVMTI_RELINQUISH_CAPABILITIES);
    const struct jvmti_capabilities caps = wanted_capabilities();

    give(env, &caps);
}

static void leave(struct stream_header *h, uint32_t state)
{
    __atomic_store_n(&h->state, state, __ATOMIC_RELEASE);
    raw2(SYS_munmap, h, STREAM_BYTES);
}

static void fail(struct stream_header *h, uint32_t step, int32_t code)
{
    h->step = step;
    h->code = code;
    leave(h, STREAM_FAILED);
}

/* Ends a detached session: turns its event off, gives the capability back and resets the interval.
 * Threads that enter the callback after this find no session. By the busy thread. */
static void turn_off(jvmti_env *env)
{
    set_event(env, JVMTI_DISABLE_EVENT, JVMTI_SAMPLED_OBJECT_ALLOC);
    set_interval(env, INTERVAL_DEFAULT);
    give_back(env);
}

/* Returns the interval that keeps the events of a second below 1,000. */
static uint32_t pace(uint64_t now_ns)
{
    uint32_t asked = asked_interval(sampling.header), next = sampling.interval;

    if (asked != sampling.asked) {
        sampling.asked = next = asked;
        sampling.window_ns = now_ns;
        sampling.in_window = 0;
    } else if (++sampling.in_window > WINDOW_EVENTS) {
        if (now_ns - sampling.window_ns < WINDOW_NS && next < INTERVAL_MAX)
            next *= 2;
        sampling.window_ns = now_ns;
        sampling.in_window = 0;
    } else if (now_ns - sampling.window_ns >= WINDOW_NS) {
        if (sampling.in_window < WINDOW_FEW && next > asked)
            next = next / 2 > asked ? next / 2 : asked;
        sampling.window_ns = now_ns;
        sampling.in_window = 0;
    }
    return next;
}

/* Returns the interval by which the JVM drew this sample of the thread with @jni: that of its
 * sample before. The JVM has now drawn the next one by @interval. An unseen thread, or one that
 * lost its place to another, gets @interval. With the lock held. */
static uint32_t take_drawn(const jni_env *jni, uint32_t interval)
{
    uint64_t hash = (uint64_t)(uintptr_t)jni * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(hash >> (64 - DRAWN_BITS)), key = (uint32_t)(hash >> 16);
    uint32_t was = sampling.drawn[at].thread == key ? sampling.drawn[at].interval : 0;

    sampling.drawn[at].thread = key;
    sampling.drawn[at].interval = interval;
    return was ? was : interval;
}

/* Changes the interval. Called by the busy thread, which is not busy afterwards. */
static void change_interval(jvmti_env *env, struct stream_header *h, uint32_t bytes)
{
    int32_t r = set_interval(env, bytes);

    lock_take(&sampling.lock);
    if (r == 0) {
        sampling.interval = bytes;
        __atomic_store_n(&h->interval_now, (uint64_t)bytes, __ATOMIC_RELAXED);
    }
    sampling.busy = 0;
    lock_drop(&sampling.lock);
}

/* Sweeps a part of the table at an event, and takes a place for its object. Makes the table when
 * flamed requests it. When flamed no longer does, returns the table for live_end(). With the lock
 * held. */
static struct live *look_at_live(struct stream_header *h, uint64_t bytes, uint32_t interval,
                                 struct live_turn *ret)
{
    if (!__atomic_load_n(&h->live, __ATOMIC_RELAXED))
        return detach_live();
    if (!sampling.live)
        sampling.live = live_begin(h);
    if (sampling.live)
        live_look(sampling.live, h, bytes, interval, ret);
    else
        h->live_missed++;
    return NULL;
}

/* Follows the object if @t took a place for it in table @live_no. Returns its id; 0: it is not
 * followed. */
static uint32_t follow(const jni_env *jni, jni_ref object, const struct live_turn *t,
                       uint32_t live_no)
{
    jni_ref ref;
    int there;

    live_delete_gone(t, jni);
    if (t->slot == LIVE_NO_SLOT)
        return 0;
    ref = live_new_ref(jni, object);
    lock_take(&sampling.lock);
    there = sampling.live && sampling.live_no == live_no;
    if (there)
        live_put(sampling.live, sampling.header, t, ref);
    lock_drop(&sampling.lock);
    if (!there && ref)
        live_delete_ref(jni, ref);
    return there && ref ? t->id : 0;
}

/* The callback. The JVM calls it in the allocating thread, also in several threads at the same
 * time. @object, @klass: handles. The JVM has already picked the thread's next object, by the
 * interval from before this event changes it. So each sample has the interval of the thread's
 * event before. */
static void on_sampled(jvmti_env *env, const jni_env *jni, const void *thread, jni_ref object,
                       const void *klass, int64_t bytes)
{
    struct live_turn turn;
    struct live *ended = NULL;
    struct stream_header *h;
    uint64_t now_ns;
    uint32_t interval, next, live_no, id, drawn = 0;
    int over, acts;

    (void)thread;
    turn.slot = LIVE_NO_SLOT;
    turn.gone_count = 0;
    lock_take(&sampling.lock);
    h = sampling.header;
    if (sampling.env != env || !h) {
        lock_drop(&sampling.lock);
        return;
    }
    now_ns = host_ns(h);
    over = lease_over(h, now_ns);
    interval = next = sampling.interval;
    if (!over) {
        h->events++;
        drawn = take_drawn(jni, interval);
        if (!sampling.busy)
            next = pace(now_ns);
        ended = look_at_live(h, (uint64_t)bytes, drawn, &turn);
    }
    acts = !sampling.busy && (over || next != interval);
    if (acts)
        sampling.busy = 1;
    if (acts && over)
        ended = detach();
    live_no = sampling.live_no;
    lock_drop(&sampling.lock);
    if (acts && over) {
        turn_off(env);
        live_end(ended, jni);
        leave(h, STREAM_ENDED);
        set_busy(0);
    } else if (acts) {
        change_interval(env, h, next);
    }
    if (over)
        return;
    live_end(ended, jni);
    id = follow(jni, object, &turn, live_no);
    flamed_agent_sampled(klass, (uint64_t)bytes, drawn, id);
}

/* Makes the session, but does not turn on its event. Returns its environment, or NULL. By the busy
 * thread. */
static jvmti_env *prepare(jvmti_vm *vm, struct stream_header *h)
{
    int32_t (*get_env)(jvmti_vm *, void **, int32_t) = (*(void ***)vm)[JVMTI_VM_GET_ENV];
    const struct jvmti_capabilities caps = wanted_capabilities();
    void *callbacks[JVMTI_SAMPLED_OBJECT_ALLOC - JVMTI_EVENT_FIRST + 1];
    int32_t (*add)(jvmti_env *, const struct jvmti_capabilities *);
    int32_t (*set)(jvmti_env *, void *const *, int32_t);
    jvmti_env *env = sampling.kept;
    uint32_t asked = asked_interval(h);
    int32_t r = env ? 0 : get_env(vm, (void **)&env, JVMTI_VERSION_OF_JDK_8);

    if (r != 0 || !env) {
        fail(h, STREAM_STEP_ENVIRONMENT, r);
        return NULL;
    }
    sampling.kept = env;
    add = jvmti_function(env, JVMTI_ADD_CAPABILITIES);
    r = add(env, &caps);
    if (r != 0) {
        fail(h, STREAM_STEP_CAPABILITIES, r);
        return NULL;
    }
    memset(callbacks, 0, sizeof(callbacks));
    callbacks[JVMTI_SAMPLED_OBJECT_ALLOC - JVMTI_EVENT_FIRST] = (void *)on_sampled;
    set = jvmti_function(env, JVMTI_SET_EVENT_CALLBACKS);
    r = set(env, callbacks, (int32_t)sizeof(callbacks)) ?: set_interval(env, asked);
    if (r != 0) {
        give_back(env);
        fail(h, STREAM_STEP_CALLBACKS, r);
        return NULL;
    }
    h->interval_now = asked;
    lock_take(&sampling.lock);
    sampling.env = env;
    sampling.header = h;
    sampling.interval = sampling.asked = asked;
    sampling.window_ns = host_ns(h);
    sampling.in_window = 0;
    lock_drop(&sampling.lock);
    return env;
}

/* Returns the JNI of this thread; NULL: the JVM gives none. */
static const jni_env *own_jni(jvmti_vm *vm)
{
    int32_t (*get_env)(jvmti_vm *, void **, int32_t) = (*(void ***)vm)[JVMTI_VM_GET_ENV];
    void *jni = NULL;

    return get_env(vm, &jni, JNI_VERSION_OF_JDK_8) == 0 ? jni : NULL;
}

/* Ends the present session, if there is one. Returns its header, which the caller unmaps. By the
 * busy thread. */
static struct stream_header *end_session(jvmti_vm *vm)
{
    struct stream_header *h;
    struct live *l;
    jvmti_env *env;

    lock_take(&sampling.lock);
    env = sampling.env;
    h = sampling.header;
    l = detach();
    lock_drop(&sampling.lock);
    if (env)
        turn_off(env);
    live_end(l, l ? own_jni(vm) : NULL);
    return h;
}

void alloc_begin(jvmti_vm *vm, struct stream_header *h)
{
    struct stream_header *other;
    jvmti_env *env;
    int32_t r;

    if (!wait_busy()) {
        fail(h, STREAM_STEP_BUSY, 0);
        return;
    }
    other = end_session(vm); /* the session of a flamed that is gone or gave up */
    if (other)
        leave(other, STREAM_ENDED);
    env = prepare(vm, h);
    r = env ? set_event(env, JVMTI_ENABLE_EVENT, JVMTI_SAMPLED_OBJECT_ALLOC) : 0;
    if (r != 0) {
        end_session(vm);
        fail(h, STREAM_STEP_EVENTS, r);
    } else if (env) {
        __atomic_store_n(&h->state, STREAM_STREAMING, __ATOMIC_RELEASE);
    }
    set_busy(0);
}
