/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libflamed-agent.so: tells flamed, through a memory file of flamed's, which code the JVM has
 * compiled, compiles and drops (agent/stream.h). It runs in somebody's production JVM, so:
 *
 * - no C library, no import, no thread, no file, no memory of its own but the mapping of flamed's
 *   file; it never waits for flamed, and never for longer than another thread takes to write one
 *   record;
 * - it asks for compiled-method-load events, and for two capabilities that every JVM has anyhow;
 * - it ends by itself: at the first event after the lease in the file's header is over it turns its
 *   events off, disposes its JVMTI environment and unmaps the file;
 * - it stays mapped (Agent_OnAttach returns 0 always): JVMs deliver events from several threads,
 * and one may be in here while another unloads. Loaded again, it is the same copy with the same
 * state.
 */
#define RAW_DEFINE_MEMORY
#include "agent/jvmti_slots.h"
#include "agent/raw.h"
#include "agent/stream.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/time.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define EXPORT __attribute__((visibility("default")))
#define STRING_MAX 2048u /* bytes of one name */
#define LINES_MAX 4096u  /* of one method */
#define PCS_MAX 65536    /* of one piece of code */
#define FRAMES_MAX 64    /* at one pc */
#define OPTIONS_MAX 64

struct slot {
    uint64_t method; /* jmethodID; 0: free */
    uint32_t id;
    uint32_t zero;
};

/* All that the agent keeps. Guarded by lock. */
static struct {
    uint32_t lock;  /* 0 free, 1 held, 2 held and waited for */
    jvmti_env *env; /* NULL: no session */
    struct stream_header *header;
    struct slot *table;
    char *ring;
    uint32_t method_count;
    uint64_t loads;
} session;

static void lock_session(void)
{
    uint32_t free_value = 0;

    if (__atomic_compare_exchange_n(&session.lock, &free_value, 1, 0, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&session.lock, 2, __ATOMIC_ACQUIRE) != 0)
        raw4(SYS_futex, &session.lock, FUTEX_WAIT_PRIVATE, 2, NULL);
}

static void unlock_session(void)
{
    if (__atomic_exchange_n(&session.lock, 0, __ATOMIC_RELEASE) == 2)
        raw3(SYS_futex, &session.lock, FUTEX_WAKE_PRIVATE, 1);
}

/* The host's CLOCK_MONOTONIC. */
static uint64_t now_ns(void)
{
    struct {
        int64_t s, ns;
    } t = { 0, 0 };

    raw2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)(t.s * 1000000000 + t.ns - session.header->clock_offset_ns);
}

/* ---- the JVM's functions ---- */

static int32_t set_event(jvmti_env *env, int32_t mode, int32_t event)
{
    int32_t (*f)(jvmti_env *, int32_t, int32_t, void *, ...) =
        jvmti_function(env, JVMTI_SET_EVENT_NOTIFICATION_MODE);

    return f(env, mode, event, /* every thread */ NULL);
}

static int32_t generate(jvmti_env *env, int32_t event)
{
    int32_t (*f)(jvmti_env *, int32_t) = jvmti_function(env, JVMTI_GENERATE_EVENTS);

    return f(env, event);
}

static void release(jvmti_env *env, void *p)
{
    int32_t (*f)(jvmti_env *, void *) = jvmti_function(env, JVMTI_DEALLOCATE);

    if (p)
        f(env, p);
}

/* ---- records ---- */

/* Room for a record of @bytes in one piece, its head filled; NULL when there is none. What is in it
 * becomes visible by commit(). */
static void *reserve(uint32_t bytes, uint16_t kind, uint16_t flags, uint64_t time_ns)
{
    struct stream_header *h = session.header;
    uint64_t head = h->head, tail = __atomic_load_n(&h->tail, __ATOMIC_ACQUIRE);
    uint64_t at = head & (STREAM_RING_BYTES - 1), rest = STREAM_RING_BYTES - at;
    uint64_t pad = rest < bytes ? rest : 0;
    struct stream_record *r;

    if (tail > head || head - tail > STREAM_RING_BYTES ||
        bytes + pad > STREAM_RING_BYTES - (head - tail)) {
        h->dropped++;
        return NULL;
    }
    if (pad) { /* at least 8 bytes: everything is a multiple of 8 */
        r = (struct stream_record *)(session.ring + at);
        r->bytes = (uint32_t)pad;
        r->kind = STREAM_PAD;
        r->flags = 0;
        __atomic_store_n(&h->head, head + pad, __ATOMIC_RELEASE);
        at = 0;
    }
    r = (struct stream_record *)(session.ring + at);
    r->bytes = bytes;
    r->kind = kind;
    r->flags = flags;
    r->time_ns = time_ns;
    return r;
}

