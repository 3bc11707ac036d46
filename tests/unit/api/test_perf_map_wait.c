/* SPDX-License-Identifier: Apache-2.0 */
/* api/perf_map_export.c: how long a request of a perf map by an attach waits, on a clock that only
 * poll(2) moves. */
#include "suite.h"

#include "api/api_impl.h"
#include "attach/attaching.h"
#include "attach/preflight_facts.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>

#define JVM 77
#define BEGIN_NS (1000 * NSEC_PER_SEC)

static struct process jvm = { .id = { .host_pid = JVM, .start_ticks = 9 }, .jdk = 25 };
static struct attaching attaching;
static struct api api = { .engine = { .attaching = &attaching } };
static uint64_t now_ns;
static uint64_t busy_ns; /* until then another attach of the node is under way */
static unsigned tries;

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
    if (count && now_ns < busy_ns)
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

void __wrap_preflight_process(struct attaching *at, const struct viewer *v, struct process *p,
                              struct preflight *ret);
void __wrap_preflight_process(struct attaching *at, const struct viewer *v, struct process *p,
                              struct preflight *ret)
{
    (void)at;
    (void)v;
    (void)p;
    *ret = (struct preflight){ .perfmap = true };
}

const struct preflight_step *__wrap_preflight_obstacle(const struct preflight *f, uint32_t mode);
const struct preflight_step *__wrap_preflight_obstacle(const struct preflight *f, uint32_t mode)
{
    (void)f;
    (void)mode;
    return NULL;
}

int __wrap_broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                         uint32_t options, int *ret_result, int *ret_out, struct error *err);
int __wrap_broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                         uint32_t options, int *ret_result, int *ret_out, struct error *err)
{
    (void)b;
    (void)id;
    (void)mode;
    (void)tmp;
    (void)options;
    (void)err;
    tries++;
    *ret_result = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *ret_out = open("/dev/null", O_RDONLY | O_CLOEXEC);
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

START_TEST(all_tries_have_one_deadline)
{
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf out = BUF_UPTO(4096);

    memset(&attaching, 0, sizeof(attaching));
    tries = 0;
    now_ns = BEGIN_NS;
    busy_ns = BEGIN_NS + WAITS[_i].busy_ms * NSEC_PER_MSEC;
    ck_assert_int_eq(backend_perf_map(&api, NULL, JVM, SYMBOLS_PERFMAP, false, &out, &err),
                     BACKEND_CONFLICT);
    ck_assert_msg(strstr(err.msg, WAITS[_i].said), "%s", err.msg);
    ck_assert_msg(strstr(err.remedy, WAITS[_i].remedy), "%s", err.remedy);
    ck_assert_uint_le(now_ns - BEGIN_NS, 10200 * NSEC_PER_MSEC);
    ck_assert_uint_ge(now_ns - BEGIN_NS, 9 * NSEC_PER_SEC);
    ck_assert_uint_ge(tries, WAITS[_i].tries_min);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("perf_map_wait");

    tcase_add_loop_test(tc, all_tries_have_one_deadline, 0, ARRAY_SIZE(WAITS));
    return suite_run_case("perf_map_wait", tc);
}
