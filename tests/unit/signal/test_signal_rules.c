/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule on a synthetic hour. It fires when its fault begins, holds during the fault, and ends
 * after it. During that no other rule fires with a severity above 1. On the controls no rule fires
 * at all.
 */
#include "suite.h"

#include "signal/watched.h"

#define MIB 1048576.0
#define GIB (1024 * MIB)
#define BEGIN_S 600    /* when the fault begins */
#define FIRES_S 50     /* at most this long after the fault's begin, the signal is on */
#define END_S 1500     /* when the fault ends */
#define RELEASED_S 120 /* at most this long after the fault's end, the signal is off */
#define STEP_S 10

struct making {
    struct number_reading r; /* the reading before, then this one */
    double s;                /* since the start of the JVM */
    bool sick;               /* true during the fault */
    double sick_s;           /* since the fault began */
};

/* A healthy service: half a CPU, and a collection of 8 ms every 5 s. */
static void healthy(struct making *m)
{
    double *v = m->r.v;

    v[NUMBER_CPU_NS] += 5e9;
    v[NUMBER_THREADS] = 40 + (double)((int)m->s / STEP_S % 3);
    v[NUMBER_RSS_BYTES] = 300 * MIB;
    v[NUMBER_KEPT_BYTES] = (double)NAN;
    v[NUMBER_SWAP_BYTES] = 0;
    v[NUMBER_SWAP_LIMIT_BYTES] = v[NUMBER_SWAP_USED_BYTES] = (double)NAN;
    v[NUMBER_DESCRIPTORS] = 120 + (double)((int)m->s / STEP_S % 5);
    v[NUMBER_DESCRIPTORS_MAX] = 1024;
    v[NUMBER_CPU_LIMIT] = 1;
    v[NUMBER_PERIODS] += 100;
    v[NUMBER_PERIODS_THROTTLED] += 3;
    v[NUMBER_MEMORY_LIMIT_BYTES] = 512 * MIB;
    v[NUMBER_CPU_PRESSURE_NS] += 0.3e9;
    v[NUMBER_NODE_CPU_PRESSURE_NS] += 0.3e9;
    v[NUMBER_NODE_CPUS] = 4;
    v[NUMBER_NODE_STEAL_NS] += 0.01e9;
    v[NUMBER_NODE_MEMORY_BYTES] = 8 * GIB;
    v[NUMBER_NODE_AVAILABLE_BYTES] = 4 * GIB;
    v[NUMBER_NODE_SWAP_FREE_BYTES] = GIB;
    v[NUMBER_COLLECTIONS] += 2;
    v[NUMBER_COLLECTION_NS] += 16e6;
    v[NUMBER_SAFEPOINTS] += 12;
    v[NUMBER_SAFEPOINT_SYNC_NS] += 1e6;
    /* Garbage grows old and is collected every 3 minutes. */
    v[NUMBER_HEAP_BYTES] = (60 + (double)((int)m->s % 180) / 6) * MIB;
    v[NUMBER_OLD_COLLECTIONS] += (int)m->s % 180 == 0;
    v[NUMBER_HEAP_COMMITTED_BYTES] = 256 * MIB;
    v[NUMBER_HEAP_MAX_BYTES] = 256 * MIB;
    v[NUMBER_ALLOCATED_PER_SECOND] = 20 * MIB;
    v[NUMBER_METASPACE_BYTES] = 40 * MIB;
    v[NUMBER_METASPACE_COMMITTED_BYTES] = 41 * MIB;
    v[NUMBER_CODE_CACHE_BYTES] = 30 * MIB;
    v[NUMBER_CODE_CACHE_MAX_BYTES] = 240 * MIB;
    v[NUMBER_OUTSIDE_BYTES] = v[NUMBER_RSS_BYTES] - 327 * MIB;
    v[NUMBER_OOM_KILLS] += 0;
    v[NUMBER_MAJOR_FAULTS] += 1;
    v[NUMBER_MEMORY_PRESSURE_NS] += 0;
    v[NUMBER_COMPILED] += 1;
    v[NUMBER_COMPILE_NS] += 5e6;
    v[NUMBER_CLASSES_LOADED] += 0;
    v[NUMBER_BUSY_THREADS] = 2 + (double)((int)m->s / STEP_S % 4);
    v[NUMBER_LOCK_WAITERS] = (double)((int)m->s / STEP_S % 2);
    v[NUMBER_POOL_THREADS] = 8;
    v[NUMBER_POOL_WAITING] = 0.25;
    v[NUMBER_CARRIERS_PINNED] = (int)m->s / STEP_S % 7 == 0;
    v[NUMBER_VIRTUAL_RUNNABLE] = (double)((int)m->s / STEP_S % 4);
    v[NUMBER_VIRTUAL_MOUNTED] = 1.5;
}

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

