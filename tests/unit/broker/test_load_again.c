/* SPDX-License-Identifier: Apache-2.0 */
/* broker/req_sample.c: BPF programs that the kernel refuses for a passing reason. */
#include "suite.h"

#include "base/clock.h"
#include "broker/server.h"

static struct server server;
static int result;  /* of the next loads */
static bool silent; /* a load that fails has no sentence */
static unsigned asked;

/* Take the place of the functions without __wrap_. */
void __wrap_loader_ask(struct loader *l, int pid_ns_fd, size_t ring_bytes, uint32_t max_frames,
                       bool bpf_only);
int __wrap_loader_take(struct loader *l, uint64_t wait_ns, struct sampler **ret, struct error *err);
void __wrap_loader_ask_program(struct loader *l, enum event_program program,
                               const struct sampler_shared *shared);
int __wrap_loader_take_program(struct loader *l, enum event_program program, void **ret,
                               struct error *err);
bool __wrap_sampler_has(const struct sampler *s, enum event_program program);
int __wrap_sampler_check_program(struct sampler *s, enum event_program program, struct error *err);
int __wrap_sampler_share(const struct sampler *s, struct sampler_shared *ret);

void __wrap_loader_ask(struct loader *l, int pid_ns_fd, size_t ring_bytes, uint32_t max_frames,
                       bool bpf_only)
{
    (void)l;
    (void)pid_ns_fd;
    (void)ring_bytes;
    (void)max_frames;
    (void)bpf_only;
    asked++;
}

int __wrap_loader_take(struct loader *l, uint64_t wait_ns, struct sampler **ret, struct error *err)
{
    (void)l;
    (void)wait_ns;
    (void)ret;
    return silent ? result : error_set(err, result, "refused");
}

void __wrap_loader_ask_program(struct loader *l, enum event_program program,
                               const struct sampler_shared *shared)
{
    (void)l;
    (void)program;
    (void)shared;
    asked++;
}

int __wrap_loader_take_program(struct loader *l, enum event_program program, void **ret,
                               struct error *err)
{
    (void)l;
    (void)program;
    (void)ret;
    return silent ? result : error_set(err, result, "refused");
}

bool __wrap_sampler_has(const struct sampler *s, enum event_program program)
{
    (void)s;
    (void)program;
    return false;
}

int __wrap_sampler_check_program(struct sampler *s, enum event_program program, struct error *err)
{
    (void)s;
    (void)program;
    (void)err;
    return 0;
}

int __wrap_sampler_share(const struct sampler *s, struct sampler_shared *ret)
{
    (void)s;
    *ret = (struct sampler_shared){ 0 };
    return 0;
}

static void begin(void)
{
    server = (struct server){ .sampling.max_frames = 64 };
    asked = 0;
    silent = false;
}

/* Asks for the sampler, or for a program. */
static int load(bool program)
{
    struct look_fields q = { 0 };
    struct reply rep = { 0 };

    if (!program)
        return server_sampler(&server, 0, NULL);
    server.sampling.state = SAMPLER_LOADED;
    return request_look(&server, &q, &rep);
}

static struct load_again *again_of(bool program)
{
    return program ? &server.sampling.program_again[PROGRAM_LOOKS] : &server.sampling.again;
}

static const int PASSING[] = { -ENOMEM, -EAGAIN, -EMFILE, -ENFILE, -EINTR, -EBUSY, -ENOSPC };

/* A passing refusal is repeated later and later, and not without end. A final one is not. */
START_TEST(passing_refusals_pass)
{
    bool program = _i % 2;
    struct load_again *again = again_of(program);
    uint64_t wait_ns = 0;

    result = PASSING[_i / 2];
    for (unsigned i = 1; i <= LOAD_AGAIN_MAX; i++) {
        uint64_t now_ns = clock_monotonic_ns(), before_ns = wait_ns;

        ck_assert_int_eq(load(program), result);
        ck_assert_int_eq(load(program), result); /* too early */
        ck_assert_uint_eq(asked, i);
        ck_assert_uint_eq(again->count, i);
        wait_ns = again->at_ns - now_ns;
        ck_assert_uint_ge(wait_ns, LOAD_AGAIN_NS << (i - 1));
        ck_assert_uint_gt(wait_ns, before_ns);
        again->at_ns = 1; /* it is time */
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(load(program), result);
    ck_assert_uint_eq(asked, LOAD_AGAIN_MAX + 1);
    ck_assert_uint_eq(again->at_ns, 0);
}
END_TEST

START_TEST(others_are_final)
{
    result = -EPERM;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(load(_i), result);
    ck_assert_uint_eq(asked, 1);
    ck_assert_uint_eq(again_of(_i)->at_ns, 0);
}
END_TEST

/* A loader without memory gives no sentence. Its failure is none the less one, also later. */
START_TEST(silent_refusals_are_refusals)
{
    silent = true;
    result = -ENOMEM;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(load(_i), -ENOMEM);
    ck_assert_uint_eq(asked, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("load_again");

    tcase_add_checked_fixture(tc, begin, NULL);
    tcase_add_loop_test(tc, passing_refusals_pass, 0, 2 * (int)ARRAY_SIZE(PASSING));
    tcase_add_loop_test(tc, others_are_final, 0, 2);
    tcase_add_loop_test(tc, silent_refusals_are_refusals, 0, 2);
    return suite_run_case("load_again", tc);
}
