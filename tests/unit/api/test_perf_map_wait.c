/* SPDX-License-Identifier: Apache-2.0 */
/* api/perf_map_export.c: how long a request of a perf map by an attach waits, on a clock that only
 * poll(2) moves, and what it notes of its tries. */
#include "suite.h"

#include "api/api_impl.h"
#include "attach/attaching.h"
#include "attach/preflight_facts.h"
#include "stream_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define JVM 77
#define BEGIN_NS (1000 * NSEC_PER_SEC)

static struct process jvm = { .id = { .host_pid = JVM, .start_ticks = 9 }, .jdk = 25 };
static struct attaching attaching;
static struct api api = { .engine = { .attaching = &attaching } };
static uint64_t now_ns;
static uint64_t busy_ns; /* until then another attach of the node is under way */
static unsigned tries;
static unsigned refused_from; /* from this try on the preflight finds an obstacle; 0: never */
static const char *jvms_map;  /* what the JVM wrote, at once; NULL: it never answers */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    (void)clock;
    *ret = clock_timespec(now_ns);
    return 0;
}

/* The helper's result is there at once if no attach could begin. Else the JVM never answers. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    (void)fds;
    if (count && (now_ns < busy_ns || jvms_map))
        return 1;
    now_ns += (uint64_t)timeout_ms * NSEC_PER_MSEC;
    return 0;
}

int __wrap_attachment_result(struct attaching *at, int result_fd, uint32_t mode, struct error *err);
int __wrap_attachment_result(struct attaching *at, int result_fd, uint32_t mode, struct error *err)
{
    (void)at;
    (void)result_fd;
    (void)mode;
    if (now_ns >= busy_ns)
        return 0;
    return error_set(err, -EAGAIN, "another attach is under way on this node");
}

int __wrap_api_ask(struct api *a, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err);
int __wrap_api_ask(struct api *a, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err)
{
    (void)err;
    return fn(a, arg);
}

int __wrap_jvm_find(struct api *a, const struct viewer *v, int32_t host_pid, struct process **ret,
                    struct error *err);
int __wrap_jvm_find(struct api *a, const struct viewer *v, int32_t host_pid, struct process **ret,
                    struct error *err)
{
    (void)a;
    (void)v;
    (void)host_pid;
    (void)err;
    *ret = &jvm;
    return 0;
}

static int readable; /* what finding a JVM that can be read returns */

int __wrap_jvm_find_readable(struct api *a, const struct viewer *v, int32_t host_pid,
                             struct process **ret, struct error *err);
int __wrap_jvm_find_readable(struct api *a, const struct viewer *v, int32_t host_pid,
                             struct process **ret, struct error *err)
{
    (void)a;
    (void)v;
    (void)ret;
    return error_set(err, readable, "JVM %d cannot be read", host_pid);
}

void __wrap_preflight_process(struct attaching *at, const struct viewer *v, struct process *p,
                              struct preflight *ret);
void __wrap_preflight_process(struct attaching *at, const struct viewer *v, struct process *p,
                              struct preflight *ret)
{
    (void)at;
    (void)v;
    (void)p;
    *ret = (struct preflight){ .perfmap = true, .agent = true };
}

const struct preflight_step *__wrap_preflight_obstacle(const struct preflight *f, uint32_t mode);
const struct preflight_step *__wrap_preflight_obstacle(const struct preflight *f, uint32_t mode)
{
    static const struct preflight_step FROZEN = { .name = "state",
                                                  .reason = "its cgroup is frozen" };

    (void)f;
    (void)mode;
    return refused_from && tries + 1 >= refused_from ? &FROZEN : NULL;
}

void __wrap_mailbox_post(struct mailbox *m, int (*fn)(void *arg), const void *arg, size_t n);
void __wrap_mailbox_post(struct mailbox *m, int (*fn)(void *arg), const void *arg, size_t n)
{
    char copy[512];

    (void)m;
    ck_assert_uint_le(n, sizeof(copy));
    fn(memcpy(copy, arg, n));
}

/* Each process ended by SIGSEGV. */
int __wrap_broker_attach_ended(struct broker *b, const struct proc_id *id, int *ret_status);
int __wrap_broker_attach_ended(struct broker *b, const struct proc_id *id, int *ret_status)
{
    (void)b;
    (void)id;
    *ret_status = SIGSEGV;
    return 0;
}

