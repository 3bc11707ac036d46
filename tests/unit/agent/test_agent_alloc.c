/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's sampling of allocations, in a fake JVM. While the agent calls JVMTI, another thread
 * allocates. It must not wait, because a suspended thread may be stopped inside JVMTI. */
#include "suite.h"

#include "agent/jvmti_slots.h"
#include "agent/stream.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STUCK_S 20 /* longer than any thread takes without a deadlock */
#define INTERVAL_DEFAULT (512 << 10)
#define INTERVAL 1024
#define EVENTS_MAX 10000000
#define SIGMAS 5

typedef void sampled_fn(jvmti_env *, const void *, const void *, const void *, const void *,
                        int64_t);
void flamed_agent_sampled(const void *klass, uint64_t bytes, uint64_t interval, uint64_t id);

static struct {
    sampled_fn *sampled; /* the agent's callback */
    bool may, on;        /* the capability is granted; the event is on */
    int32_t interval;
    unsigned calls;            /* calls of JVMTI */
    atomic_bool holds, inside; /* makes a thread that turns the event off stop there */
} jvm = { .interval = INTERVAL_DEFAULT };

static void *functions[JVMTI_SET_HEAP_SAMPLING_INTERVAL];
static jvmti_env environment = functions;
static _Thread_local bool is_other;
static uint64_t drawn_with, drawn_id; /* the last interval and object that the probe got */

/* Replaces the agent's own function. */
void flamed_agent_sampled(const void *klass, uint64_t bytes, uint64_t interval, uint64_t id)
{
    (void)klass;
    (void)bytes;
    if (!is_other) {
        drawn_with = interval;
        drawn_id = id;
    }
}

/* ---- JNI: weak references, and the words that a collector would clear ---- */

#define WORDS_MAX 100000

static struct {
    uint64_t words[WORDS_MAX]; /* UINT64_MAX: free */
    atomic_uint refs;          /* references that exist */
    bool no_memory, thrown;
    bool calls_other; /* true: another thread allocates during each call */
} heap;
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;

static void other_allocates(void);

static jni_ref new_weak(const jni_env *jni, jni_ref object)
{
    uint64_t *word = NULL;

    (void)jni;
    if (heap.calls_other)
        other_allocates();
    ck_assert(!heap.thrown);
    if (heap.no_memory) {
        heap.thrown = true;
        return NULL;
    }
    pthread_mutex_lock(&heap_lock);
    for (size_t i = 0; i < WORDS_MAX && !word; i++)
        word = heap.words[i] == UINT64_MAX ? &heap.words[i] : NULL;
    ck_assert_ptr_nonnull(word);
    *word = (uint64_t)(uintptr_t)object;
    pthread_mutex_unlock(&heap_lock);
    heap.refs++;
    return (jni_ref)((uintptr_t)word | 1);
}

static void delete_weak(const jni_env *jni, jni_ref ref)
{
    uint64_t *word = (uint64_t *)((uintptr_t)ref & ~(uintptr_t)7);

    (void)jni;
    if (heap.calls_other)
        other_allocates();
    ck_assert(word >= heap.words && word < heap.words + WORDS_MAX);
    pthread_mutex_lock(&heap_lock);
    ck_assert_msg(*word != UINT64_MAX, "a reference is deleted twice");
    *word = UINT64_MAX;
    pthread_mutex_unlock(&heap_lock);
    heap.refs--;
}

static void clear_exception(const jni_env *jni)
{
    (void)jni;
    heap.thrown = false;
}

static void *jni_functions[JNI_DELETE_WEAK_GLOBAL_REF + 1];
static jni_env jni_environment = jni_functions, jni_of_second = jni_functions;

static void sample_of(uint64_t object, int64_t bytes)
{
    jvm.sampled(&environment, &jni_environment, NULL, (const void *)(uintptr_t)object, NULL, bytes);
}

/* A sample in another thread of the JVM. */
static void sample_in_second(void)
{
    jvm.sampled(&environment, &jni_of_second, NULL, (const void *)(uintptr_t)0x700000000, NULL, 64);
}

