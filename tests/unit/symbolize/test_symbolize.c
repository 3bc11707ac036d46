/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: whole samples through its public functions, with this process's own files. */
#include "symbolize_fixture.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>

/* ---- real code ---- */

static void *addresses[64];
static int address_count;

__attribute__((noinline)) void symbolize_test_leaf(void);

__attribute__((noinline)) void symbolize_test_leaf(void)
{
    address_count = backtrace(addresses, ARRAY_SIZE(addresses));
}

START_TEST(names_its_own_stack)
{
    uint64_t words[64];
    bool main_seen = false;
    size_t at;

    symbolize_test_leaf();
    for (int i = 0; i < address_count; i++)
        words[i] = address_of(addresses[i]);
    words[0] = address_of((void *)symbolize_test_leaf);
    name_words(words, 0, (size_t)address_count, 0, UNWIND_END_ROOT);
    ck_assert_uint_eq(stack.count, (size_t)address_count);
    ck_assert_name(0, "symbolize_test_leaf");
    ck_assert_int_eq(frame_at(0)->kind, FRAME_NATIVE);
    ck_assert(span_ends_with(frame_path(0), "test_symbolize"));
    at = span_eq_str(frame_name(1),
                     "symbolize_test_leaf"); /* a sanitizer's backtrace() is a frame, too */
    ck_assert_name(at + 1, "names_its_own_stack_fn");
    for (size_t i = 0; i < stack.count; i++)
        main_seen |= span_eq_str(frame_name(i), "main");
    ck_assert(main_seen);
    ck_assert_name(stack.count - 1, "_start");
    ck_assert(!stack.truncated);
    /* The same words again need no reading. */
    name_words(words, 0, (size_t)address_count, 0, UNWIND_END_ROOT);
    ck_assert_uint_le(files.maps_reads, 2);
}
END_TEST

/* Another table replaces the old one: the names are the same, and no file is read again. */
START_TEST(names_in_another_table)
{
    uint64_t words[] = { KERNEL_DO, address_of((void *)symbolize_test_leaf),
                         UINT64_C(0xffffffffff600400) };
    struct frame_table *fresh = NULL;
    uint32_t id;

    name_words(words, 1, 2, SAMPLE_KERNEL_CUT, UNWIND_END_ROOT);
    ck_assert_int_eq(frame_table_new(1 << 20, 1 << 26, &fresh), 0);
    for (uint32_t i = 0; i < 1000; i++) /* ids have other meanings there */
        frame_table_string(fresh, (struct span){ (const char *)&i, sizeof(i) }, &id);
    symbolizer_use_table(symbolizer, fresh);
    frame_table_free(frames);
    frames = fresh;
    files.maps_reads = 0;
    name_words(words, 1, 2, SAMPLE_KERNEL_CUT, UNWIND_END_ROOT);
    ck_assert_uint_eq(stack.count, 4);
    ck_assert_name(0, "do_work");
    ck_assert(span_eq_str(frame_path(0), "[kernel]"));
    ck_assert_name(1, "[...]");
    ck_assert_name(2, "symbolize_test_leaf");
    ck_assert(span_ends_with(frame_path(2), "test_symbolize"));
    ck_assert_name(3, "[vsyscall]");
    ck_assert_uint_eq(files.maps_reads, 0);
    ck_assert_uint_eq(process.pins, 1);
}
END_TEST

static const struct {
    uint8_t flags, end;
    bool truncated;
} END_CASES[] = {
    { 0, UNWIND_END_ROOT, false },
    { 0, UNWIND_END_LIMIT, true },
    { 0, 9, true }, /* whatever the other bits of the unwinder are */
    { SAMPLE_USER_CUT, UNWIND_END_ROOT, true },
    { SAMPLE_KERNEL_THREAD, UNWIND_END_ROOT, false },
    { SAMPLE_KERNEL_THREAD, UNWIND_END_LIMIT, false },
    { SAMPLE_KERNEL_THREAD | SAMPLE_KERNEL_CUT, UNWIND_END_ROOT, true },
    { SAMPLE_KERNEL_CUT, UNWIND_END_ROOT, false },
};

START_TEST(knows_when_the_root_was_not_reached)
{
    uint64_t words[] = { KERNEL_DO, address_of((void *)symbolize_test_leaf) };
    bool user = !(END_CASES[_i].flags & SAMPLE_KERNEL_THREAD);

    name_words(words, 1, user, END_CASES[_i].flags, END_CASES[_i].end);
    ck_assert_int_eq(stack.truncated, END_CASES[_i].truncated);
    ck_assert_uint_eq(stack.count, 1u + user + (user && (END_CASES[_i].flags & SAMPLE_KERNEL_CUT)));
}
END_TEST

