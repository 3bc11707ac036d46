/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule on a synthetic hour. It fires when its fault begins, holds during the fault, and ends
 * after it. During that no other rule fires with a severity above 1. On the controls no rule fires
 * at all.
 */
#include "signal_faults.h"

static void collects(struct making *m)
{
    m->r.v[NUMBER_COLLECTION_NS] += 3.7e9;
    m->r.v[NUMBER_COLLECTIONS] += 140;
}

static void leaks(struct making *m)
{
    m->r.v[NUMBER_HEAP_BYTES] = fmin(130 * MIB + m->sick_s / 60 * 8 * MIB, 256 * MIB);
    m->r.v[NUMBER_OLD_COLLECTIONS] += 1;
}

/* The old generation of Serial has two thirds of the heap, and is full before that. */
static void leaks_into_old(struct making *m)
{
    leaks(m);
    m->r.v[NUMBER_OLD_MAX_BYTES] = 171 * MIB;
    m->r.v[NUMBER_OLD_BYTES] = fmin(m->r.v[NUMBER_HEAP_BYTES], 170 * MIB);
}

static void fills_heap(struct making *m)
{
    m->r.v[NUMBER_HEAP_MAX_BYTES] = m->r.v[NUMBER_HEAP_BYTES] * 1.04;
}

/* After an OutOfMemoryError nothing is allocated any more. Eden, which does not count, is full. */
static void has_filled_old(struct making *m)
{
    m->r.v[NUMBER_HEAP_BYTES] = 0.7 * 256 * MIB;
    m->r.v[NUMBER_OLD_LEFT] = 0.998;
    m->r.v[NUMBER_COLLECTIONS] -= 2; /* those of healthy() */
    m->r.v[NUMBER_COLLECTION_NS] -= 16e6;
}

/* Caches fill most of the old generation, but its collections free a part. */
static void has_filled_most_of_old(struct making *m)
{
    m->r.v[NUMBER_HEAP_BYTES] = 0.6 * 256 * MIB;
    m->r.v[NUMBER_OLD_LEFT] = 0.9;
}

/* The leak fills pages of the heap that are committed but were never touched. */
static void leaks_into_new_pages(struct making *m)
{
    leaks(m);
    m->r.v[NUMBER_RSS_BYTES] = 300 * MIB + m->r.v[NUMBER_HEAP_BYTES] - 130 * MIB;
    m->r.v[NUMBER_OUTSIDE_BYTES] = m->r.v[NUMBER_RSS_BYTES] - 290 * MIB;
    m->r.v[NUMBER_MEMORY_LIMIT_BYTES] = 640 * MIB;
}

static void is_throttled(struct making *m)
{
    m->r.v[NUMBER_CPU_LIMIT] = 0.5;
    m->r.v[NUMBER_PERIODS_THROTTLED] += 90;
}

static void stops_late(struct making *m)
{
    m->r.v[NUMBER_SAFEPOINT_SYNC_NS] += 12 * 150e6;
}

static void recompiles(struct making *m)
{
    m->r.v[NUMBER_COMPILED] += 300;
    m->r.v[NUMBER_COMPILE_NS] += 2.5e9;
}

/* Just enough to fire. */
static void stops_a_little_late(struct making *m)
{
    m->r.v[NUMBER_SAFEPOINT_SYNC_NS] += 12 * 21e6;
}

static void recompiles_a_little(struct making *m)
{
    m->r.v[NUMBER_COMPILED] += 31;
    m->r.v[NUMBER_COMPILE_NS] += 0.6e9;
}

static void fills_code(struct making *m)
{
    m->r.v[NUMBER_CODE_CACHE_BYTES] = 231 * MIB;
}

static void loads_classes(struct making *m)
{
    m->r.v[NUMBER_CLASSES_LOADED] += 200;
    m->r.v[NUMBER_METASPACE_BYTES] += m->sick_s / 60 * 3 * MIB;
}

static void takes_native(struct making *m)
{
    m->r.v[NUMBER_OUTSIDE_BYTES] = 20 * MIB + m->sick_s / 60 * 10 * MIB;
    m->r.v[NUMBER_RSS_BYTES] = 340 * MIB + m->sick_s / 60 * 10 * MIB;
    m->r.v[NUMBER_MEMORY_LIMIT_BYTES] = 640 * MIB;
}

/* The heap also grows for five minutes: it commits the pages that it fills. */
static void takes_native_and_commits(struct making *m)
{
    double heap = fmin(m->sick_s / 60 * 8, 40) * MIB;

    takes_native(m);
    m->r.v[NUMBER_HEAP_BYTES] = 90 * MIB + heap;
    m->r.v[NUMBER_HEAP_COMMITTED_BYTES] = 256 * MIB + heap;
    m->r.v[NUMBER_HEAP_MAX_BYTES] = 8 * GIB;
    m->r.v[NUMBER_RSS_BYTES] += heap;
}