static void commit(uint32_t bytes)
{
    __atomic_store_n(&session.header->head, session.header->head + bytes, __ATOMIC_RELEASE);
}

static uint32_t round_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) & ~(to - 1);
}

static uint16_t length(const char *s)
{
    uint16_t n = 0;

    while (s && n < STRING_MAX && s[n])
        n++;
    return n;
}

static char *put(char *to, const char *s, uint16_t n)
{
    memcpy(to, s, n);
    return to + n;
}

/* What the JVM says of a method; each NULL where it does not. */
struct names {
    char *class_name, *name, *signature, *file;
    struct jvmti_line *lines;
    int32_t line_count;
};

static void names_get(jvmti_env *env, jvmti_id method, struct names *n)
{
    int32_t (*get_name)(jvmti_env *, jvmti_id, char **, char **, char **) =
        jvmti_function(env, JVMTI_GET_METHOD_NAME);
    int32_t (*get_class)(jvmti_env *, jvmti_id, jvmti_id *) =
        jvmti_function(env, JVMTI_GET_METHOD_DECLARING_CLASS);
    int32_t (*get_signature)(jvmti_env *, jvmti_id, char **, char **) =
        jvmti_function(env, JVMTI_GET_CLASS_SIGNATURE);
    int32_t (*get_file)(jvmti_env *, jvmti_id, char **) =
        jvmti_function(env, JVMTI_GET_SOURCE_FILE_NAME);
    int32_t (*get_lines)(jvmti_env *, jvmti_id, int32_t *, struct jvmti_line **) =
        jvmti_function(env, JVMTI_GET_LINE_NUMBER_TABLE);
    jvmti_id class_id = NULL;

    memset(n, 0, sizeof(*n));
    if (get_name(env, method, &n->name, &n->signature, NULL) != 0)
        n->name = n->signature = NULL;
    if (get_class(env, method, &class_id) == 0) {
        if (get_signature(env, class_id, &n->class_name, NULL) != 0)
            n->class_name = NULL;
        if (get_file(env, class_id, &n->file) != 0)
            n->file = NULL;
    }
    if (get_lines(env, method, &n->line_count, &n->lines) != 0) {
        n->lines = NULL;
        n->line_count = 0;
    }
}

static void names_release(jvmti_env *env, struct names *n)
{
    release(env, n->class_name);
    release(env, n->name);
    release(env, n->signature);
    release(env, n->file);
    release(env, n->lines);
}

/* Writes the record of a method. 1 if there was room. */
static int write_method(jvmti_env *env, jvmti_id method, uint32_t id, uint64_t time_ns)
{
    struct names n;
    struct stream_method *m;
    uint16_t class_n, name_n, signature_n, file_n;
    uint32_t strings, lines, bytes;

    names_get(env, method, &n);
    class_n = length(n.class_name);
    name_n = length(n.name);
    signature_n = length(n.signature);
    file_n = length(n.file);
    strings = round_up((uint32_t)class_n + name_n + signature_n + file_n, 4);
    lines = n.line_count < 0 ? 0 : (uint32_t)n.line_count;
    if (lines > LINES_MAX)
        lines = LINES_MAX;
    bytes = round_up((uint32_t)(sizeof(*m) + strings + lines * sizeof(struct stream_line)), 8);
    m = reserve(bytes, STREAM_METHOD, 0, time_ns);
    if (m) {
        char *p = (char *)(m + 1);
        struct stream_line *l = (struct stream_line *)(p + strings);

        m->id = id;
        m->class_n = class_n;
        m->name_n = name_n;
        m->signature_n = signature_n;
        m->file_n = file_n;
        m->line_count = lines;
        p = put(p, n.class_name, class_n);
        p = put(p, n.name, name_n);
        p = put(p, n.signature, signature_n);
        put(p, n.file, file_n);
        for (uint32_t i = 0; i < lines; i++) {
            l[i].bci = (uint32_t)n.lines[i].start;
            l[i].line = (uint32_t)n.lines[i].line;
        }
        commit(bytes);
    }
    names_release(env, &n);
    return m != NULL;
}

