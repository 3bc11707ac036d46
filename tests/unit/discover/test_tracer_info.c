/* SPDX-License-Identifier: Apache-2.0 */
/* discover: the facts that Datadog's tracer gives about a process, and hostile contents in their
 * place. */
#include "suite.h"

#include "discover/tracer_info.h"

#define TEXT(s)                                                                                    \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }

static struct buf out;

static void set_up(void)
{
    buf_init(&out, 1 << 20);
}

static void tear_down(void)
{
    buf_deinit(&out);
}

static const struct {
    struct span in;
    int outcome;
    const char *words; /* with '|' for NUL */
} CASES[] = {
    { TEXT("\x85\xacservice_name\xa4shop\xafservice_version\xa3"
           "2.4\xabservice_env\xa4prod\xaaruntime_id\xa1i\xaeschema_version\x02"),
      0,
      "service.name=shop|service.version=2.4|deployment.environment.name=prod|"
      "service.instance.id=i|" },
    /* Each form of text, map and length. A value that is nested or no text yields nothing. */
    { TEXT("\xde\x00\x02\xd9\x0cservice_name\xda\x00\x04shop\xabservice_"
           "env\xdb\x00\x00\x00\x04prod"),
      0, "service.name=shop|deployment.environment.name=prod|" },
    { TEXT("\xdf\x00\x00\x00\x01\xacservice_name\xa4shop"), 0, "service.name=shop|" },
    { TEXT("\x82\xa1x\x82\xacservice_name\xa2no\xa1y\x91\xc0\xacservice_name\xa4shop"), 0,
      "service.name=shop|" },
    { TEXT("\x8d\xa1"
           "a\xc0\xa1"
           "b\xc2\xa1"
           "c\xc3\xa1"
           "d\xff\xa1"
           "e\xcc"
           "1\xa1"
           "f\xd1"
           "12\xa1"
           "g\xca"
           "1234\xa1"
           "h\xcb"
           "12345678\xa1i\xc4\x02"
           "12\xa1j\xc7\x01"
           "12\xa1k\xd4"
           "12\xa1l\xd8"
           "12345678123456781\xacservice_name\xa4shop"),
      0, "service.name=shop|" },
    { TEXT("\x84\xacservice_name\x07\xabservice_env\xa3"
           "a\0b\xaaruntime_id\xa0\xafservice_version\xc4\x01z"),
      0, "" },
    { TEXT("\x80"), 0, "" },
    /* Broken messages: empty, not a map, cut, without a key, of an unknown type. */
    { TEXT(""), -EBADMSG, "" },
    { TEXT("\x91\xa4shop"), -EBADMSG, "" },
    { TEXT("\xa4shop"), -EBADMSG, "" },
    { TEXT("\x82\xacservice_name\xa4shop"), -EBADMSG, "" },
    { TEXT("\x81\xacservice_name\xa5shop"), -EBADMSG, "" },
    { TEXT("\x81\xacservice_name\xdb\xff\xff\xff\xffshop"), -EBADMSG, "" },
    { TEXT("\x81\xacservice_name\xc9\xff\xff\xff\xffshop"), -EBADMSG, "" },
    { TEXT("\x81\x01\xa4shop"), -EBADMSG, "" },
    { TEXT("\x82\xacservice_name\xa4shop\xa1x\xc1"), -EBADMSG, "" },
    { TEXT("\x82\xacservice_name\xa4shop\xa1x\xda\x00"), -EBADMSG, "" },
    { TEXT("\xdf\xff\xff\xff\xff\xacservice_name\xa4shop"), -EBADMSG, "" },
};

START_TEST(reads)
{
    ck_assert_int_eq(tracer_info_attributes(CASES[_i].in, &out), CASES[_i].outcome);
    for (size_t i = 0; i < out.n; i++)
        out.p[i] = out.p[i] ? out.p[i] : '|';
    ck_assert_str_eq(out.p ? out.p : "", CASES[_i].words);
}
END_TEST

/* The number of values read is limited, however deep or wide they are. */
START_TEST(has_a_limit_of_values)
{
    static char deep[8192] = "\x81\xa1x", wide[8192] = "\x81\xa1x\xdd\xff\xff\xff\xff";

    memset(deep + 3, '\x91', sizeof(deep) - 3);
    ck_assert_int_eq(tracer_info_attributes((struct span){ deep, sizeof(deep) }, &out), -E2BIG);
    ck_assert_int_eq(tracer_info_attributes((struct span){ wide, sizeof(wide) }, &out), -E2BIG);
    ck_assert_uint_eq(out.n, 0);
}
END_TEST

START_TEST(takes_no_long_value)
{
    char text[TRACER_INFO_VALUE_BYTES_MAX + 32] = "\x81\xacservice_name\xda\x04\x01";

    memset(text + 17, 'a', TRACER_INFO_VALUE_BYTES_MAX + 1);
    ck_assert_int_eq(tracer_info_attributes((struct span){ text, sizeof(text) }, &out), 0);
    ck_assert_uint_eq(out.n, 0);
    text[16] = 0;
    ck_assert_int_eq(tracer_info_attributes((struct span){ text, sizeof(text) }, &out), 0);
    ck_assert_uint_eq(out.n, strlen("service.name=") + TRACER_INFO_VALUE_BYTES_MAX + 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("tracer_info");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, reads, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, has_a_limit_of_values);
    tcase_add_test(tc, takes_no_long_value);
    return suite_run_case("tracer_info", tc);
}
