/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/virtual_*.c: a virtual thread's frames in its StackChunks, in an intact heap and in
 * broken ones. */
#include "suite.h"

#include "hotspot/code/code.h"
#include "hotspot/java_stack.h"
#include "threads_image.h"
#include "unwind/unwind.h"

static struct threads_image *t;

static void setup(void)
{
    t = threads_image_new();
    ck_assert_ptr_nonnull(t);
}

static void teardown(void)
{
    t = threads_image_free(t);
}

static const struct hotspot_dump_thread *dump_one(void)
{
    ck_assert_int_eq(hotspot_dump_threads(&t->vm, &t->batch), 0);
    ck_assert(t->batch.ended);
    return t->batch.count ? &t->batch.threads[0] : NULL;
}

START_TEST(frames_of_all_chunks)
{
    const struct hotspot_dump_thread *d = dump_one();

    ck_assert_uint_eq(t->batch.count, 1);
    ck_assert_uint_eq(d->java_id, THREADS_ID);
    ck_assert(d->is_virtual);
    ck_assert_uint_eq(d->state, THREAD_STATE_WAITING);
    ck_assert_uint_eq(d->stack, DUMP_STACK_WHOLE);
    ck_assert_uint_eq(d->count, 8);
    for (uint32_t i = 0; i < d->count; i++)
        ck_assert_uint_eq(t->batch.words[d->first + i] & UNWIND_PC_MASK, threads_image_pc());
    ck_assert_uint_eq(t->batch.broken, 0);
    ck_assert(t->batch.tracks_all);
}
END_TEST

#define PARENT_OF(object) ((object) + 32)

/* One word of the heap is wrong: the thread is listed without a stack, or its place is counted as
 * unreadable. */
static const struct {
    size_t at;
    uint64_t word;
    bool listed;
    uint8_t stack;
} FALSE_WORDS[] = {
    { THREADS_CONT + 24, 1, true, DUMP_STACK_MOUNTED },
    { THREADS_CONT + 16, 0, true, DUMP_STACK_NONE },
    { THREADS_CONT + 8, 1, true, DUMP_STACK_CHANGED },                   /* not a continuation */
    { THREADS_CHUNK + 8, 1, true, DUMP_STACK_CHANGED },                  /* not a chunk */
    { THREADS_CHUNK + 16, UINT64_MAX, true, DUMP_STACK_CHANGED },        /* of negative size */
    { THREADS_CHUNK + 16, UINT64_C(8) << 32, true, DUMP_STACK_CHANGED }, /* sp is behind the end */
    { PARENT_OF(THREADS_CHUNK), THREADS_HEAP + THREADS_NODE, true, DUMP_STACK_CHANGED },
    { THREADS_CHUNK + 64 + 8 * 11, 0, true, DUMP_STACK_CHANGED }, /* an invalid return address */
    { THREADS_CHUNK + 64 + 8 * 11, THREADS_CODE + 8, true, DUMP_STACK_CHANGED },
    { PARENT_OF(THREADS_PARENT), THREADS_HEAP + THREADS_CHUNK, true,
      DUMP_STACK_CUT }, /* a circle */
    { THREADS_THREAD + 8, 1, false, 0 },
    { THREADS_THREAD + 16, 0, false, 0 },
    { THREADS_NODE + 8, 1, false, 0 },
    { THREADS_TABLE + 16, 3, false, 0 }, /* a length that no table has */
    { THREADS_TABLE + 16, 1 << 25, false, 0 },
    { THREADS_MAP + 8, 1, false, 0 },
    { THREADS_SET + 8, 1, false, 0 },
};

START_TEST(a_false_word_is_seen)
{
    const struct hotspot_dump_thread *d;

    threads_image_put(t, FALSE_WORDS[_i].at, FALSE_WORDS[_i].word);
    d = dump_one();
    ck_assert_int_eq(d != NULL, FALSE_WORDS[_i].listed);
    if (d)
        ck_assert_uint_eq(d->stack, FALSE_WORDS[_i].stack);
    else
        ck_assert_uint_gt(t->batch.broken, 0);
}
END_TEST

