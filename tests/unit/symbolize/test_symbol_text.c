/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: the kernel's list, perf maps, and the spelling of Java's and the linker's names. */
#include "suite.h"

#include "symbolize/function_find.h"
#include "symbolize/java_text.h"
#include "symbolize/kallsyms.h"
#include "symbolize/perf_map.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- Java ---- */

static const struct {
    const char *in, *out;
} CLASS_CASES[] = {
    { "java/lang/Thread", "java.lang.Thread" },
    { "Main", "Main" },
    { "", "" },
    { "a/b/Foo$Bar$1", "a.b.Foo$Bar$1" },
    /* JDK 8: "/" and an identity hash; 9 to 14: "/" and the address; 15 and later: "+0x" in
     * memory */
    { "app/Foo$$Lambda$14/1234567", "app.Foo$$Lambda" },
    { "app/Foo$$Lambda$14/0x0000000800c03000", "app.Foo$$Lambda" },
    { "app/Foo$$Lambda$14+0x0000000800c03000", "app.Foo$$Lambda" },
    { "app/Foo$$Lambda+0x00007f1234001000", "app.Foo$$Lambda" },
    { "app/Foo$$Lambda.0x00007f1234001000", "app.Foo$$Lambda" },
    { "app/Foo$$Lambda$14", "app.Foo$$Lambda" },
    { "app/Foo$$Lambda", "app.Foo$$Lambda" },
    { "java/lang/invoke/LambdaForm$MH+0x0000000800c04400", "java.lang.invoke.LambdaForm$MH" },
    { "java/lang/invoke/LambdaForm$DMH/0x0000000800c04400", "java.lang.invoke.LambdaForm$DMH" },
    { "app/Hidden+0x0000000800c04400", "app.Hidden" },
    { "jdk/internal/reflect/GeneratedMethodAccessor123",
      "jdk.internal.reflect.GeneratedMethodAccessor" },
    { "sun/reflect/GeneratedConstructorAccessor7", "sun.reflect.GeneratedConstructorAccessor" },
    { "sun/reflect/GeneratedSerializationConstructorAccessor1",
      "sun.reflect.GeneratedSerializationConstructorAccessor" },
    /* numbers that distinguish code stay */
    { "com/sun/proxy/$Proxy12", "com.sun.proxy.$Proxy12" },
    { "app/Service$$SpringCGLIB$$0", "app.Service$$SpringCGLIB$$0" },
    { "app/Service$$EnhancerBySpringCGLIB$$ab12cd", "app.Service$$EnhancerBySpringCGLIB$$ab12cd" },
    { "app/v2", "app.v2" },
    { "app/Ox0x12", "app.Ox0x12" },
    { "+0x12", "+0x12" },
    { "/12", ".12" },
    { "kotlin/a+b", "kotlin.a+b" },
};

START_TEST(spells_one_class)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 10000);
    java_class_text(span_of(CLASS_CASES[_i].in), &out);
    ck_assert_str_eq(out.p ? out.p : "", CLASS_CASES[_i].out);
}
END_TEST

static const struct {
    const char *in, *out;
} SIGNATURE_CASES[] = {
    /* cut by a reader of the VM */
    { "(ILjava/lang/String;[Ljava/lan...", "(int, java.lang.String, ...)" },
    { "(ILjava/lang/String;...", "(int, java.lang.String, ...)" },
    { "(Lcom/acme/Some...", "(...)" },
    { "(I[[...", "(int, ...)" },
    { "()V", "()" },
    { "(ILjava/lang/String;)V", "(int, java.lang.String)" },
    { "(BCDFIJSZ)Ljava/lang/Object;", "(byte, char, double, float, int, long, short, boolean)" },
    { "([[J[Ljava/util/List;)I", "(long[][], java.util.List[])" },
    { "(Lapp/Foo$$Lambda$3+0x0000000800c03000;)V", "(app.Foo$$Lambda)" },
    { "", "" },
    { "(", "(" },
    { "(I", "(I" },
    { "(V)V", "(V)V" },
    { "(Ljava/lang/String)V", "(Ljava/lang/String)V" },
    { "(L;)V", "(L;)V" },
    { "([)V", "([)V" },
    { "I", "I" },
};