static void fills_heap(struct making *m)
{
    m->r.v[NUMBER_HEAP_MAX_BYTES] = m->r.v[NUMBER_HEAP_BYTES] * 1.04;
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

static void queues(struct making *m)
{
    m->r.v[NUMBER_NODE_CPU_PRESSURE_NS] += 8e9;
    m->r.v[NUMBER_RAN_NS] += 5e9;
    m->r.v[NUMBER_RUNNABLE_NS] += 7e9;
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

/* As a little, on a node where threads wait nine tenths of the time for a processor. */
static void recompiles_without_processors(struct making *m)
{
    queues(m);
    m->r.v[NUMBER_RUNNABLE_NS] += 38e9;
    m->r.v[NUMBER_COMPILED] += 31;
    m->r.v[NUMBER_COMPILE_NS] += 6e9;
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
    { "heap-growing", leaks, 2, "after collections 8.0 MiB more are in use each minute" },
    { "heap-growing", leaks_into_new_pages, 2, "8.0 MiB more are in use each minute" },
    { "heap-full", fills_heap, 2, "stay in use after collections" },
    { "cpu-limit", is_throttled, 3, "its CPU limit of 0.5 throttled it in 93 % of the periods" },
    { "run-queue", queues, 3, "waited 58 % of the time in which they could run" },
    { "lock-contention", queues_up, 3,
      "4.7 of the 6.0 threads that were busy waited for a lock of class Prices; price-1 holds it, "
      "and "
      "waits ([file]) in Prices.load" },
    { "pool-exhausted", has_no_thread, 3,
      "8 of 8 threads of exec-* wait for the same: [network] in Rates.fetch; 96 %" },
    { "carriers-starved", computes_on_carriers, 3,
      "on average 14.0 virtual threads could run, but had no carrier, beside 2.0 that ran; "
      "that is 88 % of the time" },
    { "carriers-pinned", pins, 3,
      "on average 2.7 of 4 carriers are pinned by virtual threads that wait ([park]) in "
      "Orders.save, pinned by Native.call; 2.0 others could run, but have no carrier" },
    { "carriers-pinned", pins_all, 3, "on average 4.0 of 4 carriers are pinned" },
    { "carriers-pinned", pins_untracked, 3, "([park]) in Orders.save, pinned by Native.call" },
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

/* Adds a reading and judges it. */
static void go_on(struct watched *w, struct making *m, void (*make_sick)(struct making *m))
{
    m->sick = make_sick && m->s >= BEGIN_S && m->s < END_S;
    m->sick_s = m->s - BEGIN_S + STEP_S;
    healthy(m);
    if (m->sick)
        make_sick(m);
    w->p->start_realtime_ns = clock_realtime_ns() - (uint64_t)m->s * NSEC_PER_SEC;
    ck_assert(numbers_add(&w->numbers, (uint64_t)(m->s + 1) * NSEC_PER_SEC, &m->r));
    watched_judge(w, (uint64_t)(m->s + 1) * NSEC_PER_SEC);
    m->s += STEP_S;
}

/* Checks that only @expected is on; NULL: no signal. */
static void check_only(const struct watched *w, const char *expected, double s)
{
    for (size_t i = 0; i < RULES; i++) {
        const struct signal_state *state = &w->states[i];
        const char *name = rule_of((enum rule_id)i)->name;

        if (!state->on ||
            (expected && (strcmp(name, expected) == 0 || state->finding.severity < 2)))
            continue;
        ck_abort_msg("%s beside %s at %.0f s: %s", name, expected ? expected : "nothing", s,
                     state->finding.sentence);
    }
}

static const struct signal_state *state_of(const struct watched *w, const char *name)
{
    for (size_t i = 0; i < RULES; i++) {
        if (strcmp(rule_of((enum rule_id)i)->name, name) == 0)
            return &w->states[i];
    }
    ck_abort_msg("no rule is called %s", name);
}

static void begin(struct making *m, struct watched *w, struct process *p)
{
    *m = (struct making){ .s = 0 };
    *w = (struct watched){
        .p = p,
        .lock = { .waiters = 5,
                  .name = "Prices",
                  .owner = "price-1",
                  .code = "Prices.load",
                  .wait = "file" },
        .pool = { .threads = 8,
                  .waiting = 8,
                  .name = "exec-*",
                  .code = "Rates.fetch",
                  .wait = "network" },
        .carriers = { .carriers = 4,
                      .pinned = 3,
                      .code = "Orders.save",
                      .place = "Native.call",
                      .wait = "park" },
    };
    for (size_t i = 0; i < NUMBERS; i++)
        m->r.v[i] = 0;
}

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
    numbers_deinit(&w.numbers);
}
END_TEST

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
        ck_assert(numbers_add(&w.numbers, (uint64_t)(m.s + 1) * NSEC_PER_SEC, &m.r));
        watched_judge(&w, (uint64_t)(m.s + 1) * NSEC_PER_SEC);
        m.s += STEP_S;
    }
    ck_assert_int_eq(state->on, _i);
    if (_i)
        ck_assert_ptr_nonnull(
            strstr(state->finding.sentence, "beside 0.0 that ran; that is 100 % of the time"));
    numbers_deinit(&w.numbers);
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
    numbers_deinit(&w.numbers);
}
END_TEST

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
        ck_assert(numbers_add(&w.numbers, (uint64_t)(m.s + 1) * NSEC_PER_SEC, &m.r));
        watched_judge(&w, (uint64_t)(m.s + 1) * NSEC_PER_SEC);
        m.s += STEP_S;
        ck_assert(i >= 10 || !state->on);
        if (i == 14)
            ck_assert_ptr_nonnull(strstr(state->finding.sentence, "ended 1 process of"));
    }
    ck_assert(state->on);
    ck_assert_double_eq_tol(state->finding.value, 3, 1e-9);
    ck_assert_uint_eq(state->finding.severity, RULE_SEVERITY_MAX);
    ck_assert_ptr_nonnull(strstr(state->finding.sentence, "ended 3 processes"));
    ck_assert_ptr_nonnull(strstr(state->finding.sentence, "the limit is not known"));
    numbers_deinit(&w.numbers);
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
        numbers_deinit(&w.numbers);
    }
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
    while (m.s < BEGIN_S + 2 * FIRES_S)
        go_on(&w, &m, SWAPS[_i].make_sick);
    ck_assert(memory->on && gc->on);
    ck_assert_uint_eq(memory->finding.severity, SWAPS[_i].memory);
    ck_assert_uint_eq(gc->finding.severity, SWAPS[_i].gc);
    ck_assert_int_eq(state_of(&w, "swapping")->on, SWAPS[_i].swaps);
    ck_assert_ptr_nonnull(strstr(gc->finding.sentence, SWAPS[_i].swaps
                                                           ? "swapped out, so that pauses are long"
                                                           : "of heap are in use"));
    numbers_deinit(&w.numbers);
}
END_TEST