/* The slot of a method: its own or the free one where it belongs. NULL: the table is full. */
static struct slot *find(jvmti_id method)
{
    uint64_t key = (uint64_t)(uintptr_t)method;
    uint32_t at = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40);

    for (uint32_t i = 0; i < STREAM_TABLE_SLOTS; i++) {
        struct slot *s = &session.table[(at + i) & (STREAM_TABLE_SLOTS - 1)];

        if (s->method == key || !s->method)
            return s;
    }
    return NULL;
}

/* The id of a method that was written before; 0: none. */
static uint32_t known(jvmti_id method)
{
    const struct slot *s = method ? find(method) : NULL;

    return s && s->method ? s->id : 0;
}

/* Names a method unless that was done. */
static void introduce(jvmti_env *env, jvmti_id method, uint64_t time_ns)
{
    struct slot *s = method ? find(method) : NULL;

    if (!s || s->method)
        return;
    if (session.method_count >= STREAM_METHODS_MAX) {
        session.header->dropped++;
        return;
    }
    if (write_method(env, method, session.method_count + 1, time_ns)) {
        s->id = ++session.method_count;
        s->method = (uint64_t)(uintptr_t)method;
    }
}

static const struct jvmti_inline *inline_record(const void *info)
{
    const struct jvmti_cmlr *r = info;

    for (int i = 0; r && i < 8; i++, r = r->next) {
        if (r->kind == JVMTI_CMLR_INLINE && r->major == 1)
            return (const struct jvmti_inline *)r;
    }
    return NULL;
}

static uint32_t frames_of(const struct jvmti_pc *pc)
{
    return pc->frame_count < 0            ? 0
           : pc->frame_count > FRAMES_MAX ? FRAMES_MAX
                                          : (uint32_t)pc->frame_count;
}

static void write_load(jvmti_env *env, jvmti_id method, const char *code, int32_t code_bytes,
                       const struct jvmti_inline *in, uint64_t time_ns)
{
    int32_t count = in ? in->pc_count : 0, fit = 0;
    uint32_t bytes = sizeof(struct stream_load);
    uint16_t flags = session.header->state == STREAM_REPLAYING ? STREAM_FLAG_REPLAYED : 0;
    struct stream_load *l;
    char *p;

    introduce(env, method, time_ns);
    for (; fit < count && fit < PCS_MAX; fit++) {
        uint32_t frames = frames_of(&in->pcs[fit]);
        uint32_t more = (uint32_t)(sizeof(struct stream_pc) + frames * sizeof(struct stream_frame));

        if (bytes + more > STREAM_RECORD_MAX)
            break;
        bytes += more;
        for (uint32_t i = 0; i < frames; i++)
            introduce(env, in->pcs[fit].methods[i], time_ns);
    }
    if (fit < count)
        flags |= STREAM_FLAG_CUT;
    l = reserve(bytes, STREAM_LOAD, flags, time_ns);
    if (!l)
        return;
    l->address = (uint64_t)(uintptr_t)code;
    l->code_bytes = (uint32_t)code_bytes;
    l->method = known(method);
    l->pc_count = (uint32_t)fit;
    l->zero = 0;
    p = (char *)(l + 1);
    for (int32_t i = 0; i < fit; i++) {
        const struct jvmti_pc *from = &in->pcs[i];
        struct stream_pc *pc = (struct stream_pc *)p;
        struct stream_frame *f = (struct stream_frame *)(pc + 1);

        pc->offset = (uint32_t)((const char *)from->pc - code);
        pc->frame_count = frames_of(from);
        for (uint32_t k = 0; k < pc->frame_count; k++) {
            f[k].method = known(from->methods[k]);
            f[k].bci = from->bcis[k];
        }
        p = (char *)(f + pc->frame_count);
    }
    commit(bytes);
    session.loads++;
}

/* ---- the session ---- */