START_TEST(spells_one_signature)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 10000);
    buf_add_str(&out, "before ");
    java_signature_text(span_of(SIGNATURE_CASES[_i].in), &out);
    ck_assert(span_starts_with(buf_span(&out), "before "));
    ck_assert_str_eq(out.p + 7, SIGNATURE_CASES[_i].out);
}
END_TEST

/* ---- kallsyms ---- */

static const char KALLSYMS[] = "0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T startup_64\n"
                               "ffffffff81000040 t local_one\n"
                               "ffffffff81000080 T __do_thing\n"
                               "ffffffff81000080 T do_thing\n"
                               "ffffffff81000100 W weak_thing\n"
                               "ffffffff81000200 D some_data\n"
                               "ffffffff81000300 r more_data\n"
                               "not a line\n"
                               "ffffffff8100zzzz T broken\n"
                               "ffffffff81000400 TT broken\n"
                               "ffffffffc0a01000 t nf_hook\t[nf_tables]\n"
                               "ffffffffc0b01000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n"
                               "ffffffff83000000 T _RNvCs1234_6kernel3run";

static const struct {
    uint64_t address;
    const char *name;
} KALLSYMS_CASES[] = {
    { UINT64_C(0xffffffff80ffffff), NULL },
    { UINT64_C(0xffffffff81000000), "startup_64" },
    { UINT64_C(0xffffffff8100003f), "startup_64" },
    { UINT64_C(0xffffffff81000040), "local_one" },
    { UINT64_C(0xffffffff810000ff), "do_thing" },
    { UINT64_C(0xffffffff810001ff), "weak_thing" },
    { UINT64_C(0xffffffff81000200), NULL }, /* data is not code */
    { UINT64_C(0xffffffff81000310), NULL },
    { UINT64_C(0xffffffffc0a01010), "nf_hook\t[nf_tables]" },
    { UINT64_C(0xffffffffc0b00fff), "nf_hook\t[nf_tables]" },
    { UINT64_C(0xffffffffc0b01001), "bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]" },
    { UINT64_C(0xffffffffc0c01001), NULL }, /* too far behind the last symbol */
    { UINT64_C(0xffffffff83000001), "_RNvCs1234_6kernel3run" },
};

START_TEST(names_one_kernel_address)
{
    struct kallsyms k;
    const struct symbol *s;

    ck_assert_int_eq(kallsyms_parse(SPAN(KALLSYMS), &k), 0);
    ck_assert(!k.hidden);
    ck_assert_uint_eq(k.lines, 12);
    s = symbol_table_find(&k.symbols, KALLSYMS_CASES[_i].address);
    if (KALLSYMS_CASES[_i].name)
        ck_assert(s && span_eq_str(symbol_name(&k.symbols, s), KALLSYMS_CASES[_i].name));
    else
        ck_assert(!s);
    kallsyms_deinit(&k);
}
END_TEST

static const char *const STUB_CASES[][2] = {
    { "call_stub", "call_stub" },
    { "Stub Generator call_stub_stub", "call_stub" }, /* 26 */
    { "Stub Generator upcall_stub_load_target_stub", "upcall_stub_load_target" },
    { "Stub Generator _stub", "Stub Generator _stub" },
    { "call_stub_stub (stub gen)", "call_stub" }, /* 27 */
    { "upcall_stub_load_target_stub (stub gen)", "upcall_stub_load_target" },
    { "_stub (stub gen)", "_stub (stub gen)" },
    { "call_stub (stub gen) ", "call_stub (stub gen) " },
    { "entry (stub gen)", "entry (stub gen)" },
    { "Stub Generator initial_blob", "Stub Generator initial_blob" },
    { "itable stub", "itable stub" },
    { "slow_stub", "slow_stub" },
    { "", "" },
};

START_TEST(writes_a_stub_as_all_releases_do)
{
    ck_assert(span_eq_str(java_stub_text(span_of(STUB_CASES[_i][0])), STUB_CASES[_i][1]));
}
END_TEST

START_TEST(a_list_of_zeros_is_hidden)
{
    struct kallsyms k;

    ck_assert_int_eq(kallsyms_parse(SPAN("0000000000000000 T _text\n0000000000000000 t f\n"), &k),
                     0);
    ck_assert(k.hidden);
    ck_assert_uint_eq(k.symbols.count, 0);
    kallsyms_deinit(&k);
    ck_assert_int_eq(kallsyms_parse(SPAN(""), &k), 0);
    ck_assert(k.hidden);
    kallsyms_deinit(&k);
}
END_TEST