static void sample(void)
{
    sample_of(0x700000000, 64);
}

static void *allocate(void *arg)
{
    is_other = true;
    sample();
    return arg;
}

static void other_allocates(void)
{
    struct timespec until;
    pthread_t thread;

    if (is_other || !jvm.sampled)
        return;
    jvm.calls++;
    ck_assert_int_eq(pthread_create(&thread, NULL, allocate, NULL), 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STUCK_S;
    ck_assert_msg(pthread_timedjoin_np(thread, NULL, &until) == 0,
                  "a thread that allocates waits for one that calls JVMTI");
}

/* ---- JVMTI ---- */

static int32_t set_mode(jvmti_env *env, int32_t mode, int32_t event, void *thread, ...)
{
    const struct timespec look = { .tv_nsec = 1000000 };

    (void)env;
    (void)thread;
    ck_assert_int_eq(event, JVMTI_SAMPLED_OBJECT_ALLOC);
    while (is_other && mode == JVMTI_DISABLE_EVENT && jvm.holds) {
        jvm.inside = true;
        nanosleep(&look, NULL);
    }
    other_allocates();
    jvm.on = mode == JVMTI_ENABLE_EVENT;
    return 0;
}

static int32_t add_capabilities(jvmti_env *env, const struct jvmti_capabilities *caps)
{
    (void)env;
    (void)caps;
    other_allocates();
    if (jvm.may)
        return JVMTI_ERROR_NOT_AVAILABLE;
    jvm.may = true;
    return 0;
}

static int32_t relinquish_capabilities(jvmti_env *env, const struct jvmti_capabilities *caps)
{
    (void)env;
    (void)caps;
    other_allocates();
    jvm.may = false;
    return 0;
}

static int32_t set_callbacks(jvmti_env *env, void *const *callbacks, int32_t bytes)
{
    (void)env;
    other_allocates();
    ck_assert_uint_eq((size_t)bytes / sizeof(void *),
                      JVMTI_SAMPLED_OBJECT_ALLOC - JVMTI_EVENT_FIRST + 1);
    jvm.sampled = (sampled_fn *)callbacks[JVMTI_SAMPLED_OBJECT_ALLOC - JVMTI_EVENT_FIRST];
    return 0;
}

static int32_t set_interval(jvmti_env *env, int32_t bytes)
{
    (void)env;
    ck_assert(jvm.may);
    other_allocates();
    jvm.interval = bytes;
    return 0;
}

static int32_t get_env(jvmti_vm *vm, void **ret, int32_t version)
{
    (void)vm;
    *ret = version == JNI_VERSION_OF_JDK_8 ? (void *)&jni_environment : (void *)&environment;
    return 0;
}

/* ---- sessions ---- */

/* Makes the agent begin a session. Returns flamed's mapping of its file. */
static struct stream_header *begin(void)
{
    static void *vm_functions[JVMTI_VM_GET_ENV + 1];
    jvmti_vm vm = vm_functions;
    int32_t (*attach)(jvmti_vm *, char *, void *);
    int fd = memfd_create("test", MFD_CLOEXEC);
    void *agent = dlopen(FLAMED_AGENT, RTLD_NOW);
    struct stream_header *h;
    char path[64];

    ck_assert_msg(agent, "%s", dlerror());
    attach = (int32_t(*)(jvmti_vm *, char *, void *))dlsym(agent, "Agent_OnAttach");
    ck_assert_ptr_nonnull(attach);
    vm_functions[JVMTI_VM_GET_ENV] = (void *)get_env;
    functions[JVMTI_SET_EVENT_NOTIFICATION_MODE - 1] = (void *)set_mode;
    functions[JVMTI_ADD_CAPABILITIES - 1] = (void *)add_capabilities;
    functions[JVMTI_RELINQUISH_CAPABILITIES - 1] = (void *)relinquish_capabilities;
    functions[JVMTI_SET_EVENT_CALLBACKS - 1] = (void *)set_callbacks;
    functions[JVMTI_SET_HEAP_SAMPLING_INTERVAL - 1] = (void *)set_interval;
    jni_functions[JNI_NEW_WEAK_GLOBAL_REF] = (void *)new_weak;
    jni_functions[JNI_DELETE_WEAK_GLOBAL_REF] = (void *)delete_weak;
    jni_functions[JNI_EXCEPTION_CLEAR] = (void *)clear_exception;
    if (!heap.refs)
        memset(heap.words, 0xff, sizeof(heap.words));
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)STREAM_BYTES), 0);
    h = mmap(NULL, STREAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(h, MAP_FAILED);
    *h = (struct stream_header){ .magic = STREAM_MAGIC,
                                 .version = STREAM_VERSION,
                                 .options = STREAM_OPTION_SAMPLES,
                                 .lease_ns = clock_monotonic_ns() + STREAM_LEASE_MAX_NS,
                                 .interval = INTERVAL };
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ck_assert_int_eq(attach(&vm, path, NULL), 0);
    close(fd);
    return h;
}

