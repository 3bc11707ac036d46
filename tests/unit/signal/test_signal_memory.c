/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of memory whose causes are mixed. */
#include "signal_faults.h"

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
        judge(&m, &w);
        ck_assert_msg(!state->on, "%.0f s: %s", m.s, state->finding.sentence);
    }
    finish(&w);
}
END_TEST

/* Adds readings of a heap and of CPU time until @until_s. @state has to be on all this time; NULL:
 * is not checked. */
static void go(struct watched *w, struct making *m, double until_s, double heap_mib, double cpus,
               const struct signal_state *state)
{
    while (m->s < until_s) {
        healthy(m);
        m->r.v[NUMBER_HEAP_BYTES] = heap_mib * MIB;
        m->r.v[NUMBER_CPU_NS] += cpus * 10e9 - 5e9; /* in place of that of healthy() */
        judge(m, w);
        ck_assert_msg(!state || state->on, "it is off at %.0f s", m->s);
    }
}

/* An OutOfMemoryError ended the threads that held the heap. */
START_TEST(a_jvm_that_stopped_is_not_well)
{
    struct process p = { .pins = 0 };
    const struct signal_state *state;
    struct making m;
    struct watched w;

    begin(&m, &w, &p);
    snprintf(w.heap.text, sizeof(w.heap.text), "93 %% byte[]");
    w.heap.was_full = true;
    state = state_of(&w, "heap-full");
    go(&w, &m, 600, 100, 0.5, NULL);
    ck_assert(!state->on);
    go(&w, &m, 700, 255, 0.9, NULL);
    go(&w, &m, 2000, 3, 0.001, state);
    check_only(&w, "heap-full", m.s);
    ck_assert_uint_eq(state->finding.severity, RULE_SEVERITY_MAX);
    ck_assert_msg(
        strstr(state->finding.sentence,
               "22 min ago the heap was full; then a collection freed 252 MiB of it; "
               "since then the JVM uses 0.1 % of a CPU, 50.0 % before that") != NULL &&
            strstr(state->finding.sentence, "; a sample of the full heap was: 93 % byte[]"),
        "%s", state->finding.sentence);
    ck_assert_msg(strstr(state->finding.remedy, "/profile?pid={pid}&from={from}&to={to}") &&
                      !strstr(state->finding.remedy, "event=live&"),
                  "%s", state->finding.remedy);
    ck_assert_double_eq_tol(state->finding.ago_s, 1300, 20); /* when it was full last */
    w.heap.was_full = false; /* a sample of a heap that was not full says nothing of it */
    go(&w, &m, 2010, 3, 0.001, state);
    ck_assert_ptr_null(strstr(state->finding.sentence, "byte[]"));
    go(&w, &m, 2000 + RELEASED_S, 3, 0.5, NULL); /* it works again */
    ck_assert(!state->on);
    finish(&w);
}
END_TEST

START_TEST(texts_are_of_then)
{
    struct process p = { .id.host_pid = 7 };
    struct signal signal = { .process = &p,
                             .remedy = "{pid} {from} {to}",
                             .now_ns = 1000 * NSEC_PER_SEC };
    char text[128];

    signal_remedy(&signal, text, sizeof(text));
    ck_assert_str_eq(text, "7 1970-01-01T00:15:40Z 1970-01-01T00:16:40Z");
    signal.ago_ns = 400 * NSEC_PER_SEC;
    signal_remedy(&signal, text, sizeof(text));
    ck_assert_str_eq(text, "7 1970-01-01T00:09:00Z 1970-01-01T00:10:00Z");
}
END_TEST

/* CPU time before the heap was full, while it was, and after that: without a sign of a stop. */
static const double WORKS_ON[][3] = { { 0.5, 0.9, 0.5 },
                                      { 0.5, 0.9, 0.11 },
                                      { 0.003, 0.9, 0.0001 } };

START_TEST(a_jvm_that_works_on_is_well)
{
    const double *cpus = WORKS_ON[_i];
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;

    begin(&m, &w, &p);
    go(&w, &m, 600, 100, cpus[0], NULL);
    go(&w, &m, 700, 255, cpus[1], NULL);
    ck_assert(state_of(&w, "heap-full")->on);
    go(&w, &m, 700 + RELEASED_S, 3, cpus[2], NULL);
    go(&w, &m, 1000, 3, 0.001 * cpus[2], NULL); /* a pause of its work is short */
    check_only(&w, NULL, m.s);
    finish(&w);
}
END_TEST

