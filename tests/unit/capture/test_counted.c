/* SPDX-License-Identifier: Apache-2.0 */
/* capture/counted.c: moments found from two readings of a JVM's counters, even if it writes in
 * between. */
#include "fixed_seed.h"
#include "suite.h"

#include "capture/counted.h"

#define STARTED_NS UINT64_C(1000000)

struct told {
    struct profile_moment moments[8];
    char names[8][160];
    size_t count;
};

static void take(void *cookie, const struct profile_moment *m, const char *name)
{
    struct told *t = cookie;

    ck_assert_uint_lt(t->count, ARRAY_SIZE(t->moments));
    t->moments[t->count] = *m;
    snprintf(t->names[t->count++], sizeof(t->names[0]), "%s", name);
}

/* Makes readings at 2 and 3 ms. The first collector's last collection ran from 100 us to 400 us. */
static void make(struct counted_look *before, struct counted_look *now)
{
    *before = (struct counted_look){ .at_ns = 2000000 };
    snprintf(before->c.cause, sizeof(before->c.cause), "%s", COUNTERS_NO_CAUSE);
    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++)
        before->c.collectors[i] = (struct counted_collector){ .count = COUNTERS_UNKNOWN,
                                                              .time_ns = COUNTERS_UNKNOWN,
                                                              .entry_ns = COUNTERS_UNKNOWN,
                                                              .exit_ns = COUNTERS_UNKNOWN };
    before->c.collectors[0] = (struct counted_collector){ "young", 5, 900, 100000, 400000 };
    before->c.collectors[1] = (struct counted_collector){ "full", 0, 0, 0, 0 };
    *now = *before;
    now->at_ns = 3000000;
}

static void collections(const struct counted_look *before, const struct counted_look *now,
                        struct told *ret)
{
    *ret = (struct told){ .count = 0 };
    counted_collections(before, now, STARTED_NS, take, ret);
}

START_TEST(a_collection_has_its_time_and_cause)
{
    struct counted_look before, now;
    struct told t;

    make(&before, &now);
    collections(&before, &now, &t);
    ck_assert_uint_eq(t.count, 0);
    now.c.collectors[0] = (struct counted_collector){ "young", 6, 1900, 1500000, 1700000 };
    snprintf(now.c.last_cause, sizeof(now.c.last_cause), "System.gc()");
    collections(&before, &now, &t);
    ck_assert_uint_eq(t.count, 1);
    ck_assert_int_eq(t.moments[0].kind, MOMENT_IS_GC);
    ck_assert_uint_eq(t.moments[0].start_ns, STARTED_NS + 1500000);
    ck_assert_uint_eq(t.moments[0].end_ns, STARTED_NS + 1700000);
    ck_assert_str_eq(t.names[0], "young (System.gc())");
    /* With two collectors, the cause is that of the later collection. */
    now.c.collectors[1] = (struct counted_collector){ "full", 1, 50, 1750000, 1800000 };
    collections(&before, &now, &t);
    ck_assert_uint_eq(t.count, 2);
    ck_assert_str_eq(t.names[0], "young");
    ck_assert_str_eq(t.names[1], "full (System.gc())");
    /* Another collection has begun: the last cause does not belong to these. */
    snprintf(now.c.cause, sizeof(now.c.cause), "Allocation Failure");
    collections(&before, &now, &t);
    ck_assert_str_eq(t.names[1], "full");
}
END_TEST

START_TEST(what_is_half_written_is_no_collection)
{
    static const int64_t TIMES[][2] = {
        { 1500000, 400000 },  /* under way */
        { 100000, 1700000 },  /* it ended during the reading */
        { -1, 1700000 },      /* not known */
        { 1700000, 1700000 }, /* it took no time */
    };
    struct counted_look before, now;
    struct told t;

    for (size_t i = 0; i < ARRAY_SIZE(TIMES); i++) {
        make(&before, &now);
        now.c.collectors[0].entry_ns = TIMES[i][0];
        now.c.collectors[0].exit_ns = TIMES[i][1];
        collections(&before, &now, &t);
        ck_assert_uint_eq(t.count, 0);
    }
}
END_TEST

