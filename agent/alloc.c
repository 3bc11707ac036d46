/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of what is allocated (JVMTI's SampledObjectAlloc, JDK 11 and up). A session of its own,
 * beside the one of compiled code, with its own JVMTI environment and file. It uses the header of
 * that alone. The JVM draws which objects are sampled, by chance for each byte. The callback
 * looks at the lease, keeps the pace and calls a function that does nothing. There flamed has a
 * probe, which reads the arguments and the stack. So nothing of a sample is kept in the JVM, but
 * weak references to objects that flamed wants to be followed (live.c).
 *
 * The capability is one that a single agent may have. It is given back when the session ends.
 */
#include "agent/common.h"
#include "agent/live.h"

#include <sys/mman.h>

#define INTERVAL_DEFAULT (UINT32_C(512) << 10) /* as JVMTI says it: what the JVM had before */
#define INTERVAL_MIN UINT32_C(1024)
#define INTERVAL_MAX (UINT32_C(1) << 30)
#define WINDOW_NS UINT64_C(100000000)
#define WINDOW_EVENTS 100u /* 1,000 a second: more double the interval, */
#define WINDOW_FEW 45u     /* and fewer halve it, down to what is asked for */
#define BUSY_LOOKS 100u    /* whether another thread is still busy, */
#define BUSY_LOOK_NS 20000000

/* Guarded by lock, but for kept. JVMTI and JNI are called without the lock: a thread that another
 * one has suspended stops there, and those that allocate must not wait for it. */
static struct {
    uint32_t lock;
    uint32_t busy;   /* 1: a thread has JVMTI begin or end the session, or change its interval */
    jvmti_env *env;  /* NULL: no session */
    jvmti_env *kept; /* for the next: agent.c says why. Of the thread that is busy */
    struct stream_header *header;
    uint32_t asked, interval; /* bytes */
    uint64_t window_ns;       /* when the window began */
    uint32_t in_window;       /* events in it */
    struct live *live;        /* NULL: objects are not followed */
    uint32_t live_no;         /* which one it is: changes when it goes */
} sampling;

/* Where the probe is: an instruction that the kernel runs in its place, and back. On x86-64 it is
 * no no-op of five bytes: newer kernels turn a probe there into a call, and map a page for that
 * which stays. With an entry in the table of functions, by which flamed-broker checks the place. */
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

/* What flamed asks for; its field can be written by the JVM. */
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

/* Makes the caller the one that is busy. 0: another is for too long, and may be suspended. */
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
             &look); /* no filter forbids it: JVMs wait so */
    }
    return 0;
}

/* Takes the table of followed objects away, for live_end(). With the lock held. */
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

/* Takes the session away. With the lock held, by the thread that is busy. Returns its table. */
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

/* Ends what was taken away: no event of ours any more, the capability given back, and the interval.
 * Threads that are on their way in here find no session. By the thread that is busy. */
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

/* By the thread that is busy, which then is not. */
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

/* Looks at the table for an event, and takes a place for its object; makes the table when flamed
 * begins to want it. Returns the table if that is over. With the lock held. */
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

/* Has the object followed if @t took a place for it in table @live_no. Returns its id; 0: it is
 * not. */
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

/* The JVM calls it in the thread that allocates, and in several at once. @object, @klass: handles.
 * The thread's next object was drawn just before, with the interval from before a change. */
static void on_sampled(jvmti_env *env, const jni_env *jni, const void *thread, jni_ref object,
                       const void *klass, int64_t bytes)
{
    struct live_turn turn;
    struct live *ended = NULL;
    struct stream_header *h;
    uint64_t now_ns;
    uint32_t interval, next, live_no, id;
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
        if (!sampling.busy)
            next = pace(now_ns);
        ended = look_at_live(h, (uint64_t)bytes, interval, &turn);
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
    flamed_agent_sampled(klass, (uint64_t)bytes, interval, id);
}

/* Makes the session but for its event. Its environment, or NULL. By the thread that is busy. */
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
    r = set(env, callbacks, (int32_t)sizeof(callbacks));
    if (r == 0)
        r = set_interval(env, asked);
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

/* The JNI of this thread, which the JVM has called. NULL: it gives none. */
static const jni_env *own_jni(jvmti_vm *vm)
{
    int32_t (*get_env)(jvmti_vm *, void **, int32_t) = (*(void ***)vm)[JVMTI_VM_GET_ENV];
    void *jni = NULL;

    return get_env(vm, &jni, JNI_VERSION_OF_JDK_8) == 0 ? jni : NULL;
}

/* Ends the session there is, if there is one. By the thread that is busy. Returns its header, which
 * is for the caller to leave. */
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
    other = end_session(vm); /* of a flamed that is gone, or gave up waiting */
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
