/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/native_locks.h"

#include "base/list.h"

#define ADDRESS_BYTES 24
/* glibc's condition variables have two words at which threads wait. Both lie in eight bytes. */
#define CONDITION_MASK UINT64_C(7)

enum use { USE_MUTEX, USE_CONDITION, USE_RWLOCK, USE_SEMAPHORE, USE_BARRIER, USE_JOIN, USE_FUTEX };

static const struct {
    const char *name;
    enum frame_kind kind;
} USES[] = {
    [USE_MUTEX] = { "[mutex]", FRAME_WAIT_LOCK },
    [USE_CONDITION] = { "[condition]", FRAME_WAIT_NOTIFY },
    [USE_RWLOCK] = { "[rwlock]", FRAME_WAIT_LOCK },
    [USE_SEMAPHORE] = { "[semaphore]", FRAME_WAIT_LOCK },
    [USE_BARRIER] = { "[barrier]", FRAME_WAIT_NOTIFY },
    [USE_JOIN] = { "[join]", FRAME_WAIT_NOTIFY },
    [USE_FUTEX] = { "[futex]", FRAME_WAIT_LOCK },
};

/* Prefixes of functions that wait, in glibc and musl, without leading underscores. */
static const struct {
    const char *name;
    enum use use;
} FUNCTIONS[] = {
    { "pthread_mutex_", USE_MUTEX },
    { "pthread_cond_wait", USE_CONDITION },
    { "pthread_cond_timedwait", USE_CONDITION },
    { "pthread_cond_clockwait", USE_CONDITION },
    { "pthread_rwlock_", USE_RWLOCK },
    { "sem_wait", USE_SEMAPHORE },
    { "sem_timedwait", USE_SEMAPHORE },
    { "sem_clockwait", USE_SEMAPHORE },
    { "new_sem_wait", USE_SEMAPHORE },
    { "pthread_barrier_wait", USE_BARRIER },
    { "pthread_join", USE_JOIN },
    { "pthread_clockjoin", USE_JOIN },
    { "pthread_timedjoin", USE_JOIN },
    { "cnd_wait", USE_CONDITION },
    { "cnd_timedwait", USE_CONDITION },
    { "mtx_lock", USE_MUTEX },
    { "mtx_timedlock", USE_MUTEX },
};

/* Functions of HotSpot that wait for a Java thread. */
static const char *const VM[] = {
    "ObjectMonitor::", "ObjectSynchronizer::", "Parker::park", "JavaThread::sleep", "os::sleep",
};

/* Java methods that wait. */
static const struct {
    const char *class_name, *name;
} METHODS[] = {
    { "jdk.internal.misc.Unsafe", "park" },
    { "sun.misc.Unsafe", "park" },
    { "java.lang.Object", "wait" },
    { "java.lang.Thread", "sleep" },
};

static bool is_java_method(const struct frame_table *t, const struct function *f)
{
    struct span class_name = frame_table_get_string(t, f->class_name),
                name = frame_table_get_string(t, f->name);

    return ANY_OF(i, ARRAY_SIZE(METHODS),
                  span_eq_str(class_name, METHODS[i].class_name) &&
                      span_starts_with(name, METHODS[i].name));
}

static bool is_vm_wait(struct span name)
{
    return ANY_OF(i, ARRAY_SIZE(VM), span_starts_with(name, VM[i]));
}

static enum use use_of(struct span name)
{
    while (span_take_char(&name, '_'))
        ;
    for (size_t i = 0; i < ARRAY_SIZE(FUNCTIONS); i++) {
        if (span_starts_with(name, FUNCTIONS[i].name))
            return FUNCTIONS[i].use;
    }
    return USE_FUTEX;
}

bool native_lock_get(struct frame_table *t, uint64_t address, const uint32_t *frames, size_t n,
                     struct lock_frames *ret)
{
    enum use use = USE_FUTEX;
    bool java = false;
    char text[ADDRESS_BYTES];

    for (size_t i = 0; i < n && !java; i++) {
        const struct frame *frame = frame_table_get(t, frames[i]);
        const struct function *f = frame_table_get_function(t, frame->function);
        struct span name = frame_table_get_string(t, f->name);

        if (frame_kind_is_java(frame->kind)) { /* innermost frame of Java */
            java = is_java_method(t, f);
            break;
        }
        java = is_vm_wait(name);
        if (use == USE_FUTEX)
            use = use_of(name);
    }
    if (use == USE_CONDITION)
        address &= ~CONDITION_MASK;
    snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
    *ret = (struct lock_frames){
        .class_frame = frame_table_text(t, span_of(text), USES[use].kind),
        .kind = frame_table_text(t, span_of(USES[use].name), USES[use].kind),
    };
    return !java;
}