/* The old generation is full, and objects that have no room there fill the rest. */
static void leaks_beside_full_old(struct making *m)
{
    m->r.v[NUMBER_HEAP_BYTES] = 130 * MIB + m->sick_s / 60 * 8 * MIB;
    m->r.v[NUMBER_OLD_LEFT] = 0.99;
    m->r.v[NUMBER_OLD_COLLECTIONS] += 1;
}

START_TEST(a_full_heap_that_grows_is_full)
{
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;
    const struct rule_finding *full;

    begin(&m, &w, &p);
    snprintf(w.heap.text, sizeof(w.heap.text), "93 %% byte[]");
    while (m.s < END_S) {
        go_on(&w, &m, leaks_beside_full_old);
        if (m.s > BEGIN_S + FIRES_S)
            check_only(&w, "heap-full", m.s);
        ck_assert(!state_of(&w, "heap-growing")->on);
    }
    full = &state_of(&w, "heap-full")->finding;
    ck_assert_uint_eq(full->severity, RULE_SEVERITY_MAX);
    ck_assert_msg(strstr(full->sentence, "; it rose by 8.7 MiB a minute for 24 min") &&
                      strstr(full->sentence, ", as with a leak; a sample of it is: 93 % byte[]") &&
                      strstr(full->remedy, "event=alloc&"),
                  "%s", full->sentence);
    finish(&w);
}
END_TEST

/* Allocated bytes a second in a full heap without collections; whether that is too little to sample
 * what stays. */
static const struct {
    double rate;
    bool is_little;
} QUIET[] = { { 2000, true }, { 400000, false }, { NAN, false } };

START_TEST(few_collections_are_not_little_work)
{
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;
    const struct rule_finding *full;

    begin(&m, &w, &p);
    for (int i = 0; i < 30; i++) {
        healthy(&m);
        m.r.v[NUMBER_HEAP_BYTES] = 250 * MIB;
        if (i > 10)
            m.r.v[NUMBER_COLLECTIONS] -= 2; /* of healthy() */
        m.r.v[NUMBER_ALLOCATED_PER_SECOND] = QUIET[_i].rate;
        judge(&m, &w);
    }
    ck_assert(state_of(&w, "heap-full")->on);
    full = &state_of(&w, "heap-full")->finding;
    ck_assert_msg(strstr(full->sentence, "; there was no collection in the last "), "%s",
                  full->sentence);
    ck_assert_int_eq(full->remedy && strstr(full->remedy, "too little is allocated"),
                     QUIET[_i].is_little); /* NULL: that of the rule */
    finish(&w);
}
END_TEST

START_TEST(a_heap_is_told_by_its_classes)
{
    struct heap_sample s = { .pages = 4,
                             .bytes = 10000,
                             .known = 9990,
                             .class_count = 4,
                             .classes = { { "[B", 8012 },
                                          { "shop/Cart$\x01", 1200 },
                                          { "[Ljava/lang/Object;", 600 },
                                          { "[[J", 178 } } };
    char text[RULE_HEAP_BYTES];

    heap_text_say(&s, text);
    ck_assert_str_eq(text, "80 % byte[], 12 % shop.Cart$\xef\xbf\xbd, 6 % java.lang.Object[]");
    s.classes[1].bytes = 99; /* below a percent */
    heap_text_say(&s, text);
    ck_assert_str_eq(text, "80 % byte[]");
    for (size_t i = 0; i < 3; i++) {
        memset(s.classes[i].name, 'x', HEAP_CLASS_NAME_BYTES - 1);
        s.classes[i].bytes = 3000;
    }
    s.known = 0; /* each of them 30 %; with what is not known, the longest text */
    heap_text_say(&s, text);
    ck_assert_uint_lt(strlen(text), sizeof(text) - 1);
    ck_assert_ptr_nonnull(strstr(text, ", 100 % not known"));
    s.class_count = 0;
    heap_text_say(&s, text);
    ck_assert_str_eq(text, "");
}
END_TEST

/* A full collection moves objects during the third sample. Ten minutes later, poor samples are all
 * that there is. */
START_TEST(a_poor_sample_replaces_no_better_one)
{
    static const struct {
        uint64_t at_s, known;
        bool enough;
        const char *text;
    } SAMPLES[] = {
        { 10, 300, false, "30 % long[], 70 % not known" }, /* better than none */
        { 20, 900, true, "90 % long[]" },
        { 30, 400, false, "90 % long[]" },
        { 40, 710, true, "71 % long[]" }, /* the newest of good ones */
        { 50, 0, false, "71 % long[]" },
        { 639, 400, false, "71 % long[]" },
        { 640, 400, false, "40 % long[], 60 % not known" },
    };
    struct watched w = { .readings = 0 };

    for (size_t i = 0; i < ARRAY_SIZE(SAMPLES); i++) {
        uint64_t known = SAMPLES[i].known;
        struct heap_sample s = { .pages = 4,
                                 .bytes = known ? 1000 : 0,
                                 .known = known,
                                 .class_count = 1,
                                 .classes = { { "[J", known } } };

        ck_assert_int_eq(heap_text_take(&w, &s, SAMPLES[i].at_s * NSEC_PER_SEC), SAMPLES[i].enough);
        ck_assert_str_eq(w.heap.text, SAMPLES[i].text);
    }
}
END_TEST