static void fills_memory(struct making *m)
{
    m->r.v[NUMBER_RSS_BYTES] = 520 * MIB;
    m->r.v[NUMBER_KEPT_BYTES] = 490 * MIB;
}

/* Which part of it is of files is not known. */
static void fills_some_memory(struct making *m)
{
    m->r.v[NUMBER_RSS_BYTES] = 490 * MIB;
}

static void starts_threads(struct making *m)
{
    m->r.v[NUMBER_THREADS] = 50 + m->sick_s * 2;
}

static void opens_files(struct making *m)
{
    m->r.v[NUMBER_DESCRIPTORS] = fmin(130 + m->sick_s, 1024);
}

static void swaps(struct making *m)
{
    m->r.v[NUMBER_MAJOR_FAULTS] += 2000;
    m->r.v[NUMBER_SWAP_BYTES] = 100 * MIB;
    m->r.v[NUMBER_MEMORY_PRESSURE_NS] += 3e9;
    fills_memory(m);
}

/* Collections touch what is swapped out. */
static void swaps_the_heap(struct making *m)
{
    swaps(m);
    collects(m);
}

static void queues_up(struct making *m)
{
    m->r.v[NUMBER_BUSY_THREADS] = 6;
    m->r.v[NUMBER_LOCK_WAITERS] = (int)m->s / STEP_S % 2 ? 5 : 4;
}

static void has_no_thread(struct making *m)
{
    m->r.v[NUMBER_BUSY_THREADS] = 8;
    m->r.v[NUMBER_POOL_WAITING] = (int)m->s / STEP_S % 3 ? 1 : 0.875;
    m->r.v[NUMBER_POOL_HELD] = 8 * m->r.v[NUMBER_POOL_WAITING];
}

static void has_no_connection(struct making *m)
{
    m->r.v[NUMBER_VIRTUAL_QUEUED] = (int)m->s / STEP_S % 2 ? 44 : 36;
    m->r.v[NUMBER_VIRTUAL_BUSY] = m->r.v[NUMBER_VIRTUAL_QUEUED] + 10;
}

static void computes_on_carriers(struct making *m)
{
    m->r.v[NUMBER_VIRTUAL_RUNNABLE] = (int)m->s / STEP_S % 2 ? 18 : 12;
    m->r.v[NUMBER_VIRTUAL_MOUNTED] = 2;
}

/* Half of the carriers are pinned. The rest suffice for all but a few virtual threads. */
static void pins(struct making *m)
{
    m->r.v[NUMBER_CARRIERS_PINNED] = (int)m->s / STEP_S % 3 ? 3 : 2;
    m->r.v[NUMBER_VIRTUAL_RUNNABLE] = 2;
    m->r.v[NUMBER_VIRTUAL_MOUNTED] = 3;
}

/* All carriers are pinned. No other thread is known to need one. */
static void pins_all(struct making *m)
{
    m->r.v[NUMBER_CPU_LIMIT] = 3.5;
    m->r.v[NUMBER_CARRIERS_PINNED] = 4;
    m->r.v[NUMBER_VIRTUAL_RUNNABLE] = 0;
    m->r.v[NUMBER_VIRTUAL_MOUNTED] = 4;
}

/* It is unknown which virtual threads could run. */
static void pins_untracked(struct making *m)
{
    pins(m);
    m->r.v[NUMBER_VIRTUAL_RUNNABLE] = (double)NAN;
}

