/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of flamed's memory, added up as in docs/limits.md. */
#include "suite.h"

#include "base/memory_budget.h"
#include "base/memory_guard.h"
#include "capture/captures.h"
#include "capture/pending_samples.h"
#include "config.h"
#include "serve/serve_impl.h"
#include "symbolize/elf_reading.h"

#define MIB (UINT64_C(1) << 20)
#define MEANT (384 * MIB)
#define ITSELF (54 * MIB) /* measured, without clients and targets */

static struct config config;

static void setup(void)
{
    ck_assert_int_eq(config_init(&config), 0);
}

static void teardown(void)
{
    config_deinit(&config);
}

/* Returns the most that captures take beside @kept bytes of symbols, names and waiting samples. */
static uint64_t captures_beside(uint64_t kept)
{
    static struct captures captures;

    captures.opts.captures_max_bytes = config.captures.max_bytes;
    capture_memory_tick(&captures, kept);
    return captures.budget.max_bytes;
}

/* Returns the most that flamed takes if owners keep @kept, of that and captures. */
static uint64_t sum_with(uint64_t kept, uint64_t requests)
{
    return ITSELF + kept + captures_beside(kept) + config.recorder.max_bytes +
           requests * MEMORY_GUARD_FREE + config.answer_max_bytes;
}

START_TEST(all_owners_take_what_flamed_is_meant_to)
{
    for (uint64_t kept = 0; kept <= MEMORY_KEPT_BYTES; kept += MIB)
        ck_assert_uint_le(sum_with(kept, SERVE_WORKERS_HEAVY), MEANT);
}
END_TEST

START_TEST(one_owner_takes_less)
{
    struct shares kept;

    shares_init(&kept, MEMORY_KEPT_BYTES);
    ck_assert_uint_le(
        sum_with(shares_room_lasting(&kept, 7) + ELF_READING_MAX_BYTES, SERVE_HEAVY_OF_CALLER),
        370 * MIB);
}
END_TEST

/* Nothing that flamed keeps for processes is outside of that sum, and each kind fits into it. */
START_TEST(all_that_is_kept_is_one_sum)
{
    static struct memory_budget b;
    static struct pending_samples pending;
    struct shares *const parts[] = { &b.files, &b.symbols, &b.perf_maps, &b.copies, &b.inlines };

    memory_budget_init(&b);
    pending_init(&pending, &b.kept);
    ck_assert_ptr_eq(pending.bytes.whole, &b.kept);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        ck_assert_ptr_eq(parts[i]->whole, i ? &b.files : &b.kept);
        ck_assert_uint_le(parts[i]->max, MEMORY_KEPT_BYTES);
    }
    ck_assert_uint_le(PENDING_BYTES_MAX, MEMORY_KEPT_BYTES / 4); /* shares_room_lasting() */
    ck_assert_uint_le(ELF_READING_MAX_BYTES, MEMORY_KEPT_BYTES / 2);
    shares_force(&b.symbols, 7, 5);
    ck_assert_uint_eq(b.kept.used, 5);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("memory_sum");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, all_owners_take_what_flamed_is_meant_to);
    tcase_add_test(tc, one_owner_takes_less);
    tcase_add_test(tc, all_that_is_kept_is_one_sum);
    return suite_run_case("memory_sum", tc);
}
