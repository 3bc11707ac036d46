/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder in native code on the host: the anchor as a safety net, and real frames of this
 * process. */
#include "unwind_jvm.h"

#include "base/cleanup.h"
#include "proc/proc.h"
#include "tests/maps_of.h"
#include "unwind_tables/ehframe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <ucontext.h>

/* ---- the safety net ---- */

/* Native code called by a wrapper, and the ways in which its rules fail. */
enum { NO_ROWS, NO_RULE, NO_RETURN, NOT_MAPPED };

static void put_native_leaf(int how)
{
    uint64_t java_sp = regs.sp + 0x200;

    jvm.mapping_count = 2;
    jvm.mappings[1] = (struct unwind_mapping){ TEXT + 0x10000, TEXT + 0x20000, 0, 0, 0 };
    regs.pc = how == NO_ROWS ? TEXT + 0x10100 : how == NOT_MAPPED ? 0x1234 : TEXT + 0x20;
    regs.fp = 0x99;
    if (how == NO_RULE) /* its caller has none */
        push_stack(regs.sp + 8, TEXT + 0x320);
    if (how == NO_RETURN)
        push_stack(regs.sp + 8, ~0ULL);
    /* The wrapper: compiled code with a frame of 4 words, called by call_stub. */
    push_stack(java_sp + 4 * 8 - 8, stub_return);
    push_stack(java_sp + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    put64(meta, THREAD - META + 16, java_sp);
    put64(meta, THREAD - META + 24, compiled + 100);
    put64(meta, THREAD - META + 32, 0); /* wrappers store no fp */
}

START_TEST(goes_on_at_the_threads_anchor)
{
    uint32_t mark = _i == NO_RULE ? 2 : 1;

    put_native_leaf(_i);
    walk(1);
    ck_assert_uint_eq(w.wants_thread, 1); /* not known yet */
    ck_assert_uint_ne(w.end, UNWIND_END_ROOT);
    host.java_thread = THREAD;
    for (uint32_t tick = 1; tick < 4; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(w.wants_thread, 0);
        ck_assert_uint_eq(kind_of(0), UNWIND_NATIVE);
        ck_assert_uint_eq(pc_of(0), regs.pc); /* unmapped code has its pc noted, too */
        ck_assert_uint_eq(kind_of(mark), UNWIND_MARK);
        ck_assert_uint_eq(pc_of(mark), UNWIND_MARK_SKIPPED);
        ck_assert_uint_eq(pc_of(mark + 1), compiled + 100);
        ck_assert_uint_eq(kind_of(mark + 1), UNWIND_COMPILED);
        ck_assert_uint_eq(w.words, mark + 4);
    }
}
END_TEST

/* Words that cannot be an anchor of this stack are ignored. */
static const struct {
    uint32_t at;
    uint64_t value;
} FALSE_ANCHORS[] = {
    { 16, 0 },                             /* the thread is in Java */
    { 16, STACK + 0x1000 },                /* not above the stack pointer */
    { 16, STACK + 0x1204 },                /* not aligned */
    { 16, STACK + 0x1000 + (2ULL << 20) }, /* far away */
    { 24, TEXT + 0x20 },                   /* not Java code */
    { 24, CODE + 0x2f000 },                /* no block at that address */
    { 24, INTERPRETER + 0x100 },           /* interpreted, without fp */
};

START_TEST(refuses_false_anchors)
{
    put_native_leaf(NO_RETURN);
    host.java_thread = THREAD;
    put64(meta, THREAD - META + FALSE_ANCHORS[_i].at, FALSE_ANCHORS[_i].value);
    walk(1);
    ck_assert_uint_ne(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(w.wants_thread, 1);
    host.java_thread = 0xdead0000; /* of an ended thread */
    walk(1);
    ck_assert_uint_ne(w.end, UNWIND_END_ROOT);
}
END_TEST

/* Native code with rules needs no anchor. A walk that fails in Java code uses none. */
START_TEST(leaves_the_anchor_alone)
{
    put_two_compiled();
    put64(meta, THREAD - META + 16, regs.sp + 0x10);
    put64(meta, THREAD - META + 24, compiled + 100);
    host.java_thread = THREAD;
    walk(1);
    expect_two_compiled();
    ck_assert_uint_eq(w.anchored, 0);
    memset(stack_bytes, 0, sizeof(stack_bytes));
    walk(2);
    ck_assert_uint_eq(w.end, UNWIND_END_COMPILED);
}
END_TEST

/* ---- signals ---- */

/* Puts a handler at regs.sp, and below it the frame of the signal that interrupted @pc. */
static void put_handler(uint64_t pc, uint64_t sp)
{
    regs.pc = TEXT + 0x20;
    push_stack(regs.sp + 8, TEXT + 0x290);
    push_stack(regs.sp + 16 + UNWIND_SIGNAL_PC, pc);
    push_stack(regs.sp + 16 + UNWIND_SIGNAL_SP, sp);
}

START_TEST(leaves_a_circle_of_signals)
{
    put_handler(TEXT + 0x20, regs.sp);
    for (int warm = 0; warm < 2; warm++) {
        walk(1);
        ck_assert_uint_eq(w.end, UNWIND_END_PROGRESS);
        ck_assert_uint_eq(w.words, 2 * (UNWIND_SIGNALS_MAX + 1));
    }
}
END_TEST

START_TEST(takes_what_a_signal_interrupted_as_it_is)
{
    uint32_t cold;

    put_handler(stub_return - 8, STACK + 0x2000); /* not behind a call, so never cached */
    push_stack(STACK + 0x2000, after_call(compiled + 100));
    push_stack(STACK + 0x2008 + 4 * 8 - 8, stub_return);
    push_stack(STACK + 0x2008 + 4 * 8 - 16, STACK + 0x3000);
    put_entry(STACK + 0x3000);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(kind_of(1), UNWIND_SIGNAL);
    ck_assert_uint_eq(pc_of(2), stub_return - 8);
    ck_assert_uint_eq(w.words, 6);
    cold = w.reads;
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(w.words, 6);
    ck_assert_uint_le(w.reads, cold / 2); /* the frames above come from the cache */
}
END_TEST

START_TEST(is_not_whole_before_its_end)
{
    put_two_compiled();
    unwind_start(&w, regs.pc, regs.sp, regs.fp, jvm.slot, 1, HOST_WORDS_MAX);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(unwind_step(&w, &jvm, host.out), UNWIND_GO_ON);
        ck_assert_uint_eq(w.end, UNWIND_END_LIMIT); /* unchanged if its owner ends it here */
    }
    ck_assert_int_eq(unwind_step(&w, &jvm, host.out), UNWIND_STOP);
    expect_two_compiled();
}
END_TEST

/* ---- this process ---- */

static struct ehframe_table tables[UNWIND_MAPPINGS_MAX];
static struct unwind_row *all_rows;
static struct unwind_process self;
static uint32_t self_end, self_words;
static uint64_t self_out[256];

/* Describes this process like table_loader.c does. */
static void describe_self(void)
{
    _cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    struct maps maps;

    self = (struct unwind_process){ .slot = 9 };
    host.row_count = 0;
    ck_assert_int_eq(maps_of(fd, &maps), 0);
    host.region_count = 0;
    for (size_t i = 0; i < maps.count; i++) {
        const struct mapping *m = &maps.entries[i];
        struct unwind_mapping *u = &self.mappings[self.mapping_count];
        struct ehframe_table *t = &tables[self.mapping_count];
        char path[512];

        if (span_eq_str(m->path, "[stack]"))
            host.regions[host.region_count++] =
                (struct host_region){ m->start, m->end - m->start, NULL };
        if (!m->exec || m->path.n == 0 || m->path.p[0] != '/')
            continue;
        {
            _cleanup_close_ int file =
                open(span_copy(m->path, path, sizeof(path)), O_RDONLY | O_CLOEXEC);

            if (file < 0 || ehframe_read(file, t, NULL) < 0 ||
                !ehframe_bias(t->segments, t->segment_count, m->start, m->offset, &u->bias))
                continue;
        }
        u->start = m->start;
        u->end = m->end;
        u->first_row = host.row_count;
        u->row_count = (uint32_t)t->count;
        all_rows = reallocarray(all_rows, host.row_count + t->count, sizeof(*all_rows));
        memcpy(all_rows + host.row_count, t->rows, t->count * sizeof(*all_rows));
        host.row_count += u->row_count;
        ehframe_deinit(t);
        self.mapping_count++;
    }
    host.rows = all_rows;
    maps_deinit(&maps);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    struct host_registers r;

    (void)sig;
    (void)info;
    (void)context;
    r = (struct host_registers){ .sp = (uint64_t)__builtin_frame_address(0) + 16,
                                 .fp = *(uint64_t *)__builtin_frame_address(0),
                                 .pc = (uint64_t)__builtin_return_address(0) };
    host_walk(&w, &self, &r, 1, 256);
    self_end = w.end;
    self_words = w.words;
    memcpy(self_out, host.out, sizeof(self_out));
}

static int compare_and_walk(const void *a, const void *b)
{
    static int once;

    if (!once++)
        raise(SIGUSR1);
    return *(const int *)a - *(const int *)b;
}

START_TEST(walks_this_process_through_a_signal)
{
    struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    int numbers[] = { 3, 1, 2 };
    bool in_library = false, in_main = false, signal_frame = false;
    extern int main(void);

    host.mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    describe_self();
    ck_assert_uint_gt(self.mapping_count, 2);
    ck_assert_int_eq(sigaction(SIGUSR1, &sa, NULL), 0);
    qsort(numbers, 3, sizeof(int), compare_and_walk);
    ck_assert_uint_eq(self_end, UNWIND_END_ROOT);
    ck_assert_uint_gt(self_words, 8);
    for (uint32_t i = 0; i < self_words; i++) {
        Dl_info info;
        uint64_t pc = self_out[i] & UNWIND_PC_MASK;

        signal_frame |= self_out[i] >> UNWIND_KIND_SHIFT == UNWIND_SIGNAL;
        in_main |= pc > (uint64_t)main && pc < (uint64_t)main + 4096;
        if (dladdr((void *)(pc - 1), &info) && info.dli_fname)
            in_library |= strstr(info.dli_fname, "libc.so") != NULL;
    }
    ck_assert(signal_frame);
    ck_assert(in_library);
    ck_assert(in_main);
    close(host.mem_fd);
    free(all_rows);
    all_rows = NULL;
}
END_TEST

/* ---- mappings beyond the description ---- */

/* Words as the table loader lays them out: all starts, then the rest of each. */
START_TEST(finds_mappings_in_the_table_of_rows)
{
    enum { COUNT = UNWIND_MORE_MAX };
    static uint64_t words[COUNT * (1 + UNWIND_MORE_WORDS) + 1];
    const uint64_t low = UINT64_C(0x7f0000000000);

    jvm.mapping_count = 1;
    jvm.first_more = 1;
    jvm.more_count = COUNT;
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t *rest = words + 1 + COUNT + i * UNWIND_MORE_WORDS;

        words[1 + i] = low + (i << 16);
        rest[0] = low + (i << 16) + 4096;
        rest[1] = i;
        rest[2] = (i + 7) | UINT64_C(9) << 32;
    }
    host.rows = (const struct unwind_row *)(const void *)words;
    host.row_count = ARRAY_SIZE(words);
    for (uint64_t i = 0; i < COUNT; i++) {
        ck_assert_int_eq(unwind_find_mapping(&w, &jvm, low + (i << 16) + (i & 4095)), 1);
        ck_assert_uint_eq(w.mapping.start, low + (i << 16));
        ck_assert_uint_eq(w.mapping.end, low + (i << 16) + 4096);
        ck_assert_uint_eq(w.mapping.bias, i);
        ck_assert_uint_eq(w.mapping.first_row, i + 7);
        ck_assert_uint_eq(w.mapping.row_count, 9);
        ck_assert_int_eq(unwind_find_mapping(&w, &jvm, low + (i << 16) + 4096), 0);
    }
    ck_assert_int_eq(unwind_find_mapping(&w, &jvm, low - 1), 0);
    ck_assert_int_eq(unwind_find_mapping(&w, &jvm, TEXT + 5), 1); /* in the description itself */
    jvm.more_count = UINT32_MAX; /* the limit applies; outside of the table there is none */
    unwind_find_mapping(&w, &jvm, ~0ULL);
    jvm.first_more = 1u << 30;
    ck_assert_int_eq(unwind_find_mapping(&w, &jvm, low), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("unwind_native");

    tcase_add_loop_test(tc, goes_on_at_the_threads_anchor, 0, NOT_MAPPED + 1);
    tcase_add_loop_test(tc, refuses_false_anchors, 0, (int)ARRAY_SIZE(FALSE_ANCHORS));
    tcase_add_test(tc, leaves_the_anchor_alone);
    tcase_add_test(tc, leaves_a_circle_of_signals);
    tcase_add_test(tc, takes_what_a_signal_interrupted_as_it_is);
    tcase_add_test(tc, is_not_whole_before_its_end);
    tcase_add_test(tc, walks_this_process_through_a_signal);
    tcase_add_test(tc, finds_mappings_in_the_table_of_rows);
    return run_unwind_tests("unwind_native", tc);
}
