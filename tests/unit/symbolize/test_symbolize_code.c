/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: samples in generated code, in code without names, and in files that come and go. */
#include "symbolize_fixture.h"

#include <dlfcn.h>
#include <sys/mman.h>

/* A function of this program, to be named. */
__attribute__((noinline)) void symbolize_test_leaf(void);

__attribute__((noinline)) void symbolize_test_leaf(void)
{
    asm volatile("");
}

static void *executable(int fd)
{
    void *p = mmap(NULL, 8192, PROT_READ | PROT_EXEC,
                   fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, fd, 0);

    ck_assert_ptr_ne(p, MAP_FAILED);
    return p;
}

START_TEST(generated_code_is_named_by_the_perf_map)
{
    char path[] = "/tmp/flamed-test-perf-XXXXXX", text[256];
    uint64_t code = address_of(executable(-1)), words[4];

    snprintf(text, sizeof(text), "%llx 10 LazyCompile:~f \x1b[31m/a.js:1\n%llx 10 Function:*g\n",
             (unsigned long long)code, (unsigned long long)code + 16);
    write_text(path, text);
    files.perf_map = path;
    words[0] = code;
    words[1] = code + 16; /* a return address at the end of f */
    words[2] = code + 17;
    words[3] = code + 100;
    name_words(words, 0, 4, 0, UNWIND_END_ROOT);
    ck_assert_name(0, "LazyCompile:~f \xef\xbf\xbd[31m/a.js:1");
    ck_assert_int_eq(frame_at(0)->kind, FRAME_NATIVE);
    ck_assert_uint_eq(stack.frames[0], stack.frames[1]);
    ck_assert_name(2, "Function:*g");
    ck_assert_uint_eq(stack.frames[3], 0);
    ck_assert_uint_eq(stack.unknown, 1);
    ck_assert(stack.generated);
    name_words(words, 0, 3, 0, UNWIND_END_ROOT);
    ck_assert(!stack.generated);
    /* A JVM without wanted Java names gets none from such a map, either. */
    process.jvm = JVM_UNSUPPORTED;
    symbolizer_stack(symbolizer, &process, &(struct sample_record){ .user_count = 1 }, words,
                     /* java= */ false, &stack);
    ck_assert_uint_eq(stack.frames[0], 0);
    ck_assert(!stack.generated);
    unlink(path);
    munmap((void *)(uintptr_t)code, 8192);
}
END_TEST

START_TEST(code_in_a_file_in_memory_is_generated)
{
    int fd = memfd_create("upx", MFD_CLOEXEC);
    uint64_t words[1];

    ck_assert_int_eq(ftruncate(fd, 8192), 0);
    words[0] = address_of(executable(fd)) + 0x123;
    name_words(words, 0, 1, 0, UNWIND_END_ROOT);
    ck_assert(stack.generated);
    process.jvm = JVM_UNSUPPORTED; /* its own sentence gives the reason */
    name_words(words, 0, 1, 0, UNWIND_END_ROOT);
    ck_assert(!stack.generated);
    munmap((void *)(uintptr_t)(words[0] - 0x123), 8192);
    close(fd);
}
END_TEST

START_TEST(code_without_a_name_is_module_and_offset)
{
    char path[] = "/tmp/flamed-test-module-XXXXXX", want[128];
    uint64_t code, words[1];
    int fd = mkstemp(path);

    ck_assert_int_eq(ftruncate(fd, 8192), 0);
    code = address_of(executable(fd));
    unlink(path); /* works with deleted files, too */
    words[0] = code + 0x123;
    name_words(words, 0, 1, 0, UNWIND_END_ROOT);
    snprintf(want, sizeof(want), "%s+0x123", path + 5);
    ck_assert_name(0, want);
    ck_assert_int_eq(frame_at(0)->kind, FRAME_UNKNOWN);
    ck_assert_uint_eq(stack.unknown, 1);
    ck_assert(span_eq_str(frame_path(0), path));
    ck_assert(!stack.generated);
    munmap((void *)(uintptr_t)code, 8192);
    close(fd);
}
END_TEST

START_TEST(a_library_loaded_later_is_found_and_one_unloaded_forgotten)
{
    uint64_t words[1] = { address_of((void *)symbolize_test_leaf) };
    uint64_t began_ns;
    void *lib, *f;

    name_words(words, 0, 1, 0, UNWIND_END_ROOT);
    lib = dlopen("libpthread.so.0", RTLD_NOW);
    lib = dlopen("libBrokenLocale.so.1", RTLD_NOW) ?: lib;
    ck_assert_ptr_nonnull(lib);
    f = executable(-1);
    words[0] = address_of(f);
    name_words(words, 0, 1, 0, UNWIND_END_ROOT); /* a failed look-up may have used up the reading */
    began_ns = clock_monotonic_ns();
    f = dlsym(lib, "__ctype_get_mb_cur_max");
    ck_assert_ptr_nonnull(f);
    words[0] = address_of(f);
    do {
        usleep(10000);
        name_words(words, 0, 1, 0, UNWIND_END_ROOT);
    } while (stack.unknown && clock_monotonic_ns() - began_ns < 5 * NSEC_PER_SEC);
    ck_assert_name(0, "__ctype_get_mb_cur_max");
    ck_assert_uint_lt(clock_monotonic_ns() - began_ns, 2 * NSEC_PER_SEC);
}
END_TEST