/* What an earlier signal said of the heap does not come back with the next one. */
START_TEST(a_sample_is_forgotten_with_its_signal)
{
    struct process p = { .pins = 0 };
    struct watched w = { .p = &p, .heap = { .known = 0.9, .next_ns = UINT64_MAX } };
    struct watched *all[] = { &w };

    snprintf(w.heap.text, sizeof(w.heap.text), "93 %% byte[]");
    w.states[RULE_HEAP_FULL].on = true;
    heap_text_poll(all, 1, NULL, NSEC_PER_SEC);
    ck_assert_str_eq(w.heap.text, "93 % byte[]");
    w.states[RULE_HEAP_FULL].on = false;
    heap_text_poll(all, 1, NULL, NSEC_PER_SEC);
    ck_assert_str_eq(w.heap.text, "");
    ck_assert_double_eq(w.heap.known, 0);
}
END_TEST

#define COUNTED 3

static const struct process *asked;

/* Stands for a count that never ends. */
int __wrap_discover_residence(struct discover *d, struct process *p, uint64_t max_age_ns,
                              struct error *err)
{
    (void)d, (void)max_age_ns, (void)err;
    asked = p;
    return -EINPROGRESS;
}

/* A count that never ends keeps neither others from theirs, nor texts of ended signals. */
START_TEST(counts_of_heaps_take_turns)
{
    struct process p[COUNTED + 1] = { 0 };
    struct watched w[COUNTED + 1] = { 0 }, *all[COUNTED + 1];

    for (size_t i = 0; i <= COUNTED; i++) {
        all[i] = &w[i];
        w[i].p = &p[i];
        w[i].states[RULE_HEAP_GROWING].on = i < COUNTED;
    }
    w[COUNTED].heap.known = 0.9;
    for (size_t i = 0; i < (size_t)3 * COUNTED; i++) {
        heap_text_poll(all, COUNTED + 1, NULL, (i + 1) * NSEC_PER_SEC);
        ck_assert_ptr_eq(asked, &p[i % COUNTED]);
    }
    ck_assert_double_eq(w[COUNTED].heap.known, 0);
}
END_TEST

/* Adds a reading of a heap of 512 MiB. With @collects it ends a young collection, the only one. */
static void add_heap(struct watched *w, struct making *m, double heap, bool collects)
{
    healthy(m);
    m->r.v[NUMBER_COLLECTIONS] -= collects ? 1 : 2; /* of healthy() */
    m->r.v[NUMBER_HEAP_BYTES] = heap;
    m->r.v[NUMBER_HEAP_MAX_BYTES] = m->r.v[NUMBER_HEAP_COMMITTED_BYTES] = 512 * MIB;
    m->r.v[NUMBER_OLD_COLLECTIONS] = 0;
    m->r.v[NUMBER_OLD_LEFT] = (double)NAN;
    judge(m, w);
}

#define COLLECTED_EVERY_S 90 /* a small service fills its young generation as rarely */

/* A pause is counted when it begins, and its time when it ends. */
START_TEST(a_pause_longer_than_the_window)
{
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;
    size_t on = 0;

    begin(&m, &w, &p);
    for (int i = 0; i < 40; i++) {
        double collections = m.r.v[NUMBER_COLLECTIONS], ns = m.r.v[NUMBER_COLLECTION_NS];

        healthy(&m);
        if (i > 20) {
            m.r.v[NUMBER_COLLECTIONS] = collections + (i == 21);
            m.r.v[NUMBER_COLLECTION_NS] = ns + (i == 25 ? 9e9 : 0);
        }
        judge(&m, &w);
        if (i < 25 || !state_of(&w, "gc-pauses")->on)
            continue;
        on++;
        ck_assert_msg(strstr(state_of(&w, "gc-pauses")->finding.sentence,
                             "went to 1 pause for garbage collection of 9.0 s") != NULL,
                      "%s", state_of(&w, "gc-pauses")->finding.sentence);
    }
    ck_assert_uint_gt(on, 0);
    finish(&w);
}
END_TEST

