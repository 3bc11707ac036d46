/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of what is allocated (JVMTI's SampledObjectAlloc, JDK 11 and up). A session of its own,
 * beside the one of compiled code, with its own JVMTI environment and file. It uses the header of
 * that alone. The JVM draws which objects are sampled, by chance for each byte. The callback
 * looks at the lease, keeps the pace and calls a function that does nothing. There flamed has a
 * probe, which reads the arguments and the stack. So nothing of a sample is kept in the JVM.
 *
 * The capability is one that a single agent may have. It is given back when the session ends.
 */
#include "agent/common.h"

#include <sys/mman.h>

#define INTERVAL_DEFAULT (UINT32_C(512) << 10) /* as JVMTI says it: what the JVM had before */
#define INTERVAL_MIN UINT32_C(1024)
#define INTERVAL_MAX (UINT32_C(1) << 30)
#define WINDOW_NS UINT64_C(100000000)
#define WINDOW_EVENTS 100u /* 1,000 a second: more double the interval, */
#define WINDOW_FEW 45u     /* and fewer halve it, down to what is asked for */

/* Guarded by lock. */
static struct {
    uint32_t lock;
    jvmti_env *env;  /* NULL: no session */
    jvmti_env *kept; /* of the last one, for the next: agent.c says why */
    struct stream_header *header;
    uint32_t asked, interval; /* bytes */
    uint64_t window_ns;       /* when the window began */
    uint32_t in_window;       /* events in it */
} sampling;

/* Where the probe is: an instruction that the kernel runs in its place, and back. On x86-64 it is
 * no no-op of five bytes: newer kernels turn a probe there into a call, and map a page for that
 * which stays. With an entry in the table of functions, by which flamed-broker checks the place. */
void flamed_agent_sampled(const void *klass, uint64_t bytes, uint64_t interval);
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

/* Ends it: no event of ours any more, the capability given back, nothing mapped. With the lock
 * held. Threads that are on their way in here find no session. */
static void end_sampling(uint32_t state)
{
    jvmti_env *env = sampling.env;
    int32_t (*give)(jvmti_env *, const struct jvmti_capabilities *) =
        jvmti_function(env, JVMTI_RELINQUISH_CAPABILITIES);
    const struct jvmti_capabilities caps = wanted_capabilities();

    sampling.kept = env;
    sampling.env = NULL;
    set_event(env, JVMTI_DISABLE_EVENT, JVMTI_SAMPLED_OBJECT_ALLOC);
    if (sampling.interval)
        set_interval(env, INTERVAL_DEFAULT);
    give(env, &caps);
    __atomic_store_n(&sampling.header->state, state, __ATOMIC_RELEASE);
    raw2(SYS_munmap, sampling.header, STREAM_BYTES);
    sampling.header = NULL;
    sampling.interval = 0;
}

static void fail_sampling(uint32_t step, int32_t code)
{
    sampling.header->step = step;
    sampling.header->code = code;
    end_sampling(STREAM_FAILED);
}

static void change_interval(uint32_t bytes)
{
    if (bytes == sampling.interval || set_interval(sampling.env, bytes) != 0)
        return;
    sampling.interval = bytes;
    __atomic_store_n(&sampling.header->interval_now, (uint64_t)bytes, __ATOMIC_RELAXED);
}

/* Keeps the events of a second below 1,000. */
static void pace(uint64_t now_ns)
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
    change_interval(next);
}

/* The JVM calls it in the thread that allocates, and in several at once. @klass: a handle. */
static void on_sampled(jvmti_env *env, const void *jni, const void *thread, const void *object,
                       const void *klass, int64_t bytes)
{
    struct stream_header *h;
    uint64_t now_ns, interval;

    (void)jni;
    (void)thread;
    (void)object;
    lock_take(&sampling.lock);
    h = sampling.header;
    if (sampling.env != env || !h) {
        lock_drop(&sampling.lock);
        return;
    }
    now_ns = host_ns(h);
    if (lease_over(h, now_ns)) {
        end_sampling(STREAM_ENDED);
        lock_drop(&sampling.lock);
        return;
    }
    h->events++;
    pace(now_ns);
    interval = sampling.interval;
    lock_drop(&sampling.lock);
    flamed_agent_sampled(klass, (uint64_t)bytes, interval);
}

/* Makes the session but for its event. Its environment, or NULL. With the lock held. */
static jvmti_env *prepare(jvmti_vm *vm, struct stream_header *h)
{
    int32_t (*get_env)(jvmti_vm *, void **, int32_t) = (*(void ***)vm)[JVMTI_VM_GET_ENV];
    const struct jvmti_capabilities caps = wanted_capabilities();
    void *callbacks[JVMTI_SAMPLED_OBJECT_ALLOC - JVMTI_EVENT_FIRST + 1];
    int32_t (*add)(jvmti_env *, const struct jvmti_capabilities *);
    int32_t (*set)(jvmti_env *, void *const *, int32_t);
    jvmti_env *env = sampling.kept;
    int32_t r = env ? 0 : get_env(vm, (void **)&env, JVMTI_VERSION_OF_JDK_8);

    if (r != 0 || !env) {
        h->step = STREAM_STEP_ENVIRONMENT;
        h->code = r;
        __atomic_store_n(&h->state, STREAM_FAILED, __ATOMIC_RELEASE);
        raw2(SYS_munmap, h, STREAM_BYTES);
        return NULL;
    }
    sampling.env = env;
    sampling.header = h;
    sampling.interval = 0;
    sampling.asked = asked_interval(h);
    sampling.window_ns = host_ns(h);
    sampling.in_window = 0;
    add = jvmti_function(env, JVMTI_ADD_CAPABILITIES);
    r = add(env, &caps);
    if (r != 0) {
        fail_sampling(STREAM_STEP_CAPABILITIES, r);
        return NULL;
    }
    memset(callbacks, 0, sizeof(callbacks));
    callbacks[JVMTI_SAMPLED_OBJECT_ALLOC - JVMTI_EVENT_FIRST] = (void *)on_sampled;
    set = jvmti_function(env, JVMTI_SET_EVENT_CALLBACKS);
    r = set(env, callbacks, (int32_t)sizeof(callbacks));
    if (r == 0)
        r = set_interval(env, sampling.asked);
    if (r != 0) {
        fail_sampling(STREAM_STEP_CALLBACKS, r);
        return NULL;
    }
    sampling.interval = sampling.asked;
    h->interval_now = sampling.interval;
    return env;
}

void alloc_begin(jvmti_vm *vm, struct stream_header *h)
{
    jvmti_env *env;
    int32_t r;

    lock_take(&sampling.lock);
    if (sampling.env)
        end_sampling(STREAM_ENDED); /* of a flamed that is gone, or that gave up waiting */
    env = prepare(vm, h);
    lock_drop(&sampling.lock);
    if (!env)
        return;
    /* Without the lock: what the JVM allocates for it may be sampled at once. */
    r = set_event(env, JVMTI_ENABLE_EVENT, JVMTI_SAMPLED_OBJECT_ALLOC);
    lock_take(&sampling.lock);
    if (sampling.env == env) {
        if (r != 0)
            fail_sampling(STREAM_STEP_EVENTS, r);
        else
            __atomic_store_n(&h->state, STREAM_STREAMING, __ATOMIC_RELEASE);
    }
    lock_drop(&sampling.lock);
}
