/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libflamed-agent.so: reports to flamed, through a memory file, which code the JVM has compiled,
 * compiles and drops (agent/stream.h). It runs in a production JVM, so:
 *
 * - no C library, no import, no thread, no file, no memory of its own but the mapping of flamed's
 *   file; it never waits for flamed, and never for longer than another thread takes to write one
 *   record;
 * - it asks for compiled-method-load events, and for two capabilities that cost a JVM nothing; a
 *   session that samples allocation asks for sampled-object-alloc events instead (alloc.c);
 * - it ends by itself: at the first event after the lease in the file's header is over it turns its
 *   events off, gives its capabilities back and unmaps the file;
 * - it keeps its JVMTI environment, without events and capabilities, for the next session: JDK 17
 *   crashed after one was disposed in a callback;
 * - it stays mapped (Agent_OnAttach returns 0 always): JVMs deliver events from several threads,
 *   and one may be in here while another unloads. Loaded again, it is the same copy with the same
 *   state.
 */
#define RAW_DEFINE_MEMORY
#include "agent/common.h"
#include "agent/session.h"

#include <fcntl.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))
#define REPLAYED_PER_CLOCK 16u
#define MADVISE_POPULATE_WRITE 23       /* MADV_POPULATE_WRITE: Linux 5.14 */
#define FIRST_BYTES (UINT64_C(2) << 20) /* bytes of the ring that most JVMs need */

struct session session;

static void lock_session(void)
{
    lock_take(&session.lock);
}

static void unlock_session(void)
{
    lock_drop(&session.lock);
}

static uint64_t now_ns(void)
{
    return host_ns(session.header);
}

static struct jvmti_capabilities wanted_capabilities(void)
{
    return (struct jvmti_capabilities){ { 1u << JVMTI_CAP_SOURCE_FILE_NAME |
                                          1u << JVMTI_CAP_LINE_NUMBERS |
                                          1u << JVMTI_CAP_COMPILED_METHOD_LOAD } };
}

static int32_t generate(jvmti_env *env, int32_t event)
{
    int32_t (*f)(jvmti_env *, int32_t) = jvmti_function(env, JVMTI_GENERATE_EVENTS);

    return f(env, event);
}

/* Ends the session: turns events off, gives capabilities back, unmaps the file. With the lock held.
 * Threads that enter a callback after this find no session. */
static void end_session(uint32_t state)
{
    jvmti_env *env = session.env;
    int32_t (*give)(jvmti_env *, const struct jvmti_capabilities *) =
        jvmti_function(env, JVMTI_RELINQUISH_CAPABILITIES);
    const struct jvmti_capabilities caps = wanted_capabilities();

    session.kept = env;
    session.env = NULL;
    set_event(env, JVMTI_DISABLE_EVENT, JVMTI_COMPILED_METHOD_LOAD);
    set_event(env, JVMTI_DISABLE_EVENT, JVMTI_COMPILED_METHOD_UNLOAD);
    set_event(env, JVMTI_DISABLE_EVENT, JVMTI_DYNAMIC_CODE_GENERATED);
    give(env, &caps);
    __atomic_store_n(&session.header->state, state, __ATOMIC_RELEASE);
    raw2(SYS_munmap, session.header, STREAM_BYTES);
    session.header = NULL;
}

static void fail_session(uint32_t step, int32_t code)
{
    session.header->step = step;
    session.header->code = code;
    end_session(STREAM_FAILED);
}

/* Returns the time of an event. Only every sixteenth replayed event reads the clock: the time
 * matters little there, and reading it takes a third of the event's cost. */
static uint64_t event_time_ns(int is_load)
{
    if (is_load && session.until_clock > 0 &&
        __atomic_load_n(&session.header->state, __ATOMIC_RELAXED) == STREAM_REPLAYING) {
        session.until_clock--;
        return session.now_ns;
    }
    session.now_ns = now_ns();
    session.until_clock = REPLAYED_PER_CLOCK - 1;
    return session.now_ns;
}

/* Begins an event. Returns 1 with the lock held, and the time in *ret_now, if the event belongs to
 * our session. */
