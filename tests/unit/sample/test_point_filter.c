/* SPDX-License-Identifier: Apache-2.0 */
/* sample/point_filter.c, point_field.c and point.bpf.h: which filters are accepted, and why others
 * are refused. */
#include "suite.h"

#include "point_run.h"
#include "sample/point_field.h"

static const char FORMAT[] = "name: made\nID: 9\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                             "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                             "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                             "\tfield:u16 port;\toffset:28;\tsize:2;\tsigned:0;\n"
                             "\tfield:s8 small;\toffset:30;\tsize:1;\tsigned:1;\n"
                             "\tfield:long state;\toffset:32;\tsize:8;\tsigned:1;\n"
                             "\tfield:u64 bytes;\toffset:40;\tsize:8;\tsigned:0;\n"
                             "\tfield:__data_loc char[] path;\toffset:48;\tsize:4;\tsigned:0;\n"
                             "\tfield:__rel_loc char[] near;\toffset:52;\tsize:4;\tsigned:0;\n"
                             "\tfield:const char * where;\toffset:56;\tsize:8;\tsigned:0;\n"
                             "\tfield:u8 key[16];\toffset:64;\tsize:16;\tsigned:0;\n"
                             "\tfield:void * ptr;\toffset:80;\tsize:8;\tsigned:0;\n"
                             "\tfield:char full[4];\toffset:88;\tsize:4;\tsigned:0;\n\n"
                             "print fmt: \"%s\", REC->comm\n";

static struct {
    uint64_t head;
    char comm[16];
    int32_t pid;
    uint16_t port;
    int8_t small;
    int64_t state;
    uint64_t bytes;
    uint32_t path, near;
    uint64_t where;
    uint8_t key[16];
    uint64_t ptr;
    char full[4];
    char texts[512];
} event = {
    .comm = "java",
    .pid = -5,
    .port = 0xfffe,
    .small = -1,
    .state = 0x100000002,
    .bytes = UINT64_MAX,
    .ptr = 0xffff888000000000,
    .full = { 'a', 'b', 'c', 'd' },
};

#define TEXTS_AT offsetof(typeof(event), texts)

static struct point_filter filter;
static struct error err;

static int translate(const char *text)
{
    err = ERROR_NULL;
    return point_filter_translate(span_of(text), SPAN(FORMAT), &filter, &err);
}

static bool takes(const char *text)
{
    struct point_room room;
    int r = translate(text);

    ck_assert_msg(r == 0, "%s: %s", text, err.msg);
    return point_takes(&event, &filter, &room);
}

static void set_texts(const char *path, const char *near)
{
    size_t n = strlen(path) + 1, m = strlen(near) + 1;

    memcpy(event.texts, path, n);
    memcpy(event.texts + n, near, m);
    event.path = (uint32_t)(n << 16 | TEXTS_AT);
    event.near = (uint32_t)(m << 16 | (TEXTS_AT + n - offsetof(typeof(event), near) - 4));
}

static const struct {
    const char *text;
    bool takes;
} CASES[] = {
    { "pid == -5", true },
    { "pid==-5", true },
    { "pid != -5", false },
    { "pid < -4", true },
    { "pid < -5", false },
    { "pid <= -5", true },
    { "pid >= -5", true },
    { "pid > -6", true },
    { "pid > 0", false },
    { "pid & 0x80000000", true },
    { "pid & 4", false },
    { "pid == 0xfffffffb", true }, /* cut to the field's size, like the kernel does */
    { "port > 0x7fff", true },
    { "port == 65534", true },
    { "port == 0177776", true },
    { "small == -1", true },
    { "small < 0", true },
    { "state == 0x100000002", true },
    { "state == 2", false },
    { "state & 2", true },
    { "bytes > 9223372036854775808", true },
    { "bytes == 18446744073709551615", true },
    { "ptr == 0xffff888000000000", true },
    { "cpu == 3", true },
    { "CPU > 3", false },
    { "common_pid == 4242", true },
    { "comm == \"java\"", true }, /* the name of the process, not of the thread */
    { "COMM == \"worker-7\"", true },
    { "COMM ~ '*-7'", true },
    { "comm == 'jav'", false },
    { "comm == 'java1'", false },
    { "comm != \"java\"", false },
    { "comm ~ \"j*\"", true },
    { "comm ~ \"*a\"", true },
    { "comm ~ \"*av*\"", true },
    { "comm ~ \"j*a*a\"", true },
    { "comm ~ \"j*b*a\"", false },
    { "comm ~ \"j?va\"", true },
    { "comm ~ \"j?a\"", false },
    { "comm ~ \"*\"", true },
    { "comm ~ \"java*\"", true },
    { "comm ~ \"!j*\"", false },
    { "comm ~ \"\"", false },
    { "comm == \"j*\"", false },
    { "full == \"abcd\"", true },
    { "full ~ \"*cd\"", true },
    { "full == \"abc\"", false },
    { "path == \"/usr/bin/java\"", true },
    { "path ~ \"*/java\"", true },
    { "path ~ \"*/jav\"", false },
    { "near == \"next to it\"", true },
    { "near ~ \"*java*\"", false },
    /* && binds more than ||, without parentheses */
    { "pid == 1 && pid == 2 || pid == -5", true },
    { "pid == -5 || pid == 1 && pid == 2", true },
    { "(pid == -5 || pid == 1) && pid == 2", false },
    { "pid == -5 && (port == 1 || small == -1) && cpu == 3", true },
    { "!(pid == -5)", false },
    { "!pid == -5", false },
    { "!(pid == 1 || cpu == 1) && !(cpu == 3 && pid == 1)", true },
    { "!(!(pid == -5 && !(cpu == 4)))", true },
    { "comm == 'a' || comm == 'b' || path ~ '*x' || near ~ 'next*'", true },
    { "  ( pid==-5 )&&( cpu==3 )  ", true },
};

