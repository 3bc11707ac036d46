/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/kernel.c: when the kernel's list of symbols is read again. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/frame.h"
#include "symbol_files.h"
#include "symbolize/kernel.h"

#define CORE UINT64_C(0xffffffff81000010)
#define MODULE UINT64_C(0xffffffffc0000010)
#define LATER UINT64_C(0xffffffffd0000010)
#define SECONDS(n) ((n)*NSEC_PER_SEC)
#define LIST                                                                                       \
    "ffffffff81000000 T do_work\nffffffff81000200 T _etext\nffffffff81000201 D data\n"             \
    "ffffffffc0000000 t %s\t[bpf]\nffffffffc0000100 t behind\t[bpf]\n"

static char path[] = "/tmp/flamed-test-kernel-names-XXXXXX";
static struct local_files local;
static struct symbol_files files;
static struct frame_table *frames;
static struct kernel_names *names;

/* Writes a list in which the program at MODULE is @program, with the line @more. */
static void write_list(const char *program, const char *more)
{
    _cleanup_fclose_ FILE *f = fopen(path, "we");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_gt(fprintf(f, LIST "%s", program, more), 0);
}

static void setup(void)
{
    memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
    close(mkstemp(path));
    write_list("first", "");
    local = (struct local_files){ .kallsyms = path };
    files = local_symbol_files(&local);
    ck_assert_int_eq(frame_table_new(1 << 16, 1 << 20, &frames), 0);
    ck_assert_int_eq(kernel_names_new(&files, frames, NULL, &names), 0);
}

static void teardown(void)
{
    names = kernel_names_free(names);
    frames = frame_table_free(frames);
    unlink(path);
}

static void check_name(uint64_t address, uint64_t now_ns, const char *want)
{
    const struct frame *f = frame_table_get(frames, kernel_names_frame(names, address, now_ns));
    struct span is =
        frame_table_get_string(frames, frame_table_get_function(frames, f->function)->name);

    ck_assert_msg(span_eq_str(is, want), "%.*s, not %s", (int)is.n, is.p, want);
}

/* Another program gets the place of an unloaded one. */
START_TEST(a_name_of_a_program_is_read_again)
{
    check_name(CORE, SECONDS(1), "do_work");
    check_name(MODULE, SECONDS(100), "first");
    write_list("second", "");
    check_name(MODULE, SECONDS(699), "first");
    check_name(CORE, SECONDS(699), "do_work");
    check_name(MODULE, SECONDS(701), "second");
    write_list("third", "");
    check_name(MODULE, SECONDS(1300), "second");
    check_name(MODULE, SECONDS(1302), "third");
    unlink(path); /* the names of before stay */
    check_name(MODULE, SECONDS(2000), "third");
    ck_assert_ptr_nonnull(strstr(kernel_names_problem(names), "kernel frames have no names"));
}
END_TEST

/* The kernel itself does not change. */
START_TEST(without_programs_nothing_is_read_again)
{
    check_name(CORE, SECONDS(1), "do_work");
    unlink(path);
    check_name(CORE, SECONDS(100000), "do_work");
    ck_assert_str_eq(kernel_names_problem(names), "");
}
END_TEST

START_TEST(an_address_that_is_missing_is_looked_for)
{
    check_name(LATER, SECONDS(1), "");
    write_list("first", "ffffffffd0000000 t loaded\t[module]\n");
    check_name(LATER, SECONDS(10), "");
    check_name(LATER, SECONDS(12), "loaded");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("kernel_names");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_name_of_a_program_is_read_again);
    tcase_add_test(tc, without_programs_nothing_is_read_again);
    tcase_add_test(tc, an_address_that_is_missing_is_looked_for);
    return suite_run_case("kernel_names", tc);
}