static void check_streams(const struct stream_header *h)
{
    ck_assert_uint_eq(h->state, STREAM_STREAMING);
    ck_assert(jvm.may && jvm.on);
    ck_assert_int_eq(jvm.interval, INTERVAL);
    ck_assert_uint_eq(h->interval_now, INTERVAL);
}

static void check_ended(const struct stream_header *h)
{
    ck_assert_uint_eq(h->state, STREAM_ENDED);
    ck_assert(!jvm.may && !jvm.on);
    ck_assert_int_eq(jvm.interval, INTERVAL_DEFAULT);
}

START_TEST(nobody_waits_for_a_thread_in_jvmti)
{
    struct stream_header *h = begin(), *next;

    check_streams(h);
    for (unsigned i = 0; i < EVENTS_MAX && h->interval_now == INTERVAL; i++)
        sample();
    ck_assert_uint_eq(h->interval_now, 2 * INTERVAL);
    ck_assert_int_eq(jvm.interval, 2 * INTERVAL);
    h->stop = 1;
    sample();
    check_ended(h);
    h = begin();
    check_streams(h);
    next = begin(); /* a session of another flamed */
    ck_assert_uint_eq(h->state, STREAM_ENDED);
    check_streams(next);
    next->lease_ns = 0;
    sample();
    check_ended(next);
    ck_assert_uint_ge(jvm.calls, 15);
}
END_TEST

/* The JVM draws a thread's next sample before the event of this one, by the interval of then. */
START_TEST(a_sample_has_the_interval_of_its_draw)
{
    struct stream_header *h = begin();

    sample_in_second();
    ck_assert_uint_eq(drawn_with, INTERVAL); /* first seen */
    for (unsigned i = 0; i < EVENTS_MAX && h->interval_now == INTERVAL; i++)
        sample();
    ck_assert_uint_eq(h->interval_now, 2 * INTERVAL);
    ck_assert_uint_eq(drawn_with, INTERVAL); /* this event changed it, after the draw */
    sample();
    ck_assert_uint_eq(drawn_with, INTERVAL); /* it was drawn before that change, too */
    sample();
    ck_assert_uint_eq(drawn_with, 2 * INTERVAL);
    sample_in_second();
    ck_assert_uint_eq(drawn_with, INTERVAL);
    sample_in_second();
    ck_assert_uint_eq(drawn_with, 2 * INTERVAL);
    h->stop = 1;
    sample();
    check_ended(h);
}
END_TEST

START_TEST(a_session_does_not_wait_for_good_for_the_end_of_the_one_before)
{
    struct stream_header *h = begin(), *next;
    const struct timespec look = { .tv_nsec = 1000000 };
    pthread_t thread;
    uint64_t events;

    jvm.holds = true;
    h->stop = 1;
    ck_assert_int_eq(pthread_create(&thread, NULL, allocate, NULL), 0);
    while (!jvm.inside)
        nanosleep(&look, NULL);
    events = h->events;
    sample();
    ck_assert_uint_eq(h->events, events);
    next = begin();
    ck_assert_uint_eq(next->state, STREAM_FAILED);
    ck_assert_uint_eq(next->step, STREAM_STEP_BUSY);
    jvm.holds = false;
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    check_ended(h);
    check_streams(begin());
}
END_TEST