START_TEST(takes_what_it_says)
{
    set_texts("/usr/bin/java", "next to it");
    ck_assert_msg(takes(CASES[_i].text) == CASES[_i].takes, "%s", CASES[_i].text);
    for (uint32_t i = 0; i < filter.test_count; i++) { /* each test leads on to a later one */
        ck_assert(filter.tests[i].on_true > i && filter.tests[i].on_false > i);
    }
}
END_TEST

/* Each formula of three tests is true for exactly the events for which C evaluates it as true. */
START_TEST(as_c_says)
{
    static const char TEXT[] = "port == 1 || !(small == 1 && state == 1) && small != 1";

    for (int i = 0; i < 8; i++) {
        int a = i & 1, b = i >> 1 & 1, c = i >> 2;

        event.port = (uint16_t)a;
        event.small = (int8_t)b;
        event.state = c;
        ck_assert_int_eq(takes(TEXT), a == 1 || (!(b == 1 && c == 1) && b != 1));
    }
}
END_TEST

START_TEST(long_texts)
{
    char path[400], text[160];

    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    set_texts(path, "");
    ck_assert(takes("path ~ \"xx*\"")); /* only POINT_TEXT_BYTES are compared */
    ck_assert(!takes("path ~ \"*y*\""));
    snprintf(text, sizeof(text), "comm == \"%.*s\"", POINT_PATTERN_MAX, path);
    ck_assert_int_eq(translate(text), 0);
    snprintf(text, sizeof(text), "comm == \"%.*s\"", POINT_PATTERN_MAX + 1, path);
    ck_assert_int_eq(translate(text), -EINVAL);
}
END_TEST

static const struct {
    const char *text, *says;
} REFUSED[] = {
    { "", "the filter ends where the name of a field" },
    { "pid", "ends where ==, !=" },
    { "pid =", "'=' where ==, !=" },
    { "pid ==", "ends where a number" },
    { "pid == x", "'x' where a number" },
    { "pid == 1x", "no number" },
    { "pid == 09", "no number" },
    { "pid == 99999999999999999999", "no number" },
    { "port == -1", "no number" },
    { "bytes == -1", "no number" },
    { "state == 9223372036854775808", "no number" },
    { "pid ~ 1", "is a number" },
    { "comm < 'a'", "is a text" },
    { "comm == java", "a text in quotes" },
    { "comm == 'java", "a text in quotes" },
    { "comm ~ '[a-z]*'", "no [" },
    { "comm ~ 'a\\*'", "no \\" },
    { "where == 'a'", "neither a number nor a text" },
    { "key == 1", "neither a number nor a text" },
    { "nobody == 1", "no field nobody" },
    { "common_type == 1", "no field common_type" },
    { "(pid == 1", "&&, || or )" },
    { "pid == 1)", "')' where && or ||" },
    { "pid == 1 pid == 2", "where && or ||" },
    { "pid == 1 &&", "the name of a field" },
    { "pid == 1 & pid == 2", "where && or ||" },
    { "((((((((( pid == 1 )))))))))", "parentheses" },
    { "!!!!!!!!!pid == 1", "parentheses" },
    { "cpu<1||cpu<1||cpu<1||cpu<1||cpu<1||cpu<1||cpu<1||cpu<1||cpu<1||cpu<1||cpu<1||cpu<1||cpu<1||"
      "cpu<1||cpu<1||cpu<1||cpu<1",
      "at most 16 comparisons" },
    { "comm=='a'||comm=='a'||comm=='a'||comm=='a'||comm=='a'", "at most 4 texts" },
    { "pid == 1; id", "'; id' where" },
};

START_TEST(refuses)
{
    ck_assert_int_eq(translate(REFUSED[_i].text), -EINVAL);
    ck_assert_msg(strstr(err.msg, REFUSED[_i].says) != NULL, "%s: %s", REFUSED[_i].text, err.msg);
    ck_assert_str_eq(err.parameter, "filter");
}
END_TEST

START_TEST(says_the_fields)
{
    ck_assert_int_eq(translate("x == 1"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.remedy, "comm, pid, port, small, state"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("point_filter");
    TCase *tc = tcase_create("filters");

    tcase_add_loop_test(tc, takes_what_it_says, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, as_c_says);
    tcase_add_test(tc, long_texts);
    tcase_add_loop_test(tc, refuses, 0, ARRAY_SIZE(REFUSED));
    tcase_add_test(tc, says_the_fields);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
