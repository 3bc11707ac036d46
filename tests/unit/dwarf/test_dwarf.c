/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: inlined functions and lines by DWARF of several compilers and versions, at every
 * address of a program. addr2line of binutils gives the expected result. */
#include "suite.h"

#include "base/buf.h"
#include "dwarf/dwarf_impl.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPU_NS UINT64_C(10000000000)
#define ADDRESSES_MAX 65536
#define MISSING 77

extern char **environ;

static char dir[] = "/tmp/flamed-test-dwarf-XXXXXX";

/* The same program, built in several ways. Those with the same judge have the same code. */
static const struct {
    const char *name, *compiler, *judge;
    const char *options[4];
    const char *after[5]; /* programs to run on it afterwards */
} VARIANTS[] = {
    { "gcc4", "gcc", "gcc4", { "-gdwarf-4" }, { NULL } },
    { "gcc5", "gcc", "gcc4", { "-gdwarf-5" }, { NULL } },
    { "gcc4types", "gcc", "gcc4", { "-gdwarf-4", "-fdebug-types-section" }, { NULL } },
    { "gcc564", "gcc", "gcc4", { "-gdwarf-5", "-gdwarf64" }, { NULL } },
    { "packed", "gcc", "gcc4", { "-gdwarf-5", "-gz=zlib" }, { NULL } },
    { "zstd", "gcc", "gcc4", { "-gdwarf-5" }, { "objcopy", "--compress-debug-sections=zstd" } },
    { "listless", "gcc", "gcc4", { "-gdwarf-5" }, { "objcopy", "-R", ".debug_aranges" } },
    { "apart", "gcc", "gcc4", { "-gdwarf-4" }, { "objcopy", "--only-keep-debug" } },
    { "dwz", "gcc", "gcc4", { "-gdwarf-4" }, { "dwz" } },
    { "clang4", "clang", "clang4", { "-gdwarf-4" }, { NULL } },
    { "clang5", "clang", "clang4", { "-gdwarf-5" }, { NULL } },
};

/* Runs a program to its end with @in and @out (-1: none). Returns its status; MISSING: no such
 * program. */