/* A heap that is filled for the first time, with collections that free a part of it. */
START_TEST(new_pages_of_the_heap_are_not_native)
{
    struct process p = { .pins = 0 };
    const struct signal_state *state;
    struct making m;
    struct watched w;
    double most = 0;

    begin(&m, &w, &p);
    state = state_of(&w, "native-growing");
    for (int i = 0; i < 60; i++) {
        healthy(&m);
        m.r.v[NUMBER_HEAP_BYTES] = (60 + m.s / 60 * 22 - (i % 10 == 9 ? 40 : 0)) * MIB;
        most = fmax(most, m.r.v[NUMBER_HEAP_BYTES]);
        m.r.v[NUMBER_HEAP_MAX_BYTES] = GIB;
        m.r.v[NUMBER_RSS_BYTES] = 100 * MIB + most;
        m.r.v[NUMBER_OUTSIDE_BYTES] = 10 * MIB + most;
        p.start_realtime_ns = clock_realtime_ns() - (uint64_t)m.s * NSEC_PER_SEC;
        ck_assert(numbers_add(&w.numbers, (uint64_t)(m.s + 1) * NSEC_PER_SEC, &m.r));
        watched_judge(&w, (uint64_t)(m.s + 1) * NSEC_PER_SEC);
        ck_assert_msg(!state->on, "%.0f s: %s", m.s, state->finding.sentence);
        m.s += STEP_S;
    }
    numbers_deinit(&w.numbers);
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

static void (*const CONTROLS[])(struct making *m) = {
    has_carriers_without_processor, healthy, warms_up, works_hard, maps_files, keeps_no_counters
};

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
        p.start_realtime_ns = clock_realtime_ns() - (uint64_t)m.s * NSEC_PER_SEC;
        ck_assert(numbers_add(&w.numbers, (uint64_t)(m.s + 1) * NSEC_PER_SEC, &m.r));
        watched_judge(&w, (uint64_t)(m.s + 1) * NSEC_PER_SEC);
        check_only(&w, NULL, m.s);
        m.s += STEP_S;
    }
    numbers_deinit(&w.numbers);
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

int main(void)
{
    Suite *s = suite_create("signal_rules");
    TCase *tc = tcase_create("rules");

    tcase_add_loop_test(tc, carriers_are_starved_if_all_are_pinned, 0, 2);
    tcase_add_test(tc, a_release_that_costs_more);
    tcase_add_test(tc, kills_without_a_known_limit);
    tcase_add_test(tc, waits_for_a_processor_are_no_compiling);
    tcase_add_loop_test(tc, swap_hides_no_end_that_is_near, 0, ARRAY_SIZE(SWAPS));
    tcase_add_test(tc, new_pages_of_the_heap_are_not_native);
    tcase_add_loop_test(tc, fires_holds_and_ends, 0, ARRAY_SIZE(FAULTS));
    tcase_add_loop_test(tc, controls_are_silent, 0, ARRAY_SIZE(CONTROLS));
    tcase_add_test(tc, has_hysteresis);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