static const struct {
    const char *signal;
    void (*make_sick)(struct making *m);
    unsigned severity;    /* at least this severity once the signal is on */
    const char *sentence; /* a part of the sentence, at some time during that */
} FAULTS[] = {
    { "gc-pauses", collects, 2, "% of the last 30 s went to 426 pauses for garbage collection" },
    { "gc-pauses", collects, 2, "; the heap has at most 256 MiB" },
    { "heap-growing", leaks, 2, "after collections 8.0 MiB more are in use each minute" },
    { "heap-growing", leaks_into_new_pages, 2, "8.0 MiB more are in use each minute" },
    { "heap-growing", leaks_into_old, 3,
      "MiB of the old generation's 171 MiB now, full in about 3 min" },
    { "heap-full", fills_heap, 2, "stay in use after collections" },
    { "heap-full", has_filled_old, 3,
      "the last collection of the old generation left 99.8 % of it in use, 70 % of the heap; there "
      "was no collection in the last 14 min" },
    { "cpu-limit", is_throttled, 3, "its CPU limit of 0.5 throttled it in 93 % of the periods" },
    { "run-queue", queues, 3, "waited 58 % of the time in which they could run" },
    { "lock-contention", queues_up, 3,
      "4.7 of the 6.0 threads that were busy in the last 30 s waited for a lock of class Prices; "
      "price-1 held it, and waited for a file in Prices.load" },
    { "pool-exhausted", has_no_thread, 3,
      "8 of 8 threads of exec-* wait for the same: [network] in Rates.fetch; 96 %" },
    { "pool-exhausted", has_no_connection, 3,
      "% of those that waited within their work, in the last 30 s; 8 others in Orders.save wait "
      "for "
      "the same: [network] in Rates.fetch" },
    { "carriers-starved", computes_on_carriers, 3,
      "on average 14.0 virtual threads could run, but had no carrier, beside 2.0 that ran; "
      "that is 88 % of the time" },
    { "carriers-pinned", pins, 3,
      "on average 2.7 of 4 carriers are pinned by virtual threads that wait for another thread in "
      "Orders.save, pinned by Native.call; 2.0 others could run, but have no carrier" },
    { "carriers-pinned", pins_all, 3, "on average 4.0 of 4 carriers are pinned" },
    { "carriers-pinned", pins_untracked, 3,
      "for another thread in Orders.save, pinned by Native.call" },
    { "safepoint-late", stops_late, 2, "waited 150 ms each" },
    { "safepoint-late", stops_a_little_late, 1, "waited 21 ms each" },
    { "deoptimization", recompiles, 2, "0 classes were loaded: code is thrown away" },
    { "deoptimization", recompiles_a_little, 1, "code is thrown away" },
    { "code-cache", fills_code, 2, "231 MiB of the 240 MiB" },
    { "metaspace-growing", loads_classes, 1, "metaspace takes" },
    { "native-growing", takes_native, 2, "more each minute" },
    { "native-growing", takes_native_and_commits, 2, "more each minute" },
    { "memory-limit", fills_memory, 2, "it uses 490 MiB of its container's limit of 512 MiB" },
    { "memory-limit", fills_some_memory, 2, "it uses 490 MiB of its container's limit of 512 MiB" },
    { "threads-growing", starts_threads, 1, "more than" },
    { "descriptors", opens_files, 2, "the limit of 1024 is reached in about" },
    { "swapping", swaps, 2, "200 pages a second came from a disk; 100 MiB of it are swapped out" },
    { "swapping", swaps_the_heap, 2, "200 pages a second came from a disk" },
};

START_TEST(fires_holds_and_ends)
{
    const char *name = FAULTS[_i].signal;
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;
    bool said = false;

    begin(&m, &w, &p);
    while (m.s < END_S + 600) {
        const struct signal_state *state = state_of(&w, name);

        go_on(&w, &m, FAULTS[_i].make_sick);
        check_only(&w, m.s > BEGIN_S ? name : NULL, m.s);
        if (state->on)
            said |= strstr(state->finding.sentence, FAULTS[_i].sentence) != NULL;
        if (m.s <= BEGIN_S || m.s > END_S + RELEASED_S)
            ck_assert_msg(!state->on, "%.0f s: %s", m.s, state->finding.sentence);
        if (m.s > BEGIN_S + FIRES_S && m.s <= END_S) {
            ck_assert_msg(state->on, "%s is off at %.0f s", name, m.s);
            if (m.s > BEGIN_S + 2 * FIRES_S)
                ck_assert_msg(state->finding.severity >= FAULTS[_i].severity, "%u: %s",
                              state->finding.severity, state->finding.sentence);
        }
    }
    ck_assert_msg(said, "never: %s", FAULTS[_i].sentence);
    finish(&w);
}
END_TEST

/* Starts slowly: classes, code, threads and caches grow for two minutes. */
static void warms_up(struct making *m)
{
    double part = fmin(m->s / 120, 1);

    m->r.v[NUMBER_THREADS] = 15 + 25 * part;
    m->r.v[NUMBER_METASPACE_BYTES] = (10 + 30 * part) * MIB;
    m->r.v[NUMBER_HEAP_BYTES] = (10 + 80 * part) * MIB;
    m->r.v[NUMBER_DESCRIPTORS] = 20 + 100 * part;
    m->r.v[NUMBER_COMPILED] += 500 * (1 - part);
    m->r.v[NUMBER_COMPILE_NS] += 4e9 * (1 - part);
    m->r.v[NUMBER_CLASSES_LOADED] += 800 * (1 - part);
    m->r.v[NUMBER_MAJOR_FAULTS] += 900 * (part < 0.4);
}

/* Uses all of one CPU, which is its limit. */
static void works_hard(struct making *m)
{
    warms_up(m);
    m->r.v[NUMBER_CPU_NS] += 5e9;
    m->r.v[NUMBER_NODE_CPU_PRESSURE_NS] += 1e9;
    m->r.v[NUMBER_PERIODS_THROTTLED] += 10;
}