/* A leak from the start, with few young collections, and none of the old generation. Ten minutes
 * of it suffice. */
START_TEST(few_collections_show_a_leak)
{
    const struct signal_state *state;
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;
    double heap = 20 * MIB;

    begin(&m, &w, &p);
    state = state_of(&w, "heap-growing");
    while (m.s < 1080) {
        bool collects = (int)m.s % COLLECTED_EVERY_S == 0;

        heap = collects ? (20 + m.s / 60 * 21) * MIB : heap;
        add_heap(&w, &m, heap, collects);
        if (m.s > 600)
            ck_assert_msg(state->on && state->finding.severity == 1, "%.0f s, %.0f MiB", m.s,
                          heap / MIB);
    }
    ck_assert_msg(strstr(state->finding.sentence, ", unless a collection of the old generation"),
                  "%s", state->finding.sentence);
    finish(&w);
}
END_TEST

/* A heap that rises at first, and how that ends: a cache that is full, a rise of a program's first
 * minutes, and garbage that takes half a day to fill the heap. */
static const struct {
    double per_minute, until_s; /* MiB */
    bool fires;
} RISES[] = { { 10, 900, true }, { 40, 240, false }, { 0.7, 3600, false } };

START_TEST(a_rise_that_ends_is_no_leak)
{
    const struct signal_state *state;
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;
    bool fired = false;

    begin(&m, &w, &p);
    state = state_of(&w, "heap-growing");
    while (m.s < 4000) {
        double end_s = RISES[_i].until_s;

        add_heap(&w, &m, (20 + fmin(m.s, end_s) / 60 * RISES[_i].per_minute) * MIB, true);
        fired |= state->on;
        ck_assert_msg(!state->on || state->finding.severity == 1, "%.0f s", m.s);
        ck_assert_msg(!state->on || m.s < end_s + 900, "%.0f s", m.s);
    }
    ck_assert_int_eq(fired, RISES[_i].fires);
    finish(&w);
}
END_TEST

/* A second of throttling in each reading of 10 s. A reading that began before the question counts
 * in part. */
START_TEST(throttling_since_a_time)
{
    struct process p = { .pins = 0 };
    struct making m;
    struct watched w;
    uint64_t from_ns, to_ns;

    begin(&m, &w, &p);
    while (m.s < 100) {
        healthy(&m);
        m.r.v[NUMBER_THROTTLED_NS] = m.s < 50 ? 0 : (m.s - 40) / 10 * 1e9;
        judge(&m, &w); /* read at m.s + 1 */
    }
    ck_assert_uint_eq(watched_throttled(&w, 76 * NSEC_PER_SEC, &from_ns, &to_ns), 1500000000);
    ck_assert_uint_eq(from_ns, 76 * NSEC_PER_SEC);
    ck_assert_uint_eq(to_ns, 91 * NSEC_PER_SEC);
    ck_assert_uint_eq(watched_throttled(&w, 5 * NSEC_PER_SEC, &from_ns, &to_ns), 5000000000);
    ck_assert_uint_eq(from_ns, 41 * NSEC_PER_SEC); /* none before that */
    ck_assert_uint_eq(watched_throttled(&w, 95 * NSEC_PER_SEC, &from_ns, &to_ns), 0);
    finish(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("signal_memory");
    TCase *tc = tcase_create("memory");

    tcase_add_test(tc, new_pages_of_the_heap_are_not_native);
    tcase_add_test(tc, a_jvm_that_stopped_is_not_well);
    tcase_add_test(tc, texts_are_of_then);
    tcase_add_loop_test(tc, a_jvm_that_works_on_is_well, 0, ARRAY_SIZE(WORKS_ON));
    tcase_add_test(tc, a_full_heap_that_grows_is_full);
    tcase_add_loop_test(tc, few_collections_are_not_little_work, 0, ARRAY_SIZE(QUIET));
    tcase_add_test(tc, a_heap_is_told_by_its_classes);
    tcase_add_test(tc, a_poor_sample_replaces_no_better_one);
    tcase_add_test(tc, a_sample_is_forgotten_with_its_signal);
    tcase_add_test(tc, counts_of_heaps_take_turns);
    tcase_add_test(tc, a_pause_longer_than_the_window);
    tcase_add_test(tc, few_collections_show_a_leak);
    tcase_add_test(tc, throttling_since_a_time);
    tcase_add_loop_test(tc, a_rise_that_ends_is_no_leak, 0, ARRAY_SIZE(RISES));
    suite_add_tcase(s, tc);
    return suite_run(s);
}