static int enter(jvmti_env *env, int is_load, uint64_t *ret_now)
{
    struct stream_header *h;

    lock_session();
    h = session.header;
    if (session.env != env || !h) {
        unlock_session();
        return 0;
    }
    *ret_now = event_time_ns(is_load);
    if (lease_over(h, *ret_now)) {
        end_session(STREAM_ENDED);
        unlock_session();
        return 0;
    }
    h->events++;
    return 1;
}

static void on_load(jvmti_env *env, jvmti_id method, int32_t code_bytes, const void *code,
                    int32_t map_length, const void *map, const void *info)
{
    uint64_t now;

    (void)map_length;
    (void)map;
    if (!enter(env, /* is_load= */ 1, &now))
        return;
    write_load(env, method, code, code_bytes, info, now);
    unlock_session();
}

static void on_unload(jvmti_env *env, jvmti_id method, const void *code)
{
    struct stream_unload *u;
    uint64_t now;

    (void)method;
    if (!enter(env, /* is_load= */ 0, &now))
        return;
    u = reserve(sizeof(*u), STREAM_UNLOAD, 0, now);
    if (u) {
        u->address = (uint64_t)(uintptr_t)code;
        commit(sizeof(*u));
    }
    unlock_session();
}

static void on_stub(jvmti_env *env, const char *name, const void *code, int32_t code_bytes)
{
    uint16_t n = length(name);
    uint32_t bytes = round_up((uint32_t)sizeof(struct stream_stub) + n, 8);
    struct stream_stub *s;
    uint64_t now;

    if (!enter(env, /* is_load= */ 0, &now))
        return;
    s = reserve(bytes, STREAM_STUB, STREAM_FLAG_REPLAYED, now);
    if (s) {
        s->address = (uint64_t)(uintptr_t)code;
        s->code_bytes = (uint32_t)code_bytes;
        s->name_n = n;
        put((char *)(s + 1), name, n);
        commit(bytes);
    }
    unlock_session();
}