static int run(const char *const argv[], int in, int out)
{
    posix_spawn_file_actions_t actions;
    int status = 0, r;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    if (in >= 0)
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (r != 0)
        return MISSING;
    if (waitpid(pid, &status, 0) != pid) /* no assertion: main() calls this outside of tests, too */
        return -1;
    return WIFEXITED(status) ? (WEXITSTATUS(status) == 127 ? MISSING : WEXITSTATUS(status)) : -1;
}

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static unsigned turn;
    char *path = paths[turn++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

/* Compiles variant @i. False: a program for it is missing. */
static bool make(size_t i)
{
    const char *path = path_of(VARIANTS[i].name);
    const char *argv[16] = { VARIANTS[i].compiler,  "-O2", "-nostdlib", "-static", "-Wl,-e,main",
                             FLAMED_INLINED_SOURCE, "-o",  path };
    size_t n = 8;
    int r;

    for (size_t k = 0; k < ARRAY_SIZE(VARIANTS[i].options) && VARIANTS[i].options[k]; k++)
        argv[n++] = VARIANTS[i].options[k];
    r = run(argv, -1, -1);
    if (r == MISSING)
        return false;
    ck_assert_int_eq(r, 0);
    if (!VARIANTS[i].after[0])
        return true;
    n = 0;
    memset(argv, 0, sizeof(argv));
    while (VARIANTS[i].after[n]) {
        argv[n] = VARIANTS[i].after[n];
        n++;
    }
    argv[n] = path;
    r = run(argv, -1, -1);
    ck_assert(r == 0 || r == MISSING);
    return r == 0;
}

static size_t variant(const char *name)
{
    size_t i = 0;

    while (strcmp(VARIANTS[i].name, name) != 0)
        i++;
    return i;
}

/* ---- expected ---- */

/* Lists the code addresses of @path from the text of `nm -S --defined-only`, as address and
 * bytes. */
static size_t list_addresses(const char *path, uint64_t addresses[ADDRESSES_MAX])
{
    const char *const argv[] = { "nm", "-S", "--defined-only", path, NULL };
    _cleanup_close_ int fd = memfd_create("nm", MFD_CLOEXEC);
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct span all, line;
    size_t count = 0;

    ck_assert_int_eq(run(argv, -1, fd), 0);
    buf_init(&text, 1 << 20);
    lseek(fd, 0, SEEK_SET);
    ck_assert_int_eq(buf_read_fd(&text, fd), 0);
    all = buf_span(&text);
    while (span_take_line(&all, &line)) {
        uint64_t start, bytes;

        if (!span_take_hex(&line, &start) || !span_take_char(&line, ' ') ||
            !span_take_hex(&line, &bytes) || !span_take_char(&line, ' ') || !line.n ||
            !strchr("tT", line.p[0]))
            continue;
        for (uint64_t k = 0; k < bytes && count < ADDRESSES_MAX; k++)
            addresses[count++] = start + k;
    }
    ck_assert_uint_gt(count, 500);
    return count;
}

/* Makes the expected text from `addr2line -a -f -i`: "0xADDRESS\nFUNCTION LINE\n...". */
static void expect(const char *path, const uint64_t *addresses, size_t count, struct buf *out)
{
    const char *const argv[] = { "addr2line", "-a", "-f", "-i", "-e", path, NULL };
    _cleanup_close_ int in = memfd_create("in", MFD_CLOEXEC), fd = memfd_create("out", MFD_CLOEXEC);
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct span all, name, place;

    for (size_t i = 0; i < count; i++)
        ck_assert_int_gt(dprintf(in, "%llx\n", (unsigned long long)addresses[i]), 0);
    lseek(in, 0, SEEK_SET);
    ck_assert_int_eq(run(argv, in, fd), 0);
    buf_init(&text, (size_t)64 << 20);
    lseek(fd, 0, SEEK_SET);
    ck_assert_int_eq(buf_read_fd(&text, fd), 0);
    all = buf_span(&text);
    while (span_take_line(&all, &name)) {
        if (span_starts_with(name, "0x")) {
            uint64_t address;

            name = span_from(name, 2);
            ck_assert(span_take_hex(&name, &address));
            buf_printf(out, "0x%llx\n", (unsigned long long)address);
            continue;
        }
        ck_assert(span_take_line(&all, &place));
        place = span_from(place, span_rfind(place, ':') + 1);
        place.n = span_find(place, ' '); /* drops "(discriminator 2)" */
        if (span_eq_str(place, "?"))
            place = SPAN("0");
        buf_add_span(out, name);
        buf_add_char(out, ' ');
        buf_add_span(out, place);
        buf_add_char(out, '\n');
    }
    ck_assert_int_eq(out->error, 0);
}

static void look_up(const char *path, const uint64_t *addresses, size_t count, struct buf *out)
{
    _cleanup_(dwarf_answers_deinit) struct dwarf_answers a = { 0 };
    _cleanup_(dwarf_closep) struct dwarf *d = NULL;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(dwarf_open(fd, &d), 0);
    ck_assert_int_eq(dwarf_look_up(d, addresses, count, CPU_NS, &a), 0);
    ck_assert_uint_eq(a.skipped, 0);
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "0x%llx\n", (unsigned long long)addresses[i]);
        ck_assert_int_eq(a.of[i].state, DWARF_FOUND);
        for (size_t k = 0; k < a.of[i].count; k++) {
            const struct dwarf_frame *f = &a.frames[a.of[i].first + k];

            buf_add_span(out, intern_get(a.strings, f->name));
            buf_printf(out, " %u\n", f->line);
            ck_assert(span_ends_with(intern_get(a.strings, f->file), "inlined.c"));
        }
    }
    ck_assert_int_eq(out->error, 0);
}

/* Compares line by line: the whole is too long for a message. */
static void compare(struct span got, struct span expected)
{
    struct span a, b;
    char x[256], y[256];

    while (span_take_line(&expected, &b)) {
        ck_assert(span_take_line(&got, &a));
        ck_assert_str_eq(span_copy(a, x, sizeof(x)), span_copy(b, y, sizeof(y)));
    }
    ck_assert_uint_eq(got.n, 0);
}

START_TEST(every_address_as_addr2line_says)
{
    static uint64_t addresses[ADDRESSES_MAX];
    _cleanup_buf_ struct buf expected = BUF_NULL, got = BUF_NULL;
    size_t judge = variant(VARIANTS[_i].judge), count;

    if (!make(judge) || !make((size_t)_i))
        return; /* clang and dwz may be missing */
    buf_init(&expected, (size_t)64 << 20);
    buf_init(&got, (size_t)64 << 20);
    count = list_addresses(path_of(VARIANTS[judge].name), addresses);
    expect(path_of(VARIANTS[judge].name), addresses, count, &expected);
    look_up(path_of(VARIANTS[_i].name), addresses, count, &got);
    compare(buf_span(&got), buf_span(&expected));
    ck_assert(strstr(got.p, "mix ") && strstr(got.p, "choose ") && strstr(got.p, "seldom "));
}
END_TEST