/* Ends it: no event of ours any more, nothing mapped. With the lock held. Threads that are on their
 * way in here find no session. */
static void end_session(uint32_t state)
{
    jvmti_env *env = session.env;
    int32_t (*dispose)(jvmti_env *) = jvmti_function(env, JVMTI_DISPOSE_ENVIRONMENT);

    session.env = NULL;
    set_event(env, JVMTI_DISABLE_EVENT, JVMTI_COMPILED_METHOD_LOAD);
    set_event(env, JVMTI_DISABLE_EVENT, JVMTI_COMPILED_METHOD_UNLOAD);
    set_event(env, JVMTI_DISABLE_EVENT, JVMTI_DYNAMIC_CODE_GENERATED);
    dispose(env);
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

/* With 1: the lock is held, the event is ours and may be written at *ret_now. */
static int enter(jvmti_env *env, uint64_t *ret_now)
{
    struct stream_header *h;

    lock_session();
    h = session.header;
    if (session.env != env || !h) {
        unlock_session();
        return 0;
    }
    *ret_now = now_ns();
    if (__atomic_load_n(&h->stop, __ATOMIC_RELAXED) ||
        *ret_now > __atomic_load_n(&h->lease_ns, __ATOMIC_RELAXED)) {
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
    if (!enter(env, &now))
        return;
    write_load(env, method, code, code_bytes, inline_record(info), now);
    unlock_session();
}

static void on_unload(jvmti_env *env, jvmti_id method, const void *code)
{
    struct stream_unload *u;
    uint64_t now;

    (void)method;
    if (!enter(env, &now))
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

    if (!enter(env, &now))
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

/* Maps the file that @options names. NULL: it is none of flamed's, or the JVM may not open it. */
static struct stream_header *map_stream(const char *options)
{
    struct stream_header h;
    void *p = NULL;
    long fd = raw4(SYS_openat, AT_FDCWD, options, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

    if (fd < 0)
        return NULL;
    if (raw4(SYS_pread64, fd, &h, sizeof(h), 0) == (long)sizeof(h) && h.magic == STREAM_MAGIC &&
        h.version == STREAM_VERSION && h.state == STREAM_IDLE) {
        long r = raw6(SYS_mmap, 0, (long)STREAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (r > 0 || r < -4095)
            p = (void *)r;
    }
    raw1(SYS_close, fd);
    return p;
}

/* Makes the session. Its environment, or NULL. */
static jvmti_env *begin(jvmti_vm *vm, struct stream_header *h)
{
    int32_t (*get_env)(jvmti_vm *, void **, int32_t) = (*(void ***)vm)[JVMTI_VM_GET_ENV];
    struct jvmti_capabilities caps = { { 1u << JVMTI_CAP_SOURCE_FILE_NAME |
                                         1u << JVMTI_CAP_LINE_NUMBERS |
                                         1u << JVMTI_CAP_COMPILED_METHOD_LOAD } };
    void *callbacks[JVMTI_DYNAMIC_CODE_GENERATED - JVMTI_EVENT_FIRST + 1];
    int32_t (*add)(jvmti_env *, const struct jvmti_capabilities *);
    int32_t (*set)(jvmti_env *, void *const *, int32_t);
    jvmti_env *env = NULL;
    int32_t r = get_env(vm, (void **)&env, JVMTI_VERSION_OF_JDK_8);

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
    session.method_count = 0;
    session.loads = 0;
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

/* Turns events on and has everything told that is there already. Without the lock: the JVM calls
 * us. @ret_step: what failed. */
static int32_t replay(jvmti_env *env, uint32_t options, uint32_t *ret_step)
{
    int32_t r;

    *ret_step = STREAM_STEP_EVENTS;
    r = set_event(env, JVMTI_ENABLE_EVENT, JVMTI_COMPILED_METHOD_LOAD);
    if (r == 0)
        r = set_event(env, JVMTI_ENABLE_EVENT, JVMTI_COMPILED_METHOD_UNLOAD);
    if (r == 0 && options & STREAM_OPTION_STUBS) {
        /* Only replayed: their events come from threads that must not wait. */
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
        return 0; /* flamed sees that the file was not opened */
    lock_session();
    if (session.env)
        end_session(STREAM_ENDED); /* of a flamed that is gone, or that gave up waiting */
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
