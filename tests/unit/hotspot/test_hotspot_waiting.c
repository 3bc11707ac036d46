/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/waiting.c: stacks of waiting threads, in intact and in broken memory; the limit of a
 * batch; threads that have run. */
#include "suite.h"

#include "waiting_image.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <fcntl.h>
#include <unistd.h>

static int proc_fd;
static struct waiting_image *w;

static void setup(void)
{
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    w = waiting_image_new(proc_fd);
    ck_assert_ptr_nonnull(w);
}

static void teardown(void)
{
    w = waiting_image_free(w);
    close(proc_fd);
}

/* Makes frames with a frame pointer. The first lies at word 0, each is @words long, and the last
 * leads to @up. */
static void make_frames(size_t count, size_t words, uint64_t up)
{
    for (size_t i = 0; i < count; i++) {
        w->stack[i * words] = i + 1 < count ? WAITING_STACK + 8 * (i + 1) * words : up;
        w->stack[i * words + 1] = waiting_pc(i + 1 < count ? WAITING_FP : WAITING_ROOT);
    }
}

/* Adds a thread in code with a frame pointer, and repeats until its stack is walked. This thread
 * may be preempted between the two readings of its run count. */
static const struct hotspot_waiting *walk_one(uint64_t pc, uint64_t sp, uint64_t fp)
{
    for (int i = 0; i < 1000; i++) {
        w->batch.count = 0;
        waiting_image_add(w, pc, sp, fp);
        ck_assert_int_eq(waiting_image_walk(w), 0);
        ck_assert_uint_eq(w->batch.done, 1);
        if (w->batch.threads[0].end != UNWIND_END_NOT_TAKEN)
            break;
    }
    return &w->batch.threads[0];
}

START_TEST(walks_to_the_root)
{
    const struct hotspot_waiting *t;

    make_frames(10, 4, 0);
    t = walk_one(waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK);
    ck_assert_uint_eq(t->end, UNWIND_END_ROOT);
    ck_assert_uint_ge(t->count, 10);
    ck_assert_uint_eq(w->batch.word_count, t->count);
    ck_assert_uint_eq(w->batch.words[t->first] & UNWIND_PC_MASK, waiting_pc(WAITING_FP));
}
END_TEST

/* A walk reads how many classes the VM has unloaded, so that its names need no call. */
START_TEST(a_walk_counts_unloads)
{
    uint64_t before_ns, now_ns = 1, unloads = 0;
    struct unwind_unloads places;

    w->vm.unloads =
        (struct unload_places){ .at = { WAITING_CODE, WAITING_CODE + 8 }, .looked = true };
    w->vm.layout.can_redefine_at = WAITING_CODE + 16; /* 0: no class is redefined */
    w->code[0] = 3;
    w->code[8] = 4;
    ck_assert_int_eq(hotspot_vm_unload_places(&w->vm, &places), 0);
    ck_assert_uint_eq(places.at[1], WAITING_CODE + 8);
    ck_assert_uint_eq(places.can_redefine, WAITING_CODE + 16);
    make_frames(10, 4, 0);
    before_ns = clock_monotonic_ns();
    walk_one(waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK);
    w->code[0] = 5;
    ck_assert_int_eq(hotspot_vm_unloads(&w->vm, before_ns, &now_ns, &unloads), 0);
    ck_assert_uint_eq(unloads, 7);
    ck_assert_uint_ge(now_ns, before_ns);
    ck_assert_uint_le(now_ns, clock_monotonic_ns());
    /* That is too old for a later sample. */
    now_ns = 1;
    ck_assert_int_eq(hotspot_vm_unloads(&w->vm, clock_monotonic_ns() + 1, &now_ns, &unloads), 0);
    ck_assert_uint_eq(unloads, 9);
    ck_assert_uint_eq(now_ns, 1);
}
END_TEST

/* Counters that stay unreadable are given up, so that the rest of the VM is described. */
START_TEST(unreadable_counters_are_given_up)
{
    struct unwind_unloads places;
    int r, tries = 0;

    w->vm.layout.can_redefine_at = WAITING_CODE + 16;
    w->vm.layout.perf_start_at = w->vm.layout.perf_capacity_at = 0x1000; /* not mapped */
    while ((r = hotspot_vm_unload_places(&w->vm, &places)) == -EAGAIN && tries < 100)
        tries++;
    ck_assert_int_eq(r, -ENOENT);
    ck_assert_int_ge(tries, 2); /* one failure is not enough */
    ck_assert_uint_eq(places.at[0] | places.at[1] | places.can_redefine, 0);
}
END_TEST

/* A thread of the VM itself has no request. One without a JavaThread may have, if its stack is not
 * known to the end, or has Java code. */
