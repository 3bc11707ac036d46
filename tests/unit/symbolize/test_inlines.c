/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/inlines: which parts of files are kept, and for how long. A warning counts everything
 * that a limit leaves out. */
#include "suite.h"

#include "symbolize/inlines.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define NOW NSEC_PER_SEC

extern char **environ;

static char dir[] = "/tmp/flamed-test-inlines-XXXXXX";
static const struct proc_id ID = { .host_pid = 1, .start_ticks = 1 };
static uint64_t main_address;
static struct inlines *inlines;

static const char *path_of(uint64_t number)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%llu", dir, (unsigned long long)number);
    return path;
}

static int run(const char *const argv[], int out)
{
    posix_spawn_file_actions_t actions;
    int status = 0;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) != 0)
        status = -1;
    posix_spawn_file_actions_destroy(&actions);
    return status < 0 || waitpid(pid, &status, 0) < 0 ? -1 : status;
}

/* Returns a file by number: the start of the mapping. */
static int mapped(struct broker *cookie, const struct proc_id *id, uint64_t start, uint64_t end,
                  int *ret_fd, struct error *err)
{
    (void)cookie, (void)id, (void)end, (void)err;
    *ret_fd = open(path_of(start), O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? 2 : 0;
}

static char shared_name[256];
static unsigned by_id;

static int debug(struct broker *cookie, const struct proc_id *id, const uint8_t *build_id, size_t n,
                 int *ret_fd, struct error *err)
{
    (void)cookie, (void)id, (void)build_id, (void)n, (void)ret_fd, (void)err;
    by_id++;
    return 2;
}

static int debug_shared(struct broker *cookie, const struct proc_id *id, struct span name,
                        int *ret_fd, struct error *err)
{
    (void)cookie, (void)id, (void)ret_fd, (void)err;
    span_copy(name, shared_name, sizeof(shared_name));
    return 2;
}

static const struct symbol_files FILES = { .mapped = mapped,
                                           .debug = debug,
                                           .debug_shared = debug_shared };

static struct memory_budget memory;

static void setup(void)
{
    memory_budget_init(&memory);
    ck_assert_int_eq(
        inlines_new(&FILES, /* namer= */ NULL, /* background= */ false, -1, &memory, &inlines), 0);
}

static void teardown(void)
{
    inlines = inlines_free(inlines);
}

static uint32_t file(uint64_t number, uint64_t now_ns)
{
    const struct elf_headers none = { 0 };

    return inlines_file(inlines, &ID, number, number + 1, &none, now_ns);
}

static enum dwarf_state state_of(uint32_t f, uint64_t address, size_t *count)
{
    struct inlines_frame frames[DWARF_FRAMES_MAX];

    return inlines_get(inlines, f, address, frames, count);
}

/* Reads until no request is left. */
static uint64_t settle(uint64_t now_ns)
{
    for (unsigned turn = 0; inlines_reads(inlines); turn++) {
        ck_assert_uint_lt(turn, 100);
        inlines_poll(inlines, now_ns);
        now_ns += INLINES_PAUSE_NS;
    }
    return now_ns;
}

START_TEST(answers_are_kept_a_minute)
{
    uint32_t f = file(0, NOW);
    uint64_t now_ns;
    size_t count;

    ck_assert_uint_ne(f, 0);
    ck_assert_uint_eq(file(0, NOW), f); /* the same file */
    ck_assert_int_eq(state_of(f, main_address, &count), DWARF_NOT_READ);
    inlines_want(inlines, f, main_address, NOW);
    ck_assert(inlines_reads(inlines));
    now_ns = settle(NOW);
    ck_assert_int_eq(state_of(f, main_address, &count), DWARF_FOUND);
    ck_assert_uint_gt(count, 0);
    inlines_hold(inlines);
    inlines_poll(inlines, now_ns + 100 * INLINES_IDLE_NS); /* a capture holds them */
    ck_assert(inlines_knows(inlines, f));
    inlines_release(inlines);
    inlines_poll(inlines, NOW + INLINES_IDLE_NS);
    ck_assert(inlines_knows(inlines, f));
    inlines_poll(inlines, now_ns + INLINES_IDLE_NS + 1);
    ck_assert(!inlines_knows(inlines, f));
    ck_assert_int_eq(state_of(f, main_address, &count), DWARF_NOT_READ);
    ck_assert_uint_gt(file(0, now_ns), f); /* numbers are never reused */
}
END_TEST

/* If the owner's share is used up, no more is read, and the file's memory is freed. */
START_TEST(a_file_keeps_to_its_owners_share)
{
    uint32_t f = file(0, NOW);

    shares_init(&memory.inlines, 4096);
    inlines_want(inlines, f, main_address, NOW);
    settle(NOW);
    inlines_want(inlines, f, main_address + 1, NOW);
    ck_assert(!inlines_reads(inlines));
    ck_assert_uint_eq(memory.inlines.refused, 1);
    ck_assert_uint_gt(shares_used(&memory.inlines, inlines_owner(inlines, f)), 0);
    inlines = inlines_free(inlines);
    ck_assert_uint_eq(memory.inlines.used, 0);
}
END_TEST

/* Addresses beyond the limit are not read, in a file that could be. The warning counts these. */
START_TEST(addresses_beyond_the_limit_are_not_read)
{
    const uint64_t beyond = main_address + INLINES_ADDRESSES_MAX;
    uint32_t f = file(0, NOW);
    size_t count;

    for (uint64_t i = 0; i < INLINES_ADDRESSES_MAX; i++)
        inlines_want(inlines, f, main_address + i, NOW);
    inlines_want(inlines, f, beyond, NOW);
    settle(NOW);
    ck_assert_int_eq(state_of(f, main_address, &count), DWARF_FOUND);
    ck_assert_int_ne(state_of(f, beyond - 1, &count), DWARF_NOT_READ);
    ck_assert_int_eq(state_of(f, beyond, &count), DWARF_NOT_READ);
    ck_assert(inlines_has_any(inlines, f));
}
END_TEST

START_TEST(the_file_not_asked_for_the_longest_makes_room)
{
    uint32_t first = file(0, NOW), second, last;
    size_t count;

    for (uint64_t i = 1; i < INLINES_FILES_MAX; i++)
        ck_assert_uint_ne(file(i, NOW + i), 0);
    second = file(1, NOW + 1);
    file(0, NOW + INLINES_FILES_MAX); /* requested again, so the second is the oldest now */
    last = file(INLINES_FILES_MAX, NOW + INLINES_FILES_MAX);
    ck_assert(inlines_knows(inlines, first));
    ck_assert(!inlines_knows(inlines, second));
    inlines_want(inlines, second, main_address, NOW); /* of no process */
    inlines_want(inlines, last, main_address, NOW);
    settle(2 * NOW);
    ck_assert_int_eq(state_of(second, main_address, &count), DWARF_NOT_READ);
    ck_assert(!inlines_has_any(inlines, second));
    ck_assert(inlines_lost(inlines, second));
    ck_assert(!inlines_lost(inlines, last));
    ck_assert_int_eq(state_of(last, main_address, &count), DWARF_FOUND);
}
END_TEST

/* There is nothing to read, so nothing was left out: no warning. */
START_TEST(a_file_without_is_no_loss)
{
    uint32_t f = file(INLINES_FILES_MAX + 1, NOW);
    size_t count;

    ck_assert_uint_ne(f, 0);
    inlines_want(inlines, f, main_address, NOW);
    settle(NOW);
    ck_assert_int_eq(state_of(f, main_address, &count), DWARF_NOT_READ);
    ck_assert(!inlines_has_any(inlines, f));
    ck_assert_uint_eq(file(INLINES_FILES_MAX + 2, NOW), 0); /* it cannot be opened */
    for (uint64_t i = 0; i < INLINES_FILES_MAX; i++)
        file(i, NOW + 1);
    ck_assert(!inlines_knows(inlines, f));
    ck_assert(!inlines_lost(inlines, f));
}
END_TEST

/* dwz moved parts to a file that others share. That is found by build-id, then by its path. */
START_TEST(the_shared_file_is_asked_for_by_its_name)
{
    static const struct {
        const char *path, *name;
    } CASES[] = {
        { "/usr/lib/debug/.dwz/x86_64-linux-gnu/libc6.debug", "x86_64-linux-gnu/libc6.debug" },
        { "../../../.dwz/coreutils-9", "coreutils-9" },
        { "/.dwz/../.dwz/a", "a" },
        { "/somewhere/else.debug", "" },
        { "/usr/lib/debug/.dwz/", "" },
    };
    char link[256], alt[300], program[256];
    size_t count;

    snprintf(program, sizeof(program), "%s", path_of(0));
    snprintf(link, sizeof(link), "%s/link", dir);
    snprintf(alt, sizeof(alt), ".gnu_debugaltlink=%s", link);
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        _cleanup_fclose_ FILE *f = fopen(link, "we");
        uint64_t number = INLINES_FILES_MAX + 10 + i;
        uint32_t n;

        ck_assert_ptr_nonnull(f);
        fwrite(CASES[i].path, strlen(CASES[i].path) + 1, 1, f);
        fwrite("12345678", 8, 1, f);
        fflush(f);
        ck_assert_int_eq(
            run((const char *[]){ "objcopy", "--add-section", alt, program, path_of(number), NULL },
                -1),
            0);
        shared_name[0] = '\0';
        by_id = 0;
        n = file(number, NOW);
        inlines_want(inlines, n, main_address, NOW);
        settle(NOW);
        ck_assert_uint_eq(by_id, 1);
        ck_assert_str_eq(shared_name, CASES[i].name);
        ck_assert(inlines_lacks_shared(inlines, n));
        ck_assert_int_eq(state_of(n, main_address, &count), DWARF_FOUND);
    }
    ck_assert(!inlines_lacks_shared(inlines, file(0, NOW)));
}
END_TEST

