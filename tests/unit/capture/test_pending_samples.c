/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that wait for symbols: their order, and how many bytes may wait. */
#include "fixed_places.h"
#include "suite.h"

#include "capture/pending_samples.h"
#include "proc/stall_readers.h"

#define MIB (UINT64_C(1) << 20)

static bool is_odd(void *cookie, const struct pending_sample *s)
{
    (void)cookie;
    return s->rec.time_ns % 2;
}

START_TEST(samples_are_held_in_order_and_bounded)
{
    static uint64_t words[SAMPLE_USER_MAX];
    struct sample_record rec = { .user_count = 2, .set = 3 };
    struct process p = { .pins = 0 }, other = { .id = { .host_pid = 1 << 30 } };
    struct pending_sample **at = NULL, *s;
    struct pending_samples h;

    pending_init(&h, /* waiting= */ NULL);
    for (rec.time_ns = 0; rec.time_ns < 6; rec.time_ns++) {
        words[1] = rec.time_ns;
        ck_assert(pending_add(&h, &p, &rec, words, SPAN_NULL, 0));
    }
    for (uint64_t due = 1; due < 6; due += 2) {
        s = pending_take(&h, &at, is_odd, NULL);
        ck_assert_ptr_nonnull(s);
        ck_assert_uint_eq(s->rec.time_ns, due);
        ck_assert_uint_eq(s->frames[1], due);
        pending_free(s);
    }
    ck_assert_ptr_null(pending_take(&h, &at, is_odd, NULL));
    ck_assert_uint_eq(h.count, 3);
    ck_assert_uint_eq(p.pins, 3);
    ck_assert(pending_has(&h, 1 << 3, 1) && !pending_has(&h, 1 << 3, 0) &&
              !pending_has(&h, 1 << 2, 9));
    rec.user_count = SAMPLE_USER_MAX;
    while (pending_add(&h, &p, &rec, words, SPAN_NULL, 0))
        ck_assert_uint_le(h.bytes.used, PENDING_BYTES_MAX / 2);
    ck_assert_uint_gt(h.bytes.used, PENDING_BYTES_MAX / 3);
    ck_assert(pending_add(&h, &other, &rec, words, SPAN_NULL, 0)); /* another owner */
    ck_assert_uint_eq(other.pins, 1);
    pending_deinit(&h);
    ck_assert_uint_eq(p.pins + other.pins, 0);
    ck_assert_uint_eq(h.count + h.bytes.used, 0);
}
END_TEST

/* ---- beside files and names ---- */

enum { ALICE = 1, BOB, CAROL };

static struct memory_budget memory;
static struct pending_samples pending;

static void setup(void)
{
    memory_budget_init(&memory);
    fix_places(&memory);
    pending_init(&pending, &memory.waiting);
}

/* Lets @owner take all that it may of @s for long, in pieces. */
static void fill(struct shares *s, uint64_t owner)
{
    uint64_t room;

    while ((room = shares_room_lasting(s, owner)) >= 4096)
        shares_force(s, owner, MIN(room, MIB));
}

/* Whatever lasts, some room is left for samples, also of owners with many names and files. */
START_TEST(files_leave_room_for_samples)
{
    shares_force(&memory.symbols, CAROL, 3 * MIB);
    for (uint64_t owner = ALICE; owner <= BOB; owner++) {
        fill(&memory.perf_maps, owner);
        fill(&memory.inlines, owner);
    }
    ck_assert_uint_ge(shares_room_short(&pending.bytes, CAROL), 8 * MIB);
    for (uint64_t owner = CAROL; owner < 100; owner++)
        fill(&memory.symbols, owner);
    ck_assert_uint_le(memory.lasting.max - memory.lasting.used, 16 * MIB); /* nearly full */
    ck_assert_uint_ge(shares_room_short(&pending.bytes, CAROL), 8 * MIB);
}
END_TEST

/* Adds samples of @p until one is refused. Returns their bytes. */
static uint64_t add_all(struct process *p)
{
    static uint64_t words[SAMPLE_USER_MAX];
    struct sample_record rec = { .user_count = SAMPLE_USER_MAX };
    uint64_t before = pending.bytes.used;

    while (pending_add(&pending, p, &rec, words, SPAN_NULL, 0))
        ck_assert_uint_le(memory.kept.used, memory.kept.max);
    return pending.bytes.used - before;
}

/* The same by way of samples that are added. */
START_TEST(samples_are_added_beside_files)
{
    struct process p = { .pins = 0 };

    shares_force(&memory.symbols, readers_owner(&p.id), 3 * MIB);
    shares_force(&memory.perf_maps, BOB, memory.kept.max / 4 * 3);
    ck_assert_uint_ge(add_all(&p), 8 * MIB);
    pending_deinit(&pending);
    ck_assert_uint_eq(memory.waiting.used, 0);
}
END_TEST

/* A quarter of all is free beside twelve owners with some files each: all of it is for samples. */
START_TEST(samples_take_what_is_free)
{
    for (uint64_t owner = 1; owner <= 12; owner++)
        shares_force(&memory.symbols, owner, 5 * MIB);
    ck_assert_uint_ge(shares_room_short(&pending.bytes, 1), 12 * MIB);
}
END_TEST

/* Samples of owners that have many waiting leave room for names and files of others. */
START_TEST(samples_leave_room_for_files)
{
    for (uint64_t owner = ALICE; owner < 100; owner += owner == BOB ? 2 : 1) {
        if (owner <= BOB)
            fill(&memory.perf_maps, owner);
        shares_force(&pending.bytes, owner, shares_room_short(&pending.bytes, owner));
    }
    ck_assert_uint_le(memory.kept.used, memory.kept.max);
    ck_assert_uint_ge(shares_room_lasting(&memory.symbols, CAROL), 8 * MIB);
}
END_TEST

/* Both kinds at their most do not exceed all, whichever comes first. */
START_TEST(all_is_within_the_sum)
{
    for (int turn = 0; turn < 4; turn++) {
        for (uint64_t owner = 1; owner < 100; owner++) {
            if (turn % 2 == _i)
                fill(&memory.perf_maps, owner);
            else
                shares_force(&pending.bytes, owner, shares_room_short(&pending.bytes, owner));
        }
    }
    ck_assert_uint_le(memory.kept.used, memory.kept.max);
    ck_assert_uint_ge(memory.kept.used, memory.kept.max / 4 * 3);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("pending_samples");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, samples_are_held_in_order_and_bounded);
    tcase_add_test(tc, files_leave_room_for_samples);
    tcase_add_test(tc, samples_are_added_beside_files);
    tcase_add_test(tc, samples_take_what_is_free);
    tcase_add_test(tc, samples_leave_room_for_files);
    tcase_add_loop_test(tc, all_is_within_the_sum, 0, 2);
    return suite_run_case("pending_samples", tc);
}