START_TEST(native_threads_have_no_request)
{
    const struct hotspot_waiting *t;

    w->batch.path =
        (struct context_path){ .step_count = 1, .steps = { { .op = CONTEXT_THREAD_LOCAL } } };
    make_frames(10, 4, 0);
    t = walk_one(waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK);
    ck_assert_uint_eq(t->end, UNWIND_END_ROOT);
    ck_assert(t->has_context);
    ck_assert_uint_eq(t->context.state, CONTEXT_NO_REQUEST);
    make_frames(10, 4, 0x1234);
    w->stack[9 * 4 + 1] = waiting_pc(WAITING_FP);
    t = walk_one(waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK);
    ck_assert_uint_ne(t->end, UNWIND_END_ROOT);
    ck_assert_uint_eq(t->context.state, CONTEXT_UNREADABLE);
}
END_TEST

/* The lock of a look is read again later if a collection moves objects, or if the JavaThread is
 * that of another thread by now. */
START_TEST(knows_no_lock_while_objects_move)
{
    struct unwind_locks *l = &w->vm.locks;
    bool moves = _i & 1, waits = _i & 2, other = _i & 4;
    struct hotspot_waiting *t;

    w->vm.names.known = true;
    *l = (struct unwind_locks){ .klass_bytes = 8, .thread_object = 8, .park_blocker = 16 };
    l->pauses = (struct unwind_pauses){ .collections = WAITING_CODE, .collects = WAITING_CODE };
    memset(w->code, 0, 1024);
    w->code[0] = moves;
    w->vm.layout.thread_osthread = (struct layout_field){ .offset = 32, .width = 8 };
    w->vm.layout.osthread_id = (struct layout_field){ .offset = 8, .width = 4 };
    memcpy(w->code + 256 + 32, &(uint64_t){ WAITING_CODE + 896 }, 8);
    w->code[896 + 8] = other ? 8 : 7; /* the thread that has the JavaThread now */
    make_frames(10, 4, 0);
    memcpy(w->code + 256 + 8, &(uint64_t){ WAITING_CODE + 512 }, 8);
    memcpy(w->code + 512 + 16, &(uint64_t){ waits ? WAITING_CODE + 768 : 0 }, 8);
    for (int i = 0; i < 1000; i++) {
        w->batch.count = 0;
        t = waiting_image_add(w, waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK);
        t->asks_lock = true;
        t->java_thread = WAITING_CODE + 256;
        t->ns_tid = 7;
        ck_assert_int_eq(waiting_image_walk(w), 0);
        if (t->end != UNWIND_END_NOT_TAKEN)
            break;
    }
    ck_assert_uint_eq(t->end, UNWIND_END_ROOT);
    ck_assert_int_eq(t->java_thread != 0, !other);
    ck_assert_int_eq(t->lock_unread, moves && !other);
    ck_assert_int_eq(t->waits_for_lock, waits && !moves && !other);
}
END_TEST

START_TEST(a_stack_has_its_limit)
{
    const struct hotspot_waiting *t;

    make_frames(1000, 4, 0);
    w->batch.max_words = SAMPLE_USER_MIN;
    t = walk_one(waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK);
    ck_assert_uint_eq(t->end, UNWIND_END_LIMIT);
    ck_assert_uint_le(t->count, SAMPLE_USER_MIN);
}
END_TEST

/* Stacks at which the walk must end by itself. @fp and @pc: the words at the first frame. */
static const struct {
    uint64_t pc, sp, fp, word, next;
} HOSTILE[] = {
    /* a frame that is its own caller, and one with a caller below it */
    { 0, WAITING_STACK + 64, WAITING_STACK + 64, WAITING_STACK + 64, 0 },
    { 0, WAITING_STACK + 64, WAITING_STACK + 64, WAITING_STACK + 8, 0 },
    /* not mapped; at the end of the mapping; not aligned; at the end of the address space */
    { 0, 0x1000, 0x1000, 0, 0 },
    { 0, WAITING_STACK + 8 * WAITING_STACK_WORDS - 8, WAITING_STACK + 8 * WAITING_STACK_WORDS - 8,
      0, 0 },
    { 0, WAITING_STACK + 3, WAITING_STACK + 3, 0, 0 },
    { 0, UINT64_MAX - 7, UINT64_MAX - 7, 0, 0 },
    { 0, 0, 0, 0, 0 },
    /* code without a row, or with a row outside of the table; no code */
    { 1, WAITING_STACK, WAITING_STACK, 0, 0 },
    { 2, WAITING_STACK, WAITING_STACK, 0, 0 },
    { 3, WAITING_STACK, WAITING_STACK, 0, 0 },
};

START_TEST(ends_in_hostile_memory)
{
    const uint64_t pcs[] = { waiting_pc(WAITING_FP), waiting_pc(WAITING_NONE),
                             waiting_pc(WAITING_FAR), 0x1234 };
    const struct hotspot_waiting *t;

    for (size_t i = 0; i < WAITING_STACK_WORDS; i += 2) {
        w->stack[i] = HOSTILE[_i].word;
        w->stack[i + 1] = waiting_pc(WAITING_FP);
    }
    t = walk_one(pcs[HOSTILE[_i].pc], HOSTILE[_i].sp, HOSTILE[_i].fp);
    ck_assert_uint_ne(t->end, UNWIND_END_ROOT);
    ck_assert_uint_ne(t->end, UNWIND_END_NOT_TAKEN);
    ck_assert_uint_le(t->count, SAMPLE_USER_MAX);
}
END_TEST