/* Makes copies of a program with debug information, and one program without. */
static bool make_files(void)
{
    char program[256], bare[256], symbols[4096] = "";
    _cleanup_close_ int fd = memfd_create("nm", MFD_CLOEXEC);

    snprintf(program, sizeof(program), "%s", path_of(0));
    snprintf(bare, sizeof(bare), "%s", path_of(INLINES_FILES_MAX + 1));
    if (run((const char *[]){ "gcc", "-O2", "-g", "-nostdlib", "-static", "-Wl,-e,main",
                              FLAMED_INLINED_SOURCE, "-o", program, NULL },
            -1) != 0 ||
        run((const char *[]){ "objcopy", "--strip-debug", program, bare, NULL }, -1) != 0 ||
        run((const char *[]){ "nm", program, NULL }, fd) != 0 ||
        pread(fd, symbols, sizeof(symbols) - 1, 0) <= 0 || !strstr(symbols, " T main\n"))
        return false;
    main_address = strtoull(strstr(symbols, " T main\n") - 16, NULL, 16);
    for (uint64_t i = 1; i <= INLINES_FILES_MAX; i++) {
        if (run((const char *[]){ "cp", program, path_of(i), NULL }, -1) != 0)
            return false;
    }
    return main_address;
}

int main(void)
{
    TCase *tc = tcase_create("inlines");
    int failed;

    if (!mkdtemp(dir))
        return 1;
    if (!make_files()) {
        run((const char *[]){ "rm", "-rf", dir, NULL }, -1);
        fprintf(stderr, "skipped: gcc and binutils are needed\n");
        return 77;
    }
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, answers_are_kept_a_minute);
    tcase_add_test(tc, a_file_keeps_to_its_owners_share);
    tcase_add_test(tc, addresses_beyond_the_limit_are_not_read);
    tcase_add_test(tc, the_file_not_asked_for_the_longest_makes_room);
    tcase_add_test(tc, a_file_without_is_no_loss);
    tcase_add_test(tc, the_shared_file_is_asked_for_by_its_name);
    tcase_set_timeout(tc, 120);
    failed = suite_run_case("inlines", tc);
    run((const char *[]){ "rm", "-rf", dir, NULL }, -1);
    return failed;
}