/* The thread runs on while it is read, at each of the reads. It is read again, and the result is of
 * a single moment. */
START_TEST(no_stack_of_two_moments)
{
    unsigned before = 0;

    for (unsigned reads = 0; reads < 40; reads++) {
        struct threads_image *later = threads_image_new();
        const struct hotspot_dump_thread *d;

        teardown();
        setup();
        later->heap[THREADS_CHUNK + 20] = 8 + THREADS_FRAME_WORDS; /* sp: a frame has returned */
        later->heap[THREADS_THREAD + 48] = 5;
        t->changes = later;
        t->reads = reads;
        d = dump_one();
        ck_assert_ptr_nonnull(d);
        before += d->state == THREAD_STATE_WAITING;
        ck_assert_uint_eq(d->stack, DUMP_STACK_WHOLE);
        ck_assert_uint_eq(d->count, d->state == THREAD_STATE_WAITING ? 8 : 7);
        threads_image_free(later);
    }
    ck_assert_uint_gt(before, 0);
    ck_assert_uint_lt(before, 40);
}
END_TEST

START_TEST(no_stack_of_a_thread_that_goes_on)
{
    const struct hotspot_dump_thread *d;

    t->runs = 1;
    d = dump_one();
    ck_assert_ptr_nonnull(d);
    ck_assert_uint_eq(d->stack, DUMP_STACK_CHANGED);
    ck_assert_uint_eq(d->count, 0);
}
END_TEST

START_TEST(monitor_that_is_waited_for)
{
    const struct hotspot_dump_thread *d;

    threads_image_put(t, THREADS_THREAD + 48, THREADS_BLOCKED);
    d = dump_one();
    ck_assert_ptr_nonnull(d);
    ck_assert_uint_eq(d->state, THREAD_STATE_BLOCKED);
    ck_assert_uint_eq(d->lock, DUMP_LOCK_MONITOR);
    ck_assert_uint_eq(d->lock_klass, t->vm.virtual_layout.klass[CLASS_MAP]);
    ck_assert_uint_eq(d->owner_id, THREADS_OWNER_ID);
}
END_TEST

/* A collection moves the locked object while it is read, at each of the reads, and another object
 * takes its place. */
START_TEST(no_lock_of_two_moments)
{
    for (unsigned reads = 0; reads < 80; reads++) {
        struct threads_image *later = threads_image_new();
        const struct hotspot_dump_thread *d;

        teardown();
        setup();
        threads_image_put(later, THREADS_THREAD + 48, THREADS_BLOCKED);
        threads_image_put(later, THREADS_COLLECTIONS, 1);
        threads_image_put(later, THREADS_HANDLES + 8, THREADS_HEAP + THREADS_MOVED);
        threads_image_put(later, THREADS_MOVED, 2);
        threads_image_put(later, THREADS_FAR, 2);
        threads_image_put_object(later, THREADS_MOVED, CLASS_MAP);
        threads_image_put_object(later, THREADS_FAR, CLASS_NODE);
        threads_image_put(t, THREADS_THREAD + 48, THREADS_BLOCKED);
        threads_image_put(t, THREADS_HANDLES + 8, THREADS_HEAP + THREADS_FAR);
        threads_image_put(t, THREADS_FAR, 2);
        threads_image_put_object(t, THREADS_FAR, CLASS_MAP);
        threads_image_tell_pauses(t);
        t->changes = later;
        t->reads = reads;
        d = dump_one();
        ck_assert_ptr_nonnull(d);
        ck_assert_uint_eq(d->lock, DUMP_LOCK_MONITOR);
        ck_assert_uint_eq(d->lock_klass, t->vm.virtual_layout.klass[CLASS_MAP]);
        ck_assert_uint_eq(d->stack, DUMP_STACK_WHOLE);
        threads_image_free(later);
    }
}
END_TEST