static const char *const PACKED[] = { "packed", "zstd" };

START_TEST(budget_ends_and_goes_on)
{
    _cleanup_(dwarf_answers_deinit) struct dwarf_answers none = { 0 }, all = { 0 };
    _cleanup_(dwarf_closep) struct dwarf *d = NULL;
    _cleanup_close_ int fd = -1;
    static uint64_t addresses[ADDRESSES_MAX];
    size_t count;

    if (!make(variant(PACKED[_i])))
        return;
    count = list_addresses(path_of(PACKED[_i]), addresses);
    fd = open(path_of(PACKED[_i]), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(dwarf_open(fd, &d), 0);
    ck_assert_int_eq(dwarf_look_up(d, addresses, count, 0, &none), 0);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(none.of[i].state, DWARF_NOT_READ);
    dwarf_rest(d);
    ck_assert_int_eq(dwarf_look_up(d, addresses, count, CPU_NS, &all), 0);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(all.of[i].state, DWARF_FOUND);
    ck_assert_uint_gt(dwarf_bytes(d), 0);
    ck_assert_uint_lt(dwarf_bytes(d), 1 << 20);
}
END_TEST

static const char *const SPLIT[] = { "-gdwarf-4", "-gdwarf-5" };

/* The debug information is in a separate file, which is not read. No function is found, and the
 * answer gives the reason. */
START_TEST(split_is_told)
{
    const char *const argv[] = { "gcc",         "-O2",
                                 "-nostdlib",   "-static",
                                 "-Wl,-e,main", FLAMED_INLINED_SOURCE,
                                 "-o",          path_of("split"),
                                 SPLIT[_i],     "-gsplit-dwarf",
                                 NULL };
    _cleanup_(dwarf_answers_deinit) struct dwarf_answers a = { 0 };
    _cleanup_(dwarf_closep) struct dwarf *d = NULL;
    _cleanup_close_ int fd = -1;
    static uint64_t addresses[ADDRESSES_MAX];
    size_t count;

    ck_assert_int_eq(run(argv, -1, -1), 0);
    count = list_addresses(path_of("split"), addresses);
    fd = open(path_of("split"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(dwarf_open(fd, &d), 0);
    ck_assert_int_eq(dwarf_look_up(d, addresses, count, CPU_NS, &a), 0);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(a.of[i].state, DWARF_SPLIT);
        ck_assert_uint_eq(a.of[i].count, 0);
    }
    ck_assert_uint_eq(a.skipped, 0);
}
END_TEST

/* A unit without an entry in .debug_aranges is not read before an address in it is asked for. */
START_TEST(listed_units_are_not_opened)
{
    static const char *const NAMES[] = { "gcc4", "gcc5", "gcc564" };
    _cleanup_(dwarf_closep) struct dwarf *d = NULL;
    _cleanup_close_ int fd = -1;

    ck_assert(make(variant(NAMES[_i])));
    fd = open(path_of(NAMES[_i]), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(dwarf_open(fd, &d), 0);
    dwarf_budget_begin(&d->chunks.budget, CPU_NS);
    ck_assert(dwarf_list_code(d));
    ck_assert_uint_gt(d->code_count, 0);
    for (size_t i = 0; i < d->unit_count; i++)
        ck_assert(d->units[i].listed && !d->units[i].begun);
}
END_TEST

START_TEST(addresses_of_nothing)
{
    const uint64_t addresses[] = { 0, 1, UINT64_MAX, UINT64_C(0x7fffffffffff) };
    _cleanup_(dwarf_answers_deinit) struct dwarf_answers a = { 0 };
    _cleanup_(dwarf_closep) struct dwarf *d = NULL;
    _cleanup_close_ int fd = -1;

    ck_assert(make(variant("gcc5")));
    fd = open(path_of("gcc5"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(dwarf_open(fd, &d), 0);
    ck_assert_int_eq(dwarf_look_up(d, addresses, ARRAY_SIZE(addresses), CPU_NS, &a), 0);
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
        ck_assert_int_eq(a.of[i].state, DWARF_NONE);
}
END_TEST

START_TEST(files_without)
{
    const char *const argv[] = { "objcopy", "--strip-debug", path_of("gcc5"), path_of("bare"),
                                 NULL };
    _cleanup_close_ int bare = -1, text = open(FLAMED_INLINED_SOURCE, O_RDONLY | O_CLOEXEC);
    struct dwarf *d = NULL;

    ck_assert(make(variant("gcc5")));
    ck_assert_int_eq(run(argv, -1, -1), 0);
    bare = open(path_of("bare"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(dwarf_open(bare, &d), -ENOENT);
    ck_assert_int_eq(dwarf_open(text, &d), -ENOEXEC);
    ck_assert_int_eq(dwarf_open(-1, &d), -ENOEXEC);
}
END_TEST

/* ---- limits ---- */

/* Counts the states of the answers to @addresses of @path. */
static void count_states(const char *path, const uint64_t *addresses, size_t count,
                         size_t states[DWARF_BEYOND + 1], uint64_t *ret_skipped)
{
    _cleanup_(dwarf_answers_deinit) struct dwarf_answers a = { 0 };
    _cleanup_(dwarf_closep) struct dwarf *d = NULL;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

    memset(states, 0, (DWARF_BEYOND + 1) * sizeof(*states));
    ck_assert_int_eq(dwarf_open(fd, &d), 0);
    ck_assert_int_eq(dwarf_look_up(d, addresses, count, CPU_NS, &a), 0);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_le(a.of[i].state, DWARF_BEYOND);
        ck_assert_uint_le(a.of[i].count, DWARF_FRAMES_MAX);
        ck_assert(a.of[i].state == DWARF_FOUND ? a.of[i].count > 0 : !a.of[i].count);
        states[a.of[i].state]++;
    }
    *ret_skipped = a.skipped;
}

/* Compiles @source with @options (NULL at the end) into @name. */
static void compile(const char *source, const char *name, const char *const *options)
{
    const char *argv[16] = { "gcc",         "-O2",  "-nostdlib", "-static",
                             "-Wl,-e,main", source, "-o",        path_of(name) };

    for (size_t n = 8; *options; options++)
        argv[n++] = *options;
    ck_assert_int_eq(run(argv, -1, -1), 0);
}

/* Writes @n bytes of @value at @at of .debug_info of the file. */
static void patch_info(const char *path, uint64_t at, uint32_t value, size_t n)
{
    _cleanup_(dwarf_closep) struct dwarf *d = NULL;
    _cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);

    ck_assert_int_eq(dwarf_open(fd, &d), 0);
    at += d->sections[DWARF_INFO].file_offset;
    ck_assert_int_eq(pwrite(fd, &value, n, (off_t)at), (ssize_t)n);
}

/* A unit that cannot be read is reported, whether .debug_aranges lists it or not. */
START_TEST(broken_units_are_told)
{
    static const struct {
        uint64_t at; /* offset in the unit's header */
        uint32_t value;
        size_t n;
    } BREACHES[] = { { 4, 9, 2 }, /* version */ { 0, 0x7fffffff, 4 } /* length */ };
    static uint64_t addresses[ADDRESSES_MAX];
    size_t count, states[DWARF_BEYOND + 1];
    uint64_t skipped;

    ck_assert(make(variant("gcc5")));
    count = list_addresses(path_of("gcc5"), addresses);
    patch_info(path_of("gcc5"), BREACHES[_i].at, BREACHES[_i].value, BREACHES[_i].n);
    count_states(path_of("gcc5"), addresses, count, states, &skipped);
    ck_assert_uint_eq(states[DWARF_BEYOND], count);
    ck_assert_uint_gt(skipped, 0);
}
END_TEST

/* Writes a chain of @n functions, each inlined into the next. The last one is inlined into a
 * function of its own. */
static void write_chain(const char *path, unsigned n)
{
    FILE *f = fopen(path, "we");

    ck_assert_ptr_nonnull(f);
    fputs("#define IN static inline __attribute__((always_inline))\nvolatile long sink;\n"
          "IN void f0(void) { sink = sink * 3 + 1; }\n",
          f);
    for (unsigned i = 1; i < n; i++)
        fprintf(f, "IN void f%u(void) { f%u(); }\n", i, i - 1);
    fputs("__attribute__((noinline)) long pad(long x) { ", f);
    for (unsigned i = 0; i < 100; i++) /* list_addresses() needs some code */
        fprintf(f, "x = x * %u ^ sink; ", i * 2 + 3);
    fprintf(f, "return x; }\nint main(void) { f%u(); return (int)pad(1); }\n", n - 1);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(frames_at_an_address)
{
    static const struct {
        unsigned functions;
        bool within;
    } CHAINS[] = { { DWARF_FRAMES_MAX - 1, true }, { DWARF_FRAMES_MAX, false } };
    static const char *const OPTIONS[] = { "-gdwarf-5", NULL };
    static uint64_t addresses[ADDRESSES_MAX];
    size_t count, states[DWARF_BEYOND + 1];
    uint64_t skipped;

    write_chain(path_of("chain.c"), CHAINS[_i].functions);
    compile(path_of("chain.c"), "chain", OPTIONS);
    count = list_addresses(path_of("chain"), addresses);
    count_states(path_of("chain"), addresses, count, states, &skipped);
    ck_assert_uint_eq(states[DWARF_BEYOND] == 0, CHAINS[_i].within);
    ck_assert_uint_eq(states[DWARF_FOUND] + states[DWARF_BEYOND], count);
    ck_assert_uint_gt(states[DWARF_FOUND], 0);
}
END_TEST

#define TABLE_ENTRIES 200000 /* 1.4 MB in the file, 10 MiB when read */

/* Tables that begin at each of the entries overlap, so a small file has many large ones. */
START_TEST(tables_of_abbreviations_have_a_limit)
{
    static const uint8_t ENTRY[] = { 1, DW_TAG_SUBPROGRAM, 0, DW_AT_NAME, DW_FORM_STRING, 0, 0 };
    static uint8_t bytes[TABLE_ENTRIES * sizeof(ENTRY) + 1];
    _cleanup_close_ int fd = memfd_create("tables", MFD_CLOEXEC);
    _cleanup_(dwarf_closep) struct dwarf *d = calloc(1, sizeof(*d));

    for (size_t i = 0; i < TABLE_ENTRIES; i++)
        memcpy(bytes + i * sizeof(ENTRY), ENTRY, sizeof(ENTRY));
    ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), (ssize_t)sizeof(bytes));
    dwarf_section_init(&d->sections[DWARF_ABBREV], &d->chunks, fd, 0, sizeof(bytes), false);
    dwarf_budget_begin(&d->chunks.budget, 10 * CPU_NS);
    for (uint64_t i = 0; i < 4; i++) {
        const struct dwarf_abbrevs *t = dwarf_abbrevs_get(d, i * sizeof(ENTRY));

        ck_assert(t && t->count == TABLE_ENTRIES - i);
        ck_assert_uint_gt(dwarf_bytes(d), t->count * sizeof(*t->list));
        ck_assert_uint_le(dwarf_bytes(d), DWARF_ABBREVS_MAX_BYTES + (1 << 20));
    }
    dwarf_rest(d);
    ck_assert_uint_lt(dwarf_bytes(d), 1 << 20);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("dwarf");
    int failed;

    if (!mkdtemp(dir))
        return 1;
    if (run((const char *[]){ "addr2line", "--version", NULL }, -1, -1) == MISSING ||
        run((const char *[]){ "gcc", "--version", NULL }, -1, -1) == MISSING) {
        fprintf(stderr, "skipped: gcc and binutils are needed\n");
        return 77;
    }
    tcase_add_loop_test(tc, every_address_as_addr2line_says, 0, (int)ARRAY_SIZE(VARIANTS));
    tcase_add_loop_test(tc, budget_ends_and_goes_on, 0, (int)ARRAY_SIZE(PACKED));
    tcase_add_loop_test(tc, split_is_told, 0, (int)ARRAY_SIZE(SPLIT));
    tcase_add_loop_test(tc, listed_units_are_not_opened, 0, 3);
    tcase_add_test(tc, addresses_of_nothing);
    tcase_add_test(tc, files_without);
    tcase_add_loop_test(tc, broken_units_are_told, 0, 2);
    tcase_add_loop_test(tc, frames_at_an_address, 0, 2);
    tcase_add_test(tc, tables_of_abbreviations_have_a_limit);
    tcase_set_timeout(tc, 120);
    failed = suite_run_case("dwarf", tc);
    run((const char *[]){ "rm", "-rf", dir, NULL }, -1, -1);
    return failed;
}
