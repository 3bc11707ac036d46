/* SPDX-License-Identifier: Apache-2.0 */
/* store/jvm_options.c: which options are kept, without secrets, and what differs. */
#include "suite.h"

#include "base/cleanup.h"
#include "store/jvm_options.h"

static const struct {
    const char *args, *want;
} KEPT[] = {
    { "-Xmx512m -XX:+UseSerialGC -XX:MaxRAMPercentage=75.0 com.acme.Main -Xmx1g",
      "-Xmx512m\n-XX:+UseSerialGC\n-XX:MaxRAMPercentage=75.0\n" },
    { "-Dpassword=hunter2 -Dotel.service.name=*** -ea Main",
      "-Dpassword\n-Dotel.service.name\n-ea\n" },
    { "-javaagent:/opt/a.jar=key=hunter2 --add-opens=java.base/java.lang=ALL-UNNAMED",
      "-javaagent\n--add-opens\n" },
    { "-XX:OnError=/bin/hunter2 -Xlog:gc*:file=/hunter2 -XX:Flags=/hunter2 -Xbootclasspath/a:/x",
      "-XX:OnError\n-Xlog\n-XX:Flags\n-Xbootclasspath\n" },
    { "-XX:OnError=kill -9 %p -Xmx1g", "-XX:OnError=kill\n-9\n" }, /* an option with a blank */
    { "-XX:Long=0123456789012345678901234567890123456789", "-XX:Long\n" },
    { "-D\xc3\xa4=1 -D\x01", "-D\n-D\n" },
    { "", "" },
    { "Main -Xmx1g", "" },
};

START_TEST(keeps_names_and_plain_values)
{
    _cleanup_buf_ struct buf out = BUF_UPTO(JVM_OPTIONS_MAX_BYTES);

    jvm_options_of_args(span_of(KEPT[_i].args), &out);
    buf_add_char(&out, '\0');
    ck_assert_int_eq(out.error, 0);
    ck_assert_str_eq(out.p, KEPT[_i].want);
}
END_TEST

static const struct {
    const char *before, *now, *want;
} DIFFER[] = {
    { "-Xmx512m\n-ea\n", "-Xmx256m\n-ea\n", "options -Xmx512m -> -Xmx256m" },
    { "-Xmx1g\n", "-Xmx1g\n-Drules.tenant\n", "options new -Drules.tenant" },
    { "-Xmx1g\n-ea\n", "-Xmx1g\n", "options without -ea" },
    { "-XX:+UseG1GC\n", "-XX:-UseG1GC\n-XX:+UseZGC\n",
      "options -XX:+UseG1GC -> -XX:-UseG1GC, new -XX:+UseZGC" },
    { "-XX:A=1\n", "-XX:A=2\n", "options -XX:A=1 -> -XX:A=2" },
    { "-Xmx1g\n-Xms1g\n", "-Xms1g\n-Xmx1g\n", "" },
    { "-Da\n-Db\n-Dc\n", "-Dd\n-De\n-Df\n",
      "options new -Dd, new -De, new -Df, without -Da, and 2 more" },
    { "-Dab\n", "-Da\n", "options new -Da, without -Dab" },
};

START_TEST(says_what_differs)
{
    _cleanup_buf_ struct buf out = BUF_UPTO(512);

    jvm_options_difference(span_of(DIFFER[_i].before), span_of(DIFFER[_i].now), &out);
    buf_add_char(&out, '\0');
    ck_assert_str_eq(out.p, DIFFER[_i].want);
}
END_TEST

/* A difference stands whole or is counted, so that no old value stands as the new one. */
START_TEST(cuts_no_difference)
{
    static const char BEFORE[] = "-Xmx512m\n-XX:MaxMetaspaceSize=64m\n-XX:MaxDirectMemorySize=1g\n",
                      NOW[] = "-Xmx1g\n-XX:MaxMetaspaceSize=128m\n-XX:MaxDirectMemorySize=2g\n";
    static const struct {
        size_t max;
        const char *want;
    } ROOM[] = {
        { 200, "options -Xmx512m -> -Xmx1g, -XX:MaxMetaspaceSize=64m -> -XX:MaxMetaspaceSize=128m,"
               " -XX:MaxDirectMemorySize=1g -> -XX:MaxDirectMemorySize=2g" },
        { 120, "options -Xmx512m -> -Xmx1g, -XX:MaxMetaspaceSize=64m -> -XX:MaxMetaspaceSize=128m,"
               " and 1 more" },
        { 60, "options -Xmx512m -> -Xmx1g, and 2 more" },
        { 20, "" },
    };
    _cleanup_buf_ struct buf out = BUF_UPTO(ROOM[_i].max);

    jvm_options_difference(span_of(BEFORE), span_of(NOW), &out);
    ck_assert_int_eq(out.error, 0);
    buf_add(&out, "", 1);
    ck_assert_str_eq(out.p, ROOM[_i].want);
}
END_TEST

/* The time is bounded, whatever a JVM says of its options. */
START_TEST(compares_so_many)
{
    _cleanup_buf_ struct buf before = BUF_UPTO(JVM_OPTIONS_MAX_BYTES),
                             now = BUF_UPTO(JVM_OPTIONS_MAX_BYTES), out = BUF_UPTO(512);

    for (int i = 0; i < 256 + _i; i++) {
        buf_printf(&before, "-X=%c%c\n", 'a' + i / 26, 'a' + i % 26);
        buf_printf(&now, "-X=%c%c\n", 'A' + i / 26, 'a' + i % 26);
    }
    jvm_options_difference(buf_span(&before), buf_span(&now), &out);
    ck_assert_int_eq(out.n == 0, _i);
}
END_TEST

/* With more than is kept, nothing is known. */
START_TEST(too_many_are_an_error)
{
    _cleanup_buf_ struct buf args = BUF_UPTO(4 * JVM_OPTIONS_MAX_BYTES),
                             out = BUF_UPTO(JVM_OPTIONS_MAX_BYTES);

    for (int i = 0; i < JVM_OPTIONS_MAX_BYTES / 8 + 1; i++)
        buf_printf(&args, "-Dx%05d ", i);
    jvm_options_of_args(buf_span(&args), &out);
    ck_assert_int_ne(out.error, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("jvm_options");

    tcase_add_loop_test(tc, keeps_names_and_plain_values, 0, ARRAY_SIZE(KEPT));
    tcase_add_loop_test(tc, says_what_differs, 0, ARRAY_SIZE(DIFFER));
    tcase_add_loop_test(tc, cuts_no_difference, 0, 4);
    tcase_add_loop_test(tc, compares_so_many, 0, 2);
    tcase_add_test(tc, too_many_are_an_error);
    return suite_run_case("jvm_options", tc);
}