/* Else they would have the lines of the two innermost frames of the sample before. */
START_TEST(a_lock_s_frames_are_no_code)
{
    const uint64_t words[] = { address_of((void *)symbolize_test_leaf),
                               address_of((void *)setup) + 4 };
    const struct sample_record lock = { .host_pid = (uint32_t)getpid(),
                                        .user_count = 1,
                                        .lock = UNWIND_LOCK_FUTEX,
                                        .lock_class = 0x1234,
                                        .user_end = UNWIND_END_ROOT };
    const uint64_t *code;

    ck_assert_ptr_nonnull(symbolizer_inlines(symbolizer));
    code = symbolizer_code(symbolizer);
    name_words(words, 0, 2, 0, UNWIND_END_ROOT);
    ck_assert(code[0] && code[1]);
    symbolizer_stack(symbolizer, &process, &lock, words, /* java= */ true, &stack);
    ck_assert_uint_eq(stack.count, 3);
    ck_assert_name(0, "0x1234");
    ck_assert_uint_eq(code[0] | code[1], 0);
    ck_assert_uint_eq(code[2], words[0]);
}
END_TEST

START_TEST(names_outlive_the_process)
{
    uint64_t words[2] = { address_of((void *)symbolize_test_leaf), address_of((void *)setup) + 4 };

    name_words(words, 0, 1, 0, UNWIND_END_ROOT);
    files.maps = "/nonexistent";
    usleep(120000);
    words[1] = address_of((void *)setup) + 4; /* not requested before; its file is known */
    name_words(words, 0, 2, 0, UNWIND_END_ROOT);
    ck_assert_name(0, "symbolize_test_leaf");
    ck_assert_name(1, "setup");
    words[1] = 0x1000;
    name_words(words, 0, 2, 0, UNWIND_END_ROOT);
    ck_assert_uint_eq(stack.unknown, 1);
}
END_TEST

/* Maps longer than the limit, as on kernels that only give the text of all mappings. */
START_TEST(a_reading_that_is_late_takes_nothing_away)
{
    char path[] = "/tmp/flamed-test-maps-XXXXXX";
    uint64_t words[2] = { address_of((void *)symbolize_test_leaf), address_of((void *)setup) + 4 };
    FILE *f;

    name_words(words, 0, 1, 0, UNWIND_END_ROOT);
    ck_assert_name(0, "symbolize_test_leaf");
    write_text(path, "");
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("1000-2000 r-xp 00000000 00:00 0\n", f);
    for (unsigned i = 0; i < MAPS_MAX_LINES; i++)
        fputs("2000-3000 rw-p 00000000 00:00 0\n", f);
    fclose(f);
    files.maps = path;
    files.maps_reads = 0;
    words[0] = 0x4000; /* makes them be read again after some time */
    for (unsigned i = 0; i < 1000 && !files.maps_reads; i++) {
        usleep(20000);
        words[0] += 16;
        name_words(words, 0, 1, 0, UNWIND_END_ROOT);
    }
    ck_assert_uint_eq(files.maps_reads, 1);
    name_words(words, 0, 2, 0, UNWIND_END_ROOT);
    ck_assert_name(1, "setup");
    unlink(path);
}
END_TEST

START_TEST(misses_do_not_read_the_maps_each_time)
{
    uint64_t words[1] = { 0x1000 };
    uint64_t began_ns = clock_monotonic_ns();
    unsigned samples = 0;

    while (clock_monotonic_ns() - began_ns < NSEC_PER_SEC / 2) {
        words[0] += 16;
        name_words(words, 0, 1, 0, UNWIND_END_ROOT);
        samples++;
    }
    ck_assert_uint_gt(samples, 100);
    ck_assert_uint_le(files.maps_reads, 6);
}
END_TEST

START_TEST(a_stack_without_end_is_cut)
{
    static uint64_t words[SAMPLE_KERNEL_MAX + SAMPLE_USER_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        words[i] =
            i < SAMPLE_KERNEL_MAX ? KERNEL_DO + 1 : address_of((void *)symbolize_test_leaf) + 1;
    name_words(words, SAMPLE_KERNEL_MAX, SAMPLE_USER_MAX, 0, UNWIND_END_ROOT);
    ck_assert_uint_eq(stack.count, ARRAY_SIZE(words)); /* recursive frames stay */
    ck_assert(!stack.truncated);
    ck_assert_uint_eq(stack.unknown, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("symbolize_code");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, generated_code_is_named_by_the_perf_map);
    tcase_add_test(tc, code_in_a_file_in_memory_is_generated);
    tcase_add_test(tc, code_without_a_name_is_module_and_offset);
    tcase_add_test(tc, a_library_loaded_later_is_found_and_one_unloaded_forgotten);
    tcase_add_test(tc, a_lock_s_frames_are_no_code);
    tcase_add_test(tc, names_outlive_the_process);
    tcase_add_test(tc, a_reading_that_is_late_takes_nothing_away);
    tcase_add_test(tc, misses_do_not_read_the_maps_each_time);
    tcase_add_test(tc, a_stack_without_end_is_cut);
    tcase_set_timeout(tc, 60);
    return suite_run_case("symbolize_code", tc);
}
