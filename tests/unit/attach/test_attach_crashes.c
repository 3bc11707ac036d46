/* SPDX-License-Identifier: Apache-2.0 */
/* attach/attachment.c: when a later crash of the JVM counts as caused by an attach. */
#include "suite.h"

#include "attach/attaching.h"
#include "attach/attachment.h"
#include "attach/preflight_facts.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct process jvm = { .id = { .host_pid = 77, .start_ticks = 9 }, .jdk = 25 };
static struct attaching attaching;
static uint64_t now_ns;
static struct attach_result result; /* of the attaches that begin */
static bool refused;                /* the preflight finds an obstacle */
static int status;                  /* how each process ended */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    (void)clock;
    *ret = clock_timespec(now_ns);
    return 0;
}

struct process *__wrap_discover_find(struct discover *d, int32_t host_pid);
struct process *__wrap_discover_find(struct discover *d, int32_t host_pid)
{
    (void)d;
    (void)host_pid;
    return &jvm;
}

void __wrap_preflight_process(struct attaching *at, const struct viewer *v, struct process *p,
                              struct preflight *ret);
void __wrap_preflight_process(struct attaching *at, const struct viewer *v, struct process *p,
                              struct preflight *ret)
{
    (void)at;
    (void)v;
    (void)p;
    *ret = (struct preflight){ .agent = !refused, .perfmap = !refused, .count = refused };
    ret->steps[0] = (struct preflight_step){ .name = "state", .reason = "its cgroup is frozen" };
}