/* ---- objects that are followed ---- */

static const struct stream_live *table_of(const struct stream_header *h)
{
    return (const struct stream_live *)((const char *)h + STREAM_TABLE_AT);
}

static size_t published(const struct stream_header *h)
{
    size_t n = 0;

    for (size_t i = 0; i < STREAM_LIVE_MAX; i++)
        n += table_of(h)[i].id != 0;
    return n;
}

/* Begins a session that follows objects with a fixed interval. Returns its file. */
static struct stream_header *begin_live(void)
{
    struct stream_header *h = begin();

    h->interval = 1 << 30;
    h->live = 1;
    return h;
}

/* Dead objects make room, live ones stay in the table, and the end leaves no reference. */
START_TEST(what_is_dead_goes)
{
    struct stream_header *h = begin_live();
    uint64_t ids = 0;

    for (uint64_t i = 0; i < 20000; i++) {
        sample_of(i << 20 | 1 << 16, 64);
        ck_assert_uint_ne(drawn_id, ids);
        ids = drawn_id;
        if (i % 8 == 7) { /* a collection, which one object of ten survives */
            for (size_t k = 0; k < WORDS_MAX; k++)
                heap.words[k] = heap.words[k] == UINT64_MAX || (heap.words[k] >> 20) % 10 == 0
                                    ? heap.words[k]
                                    : (k % 2 ? 0 : 0x1930); /* null, colored or not */
        }
    }
    ck_assert_uint_eq(published(h), heap.refs);
    ck_assert_uint_eq(h->live_held, heap.refs);
    ck_assert_uint_ge(heap.refs, 2000);
    ck_assert_uint_le(heap.refs, 2000 + 2048); /* some dead ones are not met yet */
    ck_assert_uint_gt(h->live_dead, 15000);
    ck_assert_uint_eq(h->live_missed, 0);
    for (size_t i = 0; i < STREAM_LIVE_MAX; i++)
        ck_assert_uint_eq(table_of(h)[i].threshold, 0);
    h->stop = 1;
    sample();
    check_ended(h);
    ck_assert_uint_eq(heap.refs, 0);
    ck_assert_uint_eq(published(h), 0);
}
END_TEST

/* More live objects than slots: the ones kept stand for all, of any size. */
START_TEST(more_than_there_is_room_for)
{
    static const int64_t SIZES[] = { 64, (int64_t)3 << 30, 64, (int64_t)9 << 30 };
    enum { ROUNDS = 20000 };
    struct stream_header *h = begin_live();
    double sums[4] = { 0 };
    size_t counts[4] = { 0 };

    for (int i = 0; i < ROUNDS; i++) {
        for (size_t k = 0; k < 4; k++)
            sample_of((uint64_t)(1 + k) << 32, SIZES[k]);
        ck_assert_uint_le(heap.refs, STREAM_LIVE_MAX);
    }
    ck_assert_uint_eq(published(h), heap.refs);
    ck_assert_uint_ge(heap.refs, STREAM_LIVE_MAX / 3);
    for (size_t i = 0; i < STREAM_LIVE_MAX; i++) {
        const struct stream_live *o = &table_of(h)[i];
        uint64_t stands = o->bytes > o->interval ? o->bytes : o->interval;
        size_t kind = o->id ? (*(uint64_t *)(o->ref & ~STREAM_LIVE_KIND_BITS) >> 32) - 1 : 0;

        if (!o->id)
            continue;
        ck_assert_uint_eq(o->bytes, (uint64_t)SIZES[kind]);
        sums[kind] += o->threshold > stands ? (double)o->threshold / (double)stands : 1;
        counts[kind]++;
    }
    for (size_t k = 0; k < 4; k++) {
        double off = sums[k] / ROUNDS - 1;

        ck_assert_msg(off * off * (double)counts[k] < SIGMAS * SIGMAS, "%zu: %g of %d by %zu", k,
                      sums[k], ROUNDS, counts[k]);
    }
    ck_assert_uint_lt(counts[0], counts[1]);
    ck_assert_uint_eq(h->live_missed, 0);
    h->lease_ns = 0;
    sample();
    check_ended(h);
    ck_assert_uint_eq(heap.refs, 0);
}
END_TEST

