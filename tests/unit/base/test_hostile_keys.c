/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with foreign keys. An attacker who knows the code must not be able to choose keys that
 * share slots, which would make each look-up pass all others. Measures the thread's CPU time. */
#include "suite.h"

#include "base/clock.h"
#include "base/fnv1a.h"
#include "base/intern.h"
#include "base/u64_cache.h"

#define COUNT 8192u
#define SLOTS 32768u /* slots of a table with that many keys */
#define TIMES_MAX 10 /* limit; keys in one row take forty times as long or more */
#define TEXT_MAX 16

static char hostile[COUNT][TEXT_MAX], ordinary[COUNT][TEXT_MAX];

/* Finds strings with the same low bits of their folded FNV-1a, which tables used before. */
static void choose_strings(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        uint64_t start, h;
        uint32_t k = 0;

        snprintf(ordinary[i], TEXT_MAX, "%05u.......", i);
        snprintf(hostile[i], TEXT_MAX, "%05u.......", i);
        start = fnv1a(FNV1A_START, hostile[i], 9);
        do {
            char end[3] = { (char)('A' + (k & 31)), (char)('A' + (k >> 5 & 31)),
                            (char)('A' + (k >> 10 & 31)) };

            ck_assert_uint_lt(k, 1u << 20);
            if (k >> 15) { /* all endings were tried: takes another middle */
                hostile[i][8] = (char)('A' + (k >> 15));
                start = fnv1a(FNV1A_START, hostile[i], 9);
            }
            h = fnv1a(start, end, 3);
            memcpy(hostile[i] + 9, end, 3);
            k++;
        } while ((uint32_t)(h ^ h >> 32) & (SLOTS - 1));
    }
}

static uint64_t intern_ns(char strings[COUNT][TEXT_MAX])
{
    uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct intern *t = NULL;
    uint32_t id;

    ck_assert_int_eq(intern_new((size_t)64 << 20, &t), 0);
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert_int_eq(intern_add(t, span_of(strings[i]), &id), 0);
    ck_assert_uint_eq(intern_count(t), COUNT + 1);
    intern_free(t);
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

START_TEST(strings_of_one_hash)
{
    uint64_t ordinary_ns, hostile_ns;

    choose_strings();
    ordinary_ns = intern_ns(ordinary);
    hostile_ns = intern_ns(hostile);

    ck_assert_msg(hostile_ns < TIMES_MAX * ordinary_ns, "%ju us, ordinary ones %ju us",
                  (uintmax_t)hostile_ns / 1000, (uintmax_t)ordinary_ns / 1000);
}
END_TEST

#define FACTOR UINT64_C(0x9e3779b97f4a7c15) /* a publicly known multiplier */

/* Returns the inverse of FACTOR modulo 2^64 (Newton). */
static uint64_t inverse(void)
{
    uint64_t x = FACTOR;

    for (int i = 0; i < 6; i++)
        x *= 2 - FACTOR * x;
    return x;
}

static uint64_t cache_ns(uint64_t by)
{
    uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct u64_cache c;
    uint32_t value;

    u64_cache_init(&c, 1u << 16);
    for (uint32_t i = 1; i <= COUNT; i++)
        u64_cache_put(&c, i * by, i);
    for (uint32_t i = 1; i <= COUNT; i++) {
        ck_assert(u64_cache_get(&c, i * by, &value));
        ck_assert_uint_eq(value, i);
    }
    u64_cache_deinit(&c);
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

/* Steps by the inverse of the known multiplier; and in high bits only, as ids of threads may be. */
START_TEST(addresses_of_one_slot)
{
    uint64_t ordinary_ns = cache_ns(UINT64_C(0x1003));
    uint64_t hostile_ns = cache_ns(_i ? UINT64_C(1) << 46 : inverse());

    ck_assert_msg(hostile_ns < TIMES_MAX * ordinary_ns, "%ju us, ordinary ones %ju us",
                  (uintmax_t)hostile_ns / 1000, (uintmax_t)ordinary_ns / 1000);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("hostile_keys");

    tcase_add_test(tc, strings_of_one_hash);
    tcase_add_loop_test(tc, addresses_of_one_slot, 0, 2);
    return suite_run_case("hostile_keys", tc);
}
