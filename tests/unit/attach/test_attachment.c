/* SPDX-License-Identifier: Apache-2.0 */
/* An attachment after its agent has begun: the test writes the agent's end of the memory file. */
#include "suite.h"

#include "attach/attachment.h"
#include "attach/preflight_facts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define BEGIN_NS (1000 * NSEC_PER_SEC)

static struct process jvm = { .id = { .host_pid = 77, .start_ticks = 9 }, .jdk = 25 };
static struct attaching attaching;
static struct attachment *attachment;
static int agent = -1; /* the agent's end of the memory file */
static int polled;     /* the result of stream_poll() in place of 0 */

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
    *ret = (struct preflight){ .agent = true };
}

bool __wrap_preflight_passes(const struct process *p, const struct preflight *f);
bool __wrap_preflight_passes(const struct process *p, const struct preflight *f)
{
    (void)p;
    (void)f;
    return false;
}

static void write_header(uint32_t state)
{
    const struct stream_header h = { .magic = STREAM_MAGIC,
                                     .version = STREAM_VERSION,
                                     .state = state };

    ck_assert_int_eq(pwrite(agent, &h, sizeof(h), 0), sizeof(h));
}

/* The helper's result and the agent's memory file. */
int __wrap_broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                         uint32_t options, int *ret_result, int *ret_out, struct error *err);
int __wrap_broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                         uint32_t options, int *ret_result, int *ret_out, struct error *err)
{
    static const struct attach_result DONE = { .magic = ATTACH_MAGIC,
                                               .version = ATTACH_VERSION,
                                               .step = ATTACH_STEP_DONE,
                                               .reply_n = 4,
                                               .reply = "0\n0\n" };
    int ends[2];

    (void)b;
    (void)id;
    (void)mode;
    (void)tmp;
    (void)options;
    (void)err;
    agent = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ck_assert_int_eq(ftruncate(agent, (off_t)STREAM_BYTES), 0);
    ck_assert_int_eq(fcntl(agent, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
    write_header(STREAM_STREAMING);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(write(ends[1], &DONE, sizeof(DONE)), sizeof(DONE));
    close(ends[1]);
    *ret_result = ends[0];
    *ret_out = dup(agent);
    return 0;
}

int __real_stream_poll(struct stream *s, uint64_t at_ns);
int __wrap_stream_poll(struct stream *s, uint64_t at_ns);
int __wrap_stream_poll(struct stream *s, uint64_t at_ns)
{
    return __real_stream_poll(s, at_ns) ?: polled;
}

static void setup(void)
{
    memset(&attaching, 0, sizeof(attaching));
    polled = 0;
    attachment = attachment_take(&attaching, &jvm, ATTACH_LOAD);
    ck_assert_ptr_nonnull(attachment);
    attachments_poll(&attaching, BEGIN_NS);
    ck_assert_int_eq(attachment_state(attachment), ATTACHMENT_ATTACHING);
}

static void teardown(void)
{
    attachment = attachment_release(&attaching, attachment);
    close(agent);
}

/* Code that is freed after that would keep its names, and other code would get them. */
START_TEST(an_agent_that_ended_has_no_map)
{
    struct attachment *again;

    attachments_poll(&attaching, BEGIN_NS + 1);
    ck_assert_int_eq(attachment_state(attachment), ATTACHMENT_READY);
    ck_assert_ptr_nonnull(attachment_map(attachment));
    write_header(STREAM_ENDED);
    attachments_poll(&attaching, BEGIN_NS + 2);
    ck_assert_int_eq(attachment_state(attachment), ATTACHMENT_FAILED);
    ck_assert_ptr_nonnull(strstr(attachment_problem(attachment)->msg, "heard nothing"));
    ck_assert_ptr_null(attachment_map(attachment));
    again = attachment_take(&attaching, &jvm, ATTACH_LOAD);
    ck_assert_ptr_ne(again, attachment);
    attachment_release(&attaching, again);
}
END_TEST

/* At the end of the attach, or later. */
START_TEST(a_failure_has_a_sentence)
{
    if (_i)
        attachments_poll(&attaching, BEGIN_NS + 1);
    polled = -ENOMEM;
    attachments_poll(&attaching, BEGIN_NS + 2);
    ck_assert_int_eq(attachment_state(attachment), ATTACHMENT_FAILED);
    ck_assert_str_eq(attachment_problem(attachment)->msg,
                     "flamed cannot take in what the agent reports: Cannot allocate memory");
}
END_TEST

START_TEST(a_broken_file_is_the_jvms)
{
    attachments_poll(&attaching, BEGIN_NS + 1);
    ck_assert_int_eq(pwrite(agent, "?", 1, 0), 1);
    attachments_poll(&attaching, BEGIN_NS + 2);
    ck_assert_int_eq(attachment_state(attachment), ATTACHMENT_FAILED);
    ck_assert_ptr_nonnull(strstr(attachment_problem(attachment)->msg, "has overwritten"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("attachment");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_agent_that_ended_has_no_map);
    tcase_add_loop_test(tc, a_failure_has_a_sentence, 0, 2);
    tcase_add_test(tc, a_broken_file_is_the_jvms);
    return suite_run_case("attachment", tc);
}