/* ---- perf maps ---- */

static const struct {
    const char *text;
    uint64_t address;
    const char *name;
} PERF_MAP_CASES[] = {
    { "1000 10 LazyCompile:~f /app/a.js:1\n", 0x100f, "LazyCompile:~f /app/a.js:1" },
    { "1000 10 f\n", 0x1010, NULL },
    { "0x1000 0x10 f\n", 0x1000, "f" },
    { "0X1000 10 f\r\n", 0x1000, "f" },
    { "  1000  10  f  \n", 0x1000, "f" },
    { "1000 10 old\n1000 10 new\n", 0x1000, "new" },
    { "1000 100 old\n1010 10 new\n", 0x1020, "old" },
    { "1000 10 f", 0x1000, NULL },           /* the line has no end yet */
    { "1000 10\n1000 10 \n", 0x1000, NULL }, /* no name */
    { "1000 0 f\n", 0x1000, NULL },
    { "1000 ffffffffffffffff f\n", 0x1000, NULL },
    { "fffffffffffffff0 100 f\n", 0xfffffffffffffff0, NULL }, /* wraps around */
    { "10000000000000000 10 f\n", 0, NULL },
    { "-1000 10 f\n", 0x1000, NULL },
    { "junk\n\n \n1000 10 f\n", 0x1000, "f" },
};

START_TEST(names_one_generated_address)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    const struct symbol *s;

    symbol_builder_init(&b, 100, 10000);
    ck_assert_int_ge(perf_map_parse(span_of(PERF_MAP_CASES[_i].text), &b), 0);
    ck_assert_int_eq(symbol_table_build(&b, &t), 0);
    s = symbol_table_find(&t, PERF_MAP_CASES[_i].address);
    if (PERF_MAP_CASES[_i].name)
        ck_assert(s && span_eq_str(symbol_name(&t, s), PERF_MAP_CASES[_i].name));
    else
        ck_assert(!s);
}
END_TEST

START_TEST(long_lines_are_left_out)
{
    struct span name;
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_buf_ struct buf text = BUF_NULL;

    buf_init(&text, 1 << 20);
    buf_add_str(&text, "1000 10 ");
    while (text.n < PERF_MAP_LINE_MAX + 1)
        buf_add_char(&text, 'x');
    buf_add_str(&text, "\n2000 10 ");
    for (int i = 0; i < 5000; i++)
        buf_add_char(&text, 'y');
    buf_add_str(&text, "\n");
    symbol_builder_init(&b, 100, 10000);
    ck_assert_int_eq(perf_map_parse(buf_span(&text), &b), (ssize_t)text.n);
    ck_assert_uint_eq(b.count, 1);
    ck_assert_uint_eq((unsigned)b.items[0].name_n, PERF_MAP_NAME_MAX);
    name = symbol_names_get(b.names, b.items[0].name);
    ck_assert_mem_eq(name.p + PERF_MAP_NAME_MAX - 4, "y...", 4);
}
END_TEST

static bool map_names(struct perf_map *m, uint64_t address, const char *name)
{
    const struct symbol *s = symbol_table_find(perf_map_symbols(m), address);

    return s && span_eq_str(symbol_name(perf_map_symbols(m), s), name);
}

static void drop(struct work *w)
{
    (void)w;
}

#define OWNER 1

static struct memory_budget memory;

static int open_map(const char *path, size_t max_bytes, struct perf_map **ret)
{
    memory_budget_init(&memory);
    return perf_map_open(open(path, O_RDONLY | O_CLOEXEC), OWNER, max_bytes, &memory, ret);
}

/* Waits for the reading that @w is working on. */
static void finish_reading(struct worker *w)
{
    ck_assert(worker_wait(w, clock_monotonic_ns() + 60 * NSEC_PER_SEC));
    perf_map_end(worker_take(w));
}

