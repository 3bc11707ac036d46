/* SPDX-License-Identifier: Apache-2.0 */
/* api/threads.c: a dump waits for a moment while its JVM cannot be read. */
#include "suite.h"

#include "api/api_impl.h"
#include "hotspot/thread_dump.h"
#include "hotspot/vm.h"
#include "profile/thread_dump.h"

#define JVM 77
#define FOREVER 1000000u

static struct hotspot_vm vm;
static struct process jvm = { .id = { .host_pid = JVM, .start_ticks = 9 },
                              .ns_depth = 1,
                              .vm = &vm };
static struct engine_opts opts;
static struct api api = { .engine = { .opts = &opts } };
/* The results of the next readings: @error for as many, then no thread. */
static int error;
static bool two_threads; /* the second one is not read by the first call */
static unsigned find_fails, list_fails, batch_fails, calls;
static bool is_quarantined;

int __wrap_api_ask(struct api *a, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err);
int __wrap_api_ask(struct api *a, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err)
{
    (void)err;
    calls++;
    return fn(a, arg);
}

int __wrap_jvm_find_readable(struct api *a, const struct viewer *v, int32_t host_pid,
                             struct process **ret, struct error *err);
int __wrap_jvm_find_readable(struct api *a, const struct viewer *v, int32_t host_pid,
                             struct process **ret, struct error *err)
{
    (void)a;
    (void)v;
    (void)err;
    ck_assert_int_eq(host_pid, JVM);
    *ret = &jvm;
    if (find_fails && find_fails--)
        return BACKEND_CONFLICT;
    return 0;
}

int __wrap_hotspot_vm_threads(struct hotspot_vm *v, unsigned what, hotspot_thread_fn fn,
                              void *cookie);
int __wrap_hotspot_vm_threads(struct hotspot_vm *v, unsigned what, hotspot_thread_fn fn,
                              void *cookie)
{
    (void)what;
    ck_assert_ptr_eq(v, &vm);
    if (list_fails && list_fails--)
        return error;
    fn(cookie, &(struct hotspot_thread){ .java_thread = 0x100 });
    if (two_threads)
        fn(cookie, &(struct hotspot_thread){ .java_thread = 0x200 });
    return 1;
}

int __wrap_hotspot_dump_threads(struct hotspot_vm *v, struct hotspot_dump_batch *b);
int __wrap_hotspot_dump_threads(struct hotspot_vm *v, struct hotspot_dump_batch *b)
{
    ck_assert_ptr_eq(v, &vm);
    b->count = 0;
    if (two_threads && !b->is_virtual && b->asked == 2) {
        b->done = 1;
        return 0;
    }
    if (batch_fails && (!two_threads || !b->is_virtual) && batch_fails--)
        return error;
    b->done = b->asked;
    b->ended = b->tracks_all = true;
    return 0;
}

bool __wrap_readers_wait_for(const struct proc_id *id);
bool __wrap_readers_wait_for(const struct proc_id *id)
{
    ck_assert_int_eq(id->host_pid, JVM);
    return is_quarantined;
}

static const struct {
    int error;
    unsigned list_fails, batch_fails;
    bool is_quarantined;
    int result;
    unsigned calls; /* 0: many */
    const char *why;
} CASES[] = {
    { 0, 0, 0, false, 0, 3, "" },
    { -ETIMEDOUT, 3, 0, false, 0, 6, "" },
    { -ETIMEDOUT, 0, 5, false, 0, 8, "" },
    { -EFAULT, 1, 2, false, 0, 6, "" },
    { -ETIMEDOUT, 0, FOREVER, false, BACKEND_CONFLICT, 0, "has no time left to read" },
    { -EBADMSG, 0, FOREVER, false, BACKEND_CONFLICT, 0, "contradict each other" },
    { -EAGAIN, 0, 5, false, 0, 8, "" },
    { -EAGAIN, 0, FOREVER, false, BACKEND_CONFLICT, 0, "a collection moves its objects" },
    { -ETIMEDOUT, 1, 0, true, BACKEND_CONFLICT, 1, "its memory does not answer" },
    { -ESRCH, 0, 1, false, BACKEND_NOT_FOUND, 2, "has exited" },
    { -ENOMEM, 1, 0, false, -ENOMEM, 1, "" },
};

START_TEST(a_dump_waits_for_a_jvm_that_starts)
{
    static const enum jvm_state STATES[] = { JVM_STARTING, JVM_UNSUPPORTED };
    struct thread_dump *dump = NULL;

    find_fails = 4;
    list_fails = batch_fails = calls = 0;
    jvm.jvm = STATES[_i];
    ck_assert_int_eq(backend_threads(&api, &VIEWER_WHOLE, JVM, &dump, NULL),
                     _i ? BACKEND_CONFLICT : 0);
    ck_assert_uint_eq(calls, _i ? 1 : 7);
    jvm.jvm = JVM_READY;
    find_fails = 0;
    thread_dump_free(dump);
}
END_TEST

START_TEST(a_dump_waits_for_its_jvm)
{
    struct thread_dump *dump = NULL;
    struct error err = ERROR_NULL;
    int r;

    error = CASES[_i].error;
    list_fails = CASES[_i].list_fails;
    batch_fails = CASES[_i].batch_fails;
    is_quarantined = CASES[_i].is_quarantined;
    calls = 0;
    r = backend_threads(&api, &VIEWER_WHOLE, JVM, &dump, &err);
    ck_assert_int_eq(r, CASES[_i].result);
    if (CASES[_i].calls)
        ck_assert_uint_eq(calls, CASES[_i].calls);
    else
        ck_assert_uint_gt(calls, 20); /* for two seconds */
    if (r)
        ck_assert_msg(strstr(err.msg, CASES[_i].why), "%s", err.msg);
    else
        ck_assert_uint_eq(dump->incomplete, 0);
    ck_assert_int_eq(!dump, r != 0);
    thread_dump_free(dump);
}
END_TEST

/* Objects moved all the time after the first thread: that one is listed. */
START_TEST(some_threads_are_more_than_none)
{
    struct thread_dump *dump = NULL;
    struct error err = ERROR_NULL;

    two_threads = true;
    error = -EAGAIN;
    batch_fails = FOREVER;
    list_fails = 0;
    ck_assert_int_eq(backend_threads(&api, &VIEWER_WHOLE, JVM, &dump, &err), 0);
    ck_assert_uint_eq(dump->left_out, 1);
    ck_assert_uint_eq(dump->warning_count, 1);
    ck_assert_msg(
        strstr(dump->warnings[0], "1 of 2 platform threads are missing: collections moved"), "%s",
        dump->warnings[0]);
    thread_dump_free(dump);
    two_threads = false;
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("threads_patience");

    tcase_add_loop_test(tc, a_dump_waits_for_a_jvm_that_starts, 0, 2);
    tcase_add_loop_test(tc, a_dump_waits_for_its_jvm, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, some_threads_are_more_than_none);
    return suite_run_case("threads_patience", tc);
}
