/* SPDX-License-Identifier: Apache-2.0 */
/* The agent that samples allocation, in a JVM that is made up here. While the agent calls JVMTI,
 * another thread allocates. It must not wait: JVMTI is where a suspended thread stops. */
#include "suite.h"

#include "agent/jvmti_slots.h"
#include "agent/stream.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STUCK_S 20 /* longer than any thread takes by itself */
#define INTERVAL_DEFAULT (512 << 10)
#define INTERVAL 1024
#define EVENTS_MAX 10000000

typedef void sampled_fn(jvmti_env *, const void *, const void *, const void *, const void *,
                        int64_t);
void flamed_agent_sampled(const void *klass, uint64_t bytes, uint64_t interval);

static struct {
    sampled_fn *sampled; /* the agent's callback */
    bool may, on;        /* the capability is given; the event is on */
    int32_t interval;
    unsigned calls;            /* of JVMTI */
    atomic_bool holds, inside; /* a thread that turns the event off stops there */
} jvm = { .interval = INTERVAL_DEFAULT };

static void *functions[JVMTI_SET_HEAP_SAMPLING_INTERVAL];
static jvmti_env environment = functions;
static _Thread_local bool is_other;
static uint64_t drawn_with; /* the interval that the probe got last */

/* In place of the agent's own. */
void flamed_agent_sampled(const void *klass, uint64_t bytes, uint64_t interval)
{
    (void)klass;
    (void)bytes;
    if (!is_other)
        drawn_with = interval;
}

static void sample(void)
{
    jvm.sampled(&environment, NULL, NULL, NULL, NULL, 64);
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
    (void)version;
    *ret = &environment;
    return 0;
}

/* ---- sessions ---- */

/* Has the agent begin one. Its file, as flamed sees it. */
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
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)STREAM_BYTES), 0);
    h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(h, MAP_FAILED);
    *h = (struct stream_header){ .magic = STREAM_MAGIC,
                                 .version = STREAM_VERSION,
                                 .options = STREAM_OPTION_SAMPLES,
                                 .lease_ns = UINT64_MAX,
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
    ck_assert_uint_eq(drawn_with, INTERVAL); /* the change came after the draw */
    sample();
    ck_assert_uint_eq(drawn_with, 2 * INTERVAL);
    h->stop = 1;
    sample();
    check_ended(h);
    h = begin();
    check_streams(h);
    next = begin(); /* of another flamed */
    ck_assert_uint_eq(h->state, STREAM_ENDED);
    check_streams(next);
    next->lease_ns = 0;
    sample();
    check_ended(next);
    ck_assert_uint_ge(jvm.calls, 15);
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

int main(void)
{
    TCase *tc = tcase_create("agent_alloc");

    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, nobody_waits_for_a_thread_in_jvmti);
    tcase_add_test(tc, a_session_does_not_wait_for_good_for_the_end_of_the_one_before);
    return suite_run_case("agent_alloc", tc);
}