START_TEST(a_process_that_is_gone)
{
    const struct hotspot_waiting *t;

    make_frames(10, 4, 0);
    w->gone = true;
    t = walk_one(waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK);
    ck_assert_uint_eq(t->end, UNWIND_END_MEMORY);
}
END_TEST

START_TEST(one_that_has_run_has_no_stack)
{
    make_frames(10, 4, 0);
    for (uint32_t i = 0; i < 3; i++)
        waiting_image_add(w, waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK)
            ->registers[SAMPLE_REGISTER_RUNS] += 1000000;
    w->batch.threads[1].host_tid = INT32_MAX; /* and a thread that has ended */
    ck_assert_int_eq(waiting_image_walk(w), 0);
    ck_assert_uint_eq(w->batch.done, 3);
    ck_assert_uint_eq(w->batch.word_count, 0);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(w->batch.threads[i].end, UNWIND_END_NOT_TAKEN);
        ck_assert_uint_eq(w->batch.threads[i].count, 0);
    }
}
END_TEST

START_TEST(a_batch_takes_what_fits)
{
    uint32_t left = HOTSPOT_WAITING_MAX, rounds = 0;

    make_frames(2000, 4, 0);
    for (; left; left -= w->batch.done, rounds++) {
        w->batch.count = 0;
        for (uint32_t i = 0; i < left; i++)
            waiting_image_add(w, waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK);
        ck_assert_int_eq(waiting_image_walk(w), 0);
        ck_assert_uint_ge(w->batch.done, 1);
        ck_assert_uint_le(w->batch.done, left);
        ck_assert_uint_le(w->batch.word_count, HOTSPOT_WAITING_WORDS);
        for (uint32_t i = 0, at = 0; i < w->batch.done; at += w->batch.threads[i++].count)
            ck_assert_uint_eq(w->batch.threads[i].first, at);
    }
    ck_assert_uint_ge(rounds, 1);
}
END_TEST

/* Walks a copy of the first @bytes of the stack, from code with a frame pointer. The memory itself
 * is overwritten, since the process has run on. @vm NULL: it cannot be read at all. */
static struct hotspot_waiting walk_copy(struct hotspot_vm *vm, uint32_t bytes)
{
    _cleanup_free_ struct hotspot_waiting_batch *b = malloc(sizeof(*b) + bytes);
    struct hotspot_waiting *t;

    w->batch.count = 0;
    t = waiting_image_add(w, waiting_pc(WAITING_FP), WAITING_STACK, WAITING_STACK);
    t->registers[SAMPLE_REGISTER_RUNS] += 1000000;
    t->stack_bytes = bytes;
    *b = w->batch;
    b->stacks_bytes = bytes;
    memcpy(hotspot_waiting_stacks(b), w->stack, bytes);
    make_frames(WAITING_STACK_WORDS / 4, 4, WAITING_STACK);
    ck_assert_int_eq(hotspot_walk_waiting(vm, &b), 0);
    ck_assert_uint_eq(b->done, 1);
    ck_assert_uint_eq(b->words[b->threads[0].first] & UNWIND_PC_MASK, waiting_pc(WAITING_FP));
    return b->threads[0];
}

START_TEST(walks_a_copy)
{
    struct hotspot_waiting t;

    make_frames(10, 4, 0);
    t = walk_copy(_i ? &w->vm : NULL, 1024);
    ck_assert_uint_eq(t.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(t.count, 11);
}
END_TEST

/* Words behind the copy are not read, though the memory has them. */
START_TEST(a_copy_that_ends_cuts_the_stack)
{
    struct hotspot_waiting t;

    make_frames(100, 4, 0);
    t = walk_copy(_i ? &w->vm : NULL, 1024);
    ck_assert_uint_eq(t.end, UNWIND_END_COPY);
    ck_assert_uint_ge(t.count, 1024 / 32);
    ck_assert_uint_le(t.count, 1024 / 32 + 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("hotspot_waiting");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, walks_to_the_root);
    tcase_add_test(tc, a_walk_counts_unloads);
    tcase_add_test(tc, unreadable_counters_are_given_up);
    tcase_add_test(tc, native_threads_have_no_request);
    tcase_add_loop_test(tc, knows_no_lock_while_objects_move, 0, 8);
    tcase_add_test(tc, a_stack_has_its_limit);
    tcase_add_loop_test(tc, ends_in_hostile_memory, 0, ARRAY_SIZE(HOSTILE));
    tcase_add_test(tc, a_process_that_is_gone);
    tcase_add_test(tc, one_that_has_run_has_no_stack);
    tcase_add_test(tc, a_batch_takes_what_fits);
    tcase_add_loop_test(tc, walks_a_copy, 0, 2);
    tcase_add_loop_test(tc, a_copy_that_ends_cuts_the_stack, 0, 2);
    return suite_run_case("hotspot_waiting", tc);
}
