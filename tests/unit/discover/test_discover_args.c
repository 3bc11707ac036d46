/* SPDX-License-Identifier: Apache-2.0 */
/* discover: a JVM by its maps, its main class by its arguments, with values masked. */
#include "suite.h"

#include "base/cleanup.h"
#include "discover/args.h"
#include "discover/table.h"
#include "proc/maps_walk.h"
#include "tests/maps_of.h"

static const struct {
    const char *command, *cmdline;
    size_t n;
    const char *main, *after; /* after: up to its first NUL */
} MAIN_CASES[] = {
#define CMD(s) s, sizeof(s) - 1
    { "", CMD("java\0-cp\0x\0Main\0a"), "Main", "a" },
    { "", CMD("java\0-jar\0/a b.jar\0-x"), "/a b.jar", "-x" },
    { "", CMD("java\0-Xmx1g\0@args\0-m\0mod/Main"), "mod/Main", "" },
    { "", CMD("java\0--module=mod/Main\0z"), "mod/Main", "z" },
    { "", CMD("java\0--add-opens\0a/b=ALL\0Main"), "Main", "" },
    { "", CMD("java\0-jar"), NULL, NULL },
    { "", CMD("java\0-version"), NULL, NULL },
    { "", CMD("java"), NULL, NULL },
    { "", CMD(""), NULL, NULL },
    { "/a b.jar -x", CMD("java\0-jar\0/a b.jar\0-x"), "/a b.jar", "-x" },
    { "Main a", CMD("java\0-DMain=Main\0Main\0a"), "Main", "a" },
    { "Main a", CMD("[rewritten]"), "Main", "" },
    { "Main", CMD(""), "Main", "" },
    { "  ", CMD("java\0Main"), NULL, NULL },
};

START_TEST(finds_the_main_class)
{
    struct span cmdline = { MAIN_CASES[_i].cmdline, MAIN_CASES[_i].n }, main, after;
    bool found = MAIN_CASES[_i].command[0]
                     ? args_main_of_command(span_of(MAIN_CASES[_i].command), cmdline, &main, &after)
                     : args_main(cmdline, &main, &after);

    ck_assert_int_eq(found, MAIN_CASES[_i].main != NULL);
    if (!found)
        return;
    ck_assert(span_eq_str(main, MAIN_CASES[_i].main));
    after.n = span_find(after, '\0');
    ck_assert(span_eq_str(after, MAIN_CASES[_i].after));
}
END_TEST

static const struct {
    const char *cmdline;
    size_t n;
    const char *main, *jar; /* jar NULL: none */
} JAR_CASES[] = {
    { CMD("java\0-jar\0/app/shop-2.jar\0x"), "/app/shop-2.jar", "shop-2.jar" },
    { CMD("java\0-jar\0shop.war"), "shop.war", "shop.war" },
    { CMD("java\0-cp\0/app/classes:/app/lib/a.jar\0Main"), "Main", "a.jar" },
    { CMD("java\0-cp\0/app/classes:/app/lib/a.jar:b.jar\0Main"), "Main", NULL },
    { CMD("java\0-cp\0a.jar:lib/*\0Main"), "Main", NULL },
    { CMD("java\0-cp\0lib/*:a.jar\0Main"), "Main", NULL },
    { CMD("java\0-cp\0a.jar\0--class-path=b.jar\0-Dx\0Main"), "Main", "b.jar" },
    { CMD("java\0-cp\0a.jar\0-classpath\0classes\0Main"), "Main", NULL },
    { CMD("java\0Main\0-cp\0plugin.jar\0x"), "Main", NULL },
    { CMD("java\0@args\0-cp\0plugin.jar\0x"), "Main", NULL },
    { CMD("java\0-cp\0a.jar\0-jar\0/app/shop"), "/app/shop", NULL },
    { CMD("java\0-cp\0a.jar\0-m\0mod/Main"), "mod/Main", NULL },
    { CMD("java\0-cp\0a.jar\0--module=mod/Main"), "mod/Main", NULL },
    { CMD("java\0-classpath\0a.jar\0Main"), "Main", "a.jar" },
    { CMD("java\0--class-path=lib/a.jar\0Main"), "Main", "a.jar" },
    { CMD("java\0-cp\0lib/*:lib/*.jar\0Main\0x.jar"), "Main", NULL },
    { CMD("java\0-cp"), "Main", NULL },
    { CMD("java\0Main"), "Main", NULL },
    { CMD(""), "", NULL },
};

START_TEST(finds_the_jar)
{
    struct span jar;
    bool found = args_jar((struct span){ JAR_CASES[_i].cmdline, JAR_CASES[_i].n },
                          span_of(JAR_CASES[_i].main), &jar);

    ck_assert_int_eq(found, JAR_CASES[_i].jar != NULL);
    if (found)
        ck_assert(span_eq_str(jar, JAR_CASES[_i].jar));
}
END_TEST

static const struct {
    const char *cmdline;
    size_t n;
    const char *want; /* NULL: none */
} PROGRAM_CASES[] = {
    { CMD("/opt/app/bin/bridge\0--port\0008080"), "bridge" },
    { CMD("bridge"), "bridge" },
    { CMD("/usr/bin/python3.11\0/srv/load.py\0--all"), "load.py" },
    { CMD("python3\0-m\0load"), "python3" },
    { CMD("python3"), "python3" },
    { CMD("rubymine\0/srv/x"), "rubymine" },
    { CMD("R\0--no-save"), "R" },
    { CMD("\0x"), NULL },
    { CMD(""), NULL },
};