/* A map with more bytes than the limit: the answer says so, and the first names are there. */
START_TEST(a_long_map_says_so)
{
    enum { LINES = 100 };
    char path[] = "/tmp/flamed-test-map-XXXXXX";
    struct perf_map *m = NULL;
    int fd = mkstemp(path);
    struct stat st;

    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < LINES; i++)
        ck_assert_int_gt(dprintf(fd, "%x 10 function_%d\n", 0x1000 + i * 16, i), 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    for (int longer = 0; longer < 2; longer++) {
        ck_assert_int_eq(open_map(path, (size_t)st.st_size - (longer ? 20 : 0), &m), 0);
        perf_map_refresh(m, NULL, 1);
        ck_assert(map_names(m, 0x1000, "function_0"));
        ck_assert_int_eq(perf_map_find(m, 0x1000 + (LINES - 1) * 16) != NULL, !longer);
        ck_assert_int_eq(perf_map_is_long(m), longer);
        ck_assert(!perf_map_is_cut(m));
        perf_map_close(m);
    }
    close(fd);
    unlink(path);
}
END_TEST

/* Names beyond its memory are left out. Memory for further names is reserved during the reading. */
START_TEST(a_map_keeps_to_its_memory)
{
    enum { LIMIT = 100000, LINES = 10000 };
    char path[] = "/tmp/flamed-test-map-XXXXXX";
    struct worker *w = NULL;
    struct perf_map *m = NULL;
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < LINES; i++)
        ck_assert_int_gt(dprintf(fd, "%x 10 function_%d\n", 0x1000 + i * 16, i), 0);
    ck_assert_int_eq(open_map(path, 1 << 20, &m), 0);
    shares_init(&memory.perf_maps, 2 * LIMIT); /* one owner may have half */
    ck_assert_int_eq(worker_new("test", 4, -1, &w), 0);
    perf_map_refresh(m, w, 1);
    ck_assert(perf_map_comes(m));
    ck_assert_uint_eq(shares_used(&memory.perf_maps, OWNER) / 10, LIMIT / 10);
    finish_reading(w);
    ck_assert(!perf_map_comes(m));
    ck_assert(perf_map_is_cut(m));
    ck_assert_uint_le(shares_used(&memory.perf_maps, OWNER), LIMIT * 11 / 10);
    ck_assert(map_names(m, 0x1000, "function_0"));
    ck_assert(!perf_map_find(m, 0x1000 + (LINES - 1) * 16));
    /* A map that is closed during its reading still counts until that is over. */
    ck_assert_int_gt(dprintf(fd, "1 1 more\n"), 0);
    perf_map_refresh(m, w, 100 * NSEC_PER_SEC);
    ck_assert(perf_map_comes(m));
    perf_map_close(m);
    ck_assert_uint_ge(shares_used(&memory.perf_maps, OWNER), LIMIT / 2);
    finish_reading(w);
    ck_assert_uint_eq(memory.perf_maps.used, 0);
    worker_free(w, drop);
    close(fd);
    unlink(path);
}
END_TEST

START_TEST(a_map_is_read_as_it_grows)
{
    char path[] = "/tmp/flamed-test-map-XXXXXX";
    int fd = mkstemp(path);
    struct perf_map *m = NULL;
    uint64_t now = 1;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(open_map(path, 1000, &m), 0);
    ck_assert(!perf_map_refresh(m, NULL, now));
    ck_assert_int_eq(dprintf(fd, "1000 10 one\n2000 10 tw"), 22);
    ck_assert_msg(!perf_map_refresh(m, NULL, now + NSEC_PER_SEC / 2), "at most once a second");
    ck_assert(perf_map_refresh(m, NULL, now += NSEC_PER_SEC));
    ck_assert(map_names(m, 0x1000, "one"));
    ck_assert(!symbol_table_find(perf_map_symbols(m), 0x2000));
    ck_assert_int_eq(dprintf(fd, "o\n1000 4 three\n"), 15);
    ck_assert(perf_map_refresh(m, NULL, now += NSEC_PER_SEC));
    ck_assert(map_names(m, 0x1003, "three"));
    ck_assert(map_names(m, 0x1004, "one"));
    ck_assert(map_names(m, 0x2000, "two"));
    ck_assert(!perf_map_refresh(m, NULL, now += NSEC_PER_SEC)); /* unchanged */
    /* sooner if code without a name has run */
    ck_assert_int_eq(dprintf(fd, "5000 10 late\n"), 13);
    ck_assert(!perf_map_refresh(m, NULL, now += 10 * NSEC_PER_MSEC));
    ck_assert(perf_map_refresh_missed(m, NULL, now));
    ck_assert(map_names(m, 0x5000, "late"));
    ck_assert_int_eq(dprintf(fd, "6000 10 later\n"), 14);
    ck_assert_msg(!perf_map_refresh_missed(m, NULL, now + 5 * NSEC_PER_MSEC), "not at once again");
    /* the file was rewritten */
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_int_eq(pwrite(fd, "3000 1 f\n", 9, 0), 9);
    ck_assert(perf_map_refresh(m, NULL, now += NSEC_PER_SEC));
    ck_assert(map_names(m, 0x3000, "f"));
    ck_assert(!symbol_table_find(perf_map_symbols(m), 0x1000));
    /* larger than the limit: not read */
    ck_assert_int_eq(ftruncate(fd, (off_t)1 << 40), 0);
    for (int i = 0; i < 3; i++)
        perf_map_refresh(m, NULL, now += NSEC_PER_SEC);
    ck_assert(map_names(m, 0x3000, "f"));
    perf_map_close(m);
    close(fd);
    unlink(path);
}
END_TEST