/* A table full of objects far larger than the interval: each new one still gets a slot. */
START_TEST(a_place_among_large_ones)
{
    enum { COUNT = 3 * STREAM_LIVE_MAX };
    struct stream_header *h = begin_live();
    double sum = 0, off;

    for (int i = 0; i < COUNT; i++)
        sample_of(UINT64_C(1) << 32, (int64_t)1 << 38);
    ck_assert_uint_eq(h->live_missed, 0);
    ck_assert_uint_eq(published(h), heap.refs);
    for (size_t i = 0; i < STREAM_LIVE_MAX; i++) {
        const struct stream_live *o = &table_of(h)[i];

        if (o->id)
            sum += o->threshold > o->bytes ? (double)o->threshold / (double)o->bytes : 1;
    }
    off = sum / COUNT - 1;
    ck_assert_msg(off * off * heap.refs < SIGMAS * SIGMAS, "%g of %d", sum, COUNT);
    h->stop = 1;
    sample();
    check_ended(h);
}
END_TEST

/* The agent calls JNI without its lock. A lack of memory leaves no exception. However a session or
 * its table ends, all references are deleted. */
START_TEST(every_reference_is_given_back)
{
    struct stream_header *h = begin_live(), *next;

    for (int i = 0; i < 1000; i++)
        sample();
    ck_assert_uint_ge(heap.refs, 1000);
    heap.calls_other = true; /* the other thread waits at most STUCK_S */
    for (int i = 0; i < 200; i++)
        sample_of(i % 2 ? 0x1930 : 0x700000000, 64);
    heap.calls_other = false;
    heap.no_memory = true;
    sample();
    ck_assert_uint_eq(drawn_id, 0);
    ck_assert(!heap.thrown);
    ck_assert_uint_eq(h->live_missed, 1);
    heap.no_memory = false;
    h->live = 0; /* sampling of allocations continues */
    sample();
    ck_assert_uint_eq(drawn_id, 0);
    ck_assert_uint_eq(heap.refs, 0);
    ck_assert_uint_eq(published(h), 0);
    ck_assert_uint_eq(h->state, STREAM_STREAMING);
    h->live = 1;
    sample();
    ck_assert_uint_eq(heap.refs, 1);
    next = begin_live(); /* a session of another flamed */
    ck_assert_uint_eq(h->state, STREAM_ENDED);
    ck_assert_uint_eq(heap.refs, 0);
    sample();
    ck_assert_uint_ge(heap.refs, 1); /* the other thread allocates while the interval changes */
    /* No text in the file counts as a reference for the agent. */
    memset((char *)next + STREAM_TABLE_AT, 0x41, STREAM_LIVE_MAX * sizeof(struct stream_live));
    for (int i = 0; i < 5000; i++)
        sample();
    next->stop = 1;
    sample();
    check_ended(next);
    ck_assert_uint_eq(heap.refs, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("agent_alloc");

    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, nobody_waits_for_a_thread_in_jvmti);
    tcase_add_test(tc, a_sample_has_the_interval_of_its_draw);
    tcase_add_test(tc, a_session_does_not_wait_for_good_for_the_end_of_the_one_before);
    tcase_add_test(tc, what_is_dead_goes);
    tcase_add_test(tc, more_than_there_is_room_for);
    tcase_add_test(tc, a_place_among_large_ones);
    tcase_add_test(tc, every_reference_is_given_back);
    return suite_run_case("agent_alloc", tc);
}
