/* SPDX-License-Identifier: Apache-2.0 */
/* capture/inlined.c: the lines of a function of this program, while its debug information is kept,
 * and after it was dropped. */
#include "symbolize_fixture.h"

#include "capture/inlined.h"

#include <sys/mman.h>

#define BASE 1000

/* A function of this program, to be named. */
__attribute__((noinline)) void inlined_test_leaf(void);

__attribute__((noinline)) void inlined_test_leaf(void)
{
    asm volatile("");
}

static struct inlined *inlined;

/* Makes a capture with one place. Its debug information has been read. */
static void begin(void)
{
    const uint64_t words[1] = { address_of((void *)inlined_test_leaf) };

    setup();
    ck_assert_int_eq(inlined_new(symbolizer, frames, &inlined), 0);
    name_words(words, 0, 1, 0, UNWIND_END_ROOT);
    ck_assert_uint_eq(inlined_stack(inlined, &process, &stack, BASE)[0], BASE);
    while (inlined_waits(inlined))
        symbolizer_poll(symbolizer);
}

static void end(void)
{
    inlined = inlined_free(inlined);
    teardown();
}

static struct inlined_stats ask(void)
{
    uint32_t ret[RECORD_LATER_FRAMES_MAX];

    inlined_decide(inlined);
    ck_assert_uint_ge(inlined_frames(inlined, 0, ret), 1);
    ck_assert_uint_eq(ret[0] == stack.frames[0], !inlined_stats(inlined).found);
    return inlined_stats(inlined);
}

/* A process that runs native code only at the start of a long capture. */
START_TEST(a_capture_keeps_what_it_asked_for)
{
    struct inlines *inlines = symbolizer_inlines(symbolizer);

    ck_assert_uint_eq(ask().found, 1);
    inlines_poll(inlines, clock_monotonic_ns() + 100 * INLINES_IDLE_NS);
    ck_assert_uint_eq(ask().found, 1);
    ck_assert_uint_eq(ask().unread, 0);
}
END_TEST

START_TEST(a_place_of_a_dropped_file_is_not_read)
{
    struct inlines *inlines = symbolizer_inlines(symbolizer);
    const struct elf_headers none = { 0 };
    uint64_t now_ns = clock_monotonic_ns() + NSEC_PER_SEC;

    for (size_t i = 0; i < INLINES_FILES_MAX; i++) {
        char path[] = "/tmp/flamed-test-inlined-XXXXXX";
        int fd = mkstemp(path);
        uint64_t at;

        ck_assert_int_eq(ftruncate(fd, 4096), 0);
        at = address_of(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0));
        ck_assert_uint_ne(inlines_file(inlines, &process.id, at, at + 4096, &none, now_ns), 0);
        munmap((void *)(uintptr_t)at, 4096);
        close(fd);
        unlink(path);
    }
    ck_assert_uint_eq(ask().found, 0);
    ck_assert_uint_eq(ask().unread, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("inlined");

    if (geteuid() != 0) {
        fprintf(stderr, "skipped: needs root\n");
        return 77;
    }
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_capture_keeps_what_it_asked_for);
    tcase_add_test(tc, a_place_of_a_dropped_file_is_not_read);
    return suite_run_case("inlined", tc);
}