START_TEST(a_clock_that_was_set_does_not_move_a_collection_away)
{
    struct counted_look before, now;
    struct told t;

    make(&before, &now);
    now.c.collectors[0].entry_ns = 9000000; /* far behind the reading, by the clocks */
    now.c.collectors[0].exit_ns = 9200000;
    collections(&before, &now, &t);
    ck_assert_uint_eq(t.count, 1);
    ck_assert_uint_eq(t.moments[0].end_ns, now.at_ns);
    ck_assert_uint_eq(t.moments[0].start_ns, now.at_ns - 200000);
}
END_TEST

START_TEST(counts_are_differences)
{
    struct counted_look before, now;
    struct told t = { .count = 0 };

    make(&before, &now);
    before.c.compiled = COUNTERS_UNKNOWN; /* not known: no moment is invented */
    now.c.compiled = 100;
    before.c.safepoints = now.c.safepoints = 7;
    before.c.classes_loaded = 10;
    now.c.classes_loaded = 12;
    before.c.shared_classes_loaded = 400;
    now.c.shared_classes_loaded = 401;
    before.c.classes_unloaded = 3; /* a counter that falls counts as nothing */
    now.c.collectors[0].count = 8;
    now.c.collectors[0].time_ns = 2000;
    now.c.collectors[1].count = 1;
    now.c.collectors[1].time_ns = 100;
    counted_counts(&before, &now, take, &t);
    ck_assert_uint_eq(t.count, 2);
    ck_assert_int_eq(t.moments[0].kind, MOMENT_COUNTS_COLLECTIONS);
    ck_assert_uint_eq(t.moments[0].count, 4);
    ck_assert_uint_eq(t.moments[0].reach_ns, 1200);
    ck_assert_uint_eq(t.moments[0].start_ns, before.at_ns);
    ck_assert_uint_eq(t.moments[0].end_ns, now.at_ns);
    ck_assert_int_eq(t.moments[1].kind, MOMENT_COUNTS_CLASSES_LOADED);
    ck_assert_uint_eq(t.moments[1].count, 3);
    /* This one had begun before the first reading: only its duration is known. */
    make(&before, &now);
    now.c.collectors[0].time_ns += 70;
    t.count = 0;
    counted_counts(&before, &now, take, &t);
    ck_assert_uint_eq(t.count, 1);
    ck_assert_uint_eq(t.moments[0].count, 0);
    ck_assert_uint_eq(t.moments[0].reach_ns, 70);
}
END_TEST

/* ---- places ---- */

#define CROWD 9

static struct counted listed;

static struct counted_jvm *claim(int32_t pid, uint64_t owner, bool recorded)
{
    const struct proc_id id = { .host_pid = pid, .start_ticks = 7 };

    return counted_claim(&listed, &id, owner, recorded);
}

/* One round of claims: a newcomer, then the JVMs @from to @to of the crowd. */
static void claim_round(bool newcomer, bool recorded, int32_t from, int32_t to)
{
    if (newcomer)
        claim(1, CROWD + 1, recorded);
    for (int32_t pid = from; pid < to; pid++)
        claim(pid, CROWD, recorded);
}

static void list_all(bool newcomer, bool recorded, int32_t from, int32_t to)
{
    counted_list_begin(&listed);
    claim_round(newcomer, recorded, from, to);
    counted_list_add(&listed);
    claim_round(newcomer, recorded, from, to);
    claim_round(newcomer, recorded, from, to); /* by another capture */
    counted_list_end(&listed);
}

static void list_crowd(bool recorded)
{
    counted_deinit(&listed);
    listed = (struct counted){ .all = calloc(COUNTED_JVMS_MAX, sizeof(*listed.all)) };
    list_all(false, recorded, 100, 100 + COUNTED_JVMS_MAX);
    ck_assert_uint_eq(listed.count, COUNTED_JVMS_MAX);
    for (size_t i = 0; i < listed.count; i++)
        listed.all[i].next_ns = 42; /* it was read */
}

START_TEST(who_is_claimed_keeps_its_place)
{
    bool recorded = _i;

    list_crowd(recorded);
    list_all(true, recorded, 100 + COUNTED_JVMS_MAX - 10, 100 + COUNTED_JVMS_MAX);
    ck_assert_uint_eq(listed.count, 11);
    ck_assert_uint_eq(listed.left_out, 0);
    for (size_t i = 0; i < listed.count; i++)
        ck_assert_uint_eq(listed.all[i].next_ns, listed.all[i].owner == CROWD ? 42 : 0);
    counted_deinit(&listed);
}
END_TEST

