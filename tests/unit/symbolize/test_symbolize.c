/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: whole samples through its public functions, with this process's own files. */
#include "suite.h"

#include "symbolize/broker_files.h"

#include "base/clock.h"
#include "base/memory_budget.h"
#include "symbol_files.h"
#include "unwind/unwind.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>

#define KERNEL_DO UINT64_C(0xffffffff81000000)
#define KERNEL_ENTRY UINT64_C(0xffffffff81000100)

static struct memory_budget memory;

static struct local_files files;
static struct symbol_files source;
static struct frame_table *frames;
static struct symbolizer *symbolizer;
static struct process process;
static struct named_stack stack;
static char kallsyms_path[] = "/tmp/flamed-test-kallsyms-XXXXXX";

static void write_text(char *path, const char *text)
{
    _cleanup_close_ int fd = mkstemp(path);

    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void setup(void)
{
    static const struct symbolizer_opts OPTS = { .elf_files_max = 256,
                                                 .memory = &memory,
                                                 .perf_map_max_bytes = 1 << 20 };

    memcpy(kallsyms_path, "/tmp/flamed-test-kallsyms-XXXXXX", sizeof(kallsyms_path));
    write_text(kallsyms_path, "ffffffff81000000 T do_work\nffffffff81000100 T entry_work\n"
                              "ffffffff81000200 T _etext\nffffffff81000201 D data\n");
    files = (struct local_files){ .kallsyms = kallsyms_path };
    source = local_symbol_files(&files);
    process = (struct process){ .id = { .host_pid = getpid() }, .ns_depth = 1 };
    ck_assert_int_eq(frame_table_new(1 << 20, 1 << 26, &frames), 0);
    memory_budget_init(&memory);
    ck_assert_int_eq(symbolizer_new_from(&source, frames, &OPTS, &symbolizer, NULL), 0);
}

static void teardown(void)
{
    symbolizer_forget(symbolizer, &process);
    ck_assert_uint_eq(process.pins, 0);
    symbolizer_resolver(symbolizer, &process);
    ck_assert_uint_eq(process.pins, 1);
    symbolizer = symbolizer_free(symbolizer);
    ck_assert_uint_eq(process.pins, 0);
    frames = frame_table_free(frames);
    unlink(kallsyms_path);
}

static struct span frame_name(size_t i)
{
    const struct frame *f = frame_table_get(frames, stack.frames[i]);

    return frame_table_get_string(frames, frame_table_get_function(frames, f->function)->name);
}

static struct span frame_path(size_t i)
{
    const struct frame *f = frame_table_get(frames, stack.frames[i]);
    const struct function *fn = frame_table_get_function(frames, f->function);

    return frame_table_get_string(frames, frame_table_get_module(frames, fn->module)->path);
}

static const struct frame *frame_at(size_t i)
{
    return frame_table_get(frames, stack.frames[i]);
}

#define ck_assert_name(i, want)                                                                    \
    ck_assert_msg(span_eq_str(frame_name(i), (want)), "frame %zu is %s, not %s", (size_t)(i),      \
                  frame_name(i).p, (want))

/* Names @words. The first @kernel of them are in the kernel. */
static void name_words(const uint64_t *words, size_t kernel, size_t user, uint8_t flags,
                       uint8_t end)
{
    struct sample_record rec = { .host_pid = (uint32_t)getpid(),
                                 .kernel_count = (uint16_t)kernel,
                                 .user_count = (uint16_t)user,
                                 .flags = flags,
                                 .user_end = end };

    symbolizer_stack(symbolizer, &process, &rec, words, /* java= */ true, &stack);
}

static uint64_t address_of(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

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

/* ---- generated and nameless code ---- */

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
    tcase_add_test(tc, a_jvm_is_no_native_image);
    tcase_add_test(tc, words_that_make_no_sense_are_unknown);
    tcase_add_test(tc, generated_code_is_named_by_the_perf_map);
    tcase_add_test(tc, code_in_a_file_in_memory_is_generated);
    tcase_add_test(tc, code_without_a_name_is_module_and_offset);
    tcase_add_test(tc, a_library_loaded_later_is_found_and_one_unloaded_forgotten);
    tcase_add_test(tc, names_outlive_the_process);
    tcase_add_test(tc, a_reading_that_is_late_takes_nothing_away);
    tcase_add_test(tc, misses_do_not_read_the_maps_each_time);
    tcase_add_test(tc, a_stack_without_end_is_cut);
    tcase_add_loop_test(tc, says_why_the_kernel_has_no_names, 0, 3);
    tcase_add_test(tc, a_thread_without_java_is_its_comm);
    tcase_set_timeout(tc, 60);
    return suite_run_case("symbolize", tc);
}