START_TEST(kernel_then_user_leaf_first)
{
    /* A return address at the first byte of a function belongs to the function before. */
    uint64_t words[] = { KERNEL_DO,
                         KERNEL_ENTRY,
                         KERNEL_ENTRY + 0x10,
                         UINT64_C(0xffffffffa0000000),
                         address_of((void *)symbolize_test_leaf),
                         UINT64_C(0xffffffffff600400) };

    name_words(words, 4, 2, SAMPLE_IN_KERNEL, UNWIND_END_ROOT);
    ck_assert_uint_eq(stack.count, 6);
    ck_assert_name(0, "do_work");
    ck_assert_name(1, "do_work");
    ck_assert_name(2, "entry_work");
    ck_assert_int_eq(frame_at(3)->kind, FRAME_KERNEL);
    ck_assert(frame_at(3)->unknown);
    ck_assert_uint_eq(stack.unknown, 1);
    ck_assert_int_eq(frame_at(0)->kind, FRAME_KERNEL);
    ck_assert(span_eq_str(frame_path(0), "[kernel]"));
    ck_assert_name(4, "symbolize_test_leaf");
    ck_assert_name(5, "[vsyscall]");
}
END_TEST

START_TEST(an_unknown_process_has_kernel_names)
{
    uint64_t words[] = { KERNEL_DO, 0x1234 };
    struct sample_record rec = { .kernel_count = 1, .user_count = 1 };

    symbolizer_stack(symbolizer, NULL, &rec, words, true, &stack);
    ck_assert_uint_eq(stack.count, 2);
    ck_assert_name(0, "do_work");
    ck_assert_uint_eq(stack.frames[1], 0);
    ck_assert_uint_eq(stack.unknown, 1);
}
END_TEST

START_TEST(a_signal_makes_the_next_pc_exact)
{
    uint64_t leaf = address_of((void *)symbolize_test_leaf);
    uint64_t words[] = { leaf, leaf | (uint64_t)UNWIND_SIGNAL << UNWIND_KIND_SHIFT, leaf, leaf };

    name_words(words, 0, 4, 0, UNWIND_END_ROOT);
    ck_assert_uint_eq(stack.count, 4);
    ck_assert_name(0, "symbolize_test_leaf");
    ck_assert_name(1, "symbolize_test_leaf");
    ck_assert_name(2, "symbolize_test_leaf");
    ck_assert(!span_eq_str(frame_name(3), "symbolize_test_leaf"));
}
END_TEST

/* Where the mappings were read before libjvm.so was loaded, the library above it is not taken for
 * it. */
START_TEST(a_libjvm_is_not_the_library_above_it)
{
    char folder[] = "/tmp/flamed-test-XXXXXX", path[64];
    _cleanup_close_ int fd = -1;
    struct mapping m;
    uint64_t end;
    void *base;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/libjvm.so", folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    name_words((uint64_t[]){ address_of((void *)symbolize_test_leaf) }, 0, 1, 0, UNWIND_END_ROOT);
    base = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    ck_assert_ptr_ne(base, MAP_FAILED);
    ck_assert_int_eq(symbolizer_libjvm(symbolizer, &process, address_of(base), &m, &end), -ENOENT);
    symbolizer_read_maps(symbolizer, &process);
    ck_assert_int_eq(symbolizer_libjvm(symbolizer, &process, address_of(base), &m, &end), 0);
    ck_assert_uint_eq(m.start, address_of(base));
    ck_assert(span_ends_with(m.path, "/libjvm.so"));
    munmap(base, 4096);
    unlink(path);
    rmdir(folder);
}
END_TEST

/* A library that was met before libjvm.so may look like a native image, such as GraalVM's JIT
 * compiler. */
START_TEST(a_jvm_is_no_native_image)
{
    uint64_t word = address_of((void *)symbolize_test_leaf);

    process.native_image = IMAGE_NAMELESS;
    process.jvm = JVM_STARTING;
    name_words(&word, 0, 1, 0, UNWIND_END_ROOT);
    ck_assert_int_eq((int)process.native_image, (int)IMAGE_NO);
}
END_TEST