/* ---- functions ---- */

/* Makes symbols with names in another order than their addresses. There are enough of them to be
 * packed. */
static void make_image(struct elf_image *ret, uint32_t count)
{
    struct symbol_builder b;

    ret->segments[0] = (struct elf_segment){ 0x100, UINT64_C(1) << 32, 0, true };
    ret->segment_count = 1;
    symbol_builder_init(&b, count, (size_t)1 << 30);
    for (uint32_t i = 0; i < count; i++) {
        struct symbol_entry e = { .start = (uint64_t)(i * 2654435761U >> 4) * 16,
                                  .size = 16,
                                  .limit = UINT64_MAX };
        char text[80];

        snprintf(text, sizeof(text), "function_%06u_of_a_file_that_has_very_many_symbols", i);
        ck_assert_int_eq(symbol_builder_add(&b, &e, span_of(text)), 0);
    }
    ck_assert_int_eq(symbol_table_build(&b, &ret->symbols), 0);
    symbol_builder_deinit(&b);
}

/* Each block of packed names is unpacked once for all functions, not once per symbol or name. */
START_TEST(functions_are_found_in_one_pass)
{
    static struct elf_image image;
    const char *names[FUNCTIONS_MAX];
    char texts[FUNCTIONS_MAX][80];
    uint64_t offsets[FUNCTIONS_MAX], began_ns;

    make_image(&image, 300000);
    for (uint32_t i = 0; i < FUNCTIONS_MAX; i++) {
        snprintf(texts[i], sizeof(texts[i]), "function_%06u_of_a", i * 9001);
        names[i] = texts[i];
    }
    names[FUNCTIONS_MAX - 1] = "none";
    began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    function_find_all(&image, names, FUNCTIONS_MAX, /* by_prefix= */ true, offsets);
    ck_assert_uint_lt(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns, 2 * NSEC_PER_SEC);
    for (uint32_t i = 0; i < FUNCTIONS_MAX - 1; i++)
        ck_assert_uint_eq(offsets[i], (uint64_t)(i * 9001 * 2654435761U >> 4) * 16 + 0x100);
    ck_assert_uint_eq(offsets[FUNCTIONS_MAX - 1], 0);
    function_find_all(&image, names, 1, /* by_prefix= */ false, offsets);
    ck_assert_uint_eq(offsets[0], 0);
    symbol_table_deinit(&image.symbols);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("symbol_text");

    tcase_add_loop_test(tc, spells_one_class, 0, ARRAY_SIZE(CLASS_CASES));
    tcase_add_loop_test(tc, spells_one_signature, 0, ARRAY_SIZE(SIGNATURE_CASES));
    tcase_add_loop_test(tc, writes_a_stub_as_all_releases_do, 0, ARRAY_SIZE(STUB_CASES));
    tcase_add_loop_test(tc, names_one_kernel_address, 0, ARRAY_SIZE(KALLSYMS_CASES));
    tcase_add_test(tc, a_list_of_zeros_is_hidden);
    tcase_add_loop_test(tc, names_one_generated_address, 0, ARRAY_SIZE(PERF_MAP_CASES));
    tcase_add_test(tc, long_lines_are_left_out);
    tcase_add_test(tc, a_map_keeps_to_its_memory);
    tcase_add_test(tc, a_long_map_says_so);
    tcase_add_test(tc, a_map_is_read_as_it_grows);
    tcase_add_test(tc, functions_are_found_in_one_pass);
    tcase_set_timeout(tc, 60);
    return suite_run_case("symbol_text", tc);
}
