/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a mounted virtual thread that lie in StackChunks: complete, joined with the carrier's
 * frames. Also heaps with false words. */
#include "unwind_jvm.h"

#define HEAP 0x7f6000000000ULL
#define HEAP_BYTES 0x2000
#define HANDLE (META + 0x1100)
#define VTHREAD (HEAP + 0x100)
#define CONT (HEAP + 0x200)
#define TAIL (HEAP + 0x400)
#define PARENT (HEAP + 0x800)
#define KLASS 8 /* offset in an object */
#define SIZE 16
#define SP 20
#define BOTTOM 24
#define PARENT_AT 32
#define CONT_AT 40
#define WORDS 48
#define CLASS_OF_THREAD 0x7001000
#define CLASS_OF_CONT 0x7002000
#define CLASS_OF_CHUNK 0x7003000
#define CLASS_OF_CARRIER 0x7004000
#define ENTRY (regs.sp + 6 * 8)    /* the ContinuationEntry */
#define OFFSETS ((1ULL << 44) - 1) /* of ZGC */
#define GRANULE ((HEAP & OFFSETS) >> 21)
#define BAD_MASK (META + 0x1200)
#define MAP (META + 0x1280)
#define FORWARDING (META + 0x1300)
#define FORWARDING_BYTES 184
#define REMAPPED (1ULL << 12)
#define OLD_BAD (1ULL << 14) /* color of a reference older than a move by the old generation */
#define BAD (14ULL << 12)    /* mask of bad colors */

static uint8_t heap[HEAP_BYTES];

static void put_heap(uint64_t at, uint64_t v)
{
    put64(heap, at - HEAP, v);
}

static void put_word(uint64_t chunk, uint32_t i, uint64_t v)
{
    put_heap(chunk + WORDS + 8 * (uint64_t)i, v);
}

static void put_chunk(uint64_t at, uint32_t size, uint32_t sp, uint32_t bottom, uint64_t parent)
{
    put_heap(at + KLASS, CLASS_OF_CHUNK);
    put32(heap, at - HEAP + SIZE, size);
    put32(heap, at - HEAP + SP, sp);
    put32(heap, at - HEAP + BOTTOM, bottom);
    put_heap(at + PARENT_AT, parent);
    put_heap(at + CONT_AT, CONT);
}

/* Puts a compiled frame, an interpreted one, and one that ends behind the bottom into the inner
 * chunk. Puts a compiled one into the outer chunk. */
static void put_chunks(void)
{
    put_chunk(TAIL, 40, 2, 27, PARENT);
    put_word(TAIL, 1, after_call(compiled + 200));
    put_word(TAIL, 4, 16); /* to fp of the interpreted frame, at word 20 */
    put_word(TAIL, 5, INTERPRETER + 0x100);
    put_word(TAIL, 12, 0x1234); /* bcp */
    put_word(TAIL, 13, 3);      /* locals */
    put_word(TAIL, 17, METHOD);
    put_word(TAIL, 19, 2); /* the sender's sp */
    put_word(TAIL, 21, after_call(callee + 60));
    put_chunk(PARENT, 6, 2, 6, 0);
    put_word(PARENT, 1, after_call(compiled + 0x50));
}