int __wrap_broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                         uint32_t options, int *ret_result, int *ret_out, struct error *err);
int __wrap_broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                         uint32_t options, int *ret_result, int *ret_out, struct error *err)
{
    struct stream_header h = { .magic = STREAM_MAGIC,
                               .version = STREAM_VERSION,
                               .state = STREAM_STREAMING };
    int fds[2];

    (void)b;
    (void)id;
    (void)tmp;
    (void)options;
    (void)err;
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    ck_assert_int_eq(write(fds[1], &result, sizeof(result)), sizeof(result));
    close(fds[1]);
    *ret_result = fds[0];
    *ret_out = memfd_create("out", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (mode == ATTACH_PERFMAP)
        return 0;
    ck_assert_int_eq(ftruncate(*ret_out, (off_t)STREAM_BYTES), 0);
    ck_assert_int_eq(fcntl(*ret_out, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
    ck_assert_int_eq(pwrite(*ret_out, &h, sizeof(h), 0), sizeof(h));
    return 0;
}

int __wrap_broker_attach_ended(struct broker *b, const struct proc_id *id, int *ret_status);
int __wrap_broker_attach_ended(struct broker *b, const struct proc_id *id, int *ret_status)
{
    (void)b;
    (void)id;
    *ret_status = status;
    return 0;
}

static void attach_as(uint32_t step, int error, const char *reply)
{
    result = (struct attach_result){ .magic = ATTACH_MAGIC,
                                     .version = ATTACH_VERSION,
                                     .step = step,
                                     .error = error,
                                     .reply_n = (uint32_t)strlen(reply) };
    memcpy(result.reply, reply, strlen(reply));
}

static void setup(void)
{
    memset(&attaching, 0, sizeof(attaching));
    now_ns = 1000 * NSEC_PER_SEC;
    refused = false;
    status = SIGSEGV;
    attach_as(ATTACH_STEP_DONE, 0, "0\n0\n");
}

static void poll_for(unsigned ms)
{
    for (unsigned i = 0; i < ms; i += 50) {
        now_ns += 50 * NSEC_PER_MSEC;
        attachments_poll(&attaching, now_ns);
    }
}

/* Returns whether the end of the JVM @seconds from now counts as caused by an attach. */
static bool crash_counts(unsigned seconds)
{
    now_ns += seconds * NSEC_PER_SEC;
    backoff_gone(&attaching.backoff, NULL, &jvm);
    return backoff_crash(&attaching.backoff, &jvm);
}

START_TEST(a_crash_with_the_agent_in_it_counts)
{
    struct attachment *a;

    setup();
    a = attachment_take(&attaching, &jvm, ATTACH_LOAD);
    poll_for(1000);
    ck_assert_int_eq(attachment_state(a), ATTACHMENT_READY);
    if (_i)
        attachment_release(&attaching, a);
    ck_assert_int_eq(crash_counts(3600), !_i);
    if (!_i)
        attachment_release(&attaching, a);
}
END_TEST

START_TEST(a_map_ends_no_agent)
{
    struct attachment *agent, *map;

    setup();
    agent = attachment_take(&attaching, &jvm, ATTACH_LOAD);
    poll_for(1000);
    map = attachment_take(&attaching, &jvm, ATTACH_PERFMAP);
    poll_for(1000);
    ck_assert_int_eq(attachment_state(map), ATTACHMENT_READY);
    attachment_release(&attaching, map);
    ck_assert(crash_counts(3600));
    attachment_release(&attaching, agent);
}
END_TEST

/* The node's attach before this one is not a second old, and then an obstacle comes. */
START_TEST(an_attach_that_did_not_begin_explains_no_crash)
{
    struct attachment *a;

    setup();
    attach_as(ATTACH_STEP_JOB, EAGAIN, "");
    a = attachment_take(&attaching, &jvm, _i ? ATTACH_PERFMAP : ATTACH_LOAD);
    poll_for(1000);
    ck_assert_int_eq(attachment_state(a), ATTACHMENT_PLANNED);
    refused = true;
    poll_for(1000);
    ck_assert_int_eq(attachment_state(a), ATTACHMENT_FAILED);
    attachment_release(&attaching, a);
    ck_assert(!crash_counts(3600));
}
END_TEST

/* Two tries overlap, and the node puts both off. */
START_TEST(tries_that_were_put_off_explain_no_end)
{
    static const struct {
        unsigned earlier_s; /* how long ago an attach took place; 0: there was none */
        bool took_place;    /* one of the tries did */
        bool counts;
    } CASES[] = {
        { 0, false, false }, { 60, false, false }, { 5, false, true }, { 0, true, true }
    };
    struct backoff *b = &attaching.backoff;

    setup();
    status = 1 << 8; /* exit(1) */
    if (CASES[_i].earlier_s) {
        backoff_begin(b, &jvm);
        backoff_end(b, &jvm.id);
        now_ns += CASES[_i].earlier_s * NSEC_PER_SEC;
    }
    for (int i = 0; i < 2; i++) {
        backoff_begin(b, &jvm);
        now_ns += NSEC_PER_MSEC;
    }
    if (CASES[_i].took_place)
        backoff_end(b, &jvm.id);
    else
        backoff_cancel(b, &jvm.id);
    backoff_cancel(b, &jvm.id);
    ck_assert_int_eq(crash_counts(2), CASES[_i].counts);
}
END_TEST

/* The agent of a capture is in the JVM for an hour when a map is put off. */
START_TEST(a_map_that_was_put_off_explains_no_end)
{
    struct backoff *b = &attaching.backoff;

    setup();
    status = 1 << 8; /* exit(1) */
    backoff_begin(b, &jvm);
    now_ns += 3600 * NSEC_PER_SEC;
    backoff_begin(b, &jvm);
    backoff_cancel(b, &jvm.id);
    ck_assert(!crash_counts(2));
}
END_TEST

START_TEST(a_refused_map_is_over)
{
    struct attachment *a;
    unsigned failures;

    setup();
    attach_as(ATTACH_STEP_DONE, 0, "1\n");
    a = attachment_take(&attaching, &jvm, ATTACH_PERFMAP);
    poll_for(1000);
    ck_assert_int_eq(attachment_state(a), ATTACHMENT_FAILED);
    ck_assert_uint_gt(backoff_wait_ns(&attaching.backoff, &jvm.id, now_ns, &failures), 0);
    attachment_release(&attaching, a);
    ck_assert(!crash_counts(3600));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("attach_crashes");

    tcase_add_loop_test(tc, a_crash_with_the_agent_in_it_counts, 0, 2);
    tcase_add_test(tc, a_map_ends_no_agent);
    tcase_add_loop_test(tc, an_attach_that_did_not_begin_explains_no_crash, 0, 2);
    tcase_add_loop_test(tc, tries_that_were_put_off_explain_no_end, 0, 4);
    tcase_add_test(tc, a_map_that_was_put_off_explains_no_end);
    tcase_add_test(tc, a_refused_map_is_over);
    return suite_run_case("attach_crashes", tc);
}