START_TEST(no_lock_while_objects_move)
{
    const struct hotspot_dump_thread *d;

    threads_image_put(t, THREADS_THREAD + 48, THREADS_BLOCKED);
    threads_image_tell_pauses(t);
    threads_image_put(t, THREADS_COLLECTS, 1);
    threads_image_put(t, THREADS_COMPACT_TO, 7);
    d = dump_one();
    ck_assert_ptr_nonnull(d);
    ck_assert_uint_eq(d->lock, DUMP_LOCK_MONITOR); /* a collection that does not compact */
    threads_image_put(t, THREADS_COMPACT_FROM, 8);
    t->batch.ended = false;
    t->batch.cursor = (struct hotspot_dump_cursor){ 0 };
    d = dump_one();
    ck_assert_ptr_nonnull(d);
    ck_assert_uint_eq(d->stack, DUMP_STACK_CHANGED);
    ck_assert_uint_eq(d->lock, DUMP_LOCK_NONE);
    ck_assert_uint_eq(d->lock_klass, 0);
    ck_assert_uint_eq(d->owner_id, 0);
}
END_TEST

/* Another class may have the address of an unloaded one, so a class is not known for ever. */
START_TEST(a_class_of_locks_is_read_again)
{
    uint64_t klass = t->vm.virtual_layout.klass[CLASS_MAP];
    const struct hotspot_dump_thread *d;

    threads_image_put(t, THREADS_THREAD + 32, THREADS_HEAP + THREADS_LOCKED);
    d = dump_one();
    ck_assert_uint_eq(d->lock, DUMP_LOCK_PARK);
    for (size_t i = 0; i < READER_LOCKS; i++)
        t->vm.thread_reader->locks[i] =
            (struct known_lock){ klass, HOTSPOT_LOCK_SYNCHRONIZER, false };
    t->batch.ended = false;
    t->batch.cursor = (struct hotspot_dump_cursor){ 0 };
    d = dump_one();
    ck_assert_uint_eq(d->lock, DUMP_LOCK_PARK);
}
END_TEST

/* Objects that do not lead back to the thread, and to an object with a monitor, do not count. */
static const struct {
    size_t at;
    uint64_t word;
} NO_MONITORS[] = {
    { THREADS_THREAD + 72, 0 },
    { THREADS_THREAD + 72, 8 },
    { THREADS_THREAD + 72, THREADS_HEAP + THREADS_CHUNK },
    { THREADS_WAITER + 24, 0 },
    { THREADS_WAITER + 24, THREADS_HEAP + THREADS_HANDLES + 8 },
    { THREADS_WAITER + 32, 0 },
    { THREADS_WAITER + 32, UINT64_MAX },
    { THREADS_MONITOR + 8, 0 },
    { THREADS_LOCKED, 1 },
    { THREADS_HANDLES + 8, THREADS_HEAP + THREADS_THREAD },
};

/* The place is not known yet, or (@_i is odd) known from an earlier pass. */
START_TEST(no_monitor)
{
    const struct hotspot_dump_thread *d;

    threads_image_put(t, THREADS_THREAD + 48, THREADS_BLOCKED);
    if (_i % 2)
        dump_one();
    threads_image_put(t, NO_MONITORS[_i / 2].at, NO_MONITORS[_i / 2].word);
    t->batch.ended = false;
    t->batch.cursor = (struct hotspot_dump_cursor){ 0 };
    d = dump_one();
    ck_assert_ptr_nonnull(d);
    ck_assert_uint_eq(d->lock, DUMP_LOCK_NONE);
    ck_assert_uint_eq(d->stack, DUMP_STACK_WHOLE);
    ck_assert_uint_eq(t->vm.virtual_layout.waiter.known, _i % 2);
}
END_TEST