/* Puts callee onto the stack, with frozen callers, and the carrier's frames. */
static void setup_frozen(void)
{
    uint64_t barrier;

    setup();
    memset(heap, 0, sizeof(heap));
    host.regions[host.region_count++] = (struct host_region){ HEAP, HEAP_BYTES, heap };
    jvm.vm.virtual_threads = 1;
    jvm.vm.locks = (struct unwind_locks){
        .klass = KLASS, .klass_bytes = 8, .oop_bytes = 8, .thread_object = 72, .thread_handle = 1
    };
    jvm.vm.frozen = (struct unwind_frozen){ .thread_class = CLASS_OF_THREAD,
                                            .cont_class = CLASS_OF_CONT,
                                            .chunk_class = CLASS_OF_CHUNK,
                                            .cont = 16,
                                            .tail = 24,
                                            .size = SIZE,
                                            .sp = SP,
                                            .bottom = BOTTOM,
                                            .parent = PARENT_AT,
                                            .chunk_cont = CONT_AT,
                                            .words = WORDS };
    barrier = add_blob(0x9000, 8, "StubRoutines (continuation)", 0, -1, 0) + 0x80;
    put_code(barrier - 8, "\x90\x90\x90\x90\x90\x90\x90\x90", 8);
    regs.pc = callee + 40;
    regs.more.thread = THREAD;
    host.java_thread = THREAD;
    push_stack(regs.sp + 6 * 8 - 8, barrier);
    push_stack(regs.sp + 6 * 8 + 64, STACK + 0x1800);
    push_stack(regs.sp + 6 * 8 + 72, after_call(compiled + 100));
    push_stack(regs.sp + 6 * 8 + 80 + 4 * 8 - 8, stub_return);
    push_stack(regs.sp + 6 * 8 + 80 + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    put64(meta, THREAD - META + 64, regs.sp + 6 * 8);
    put64(meta, THREAD - META + 72, HANDLE);
    put64(meta, HANDLE - META, VTHREAD);
    put_heap(VTHREAD + KLASS, CLASS_OF_THREAD);
    put_heap(VTHREAD + 16, CONT);
    put_heap(CONT + KLASS, CLASS_OF_CONT);
    put_heap(CONT + 24, TAIL);
    put_chunks();
}

/* Returns the place of the mark for unread frames; the carrier's frames follow it. 0: no mark. */
static uint32_t mark_at(void)
{
    uint32_t at = 0;

    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    for (uint32_t i = 1; i < w.words; i++) {
        if (host.out[i] == unwind_mark(UNWIND_MARK_FROZEN)) {
            ck_assert_uint_eq(at, 0);
            ck_assert_uint_eq(pc_of(i + 1), compiled + 100);
            at = i;
        }
    }
    return at;
}

static void expect_whole(void)
{
    ck_assert_uint_eq(mark_at(), 0);
    ck_assert_uint_eq(pc_of(1), compiled + 200);
    ck_assert_uint_eq(kind_of(1), UNWIND_COMPILED);
    ck_assert_uint_eq(host.out[1] >> UNWIND_PC_BITS & UNWIND_ID_MASK, 77);
    ck_assert_uint_eq(pc_of(2), METHOD);
    ck_assert_uint_eq(kind_of(2), UNWIND_INTERPRETED);
    ck_assert_uint_eq(host.out[3], 0x1234);
    ck_assert_uint_eq(pc_of(4), callee + 60);
    ck_assert_uint_eq(pc_of(5), compiled + 0x50);
    ck_assert_uint_eq(pc_of(6), compiled + 100);
}

START_TEST(joins_chunks_and_carrier)
{
    setup_frozen();
    for (uint32_t tick = 1; tick < 4; tick++) {
        walk(tick);
        expect_whole();
    }
}
END_TEST

/* A wrong word, and the place of the mark then. */
static const struct {
    const char *what;
    uint64_t at, v;
    uint32_t bytes, mark;
} LIES[] = {
    { "the thread's class", VTHREAD + KLASS, CLASS_OF_CONT, 8, 1 },
    { "no continuation", VTHREAD + 16, 0, 8, 1 },
    { "the continuation's class", CONT + KLASS, 0, 8, 1 },
    { "no chunk", CONT + 24, 0, 8, 1 },
    { "a chunk that is nowhere", CONT + 24, 0x7f9000000000ULL, 8, 1 },
    { "a chunk that is no address", CONT + 24, 0xdead00007f900003ULL, 8, 1 },
    { "the chunk's class", TAIL + KLASS, CLASS_OF_CONT, 8, 1 },
    { "another's chunk", TAIL + CONT_AT, VTHREAD, 8, 1 },
    { "a size below 0", TAIL + SIZE, 0xffffffff, 4, 1 },
    { "a large size", TAIL + SIZE, 1U << 30, 4, 1 },
    { "sp below 0", TAIL + SP, 0x80000000, 4, 1 },
    { "sp without words below", TAIL + SP, 1, 4, 1 },
    { "bottom behind the end", TAIL + BOTTOM, 41, 4, 1 },
    { "a pc that is no code", TAIL + WORDS + 8, HEAP, 8, 1 },
    { "a pc that is no pc", TAIL + WORDS + 8, ~0ULL, 8, 1 },
    { "fp behind the chunk", TAIL + WORDS + 4 * 8, 23, 8, 2 },
    { "fp far away", TAIL + WORDS + 4 * 8, 1ULL << 59, 8, 2 },
    { "no method", TAIL + WORDS + 17 * 8, 0, 8, 2 },
    { "a sender below", TAIL + WORDS + 19 * 8, (uint64_t)-19, 8, 2 },
    { "a sender behind", TAIL + WORDS + 19 * 8, 8, 8, 2 },
    { "a frame beyond the bottom", TAIL + BOTTOM, 25, 4, 4 },
    { "the outer chunk's class", PARENT + KLASS, CLASS_OF_CONT, 8, 5 },
};

START_TEST(tells_what_cannot_be_read)
{
    setup_frozen();
    if (LIES[_i].bytes == 4)
        put32(heap, LIES[_i].at - HEAP, (uint32_t)LIES[_i].v);
    else
        put_heap(LIES[_i].at, LIES[_i].v);
    walk(1);
    ck_assert_msg(mark_at() == LIES[_i].mark, "%s: the mark is at %u", LIES[_i].what, mark_at());
}
END_TEST

/* A chunk of which only the head can be read: the carrier's frames follow the mark. */
START_TEST(tells_words_that_cannot_be_read)
{
    setup_frozen();
    put32(heap, TAIL - HEAP + SIZE, 1U << 19);
    put32(heap, TAIL - HEAP + SP, 1U << 18);
    put32(heap, TAIL - HEAP + BOTTOM, 1U << 19);
    walk(1);
    ck_assert_uint_eq(mark_at(), 1);
}
END_TEST

START_TEST(ends_in_a_circle)
{
    setup_frozen();
    put_heap(PARENT + PARENT_AT, PARENT);
    walk(1);
    ck_assert_uint_gt(mark_at(), 5);
    ck_assert_uint_lt(mark_at(), 8 + UNWIND_CHUNKS_MAX);
    put_heap(PARENT + PARENT_AT, TAIL);
    walk(1);
    ck_assert_uint_gt(mark_at(), 5);
}
END_TEST

/* While a virtual thread acts as its carrier, the JavaThread refers to the carrier's object. Then,
 * and if the JavaThread is not known, the ContinuationEntry on the stack leads to the chunks. */
START_TEST(follows_the_entry_of_one_that_acts_as_its_carrier)
{
    setup_frozen();
    put_heap(VTHREAD + KLASS, CLASS_OF_CARRIER);
    push_stack(ENTRY + 16, CONT);
    walk(1);
    expect_whole();
    host.java_thread = 0;
    walk(2);
    expect_whole();
    ck_assert_uint_eq(w.wants_thread, 0);
    jvm.vm.cont_entry_bytes = 0;
    walk(3);
    expect_whole();
    push_stack(ENTRY + 16, VTHREAD);
    walk(3);
    ck_assert_uint_eq(mark_at(), 1);
    put_heap(CONT + KLASS, CLASS_OF_CARRIER);
    push_stack(ENTRY + 16, CONT);
    jvm.vm.frozen.chunk_cont = 0; /* so that nothing else is compared */
    walk(4);
    ck_assert_uint_eq(mark_at(), 1);
}
END_TEST

START_TEST(asks_for_a_thread_that_is_not_known)
{
    setup_frozen();
    host.java_thread = 0;
    walk(1);
    ck_assert_uint_eq(mark_at(), 1);
    ck_assert_uint_eq(w.wants_thread, 1);
}
END_TEST

/* A frame of deoptimized code returns to the handler. Its pc lies in orig_pc. */
START_TEST(knows_deoptimized_frames)
{
    setup_frozen();
    put_word(TAIL, 1, CODE + 0x1000 + (16 << 7) - 16); /* the handler of compiled */
    put_word(TAIL, 3, after_call(compiled + 200));     /* as orig_pc says */
    for (uint32_t tick = 1; tick < 3; tick++) {
        walk(tick);
        expect_whole();
    }
}
END_TEST

/* Generational ZGC with colored references. Those to the continuation and the chunk are older than
 * a move, and the tables give the objects' new places. */
START_TEST(follows_moved_objects)
{
    setup_frozen();
    jvm.vm.locks.coloured = 1;
    jvm.vm.zgc.bad_mask = BAD_MASK;
    jvm.vm.zgc.offset_mask = OFFSETS;
    jvm.vm.zgc.granules = GRANULE + 1;
    jvm.vm.zgc.maps[0] = MAP - 8 * GRANULE;
    jvm.vm.zgc.maps[1] = 0x7f9000000000ULL; /* unreadable */
    jvm.vm.zgc.forwarding_bytes = FORWARDING_BYTES;
    put64(meta, BAD_MASK - META, BAD);
    put64(meta, MAP - META, FORWARDING);
    put64(meta, FORWARDING - META, HEAP & OFFSETS);
    put64(meta, FORWARDING - META + 8, 1 << 21);
    put64(meta, FORWARDING - META + 16, 3);
    put64(meta, FORWARDING - META + 24, 2);
    /* One of two entries is for an object at HEAP + 0x1000, which moved to TAIL. */
    for (uint32_t i = 0; i < 2; i++)
        put64(meta, FORWARDING - META + FORWARDING_BYTES + 8 * (uint64_t)i,
              (0x1000ULL >> 3) << 46 | (TAIL & OFFSETS) << 1 | 1);
    put64(meta, HANDLE - META, VTHREAD << 13 | REMAPPED);
    put_heap(VTHREAD + 16, CONT << 15 | OLD_BAD); /* older than the move, but not moved */
    put_heap(CONT + 24, (HEAP + 0x1000) << 15 | OLD_BAD);
    put_heap(TAIL + PARENT_AT, PARENT << 13 | REMAPPED);
    put_heap(TAIL + CONT_AT, CONT << 13 | REMAPPED);
    put_heap(PARENT + CONT_AT, CONT << 13 | REMAPPED);
    put_heap(PARENT + PARENT_AT, REMAPPED); /* null */
    walk(1);
    expect_whole();
    put64(meta, MAP - META, 0); /* without its table, the old place has no chunk */
    walk(2);
    ck_assert_uint_eq(mark_at(), 1);
}
END_TEST

/* A heap of random words that lead on: every walk ends, at its root or with a mark. */
START_TEST(survives_any_heap)
{
    uint32_t seed = (uint32_t)_i * 2654435761U + 1;

    setup_frozen();
    for (uint32_t round = 0; round < 400; round++) {
        put_chunks();
        for (uint32_t i = 0; i < 6; i++) {
            uint64_t at, v;

            seed = seed * 1664525 + 1013904223;
            at = TAIL + 8 * (uint64_t)(seed >> 8 & 127);
            seed = seed * 1664525 + 1013904223;
            v = (seed >> 20 & 3) == 0   ? (uint64_t)(seed >> 8 & 63)
                : (seed >> 20 & 3) == 1 ? HEAP + (seed >> 8 & 0x1ff8)
                : (seed >> 20 & 3) == 2 ? CODE + (seed >> 6 & 0x3ffff)
                                        : (uint64_t)(int64_t)(int32_t)seed;
            put_heap(at, v);
        }
        walk(round + 1);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_lt(w.words, 400);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("unwind_frozen");

    tcase_add_test(tc, joins_chunks_and_carrier);
    tcase_add_loop_test(tc, tells_what_cannot_be_read, 0, ARRAY_SIZE(LIES));
    tcase_add_test(tc, tells_words_that_cannot_be_read);
    tcase_add_test(tc, ends_in_a_circle);
    tcase_add_test(tc, follows_the_entry_of_one_that_acts_as_its_carrier);
    tcase_add_test(tc, asks_for_a_thread_that_is_not_known);
    tcase_add_test(tc, knows_deoptimized_frames);
    tcase_add_test(tc, follows_moved_objects);
    tcase_add_loop_test(tc, survives_any_heap, 0, 8);
    return run_unwind_tests("unwind_frozen", tc);
}
