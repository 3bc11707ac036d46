/* SPDX-License-Identifier: Apache-2.0 */
/* push: when a body is sent again, when it is given up, and how an engine's answer is read. */
#include "suite.h"

#include "base/clock.h"
#include "push/partial.h"
#include "push/retry.h"

#define S NSEC_PER_SEC

static const struct {
    uint32_t failure, status, retry_after_s;
    enum retry_verdict verdict;
    uint64_t wait_min_ns, wait_max_ns;
} FIRST[] = {
    { PUSHER_ANSWERED, 200, 0, RETRY_SENT, 0, 0 },
    { PUSHER_ANSWERED, 204, 0, RETRY_SENT, 0, 0 },
    { PUSHER_ANSWERED, 400, 0, RETRY_REJECTED, 0, 0 },
    { PUSHER_ANSWERED, 413, 60, RETRY_REJECTED, 0, 0 },
    { PUSHER_ANSWERED, 415, 0, RETRY_REJECTED, 0, 0 },
    { PUSHER_ANSWERED, 422, 0, RETRY_REJECTED, 0, 0 },
    { PUSHER_ANSWERED, 429, 0, RETRY_LATER, S, S * 5 / 4 },
    { PUSHER_ANSWERED, 429, 40, RETRY_LATER, 40 * S, 50 * S },
    { PUSHER_ANSWERED, 503, 86400, RETRY_LATER, 3600 * S, 4500 * S }, /* limited */
    { PUSHER_ANSWERED, 502, 0, RETRY_LATER, S, S * 5 / 4 },
    { PUSHER_ANSWERED, 500, 0, RETRY_LATER, S, S * 5 / 4 },
    { PUSHER_ANSWERED, 302, 0, RETRY_LATER, S, S * 5 / 4 },
    { PUSHER_ANSWERED, 401, 0, RETRY_LATER, S, S * 5 / 4 },
    { PUSHER_ANSWERED, 404, 0, RETRY_LATER, S, S * 5 / 4 },
    { PUSHER_UNREACHED, 0, 0, RETRY_LATER, S, S * 5 / 4 },
    { PUSHER_UNTRUSTED, 0, 0, RETRY_LATER, S, S * 5 / 4 },
    { PUSHER_TIMED_OUT, 0, 0, RETRY_LATER, S, S * 5 / 4 },
};

START_TEST(judges_an_answer)
{
    const uint64_t now = 1000 * S;
    const struct pusher_answer a = { .failure = FIRST[_i].failure,
                                     .status = FIRST[_i].status,
                                     .retry_after_s = FIRST[_i].retry_after_s };

    for (uint64_t spread = 1; spread < UINT64_MAX / 3; spread *= 3) {
        struct retry r = { 0 };

        ck_assert_int_eq(retry_judge(&r, &a, now, spread), FIRST[_i].verdict);
        if (FIRST[_i].verdict != RETRY_LATER) {
            ck_assert_uint_eq(r.next_ns, 0);
            continue;
        }
        ck_assert_uint_ge(r.next_ns, now + FIRST[_i].wait_min_ns);
        ck_assert_uint_le(r.next_ns, now + FIRST[_i].wait_max_ns);
    }
}
END_TEST

START_TEST(forgets_an_old_error)
{
    ck_assert(!retry_is_over(1000 * S, 60 * S, 900 * S)); /* the clock was set back */
    ck_assert(!retry_is_over(1000 * S, 60 * S, 1240 * S));
    ck_assert(retry_is_over(1000 * S, 60 * S, 1240 * S + 1));
}
END_TEST

START_TEST(waits_longer_each_time)
{
    const struct pusher_answer away = { .failure = PUSHER_UNREACHED },
                               well = { .failure = PUSHER_ANSWERED, .status = 200 };
    uint64_t now = 0, before = 0;
    struct retry r = { 0 };

    for (int i = 0; i < 40; i++) {
        ck_assert_int_eq(retry_judge(&r, &away, now, 0), RETRY_LATER);
        ck_assert_uint_ge(r.next_ns - now, before);
        ck_assert_uint_le(r.next_ns - now, RETRY_MAX_NS);
        before = r.next_ns - now;
        now = r.next_ns;
    }
    ck_assert_uint_eq(before, RETRY_MAX_NS);
    ck_assert_int_eq(retry_judge(&r, &well, now, 0), RETRY_SENT);
    ck_assert_int_eq(retry_judge(&r, &away, now, 0), RETRY_LATER);
    ck_assert_uint_eq(r.next_ns - now, RETRY_FIRST_NS);
}
END_TEST

/* A body that an engine fails at does not delay all later ones. */
START_TEST(gives_up_what_an_engine_fails_at)
{
    const struct pusher_answer broken = { .failure = PUSHER_ANSWERED, .status = 500 },
                               away = { .failure = PUSHER_UNREACHED };
    struct retry r = { 0 };

    for (int body = 0; body < 3; body++) {
        ck_assert_int_eq(retry_judge(&r, &broken, 0, 0), RETRY_LATER);
        ck_assert_int_eq(retry_judge(&r, &away, 0, 0), RETRY_LATER); /* no body's failure */
        ck_assert_int_eq(retry_judge(&r, &broken, 0, 0), RETRY_LATER);
        ck_assert_int_eq(retry_judge(&r, &broken, 0, 0), RETRY_REJECTED);
    }
}
END_TEST

#define BYTES(s)                                                                                   \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }
static const struct {
    struct span body;
    bool good;
    uint64_t rejected;
    const char *why;
} ANSWERS[] = {
    { BYTES(""), true, 0, "" },
    { BYTES("\x0a\x00"), true, 0, "" },
    { BYTES("\x0a\x06\x08\x03\x12\x02no"), true, 3, "no" },
    { BYTES("\x0a\x02\x08\x05"), true, 5, "" },
    { BYTES("\x10\x01\x0a\x02\x08\x05\x1d\x01\x02\x03\x04"), true, 5, "" }, /* unknown fields */
    { BYTES("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), true, 0, "" }, /* negative */
    { BYTES("\x0a\x06\x08\x03"), false, 0, "" },                                    /* cut */
    { BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), false, 0, "" },
    { BYTES("\x0b"), false, 0, "" },
    { BYTES("{\"a\":1}"), false, 0, "" },
};

START_TEST(reads_what_was_refused)
{
    uint64_t rejected = 77;
    struct span why = SPAN("untouched");

    ck_assert_int_eq(partial_parse(ANSWERS[_i].body, &rejected, &why), ANSWERS[_i].good);
    ck_assert_uint_eq(rejected, ANSWERS[_i].good ? ANSWERS[_i].rejected : 77);
    ck_assert(span_eq_str(why, ANSWERS[_i].good ? ANSWERS[_i].why : "untouched"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("push_retry");

    tcase_add_loop_test(tc, judges_an_answer, 0, (int)ARRAY_SIZE(FIRST));
    tcase_add_test(tc, forgets_an_old_error);
    tcase_add_test(tc, waits_longer_each_time);
    tcase_add_test(tc, gives_up_what_an_engine_fails_at);
    tcase_add_loop_test(tc, reads_what_was_refused, 0, (int)ARRAY_SIZE(ANSWERS));
    return suite_run_case("push_retry", tc);
}