/* Fields of a StackChunk that do not lie in the bytes that are read of it. */
/* A loader that was freed and made again during the walk closes a circle. */
START_TEST(a_circle_of_loaders_passes)
{
    t->vm.names.known = true;
    memory_begin(&t->vm.memory);
    threads_image_put(t, THREADS_LOADERS + 8, THREADS_HEAP + THREADS_LOADERS + 8);
    ck_assert_int_eq(virtual_layout_ready(&t->vm, 0), -EAGAIN);
    threads_image_put(t, THREADS_LOADERS + 8, 0);
    memory_begin(&t->vm.memory);
    ck_assert_int_eq(virtual_layout_ready(&t->vm, 0), 0);
}
END_TEST

START_TEST(refuses_fields_outside_of_a_chunk)
{
    struct virtual_layout *v = &t->vm.virtual_layout, intact = *v;
    uint32_t *const fields[] = { &v->chunk_size, &v->chunk_sp, &v->chunk_bottom, &v->chunk_argsize,
                                 &v->chunk_parent };

    ck_assert(virtual_chunk_fits(&t->vm, v));
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        *fields[i] = v->chunk_words - 3;
        ck_assert(!virtual_chunk_fits(&t->vm, v));
        *fields[i] = UINT16_MAX;
        ck_assert(!virtual_chunk_fits(&t->vm, v));
        *v = intact;
    }
    v->chunk_words = VIRTUAL_CHUNK_BYTES_MAX + 8;
    ck_assert(!virtual_chunk_fits(&t->vm, v));
}
END_TEST

#define LARGE_TABLE 0x5000
#define LARGE_PLACES 256
#define ROUNDS 4000

/* Draws threads; repeats if the machine was too busy for the time limit. */
static void draw_once(void)
{
    int r = -E2BIG;

    for (unsigned i = 0; i < 20 && r == -E2BIG; i++)
        r = hotspot_dump_threads(&t->vm, &t->batch);
    ck_assert_int_eq(r, 0);
}

static void put_large_table(void)
{
    threads_image_put(t, THREADS_MAP + 16, THREADS_HEAP + LARGE_TABLE);
    threads_image_put(t, LARGE_TABLE + 16, LARGE_PLACES);
    threads_image_put(t, LARGE_TABLE + 24 + 8 * 201, THREADS_HEAP + THREADS_NODE);
}

/* Some of many places are drawn. The threads found there, by their weights, add up to the true
 * number. */
START_TEST(draws_by_chance)
{
    double sum = 0;
    unsigned found = 0;

    put_large_table();
    for (uint64_t i = 0; i < ROUNDS; i++) {
        t->batch.draws = 16;
        t->batch.random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        draw_once();
        ck_assert_uint_eq(t->batch.places, 16);
        ck_assert_double_eq_tol(t->batch.weight, LARGE_PLACES / 16.0, 1e-9);
        sum += t->batch.count * t->batch.weight;
        found += t->batch.count > 0;
    }
    ck_assert_double_eq_tol(sum / ROUNDS, 1, 0.25);
    ck_assert_uint_lt(found, ROUNDS / 8);
}
END_TEST

/* Neighbours are drawn together: all eight of a full table. */
START_TEST(draws_neighbours)
{
    put_large_table();
    for (size_t i = 0; i < LARGE_PLACES; i++)
        threads_image_put(t, LARGE_TABLE + 24 + 8 * i, THREADS_HEAP + THREADS_NODE);
    t->batch.draws = 16;
    t->batch.random = 7;
    draw_once();
    ck_assert_uint_eq(t->batch.count, 16);
    ck_assert_double_eq_tol(t->batch.count * t->batch.weight, LARGE_PLACES, 1e-9);
}
END_TEST

START_TEST(draws_all_of_few)
{
    put_large_table();
    for (uint64_t i = 0; i < 2 * LARGE_PLACES; i++) {
        t->batch.draws = LARGE_PLACES / 4;
        t->batch.random = i;
        draw_once();
        ck_assert_uint_eq(t->batch.count, 1);
        ck_assert_uint_eq(t->batch.threads[0].stack, DUMP_STACK_WHOLE);
        ck_assert_double_eq_tol(t->batch.weight, 1, 1e-9);
    }
}
END_TEST