/* The rest of its memory is of files that it has mapped. */
static void maps_files(struct making *m)
{
    m->r.v[NUMBER_RSS_BYTES] = 520 * MIB;
    m->r.v[NUMBER_KEPT_BYTES] = 300 * MIB;
}

/* Only the facts of /proc are known. */
static void keeps_no_counters(struct making *m)
{
    for (size_t i = NUMBER_CPU_LIMIT; i < NUMBERS; i++)
        m->r.v[i] = (double)NAN;
}

/* The machine has no processor for the carriers. */
static void has_carriers_without_processor(struct making *m)
{
    m->r.v[NUMBER_VIRTUAL_RUNNABLE] = 6;
    m->r.v[NUMBER_VIRTUAL_MOUNTED] = 0.4;
}

static void (*const CONTROLS[])(struct making *m) = { has_carriers_without_processor,
                                                      has_filled_most_of_old,
                                                      healthy,
                                                      warms_up,
                                                      works_hard,
                                                      maps_files,
                                                      keeps_no_counters };

START_TEST(controls_are_silent)
{
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;

    begin(&m, &w, &p);
    for (int i = 0; i < 400; i++) {
        healthy(&m);
        if (CONTROLS[_i] != healthy)
            CONTROLS[_i](&m);
        judge(&m, &w);
        check_only(&w, NULL, m.s);
    }
    finish(&w);
}
END_TEST

/* A fault that comes and goes does not switch its signal on and off each time. */
START_TEST(has_hysteresis)
{
    const struct signal_rule *rule = rule_of(RULE_GC_PAUSES);
    struct rule_finding strong = { .strength = 1.2, .severity = 2, .sentence = "strong" },
                        middling = { .strength = 0.8, .severity = 1, .sentence = "middling" },
                        weak = { .strength = 0.1, .severity = 1, .sentence = "weak" },
                        unknown = { .strength = NAN };
    struct signal_state state = { .on = false };
    uint64_t s = NSEC_PER_SEC;

    signal_state_note(&state, rule, &strong, 10 * s);
    ck_assert(!state.on); /* it may be momentary */
    signal_state_note(&state, rule, &weak, 20 * s);
    signal_state_note(&state, rule, &strong, 30 * s);
    ck_assert(!state.on);
    signal_state_note(&state, rule, &strong, 40 * s);
    ck_assert(state.on);
    ck_assert_uint_eq(state.strong_ns, 30 * s);
    signal_state_note(&state, rule, &middling, 300 * s);
    ck_assert(state.on);
    ck_assert_str_eq(state.finding.sentence, "middling");
    signal_state_note(&state, rule, &weak, 310 * s);
    ck_assert(state.on);
    ck_assert_str_eq(state.finding.sentence, "middling"); /* not that of weak */
    signal_state_note(&state, rule, &strong, 320 * s);
    signal_state_note(&state, rule, &unknown, 330 * s);
    ck_assert(state.on);
    signal_state_note(&state, rule, &weak, 350 * s);
    ck_assert(state.on);
    signal_state_note(&state, rule, &weak, 360 * s);
    ck_assert(!state.on);
    ck_assert_uint_eq(state.strong_ns, 0);
}
END_TEST

/* A queue for permits that gets shorter keeps its signal, as long as it is nearly strong enough. */
START_TEST(a_queue_for_permits_has_hysteresis)
{
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;

    begin(&m, &w, &p);
    while (m.s < 600) {
        healthy(&m);
        m.r.v[NUMBER_VIRTUAL_QUEUED] = m.s < 120 ? 6 : m.s < 360 ? 3.5 : 1;
        m.r.v[NUMBER_VIRTUAL_BUSY] = m.r.v[NUMBER_VIRTUAL_QUEUED] + 1;
        judge(&m, &w);
        if (m.s > 60 && m.s <= 360)
            ck_assert_msg(state_of(&w, "pool-exhausted")->on, "it is off at %.0f s", m.s);
        if (m.s > 360 + RELEASED_S)
            ck_assert_msg(!state_of(&w, "pool-exhausted")->on, "it is on at %.0f s", m.s);
    }
    finish(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("signal_rules");
    TCase *tc = tcase_create("rules");

    tcase_add_loop_test(tc, fires_holds_and_ends, 0, ARRAY_SIZE(FAULTS));
    tcase_add_loop_test(tc, controls_are_silent, 0, ARRAY_SIZE(CONTROLS));
    tcase_add_test(tc, has_hysteresis);
    tcase_add_test(tc, a_queue_for_permits_has_hysteresis);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