/* Maps the file that @options names. NULL: it is not flamed's, or the JVM may not open it. */
static struct stream_header *map_stream(const char *options)
{
    struct stream_header h;
    void *p = NULL;
    long fd = raw4(SYS_openat, AT_FDCWD, options, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

    if (fd < 0)
        return NULL;
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel wrote it */
    if (raw4(SYS_pread64, fd, &h, sizeof(h), 0) == (long)sizeof(h) && h.magic == STREAM_MAGIC &&
        h.version == STREAM_VERSION && h.state == STREAM_IDLE) {
        long r = raw6(SYS_mmap, 0, (long)STREAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (r > 0 || r < -4095)
            p = (void *)r;
    }
    raw1(SYS_close, fd);
    return p;
}

/* Makes the session. Returns its environment, or NULL. */
static jvmti_env *begin(jvmti_vm *vm, struct stream_header *h)
{
    int32_t (*get_env)(jvmti_vm *, void **, int32_t) = (*(void ***)vm)[JVMTI_VM_GET_ENV];
    const struct jvmti_capabilities caps = wanted_capabilities();
    void *callbacks[JVMTI_DYNAMIC_CODE_GENERATED - JVMTI_EVENT_FIRST + 1];
    int32_t (*add)(jvmti_env *, const struct jvmti_capabilities *);
    int32_t (*set)(jvmti_env *, void *const *, int32_t);
    jvmti_env *env = session.kept;
    int32_t r = env ? 0 : get_env(vm, (void **)&env, JVMTI_VERSION_OF_JDK_8);

    if (r != 0 || !env) {
        h->step = STREAM_STEP_ENVIRONMENT;
        h->code = r;
        __atomic_store_n(&h->state, STREAM_FAILED, __ATOMIC_RELEASE);
        raw2(SYS_munmap, h, STREAM_BYTES);
        return NULL;
    }
    session.env = env;
    session.header = h;
    session.table = (struct slot *)((char *)h + STREAM_TABLE_AT);
    session.ring = (char *)h + STREAM_RING_AT;
    session.head = 0;
    session.method_count = 0;
    session.until_clock = 0;
    session.loads = 0;
    memset(session.recent, 0, sizeof(session.recent));
    /* Faults all pages in by one call. */
    raw3(SYS_madvise, h, STREAM_RING_AT + FIRST_BYTES, MADVISE_POPULATE_WRITE);
    add = jvmti_function(env, JVMTI_ADD_CAPABILITIES);
    r = add(env, &caps);
    if (r != 0) {
        fail_session(STREAM_STEP_CAPABILITIES, r);
        return NULL;
    }
    memset(callbacks, 0, sizeof(callbacks));
    callbacks[JVMTI_COMPILED_METHOD_LOAD - JVMTI_EVENT_FIRST] = (void *)on_load;
    callbacks[JVMTI_COMPILED_METHOD_UNLOAD - JVMTI_EVENT_FIRST] = (void *)on_unload;
    callbacks[JVMTI_DYNAMIC_CODE_GENERATED - JVMTI_EVENT_FIRST] = (void *)on_stub;
    set = jvmti_function(env, JVMTI_SET_EVENT_CALLBACKS);
    r = set(env, callbacks, (int32_t)sizeof(callbacks));
    if (r != 0) {
        fail_session(STREAM_STEP_CALLBACKS, r);
        return NULL;
    }
    __atomic_store_n(&h->state, STREAM_REPLAYING, __ATOMIC_RELEASE);
    return env;
}

/* Turns events on and asks the JVM to replay the code that it has. Without the lock, because the
 * JVM calls our callbacks. @ret_step: the step that failed. */
static int32_t replay(jvmti_env *env, uint32_t options, uint32_t *ret_step)
{
    int32_t r;

    *ret_step = STREAM_STEP_EVENTS;
    r = set_event(env, JVMTI_ENABLE_EVENT, JVMTI_COMPILED_METHOD_LOAD);
    if (r == 0)
        r = set_event(env, JVMTI_ENABLE_EVENT, JVMTI_COMPILED_METHOD_UNLOAD);
    if (r == 0 && options & STREAM_OPTION_STUBS) {
        /* Takes only replayed events of this kind: later ones come from threads that must not
         * wait. */
        r = set_event(env, JVMTI_ENABLE_EVENT, JVMTI_DYNAMIC_CODE_GENERATED);
        if (r == 0)
            r = generate(env, JVMTI_DYNAMIC_CODE_GENERATED);
        set_event(env, JVMTI_DISABLE_EVENT, JVMTI_DYNAMIC_CODE_GENERATED);
    }
    if (r == 0) {
        *ret_step = STREAM_STEP_REPLAY;
        r = generate(env, JVMTI_COMPILED_METHOD_LOAD);
    }
    return r;
}

EXPORT int32_t Agent_OnAttach(jvmti_vm *vm, char *options, void *reserved);
EXPORT int32_t Agent_OnAttach(jvmti_vm *vm, char *options, void *reserved)
{
    struct stream_header *h = options ? map_stream(options) : NULL;
    uint64_t started;
    uint32_t once, step = 0;
    jvmti_env *env;
    int32_t r;

    (void)reserved;
    if (!h)
        return 0; /* flamed sees from the file that it was not opened */
    if (h->options & STREAM_OPTION_SAMPLES) {
        alloc_begin(vm, h);
        return 0;
    }
    lock_session();
    if (session.env)
        end_session(STREAM_ENDED); /* the session of a flamed that is gone or gave up */
    env = begin(vm, h);
    once = env ? h->options & STREAM_OPTION_ONCE : 0;
    r = env ? (int32_t)h->options : 0;
    started = env ? now_ns() : 0;
    unlock_session();
    if (!env)
        return 0;
    r = replay(env, (uint32_t)r, &step);
    lock_session();
    if (session.env == env) {
        if (r != 0) {
            fail_session(step, r);
        } else {
            session.header->replayed = session.loads;
            session.header->replay_ns = now_ns() - started;
            __atomic_store_n(&session.header->state, STREAM_STREAMING, __ATOMIC_RELEASE);
            if (once)
                end_session(STREAM_ENDED);
        }
    }
    unlock_session();
    return 0;
}