/* The JVM that gives way has not claimed a place yet, and then claims it in vain. It counts
 * once. */
START_TEST(a_crowd_gives_way_once)
{
    bool recorded = _i;
    size_t known = 0;

    list_crowd(recorded);
    for (size_t i = 0; i < 3; i++) {
        list_all(true, recorded, 100, 100 + COUNTED_JVMS_MAX);
        ck_assert_uint_eq(listed.count, COUNTED_JVMS_MAX);
        ck_assert_ptr_nonnull(claim(1, CROWD + 1, recorded));
        ck_assert_uint_eq(listed.left_out, 1);
    }
    for (size_t i = 0; i < listed.count; i++)
        known += listed.all[i].next_ns == 42;
    ck_assert_uint_eq(known, COUNTED_JVMS_MAX - 1);
    counted_deinit(&listed);
}
END_TEST

START_TEST(captures_go_before_the_recorder)
{
    list_crowd(/* recorded= */ true);
    counted_list_begin(&listed);
    claim_round(false, true, 100, 100 + COUNTED_JVMS_MAX);
    claim(100 + COUNTED_JVMS_MAX - 1, CROWD, /* recorded= */ false);
    counted_list_add(&listed);
    ck_assert_ptr_nonnull(claim(2, CROWD, /* recorded= */ false));
    ck_assert_uint_eq(counted_of(&listed, &(struct proc_id){ .host_pid = 100 + COUNTED_JVMS_MAX - 1,
                                                             .start_ticks = 7 })
                          ->next_ns,
                      42); /* a capture has it */
    claim(100 + COUNTED_JVMS_MAX - 1, CROWD, /* recorded= */ false);
    claim_round(false, true, 100, 100 + COUNTED_JVMS_MAX);
    counted_list_end(&listed);
    ck_assert_uint_eq(listed.left_out, 1);
    counted_deinit(&listed);
}
END_TEST

START_TEST(a_jvm_is_read_twice_between_two_safepoints)
{
    struct counters before = { .safepoints = 5 }, now = before;
    uint64_t rest_ns = 0, at_ns = 0;
    unsigned alone = 0;

    for (int i = 0; i < 20; i++)
        rest_ns = counted_rest_ns(rest_ns, &before, &now);
    ck_assert_uint_eq(rest_ns, 5 * NSEC_PER_SEC);
    while (now.safepoints < 105) { /* one every 4 s */
        at_ns += rest_ns;
        before = now;
        now.safepoints = 5 + (int64_t)(at_ns / (4 * NSEC_PER_SEC));
        alone += now.safepoints == before.safepoints + 1;
        rest_ns = counted_rest_ns(rest_ns, &before, &now);
    }
    ck_assert_uint_ge(alone, 98);
    ck_assert_uint_le(at_ns, 100 * 4 * NSEC_PER_SEC + rest_ns);
    before.safepoints = now.safepoints - 2;
    ck_assert_uint_eq(counted_rest_ns(5 * NSEC_PER_SEC, &before, &now), NSEC_PER_SEC);
    now.safepoints = COUNTERS_UNKNOWN;
    ck_assert_uint_eq(counted_rest_ns(5 * NSEC_PER_SEC, &before, &now), NSEC_PER_SEC);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("counted");

    tcase_add_test(tc, a_collection_has_its_time_and_cause);
    tcase_add_test(tc, what_is_half_written_is_no_collection);
    tcase_add_test(tc, a_clock_that_was_set_does_not_move_a_collection_away);
    tcase_add_test(tc, counts_are_differences);
    tcase_add_loop_test(tc, who_is_claimed_keeps_its_place, 0, 2);
    tcase_add_loop_test(tc, a_crowd_gives_way_once, 0, 2);
    tcase_add_test(tc, captures_go_before_the_recorder);
    tcase_add_test(tc, a_jvm_is_read_twice_between_two_safepoints);
    return suite_run_case("counted", tc);
}
