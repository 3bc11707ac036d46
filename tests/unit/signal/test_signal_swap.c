/* SPDX-License-Identifier: Apache-2.0 */
/* signal/: Ends by the kernel for lack of memory, and swapping that comes before them. */
#include "signal_faults.h"

/* The value must stay a number, so that the signal can be written as JSON. */
START_TEST(kills_without_a_known_limit)
{
    struct process p = { .pins = 0 };
    const struct signal_state *state;
    struct making m;
    struct watched w;

    begin(&m, &w, &p);
    state = state_of(&w, "memory-limit");
    for (int i = 0; i < 20; i++) {
        healthy(&m);
        m.r.v[NUMBER_MEMORY_LIMIT_BYTES] = (double)NAN;
        m.r.v[NUMBER_OOM_KILLS] = i < 10 ? 0 : i < 15 ? 1 : 3;
        judge(&m, &w);
        ck_assert(i >= 10 || !state->on);
        if (i == 14)
            ck_assert_ptr_nonnull(strstr(state->finding.sentence, "ended 1 process of"));
    }
    ck_assert(state->on);
    ck_assert_double_eq_tol(state->finding.value, 3, 1e-9);
    ck_assert_uint_eq(state->finding.severity, RULE_SEVERITY_MAX);
    ck_assert_ptr_nonnull(strstr(state->finding.sentence, "ended 3 processes"));
    ck_assert_ptr_nonnull(strstr(state->finding.sentence, "the limit is not known"));
    finish(&w);
}
END_TEST

/* Nearly all of the limit is in use, and the heap is full. */
static void is_about_to_be_killed(struct making *m)
{
    double *v = m->r.v;

    v[NUMBER_RSS_BYTES] = v[NUMBER_KEPT_BYTES] = 504 * MIB;
    v[NUMBER_HEAP_BYTES] = 250 * MIB;
    v[NUMBER_COLLECTION_NS] += 8.9e9;
    v[NUMBER_MEMORY_PRESSURE_NS] += 4e9;
    v[NUMBER_MAJOR_FAULTS] += 119; /* and one of healthy(): 12 a second */
    v[NUMBER_SWAP_BYTES] = 100 * MIB;
}

static void has_one_page_in_swap(struct making *m)
{
    is_about_to_be_killed(m);
    m->r.v[NUMBER_SWAP_BYTES] = 4096;
}

static void has_swapped_before(struct making *m)
{
    is_about_to_be_killed(m);
    m->r.v[NUMBER_MAJOR_FAULTS] -= 119;
}

static void has_no_room_to_swap(struct making *m)
{
    is_about_to_be_killed(m);
    m->r.v[NUMBER_NODE_SWAP_FREE_BYTES] = MIB;
}

static void has_no_more_swap_of_its_own(struct making *m)
{
    is_about_to_be_killed(m);
    m->r.v[NUMBER_SWAP_LIMIT_BYTES] = 101 * MIB;
}

static void has_swap_of_its_own(struct making *m)
{
    is_about_to_be_killed(m);
    m->r.v[NUMBER_SWAP_LIMIT_BYTES] = 200 * MIB;
}

/* A process beside the JVM uses the rest. */
static void has_siblings_in_swap(struct making *m)
{
    has_swap_of_its_own(m);
    m->r.v[NUMBER_SWAP_USED_BYTES] = 199 * MIB;
}

static void does_not_know_the_room(struct making *m)
{
    is_about_to_be_killed(m);
    m->r.v[NUMBER_NODE_SWAP_FREE_BYTES] = (double)NAN;
}

static void may_be_killed_later(struct making *m)
{
    has_swapped_before(m);
    m->r.v[NUMBER_MEMORY_PRESSURE_NS] -= 4e9;
}

/* Severities of memory-limit and gc-pauses, and whether swapping is on. */
static const struct {
    void (*make_sick)(struct making *m);
    unsigned memory, gc;
    bool swaps;
} SWAPS[] = {
    { is_about_to_be_killed, 1, 1, true },       { does_not_know_the_room, 1, 1, true },
    { has_no_more_swap_of_its_own, 3, 1, true }, { has_swap_of_its_own, 1, 1, true },
    { has_no_room_to_swap, 3, 1, true },         { has_one_page_in_swap, 3, 3, false },
    { has_swapped_before, 3, 3, false },         { may_be_killed_later, 1, 3, false },
    { has_siblings_in_swap, 3, 1, true },
};

START_TEST(swap_hides_no_end_that_is_near)
{
    struct process p = { .pins = 0 };
    const struct signal_state *memory, *gc;
    struct making m;
    struct watched w;

    begin(&m, &w, &p);
    memory = state_of(&w, "memory-limit");
    gc = state_of(&w, "gc-pauses");
    snprintf(w.heap.text, sizeof(w.heap.text), "93 %% byte[]");
    while (m.s < BEGIN_S + 2 * FIRES_S)
        go_on(&w, &m, SWAPS[_i].make_sick);
    ck_assert(memory->on && gc->on);
    ck_assert_uint_eq(memory->finding.severity, SWAPS[_i].memory);
    ck_assert_uint_eq(gc->finding.severity, SWAPS[_i].gc);
    ck_assert_int_eq(state_of(&w, "swapping")->on, SWAPS[_i].swaps);
    ck_assert_ptr_nonnull(strstr(gc->finding.sentence, SWAPS[_i].swaps
                                                           ? "swapped out, so that pauses are long"
                                                           : "stay in use after collections"));
    ck_assert(!strstr(gc->finding.sentence, "; a sample of the heap is: 93 % byte[]") ==
              SWAPS[_i].swaps);
    finish(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("signal_swap");
    TCase *tc = tcase_create("memory");

    tcase_add_test(tc, kills_without_a_known_limit);
    tcase_add_loop_test(tc, swap_hides_no_end_that_is_near, 0, ARRAY_SIZE(SWAPS));
    suite_add_tcase(s, tc);
    return suite_run(s);
}