START_TEST(a_false_word_is_seen_by_draws)
{
    threads_image_put(t, FALSE_WORDS[_i].at, FALSE_WORDS[_i].word);
    t->batch.draws = 4;
    draw_once();
    ck_assert_uint_eq(t->batch.count, FALSE_WORDS[_i].listed);
    if (t->batch.count)
        ck_assert_uint_eq(t->batch.threads[0].stack, FALSE_WORDS[_i].stack);
    else
        ck_assert_uint_gt(t->batch.broken, 0);
}
END_TEST

/* A circular chain, and a chain without end in its place. */
START_TEST(a_circle_ends)
{
    threads_image_put(t, THREADS_NODE + 24, THREADS_HEAP + THREADS_NODE);
    for (int i = 0; i < 1000; i++) {
        draw_once();
        ck_assert_uint_le(t->batch.count, DUMP_BATCH_THREADS);
        if (t->batch.ended)
            return;
    }
    ck_abort_msg("it goes on");
}
END_TEST

/* The same if each slice ends before its first thread, as on a busy machine. */
START_TEST(a_circle_ends_where_slices_are_short)
{
    threads_image_put(t, THREADS_NODE + 24, THREADS_HEAP + THREADS_NODE);
    for (int i = 0; i < 150; i++) {
        t->nap_ns = DUMP_SLICE_NS + 1;
        draw_once();
        if (t->batch.ended)
            return;
    }
    ck_abort_msg("it takes more than 150 batches");
}
END_TEST

/* The same for elements that are no threads: a slice ends between them. */
START_TEST(broken_elements_end_a_slice)
{
    threads_image_put(t, THREADS_NODE + 16, THREADS_HEAP + THREADS_CONT);
    threads_image_put(t, THREADS_NODE + 24, THREADS_HEAP + THREADS_NODE);
    for (int i = 0; i < 150; i++) {
        t->nap_ns = DUMP_SLICE_NS + 1;
        draw_once();
        ck_assert_uint_eq(t->batch.count, 0);
        if (i == 0)
            ck_assert_uint_eq(t->batch.broken, 16);
        if (t->batch.ended)
            return;
    }
    ck_abort_msg("it takes more than 150 batches");
}
END_TEST

/* A slice also ends between places with long chains that have no elements. */
START_TEST(chains_without_elements_end_a_slice)
{
    put_large_table();
    t->vm.virtual_layout.bin_first = 16;
    for (size_t i = 0; i < LARGE_PLACES; i++)
        threads_image_put(t, LARGE_TABLE + 24 + 8 * i, THREADS_HEAP + THREADS_LOCKED);
    threads_image_put(t, THREADS_LOCKED + 8,
                      THREADS_HEAP + THREADS_KLASSES + 0x100 * CLASS_TREE_BIN);
    threads_image_put(t, THREADS_LOCKED + 16, THREADS_HEAP + THREADS_LOCKED);
    t->nap_ns = DUMP_SLICE_NS + 1;
    draw_once();
    ck_assert(!t->batch.ended);
    ck_assert_uint_eq(t->batch.broken, 1);
}
END_TEST

#define SEGMENT_BYTES 128
#define FREE_BLOCKS 20

static int count_block(void *cookie, struct hotspot_vm *vm, uint64_t blob, uint64_t end)
{
    (void)vm, (void)blob, (void)end;
    ++*(size_t *)cookie;
    return 0;
}

static size_t blocks_up_to(size_t max)
{
    size_t count = 0;

    ck_assert_int_eq(codecache_blocks(&t->vm, max, count_block, &count), 0);
    return count;
}

/* A VM merges its free neighbours. A code heap of free blocks alone is not walked to its end. */
START_TEST(free_blocks_end_a_walk)
{
    memset(t->code, 0, sizeof(t->code));
    for (size_t i = 0; i <= FREE_BLOCKS; i++)
        t->code[i * SEGMENT_BYTES] = 1; /* its length */
    t->code[FREE_BLOCKS * SEGMENT_BYTES + 8] = 1;
    t->heap[0x7000 + FREE_BLOCKS] = 0; /* the segment map: a block starts here */
    ck_assert_uint_eq(blocks_up_to(FREE_BLOCKS - 2), 0);
    ck_assert_uint_eq(blocks_up_to(FREE_BLOCKS), 1);
    ck_assert_uint_eq(blocks_up_to(SIZE_MAX), 1);
}
END_TEST