/* The memory of an agent that has reported a method. */
static int agent_memory(void)
{
    int fd = memfd_create("agent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct stream_header h = { .magic = STREAM_MAGIC, .version = STREAM_VERSION };
    struct writer w = { .n = 0 };

    add_method(&w, 1, "LShop;", "a_long_name_of_a_method", NULL, 0);
    add_load(&w, 5, 0x1000, 16, 1);
    h.head = w.n;
    h.state = STREAM_STREAMING;
    ck_assert_int_eq(ftruncate(fd, (off_t)STREAM_BYTES), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
    ck_assert_int_eq(pwrite(fd, w.bytes, w.n, (off_t)STREAM_RING_AT), w.n);
    ck_assert_int_eq(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
    return fd;
}

int __wrap_broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                         uint32_t options, int *ret_result, int *ret_out, struct error *err);
int __wrap_broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                         uint32_t options, int *ret_result, int *ret_out, struct error *err)
{
    (void)b;
    (void)id;
    (void)tmp;
    (void)options;
    (void)err;
    tries++;
    *ret_result = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *ret_out = mode == ATTACH_LOAD ? agent_memory() : memfd_create("map", MFD_CLOEXEC);
    if (jvms_map && mode == ATTACH_PERFMAP)
        ck_assert_int_eq(write(*ret_out, jvms_map, strlen(jvms_map)), (int)strlen(jvms_map));
    return 0;
}

/* For how long other attaches are under way, and the result. */
static const struct {
    uint64_t busy_ms;
    unsigned tries_min;
    const char *said, *remedy;
} WAITS[] = {
    { 0, 1, "JVM 77 did not answer within 10 s", "" },
    { 5100, 2, "JVM 77 did not answer within 5 s", "" },
    { 8700, 2, "JVM 77 did not answer within 1 s", "" },
    { 9400, 2, "another attach is under way", "ask again in a second" },
    { 100000, 2, "another attach is under way", "ask again in a second" },
};

/* A node on which other attaches are under way for @busy_ms. */
static void setup(uint64_t busy_ms)
{
    memset(&attaching, 0, sizeof(attaching));
    tries = refused_from = 0;
    jvms_map = NULL;
    now_ns = BEGIN_NS;
    busy_ns = BEGIN_NS + busy_ms * NSEC_PER_MSEC;
}

static int ask(struct buf *out, struct error *err)
{
    return backend_perf_map(&api, NULL, JVM, SYMBOLS_PERFMAP, false, out, err);
}

/* Returns whether a SIGSEGV of the JVM @seconds from now counts as caused by an attach. */
static bool crash_counts(unsigned seconds)
{
    now_ns += seconds * NSEC_PER_SEC;
    backoff_gone(&attaching.backoff, NULL, &jvm);
    return backoff_crash(&attaching.backoff, &jvm);
}

START_TEST(all_tries_have_one_deadline)
{
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf out = BUF_UPTO(4096);

    setup(WAITS[_i].busy_ms);
    ck_assert_int_eq(ask(&out, &err), BACKEND_CONFLICT);
    ck_assert_msg(strstr(err.msg, WAITS[_i].said), "%s", err.msg);
    ck_assert_msg(strstr(err.remedy, WAITS[_i].remedy), "%s", err.remedy);
    ck_assert_uint_le(now_ns - BEGIN_NS, 10200 * NSEC_PER_MSEC);
    ck_assert_uint_ge(now_ns - BEGIN_NS, 9 * NSEC_PER_SEC);
    ck_assert_uint_ge(tries, WAITS[_i].tries_min);
}
END_TEST

START_TEST(a_crash_after_an_attach_counts_for_a_minute)
{
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf out = BUF_UPTO(4096);

    setup(0);
    jvms_map = "1000 10 f\n";
    ck_assert_int_eq(ask(&out, &err), 0);
    ck_assert_int_eq(crash_counts(_i ? 61 : 59), !_i);
}
END_TEST

START_TEST(a_try_that_did_not_begin_explains_no_crash)
{
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf out = BUF_UPTO(4096);

    setup(5100);
    refused_from = _i ? 2 : 0; /* or all tries are made, and the JVM does not answer the last */
    ck_assert_int_eq(ask(&out, &err), BACKEND_CONFLICT);
    ck_assert_msg(strstr(err.msg, _i ? "frozen" : "did not answer"), "%s", err.msg);
    ck_assert_pstr_eq(err.step, _i ? "state" : NULL);
    ck_assert(!crash_counts(3600));
}
END_TEST

START_TEST(a_busy_node_is_no_answer_of_the_jvm)
{
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf out = BUF_UPTO(4096);
    unsigned failures = 0;

    setup(100000);
    backoff_begin(&attaching.backoff, &jvm);
    for (int i = 0; i < 3; i++)
        backoff_note(&attaching.backoff, &jvm.id, /* failed= */ true);
    backoff_end(&attaching.backoff, &jvm.id);
    ck_assert_int_eq(ask(&out, &err), BACKEND_CONFLICT);
    ck_assert_uint_gt(backoff_wait_ns(&attaching.backoff, &jvm.id, now_ns, &failures), 0);
    ck_assert_uint_eq(failures, 3);
}
END_TEST

START_TEST(the_agent_of_a_capture_stays_answerable)
{
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf out = BUF_UPTO(4096);

    setup(0);
    backoff_begin(&attaching.backoff, &jvm); /* of the capture */
    jvms_map = "1000 10 f\n";
    ck_assert_int_eq(ask(&out, &err), 0);
    ck_assert(crash_counts(3600));
}
END_TEST

START_TEST(a_large_map_is_no_failure_of_the_jvm)
{
    enum symbols_source from = _i % 2 ? SYMBOLS_AGENT : SYMBOLS_PERFMAP;
    bool large = _i < 2;
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf out = BUF_UPTO(large ? 16 : 4096);
    unsigned failures;

    setup(0);
    jvms_map = "1000 10 Shop.a_long_name_of_a_method\n";
    ck_assert_int_eq(backend_perf_map(&api, NULL, JVM, from, false, &out, &err),
                     large ? -EFBIG : 0);
    if (large) {
        ck_assert_msg(strstr(err.msg, "larger than an answer"), "%s", err.msg);
        ck_assert_msg(strstr(err.remedy, "answer_max_bytes"), "%s", err.remedy);
    } else {
        ck_assert_uint_eq(out.n, strlen(jvms_map));
        ck_assert_mem_eq(out.p, jvms_map, out.n);
    }
    ck_assert_uint_eq(backoff_wait_ns(&attaching.backoff, &jvm.id, now_ns, &failures), 0);
}
END_TEST

/* A JVM that is slow, or ends meanwhile, is no error of flamed. */
START_TEST(memory_that_is_not_read_is_no_error_of_flamed)
{
    static const struct {
        int failure, outcome;
        const char *said;
    } READS[] = {
        { -EAGAIN, BACKEND_CONFLICT, "within 10 s" },
        { -ESRCH, BACKEND_NOT_FOUND, "has exited" },
        { -EFAULT, BACKEND_CONFLICT, "cannot be read" },
    };
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf out = BUF_UPTO(4096);

    setup(0);
    readable = READS[_i].failure;
    ck_assert_int_eq(backend_perf_map(&api, NULL, JVM, SYMBOLS_MEMORY, false, &out, &err),
                     READS[_i].outcome);
    ck_assert_msg(strstr(err.msg, READS[_i].said), "%s", err.msg);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("perf_map_wait");

    tcase_add_loop_test(tc, a_crash_after_an_attach_counts_for_a_minute, 0, 2);
    tcase_add_loop_test(tc, a_try_that_did_not_begin_explains_no_crash, 0, 2);
    tcase_add_test(tc, a_busy_node_is_no_answer_of_the_jvm);
    tcase_add_test(tc, the_agent_of_a_capture_stays_answerable);
    tcase_add_loop_test(tc, a_large_map_is_no_failure_of_the_jvm, 0, 4);
    tcase_add_loop_test(tc, memory_that_is_not_read_is_no_error_of_flamed, 0, 3);
    tcase_add_loop_test(tc, all_tries_have_one_deadline, 0, ARRAY_SIZE(WAITS));
    return suite_run_case("perf_map_wait", tc);
}
