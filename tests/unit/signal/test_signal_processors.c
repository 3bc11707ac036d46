/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of CPU time: carriers, the JIT beside a lack of processors, a release that costs more. */
#include "signal_faults.h"

/* As a little, on a node where threads wait nine tenths of the time for a processor. */
static void recompiles_without_processors(struct making *m)
{
    queues(m);
    m->r.v[NUMBER_RUNNABLE_NS] += 38e9;
    m->r.v[NUMBER_COMPILED] += 31;
    m->r.v[NUMBER_COMPILE_NS] += 6e9;
}

/* Threads that wait on pinned carriers do not run. */
START_TEST(carriers_are_starved_if_all_are_pinned)
{
    struct process p = { .pins = 0 };
    const struct signal_state *state;
    struct making m;
    struct watched w;

    begin(&m, &w, &p);
    state = state_of(&w, "carriers-starved");
    for (int i = 0; i < 20; i++) {
        healthy(&m);
        m.r.v[NUMBER_CARRIERS_PINNED] = _i ? 8 : (double)NAN;
        m.r.v[NUMBER_VIRTUAL_RUNNABLE] = 20;
        m.r.v[NUMBER_VIRTUAL_MOUNTED] = 8;
        judge(&m, &w);
    }
    ck_assert_int_eq(state->on, _i);
    if (_i)
        ck_assert_ptr_nonnull(
            strstr(state->finding.sentence, "beside 0.0 that ran; that is 100 % of the time"));
    finish(&w);
}
END_TEST

/* The JVM's clock of compiling goes on while the compiler waits for a processor. */
START_TEST(waits_for_a_processor_are_no_compiling)
{
    struct process p = { .pins = 0 };
    const struct signal_state *state;
    struct making m;
    struct watched w;

    begin(&m, &w, &p);
    state = state_of(&w, "deoptimization");
    while (m.s < BEGIN_S + 2 * FIRES_S)
        go_on(&w, &m, recompiles_without_processors);
    ck_assert(state->on);
    ck_assert_uint_eq(state->finding.severity, 1);
    finish(&w);
}
END_TEST

/* A release that takes more CPU time is a signal, by what it costs, for as long as its comparison
 * is known. */
START_TEST(a_release_that_costs_more)
{
    static const struct {
        double percent;
        unsigned severity; /* 0: no signal */
    } OF[] = { { 0, 0 }, { 2.9, 0 }, { 3.1, 1 }, { 16, 2 }, { 45, 3 }, { -20, 0 } };
    struct process p = { .pins = 0 };
    const struct signal_state *state;
    struct making m;
    struct watched w;

    for (size_t i = 0; i < ARRAY_SIZE(OF); i++) {
        begin(&m, &w, &p);
        state = state_of(&w, "regression");
        go_on(&w, &m, NULL);
        ck_assert(!state->on);
        w.release.percent = OF[i].percent;
        snprintf(w.release.text, sizeof(w.release.text), "since 2.4.1: +3.1 %% CPU, a.B.c");
        go_on(&w, &m, NULL);
        ck_assert_int_eq(state->on, OF[i].severity > 0);
        if (state->on) {
            ck_assert_uint_eq(state->finding.severity, OF[i].severity);
            ck_assert_double_eq(state->finding.value, OF[i].percent);
            ck_assert_str_eq(state->finding.sentence, w.release.text);
            check_only(&w, "regression", m.s);
        }
        w.release = (struct rule_release){ 0 }; /* the next release */
        while (m.s < RELEASED_S)
            go_on(&w, &m, NULL);
        ck_assert(!state->on);
        finish(&w);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("signal_processors");
    TCase *tc = tcase_create("processors");

    tcase_add_loop_test(tc, carriers_are_starved_if_all_are_pinned, 0, 2);
    tcase_add_test(tc, waits_for_a_processor_are_no_compiling);
    tcase_add_test(tc, a_release_that_costs_more);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