#define ENTRY_WORDS 8

/* Puts frames into @words, by which the VM calls Java, each the caller of the one before. */
static void put_entries(uint64_t *words, uint64_t at, size_t count)
{
    for (size_t i = 0; i < count; i++, words += ENTRY_WORDS, at += ENTRY_WORDS * sizeof(*words)) {
        words[0] = at + 16; /* fp */
        words[2] = at + 32; /* wrapper */
        words[4] =
            i + 1 < count ? at + 16 + ENTRY_WORDS * sizeof(*words) : 0; /* sp of the caller */
        words[5] = t->vm.code.call_stub_return;
    }
}

static int walk_entries(size_t count)
{
    static uint64_t words[4 * ENTRY_WORDS];
    static struct java_codes codes;
    const uint64_t low = UINT64_C(0x7f3000000000), high = low + sizeof(words);
    struct hotspot_layout *l = &t->vm.layout;
    uint64_t out[1];
    struct java_walk w = { .vm = &t->vm,
                           .codes = &codes,
                           .words = words,
                           .low = low,
                           .high = high,
                           .words_end = high,
                           .sp = low + 16,
                           .pc = threads_image_pc(),
                           .out = out,
                           .max = ARRAY_SIZE(out) };

    t->vm.code.call_stub_return = w.pc;
    l->frame_call_wrapper = 0;
    l->wrapper_anchor = l->anchor_sp = (struct layout_field){ .width = 8 };
    l->anchor_pc = (struct layout_field){ .offset = 8, .width = 8 };
    put_entries(words, low, count);
    return java_stack_walk(&w);
}

/* Java frames are between two calls of Java by the VM. Their number is bounded, so a stack of calls
 * alone must end the walk. */
START_TEST(entries_without_java_frames_end_a_walk)
{
    ck_assert_int_eq(walk_entries(1), JAVA_STACK_WHOLE);
    ck_assert_int_eq(walk_entries(2), JAVA_STACK_BROKEN);
    ck_assert_int_eq(walk_entries(4), JAVA_STACK_BROKEN);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("threads");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, frames_of_all_chunks);
    tcase_add_loop_test(tc, a_false_word_is_seen, 0, ARRAY_SIZE(FALSE_WORDS));
    tcase_add_test(tc, draws_by_chance);
    tcase_add_test(tc, draws_all_of_few);
    tcase_add_loop_test(tc, a_false_word_is_seen_by_draws, 0, ARRAY_SIZE(FALSE_WORDS));
    tcase_add_test(tc, monitor_that_is_waited_for);
    tcase_add_test(tc, no_lock_of_two_moments);
    tcase_add_test(tc, no_lock_while_objects_move);
    tcase_add_test(tc, a_class_of_locks_is_read_again);
    tcase_add_test(tc, a_circle_of_loaders_passes);
    tcase_add_test(tc, refuses_fields_outside_of_a_chunk);
    tcase_add_loop_test(tc, no_monitor, 0, 2 * ARRAY_SIZE(NO_MONITORS));
    tcase_add_test(tc, no_stack_of_two_moments);
    tcase_add_test(tc, no_stack_of_a_thread_that_goes_on);
    tcase_add_test(tc, free_blocks_end_a_walk);
    tcase_add_test(tc, entries_without_java_frames_end_a_walk);
    tcase_add_test(tc, draws_neighbours);
    tcase_add_test(tc, a_circle_ends);
    tcase_add_test(tc, a_circle_ends_where_slices_are_short);
    tcase_add_test(tc, broken_elements_end_a_slice);
    tcase_add_test(tc, chains_without_elements_end_a_slice);
    return suite_run_case("hotspot_threads", tc);
}