START_TEST(words_that_make_no_sense_are_unknown)
{
    uint64_t words[] = { 0,
                         UINT64_C(0x1000),
                         UINT64_MAX,
                         UINT64_C(5) << UNWIND_KIND_SHIFT | 1,
                         (uint64_t)UNWIND_COMPILED << UNWIND_KIND_SHIFT | 0x1000,
                         (uint64_t)UNWIND_MARK << UNWIND_KIND_SHIFT | 1,
                         address_of(&stack),
                         (uint64_t)UNWIND_INTERPRETED << UNWIND_KIND_SHIFT | 0x1000 };

    name_words(words, 0, ARRAY_SIZE(words), 0, UNWIND_END_ROOT);
    ck_assert_uint_eq(stack.count, ARRAY_SIZE(words));
    ck_assert_uint_eq(stack.unknown, ARRAY_SIZE(words) - 2); /* except for the two marks */
    ck_assert_name(5, "[...]");
    ck_assert_uint_le(files.maps_reads, 2);
}
END_TEST

/* ---- what hides the kernel ---- */

START_TEST(says_why_the_kernel_has_no_names)
{
    static const struct {
        const char *text, *problem;
    } CASES[] = {
        { "ffffffff81000000 T f\n", "" },
        { "0000000000000000 T f\n", "kptr_restrict" },
        { NULL, "no right to read it" },
    };
    static const struct symbolizer_opts OPTS = { .elf_files_max = 1, .memory = &memory };
    char path[] = "/tmp/flamed-test-hidden-XXXXXX";
    struct local_files l = { 0 };
    struct symbol_files from = local_symbol_files(&l);
    struct symbolizer *s = NULL;

    if (CASES[_i].text) {
        write_text(path, CASES[_i].text);
        l.kallsyms = path;
    }
    memory_budget_init(&memory);
    ck_assert_int_eq(symbolizer_new_from(&from, frames, &OPTS, &s, NULL), 0);
    if (CASES[_i].problem[0])
        ck_assert_ptr_nonnull(strstr(symbolizer_kernel_problem(s), CASES[_i].problem));
    else
        ck_assert_str_eq(symbolizer_kernel_problem(s), "");
    symbolizer_free(s);
    unlink(path);
}
END_TEST

/* The cache has room for one file, and is asked for another one. On a busy machine a second may
 * pass until the first file is asked for again: then it is read again at once. */
START_TEST(a_file_that_is_evicted_gets_its_names_back)
{
    static const struct symbolizer_opts OPTS = { .elf_files_max = 1, .memory = &memory };
    const uint64_t words[3] = { address_of(dlsym(RTLD_DEFAULT, "strtoull")),
                                address_of((void *)symbolize_test_leaf),
                                address_of(dlsym(RTLD_DEFAULT, "getppid")) };
    const struct sample_record rec = { .host_pid = (uint32_t)getpid(), .user_count = 1 };
    bool evicted = false;

    memory_budget_init(&memory);
    for (unsigned i = 0; i < 20 && !evicted; i++) {
        struct symbolizer *s = NULL;

        ck_assert_int_eq(symbolizer_new_from(&source, frames, &OPTS, &s, NULL), 0);
        for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
            symbolizer_stack(s, &process, &rec, words + k, /* java= */ true, &stack);
            evicted = stack.unknown;
        }
        usleep(1050000);
        symbolizer_stack(s, &process, &rec, words + 2, /* java= */ true, &stack);
        ck_assert_uint_eq(stack.unknown, 0);
        symbolizer_forget(s, &process);
        symbolizer_free(s);
    }
    ck_assert(evicted);
}
END_TEST

START_TEST(a_thread_without_java_is_its_comm)
{
    uint32_t id = symbolizer_thread_name(symbolizer, &process, 1, "wor\nker-12345678901234");

    ck_assert(span_eq_str(frame_table_get_string(frames, id), "wor\xef\xbf\xbdker-12345678"));
    id = symbolizer_thread_name(symbolizer, NULL, 1, "x");
    ck_assert(span_eq_str(frame_table_get_string(frames, id), "x"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("symbolize");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, names_its_own_stack);
    tcase_add_loop_test(tc, knows_when_the_root_was_not_reached, 0, ARRAY_SIZE(END_CASES));
    tcase_add_test(tc, names_in_another_table);
    tcase_add_test(tc, kernel_then_user_leaf_first);
    tcase_add_test(tc, an_unknown_process_has_kernel_names);
    tcase_add_test(tc, a_signal_makes_the_next_pc_exact);
    tcase_add_test(tc, a_libjvm_is_not_the_library_above_it);
    tcase_add_test(tc, a_jvm_is_no_native_image);
    tcase_add_test(tc, words_that_make_no_sense_are_unknown);
    tcase_add_loop_test(tc, says_why_the_kernel_has_no_names, 0, 3);
    tcase_add_test(tc, a_file_that_is_evicted_gets_its_names_back);
    tcase_add_test(tc, a_thread_without_java_is_its_comm);
    tcase_set_timeout(tc, 60);
    return suite_run_case("symbolize", tc);
}