START_TEST(finds_the_program_that_made_a_jvm)
{
    struct span cmdline = { PROGRAM_CASES[_i].cmdline, PROGRAM_CASES[_i].n }, program;

    ck_assert_int_eq(args_program(cmdline, &program), PROGRAM_CASES[_i].want != NULL);
    if (PROGRAM_CASES[_i].want)
        ck_assert(span_eq_str(program, PROGRAM_CASES[_i].want));
}
END_TEST

START_TEST(masks_values)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct span args = SPAN("-Dkey=a=b\0-Dflag\0--x=1\0--y\0z=1\0-Xms=7\0-javaagent:a.jar\0\0-n\n");

    buf_init(&b, 1000);
    args_add(&b, args, /* mask= */ true);
    ck_assert_str_eq(b.p,
                     "-Dkey=*** -Dflag --x=*** --y z=1 -Xms=7 -javaagent:a.jar -n\xef\xbf\xbd");
    buf_clear(&b);
    args_add_words(&b, SPAN("Main --pw=a secret tail -x y --q=1"), /* mask= */ true);
    ck_assert_str_eq(b.p, "Main --pw=*** -x y --q=***");
    buf_clear(&b);
    args_add_words(&b, SPAN("--pw=a b"), /* mask= */ false);
    ck_assert_str_eq(b.p, "--pw=a b");
    buf_clear(&b);
    args = SPAN("--password\0x\0-DbToken\0-v\0API_KEY=k\0jdbc:db?user=u&passWord=p\0-keys\0y");
    args_add(&b, args, /* mask= */ true);
    ck_assert_str_eq(b.p,
                     "--password *** -DbToken -v API_KEY=*** jdbc:db?user=u&passWord=*** -keys y");
    buf_clear(&b);
    args_add(&b, args, /* mask= */ false);
    ck_assert_str_eq(b.p, "--password x -DbToken -v API_KEY=k jdbc:db?user=u&passWord=p -keys y");
    buf_clear(&b);
    args_add_words(&b, SPAN("Main --secret a b -x y token=t u"), /* mask= */ true);
    ck_assert_str_eq(b.p, "Main --secret *** -x y token=***");
    buf_clear(&b);
    args_add_words(&b, SPAN("Main --secret a"), /* mask= */ false);
    ck_assert_str_eq(b.p, "Main --secret a");
}
END_TEST

static const struct {
    const char *maps;
    uint64_t bases[2];
    bool openj9;
} SCAN_CASES[] = {
    { "1000-2000 r--p 00000000 fd:01 1 /x/libjvm.so", { 0x1000 }, false },
    { "9000-a000 r--p 00000000 fd:01 2 /y/libjvm.so\n1000-2000 r--p 00000000 fd:01 1 /x/libjvm.so",
      { 0x9000, 0x1000 },
      false },
    { "1000-2000 r-xp 00001000 fd:01 1 /x/libjvm.so", { 0 }, false }, /* not its start */
    { "1000-2000 r--p 00000000 fd:01 1 /x/notlibjvm.so", { 0 }, false },
    { "1000-2000 r--p 00000000 fd:01 1 /x/libjvm.so.bak", { 0x1000 }, false },
    { "1000-2000 r--p 00000000 fd:01 1 /x/libjvm-17.so (deleted)", { 0x1000 }, false },
    { "1000-2000 r--p 00000000 fd:01 1 /x/libjvmcicompiler.so", { 0 }, false },
    { "1000-2000 r--p 00000000 fd:01 1 /x/libjvm.cfg", { 0 }, false },
    { "1000-2000 r--p 00000000 fd:01 1 /x/libj9vm_b158.so", { 0 }, true },
    { "", { 0 }, false },
};

START_TEST(finds_libjvm)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    _cleanup_close_ int fd = -1;
    struct jvm_scan s = { 0 };

    buf_init(&text, 4096);
    buf_printf(&text, "%s\n", SCAN_CASES[_i].maps);
    fd = maps_file(buf_span(&text));
    ck_assert_int_ge(fd, 0);
    maps_walk_text(fd, NSEC_PER_SEC, jvm_scan_mapping, &s);
    for (size_t i = 0; i < ARRAY_SIZE(SCAN_CASES[_i].bases); i++)
        ck_assert_uint_eq(s.libjvm.bases[i], SCAN_CASES[_i].bases[i]);
    ck_assert_int_eq(s.openj9, SCAN_CASES[_i].openj9);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discover_args");

    tcase_add_loop_test(tc, finds_the_main_class, 0, ARRAY_SIZE(MAIN_CASES));
    tcase_add_loop_test(tc, finds_the_jar, 0, (int)ARRAY_SIZE(JAR_CASES));
    tcase_add_loop_test(tc, finds_the_program_that_made_a_jvm, 0, ARRAY_SIZE(PROGRAM_CASES));
    tcase_add_test(tc, masks_values);
    tcase_add_loop_test(tc, finds_libjvm, 0, ARRAY_SIZE(SCAN_CASES));
    tcase_set_timeout(tc, 60);
    return suite_run_case("discover_args", tc);
}
