/* SPDX-License-Identifier: Apache-2.0 */
/* capture: how many captures a caller may have, and how much memory all captures hold together. */
#include "suite.h"

#include "capture/capture_impl.h"

#define CAPTURES 30
#define BUDGET_BYTES ((size_t)16 << 20)

static const struct caller ALICE = { .kind = CALLER_USER, .uid = 64111 },
                           BOB = { .kind = CALLER_USER, .uid = 64112 },
                           ROOT = { .kind = CALLER_USER }, SELF = { .kind = CALLER_SELF };

static struct captures all;
static struct capture captures[128];
static uint32_t frames[4000];

static void make_captures(void)
{
    all = (struct captures){ 0 };
    captures_init(
        &all, &(struct captures_opts){ .captures_max = 64, .captures_max_bytes = BUDGET_BYTES });
    ck_assert_int_eq(frame_table_new(100000, (size_t)64 << 20, &all.frames), 0);
    for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
        struct function fn = { 0 };
        struct frame f = { .kind = FRAME_NATIVE };
        char name[32];

        snprintf(name, sizeof(name), "function%zu", i);
        ck_assert_int_eq(frame_table_string(all.frames, span_of(name), &fn.name), 0);
        ck_assert_int_eq(frame_table_function(all.frames, &fn, &f.function), 0);
        ck_assert_int_eq(frame_table_frame(all.frames, &f, &frames[i]), 0);
    }
    memset(captures, 0, sizeof(captures));
}

static void free_captures(void)
{
    for (struct capture *c = all.running; c; c = c->next)
        record_free(c->record);
    ck_assert_uint_eq(all.budget.used_bytes, 0); /* all charges were returned */
    frame_table_free(all.frames);
    captures_deinit(&all);
}

static struct capture *add_capture(const struct caller *caller, uint64_t seconds)
{
    struct capture *c = &captures[all.capture_count++];
    struct capture_request req = { .duration_ns = seconds * NSEC_PER_SEC };

    *c = (struct capture){ .next = all.running,
                           .state = CAPTURE_RUNNING,
                           .caller = *caller,
                           .lasts = capture_lasts(&req),
                           .start_ns = clock_monotonic_ns(),
                           .end_ns = seconds ? clock_monotonic_ns() + seconds * NSEC_PER_SEC
                                             : UINT64_MAX };
    ck_assert_int_eq(record_new(all.frames, 20000000, &c->record), 0);
    record_set_budget(c->record, &all.budget);
    all.running = c;
    return c;
}

/* Admits as capture_admit(), and returns when to ask again. */
static int admit(const struct caller *caller, uint64_t seconds, bool live, struct error *err)
{
    struct capture_request req = { .caller = *caller,
                                   .target.viewer = caller == &BOB ? NULL : &VIEWER_WHOLE,
                                   .duration_ns = seconds * NSEC_PER_SEC,
                                   .live = live };

    *err = ERROR_NULL;
    return capture_admit(&all, &req, err);
}

/* ---- how many ---- */

START_TEST(captures_that_last_leave_room_for_short_ones)
{
    struct error err;

    for (size_t i = 0; i < 32; i++) {
        ck_assert_int_eq(admit(&ALICE, 3600, false, &err), 0);
        add_capture(&ALICE, 3600);
    }
    ck_assert_int_eq(admit(&ALICE, 3600, false, &err), BACKEND_TOO_MANY);
    ck_assert_msg(strstr(err.msg, "32 captures are running for user 64111 that take longer"), "%s",
                  err.msg);
    ck_assert_uint_ge(err.retry_s, 3590);
    ck_assert_uint_le(err.retry_s, 3601);
    ck_assert_int_eq(admit(&ALICE, 0, false, &err), BACKEND_TOO_MANY); /* until one is stopped */
    ck_assert_int_eq(admit(&ALICE, 60, false, &err), 0);
    ck_assert_int_eq(admit(&ALICE, 0, true, &err), 0); /* this one is a live view */
    ck_assert_int_eq(admit(&BOB, 3600, false, &err), 0);
    for (size_t i = 0; i < 32; i++)
        add_capture(&ALICE, 10);
    ck_assert_int_eq(admit(&ALICE, 1, false, &err), BACKEND_TOO_MANY);
    ck_assert_msg(strstr(err.msg, "64 captures are running for user 64111"), "%s", err.msg);
    ck_assert_uint_le(err.retry_s, 11);
    ck_assert_int_eq(admit(&BOB, 3600, false, &err), 0);
}
END_TEST

START_TEST(all_callers_together_leave_room_for_root)
{
    struct error err;

    for (size_t i = 0; i < 96; i++)
        add_capture(i < 64 ? &ALICE : &BOB, 30);
    ck_assert_int_eq(admit(&BOB, 1, false, &err), BACKEND_TOO_MANY);
    /* a caller who may not see all gets neither the total nor the end of others */
    ck_assert_msg(strstr(err.msg, "no more captures can run"), "%s", err.msg);
    ck_assert_uint_eq(err.retry_s, 10);
    ck_assert_int_eq(admit(&SELF, 1, false, &err), 0);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(admit(&ROOT, 3600, false, &err), 0);
        add_capture(&ROOT, 3600);
    }
    ck_assert_int_eq(admit(&ROOT, 1, false, &err), BACKEND_TOO_MANY);
    ck_assert_int_eq(admit(&SELF, 1, false, &err), BACKEND_TOO_MANY);
}
END_TEST

/* ---- events and rates ---- */

/* Adds a capture that alone uses the sets @from to @to - 1, as many for an event as fit. */
static void add_sets(const struct caller *caller, uint32_t from, uint32_t to)
{
    struct capture *c = add_capture(caller, 60);

    for (size_t i = 0; i < EVENTS_AT_ONCE_MAX * EVENT_SETS_MAX; i++)
        c->events[i / EVENT_SETS_MAX].sets[i % EVENT_SETS_MAX].set = NO_SET;
    c->event_count = EVENTS_AT_ONCE_MAX;
    for (uint32_t set = from; set < to; set++) {
        c->events[(set - from) / EVENT_SETS_MAX].sets[(set - from) % EVENT_SETS_MAX].set = set;
        all.sets.sets[set] = (struct rate_set){ .set = set, .users = 1 };
    }
}

/* As event wall takes two, beside three others. */
START_TEST(an_only_capture_may_have_one_more)
{
    struct error err = ERROR_NULL;

    add_sets(&ALICE, 0, 4);
    ck_assert(capture_may_add_set(&all, &ALICE, &err));
    add_capture(&BOB, 60);
    ck_assert(capture_may_add_set(&all, &ALICE, &err));
    add_capture(&ALICE, 60);
    ck_assert(!capture_may_add_set(&all, &ALICE, &err));
}
END_TEST

/* As cpu, wall and lock take with source=probe, beside the recorder. */
START_TEST(the_only_capture_may_have_all_but_roots)
{
    struct error err = ERROR_NULL;

    add_sets(&SELF, 0, 1);
    add_sets(&ALICE, 1, 6);
    ck_assert(capture_may_add_set(&all, &ALICE, &err));
    add_capture(&ROOT, 60);
    ck_assert(capture_may_add_set(&all, &ALICE, &err));
    add_capture(&BOB, 60);
    ck_assert(!capture_may_add_set(&all, &ALICE, &err));
    ck_assert_msg(strstr(err.msg, "user 64111 sample 5 events and rates"), "%s", err.msg);
    ck_assert(capture_may_add_set(&all, &BOB, &err));
}
END_TEST

START_TEST(the_sixth_set_is_the_last_but_roots)
{
    struct error err = ERROR_NULL;

    add_sets(&SELF, 0, 1);
    add_sets(&ALICE, 1, 7);
    ck_assert(!capture_may_add_set(&all, &ALICE, &err));
    ck_assert(!capture_may_add_set(&all, &BOB, &err));
    ck_assert(capture_may_add_set(&all, &ROOT, &err));
}
END_TEST

/* Beside the captures of others, the fifth set must not be the last that they can have. */
START_TEST(a_fifth_set_leaves_one_to_others)
{
    struct error err = ERROR_NULL;

    add_sets(&SELF, 0, 1);
    add_sets(&ALICE, 1, 5);
    add_capture(&BOB, 60);
    ck_assert(capture_may_add_set(&all, &ALICE, &err));
    add_sets(&BOB, 5, 6);
    ck_assert(!capture_may_add_set(&all, &ALICE, &err));
    ck_assert(capture_may_add_set(&all, &BOB, &err));
}
END_TEST

START_TEST(one_caller_leaves_events_and_rates_to_others)
{
    struct error err = ERROR_NULL;

    add_sets(&SELF, 0, 1); /* the recorder uses one, too */
    add_sets(&ALICE, 1, 3);
    ck_assert(capture_may_add_set(&all, &ALICE, &err));
    add_sets(&ALICE, 3, 4);
    ck_assert(capture_may_add_set(&all, &ALICE, &err));
    add_sets(&ALICE, 4, 5);
    ck_assert(!capture_may_add_set(&all, &ALICE, &err));
    ck_assert_msg(strstr(err.msg, "user 64111 sample 4 events and rates"), "%s", err.msg);
    ck_assert(capture_may_add_set(&all, &BOB, &err));
    add_sets(&BOB, 5, 7);
    ck_assert(!capture_may_add_set(&all, &BOB, &err)); /* the last set is kept for root */
    ck_assert_str_eq(err.msg, "no more events and rates can be sampled at this time");
    ck_assert(capture_may_add_set(&all, &ROOT, &err));
    ck_assert(capture_may_add_set(&all, &SELF, &err));
}
END_TEST

/* ---- how much ---- */

static void take(struct capture *c, uint64_t time_ns, const uint32_t *stack, size_t n)
{
    record_sample(c->record, &(struct profile_sample){ .time_ns = time_ns, .count = 1 }, stack, n);
}

static struct profile *finish(struct capture *c)
{
    struct profile meta = { .events = { { .name = "cpu" } }, .event_count = 1 }, *p = NULL;

    ck_assert_int_eq(record_finish(c->record, &meta, &p), 0);
    return p;
}

static bool warns(const struct profile *p, const char *text)
{
    for (size_t i = 0; i < p->warning_count; i++) {
        if (strstr(p->warnings[i], text))
            return true;
    }
    return false;
}

/* Samples that a source keeps beside the record cannot be thinned: they are refused. */
START_TEST(kept_samples_count_for_their_caller)
{
    const size_t step = (size_t)1 << 20;
    size_t kept = 0;
    struct error err;

    for (size_t i = 0; i < 8; i++)
        add_capture(&ALICE, 60);
    ck_assert_int_eq(admit(&ALICE, 60, false, &err), 0);
    for (size_t i = 0; i < 8; i++)
        kept += record_beside(captures[i].record, step);
    ck_assert_uint_eq(kept, 8);
    ck_assert_int_eq(admit(&ALICE, 60, false, &err), BACKEND_TOO_MANY);
    ck_assert_msg(strstr(err.msg, "hold 8 MiB of memory"), "%s", err.msg);
    ck_assert_int_eq(admit(&BOB, 60, false, &err), 0);
    ck_assert_uint_eq(all.counts.cut_short, 0);
    while (kept < 1000 && record_beside(captures[0].record, step))
        kept++;
    ck_assert_uint_eq(kept, 15);
    ck_assert_uint_le(all.budget.used_bytes, BUDGET_BYTES);
    ck_assert_uint_eq(all.counts.cut_short, 1);
}
END_TEST

/* Thirty captures with many samples, and a small one that begins when memory is used up. */
START_TEST(many_samples_are_thinned_and_small_captures_left_whole)
{
    struct capture *small;
    struct profile *p;
    size_t most = 0;

    for (size_t i = 0; i < CAPTURES; i++)
        add_capture(&ALICE, 30);
    for (uint64_t t = 0; t < 100000; t++) {
        for (size_t i = 0; i < CAPTURES; i++)
            take(&captures[i], t, frames, 3);
        most = MAX(most, all.budget.used_bytes);
    }
    small = add_capture(&BOB, 10);
    for (uint64_t t = 0; t < 4000; t++)
        take(small, t, frames, 3);
    /* Each capture may have a first piece, whatever the others hold. */
    ck_assert_uint_le(most, BUDGET_BYTES + CAPTURES * 64 * 1024);
    ck_assert_uint_ge(most, BUDGET_BYTES * 3 / 4); /* and most of the budget is used */
    ck_assert_uint_gt(all.counts.thinned, 0);
    ck_assert_uint_eq(all.counts.cut_short, 0);
    p = finish(small);
    ck_assert_uint_eq(p->sample_count, 4000);
    ck_assert_uint_eq(p->warning_count, 0);
    profile_unref(p);
    for (size_t i = 0; i < CAPTURES; i++) {
        p = finish(&captures[i]);
        ck_assert_uint_eq(p->total, 100000); /* a dropped sample counts with another one */
        ck_assert_uint_ge(p->sample_count, 5000);
        ck_assert_uint_lt(p->sample_count, 50000);
        ck_assert(warns(p, "captures_max_bytes"));
        for (size_t k = 1; k < p->sample_count; k++)
            ck_assert_uint_le(p->samples[k - 1].time_ns, p->samples[k].time_ns);
        profile_unref(p);
    }
}
END_TEST

/* What other owners make flamed keep beside captures is not added to their memory. */
START_TEST(captures_have_less_beside_many_symbols)
{
    struct capture *c = add_capture(&ALICE, 30);
    struct profile *p;

    capture_memory_tick(&all, CAPTURES_BESIDE_BYTES + BUDGET_BYTES / 2);
    ck_assert_uint_eq(all.budget.max_bytes, BUDGET_BYTES / 2);
    for (uint64_t t = 0; t < 400000; t++)
        take(c, t, frames, 3);
    ck_assert_uint_le(all.budget.used_bytes, BUDGET_BYTES / 2 + 64 * 1024);
    capture_memory_tick(&all, UINT64_C(1) << 40);
    ck_assert_uint_eq(all.budget.max_bytes, BUDGET_BYTES / CAPTURES_LEAST_PART);
    capture_memory_tick(&all, CAPTURES_BESIDE_BYTES);
    ck_assert_uint_eq(all.budget.max_bytes, BUDGET_BYTES);
    for (uint64_t t = 400000; t < 800000; t++)
        take(c, t, frames, 3);
    ck_assert_uint_gt(all.budget.used_bytes, BUDGET_BYTES / 2 + 64 * 1024);
    p = finish(c);
    ck_assert(warns(p, "(captures_max_bytes; symbols, names and waiting samples take 8 MiB of "
                       "it) was used up"));
    profile_unref(p);
}
END_TEST

/* A caller with many captures takes no memory from a caller with a single larger capture. */
START_TEST(the_caller_that_holds_the_most_is_thinned)
{
    struct capture *single = add_capture(&BOB, 30);
    struct profile *p;

    for (uint64_t t = 0; t < 30000; t++)
        take(single, t, frames, 3);
    for (size_t i = 0; i < CAPTURES; i++)
        add_capture(&ALICE, 30);
    for (uint64_t t = 0; t < 30000; t++) {
        for (size_t i = 1; i <= CAPTURES; i++)
            take(&captures[i], t, frames, 3);
    }
    ck_assert_uint_gt(all.counts.thinned, 0);
    p = finish(single);
    ck_assert_uint_eq(p->sample_count, 30000);
    ck_assert_uint_eq(p->warning_count, 0);
    profile_unref(p);
    p = finish(&captures[1]);
    ck_assert_uint_lt(p->sample_count, 30000);
    profile_unref(p);
}
END_TEST

START_TEST(a_caller_has_half_of_the_memory)
{
    struct error err;
    struct capture *c;

    c = add_capture(&ALICE, 30);
    ck_assert_int_eq(admit(&ALICE, 10, false, &err), 0);
    for (uint64_t t = 0; capture_memory_of(&all, &ALICE) < BUDGET_BYTES / 2; t++)
        take(c, t, frames, 3);
    ck_assert_int_eq(admit(&ALICE, 10, false, &err), BACKEND_TOO_MANY);
    ck_assert_msg(strstr(err.msg, "captures of user 64111 hold"), "%s", err.msg);
    ck_assert_msg(strstr(err.remedy, "captures_max_bytes"), "%s", err.remedy);
    ck_assert_uint_ge(err.retry_s, 20);
    ck_assert_uint_le(err.retry_s, 31);
    ck_assert_int_eq(admit(&BOB, 10, false, &err), 0);
    c = add_capture(&ROOT, 30); /* root has no share */
    for (uint64_t t = 0; capture_memory_of(&all, &ROOT) < BUDGET_BYTES / 2 && t < 100000; t++)
        take(c, t, frames, 3);
    ck_assert_int_eq(admit(&ROOT, 10, false, &err), 0);
}
END_TEST

/* Stacks cannot be thinned: the capture with the most of them must end. It is told what it had. */
START_TEST(stacks_without_end_end_their_capture)
{
    struct capture *small = add_capture(&BOB, 30), *large = add_capture(&ALICE, 30);
    uint32_t stack[64], random = 1;
    struct profile *p;
    size_t most = 0;

    capture_memory_tick(&all, CAPTURES_BESIDE_BYTES + (_i ? BUDGET_BYTES / 2 : 0));
    for (uint64_t t = 0; t < 60000; t++) {
        for (size_t i = 0; i < ARRAY_SIZE(stack); i++) {
            random = random * 1664525 + 1013904223;
            stack[i] = frames[(random >> 8) % ARRAY_SIZE(frames)];
        }
        if (large->end_ns > clock_monotonic_ns())
            take(large, t, stack, ARRAY_SIZE(stack));
        if (t % 50 == 0)
            take(small, t, frames, 3);
        most = MAX(most, all.budget.used_bytes);
    }
    ck_assert_uint_le(most, BUDGET_BYTES);
    ck_assert_uint_eq(all.counts.cut_short, 1);
    ck_assert_uint_le(large->end_ns, clock_monotonic_ns());
    ck_assert_uint_gt(small->end_ns, clock_monotonic_ns());
    p = finish(large);
    ck_assert(warns(p, "ended after"));
    ck_assert(warns(p, _i ? "(captures_max_bytes, 16 MiB; symbols, names and waiting samples "
                            "take 8 MiB of it) was used up"
                          : "(captures_max_bytes, 16 MiB) was used up"));
    profile_unref(p);
    p = finish(small);
    ck_assert_uint_eq(p->sample_count, 1200);
    ck_assert_uint_eq(p->warning_count, 0);
    profile_unref(p);
}
END_TEST

START_TEST(profiles_on_their_way_count)
{
    struct capture *c = add_capture(&ALICE, 30);
    struct profile *p;

    for (uint64_t t = 0; t < 100000; t++)
        take(c, t, frames, 3);
    p = finish(c);
    profile_count(p);
    profile_ref(p);
    capture_memory_tick(&all, 0);
    ck_assert_uint_ge(all.budget.other_bytes, 100000 * sizeof(struct profile_sample));
    profile_unref(p);
    capture_memory_tick(&all, 0);
    ck_assert_uint_gt(all.budget.other_bytes, 0);
    profile_unref(p);
    capture_memory_tick(&all, 0);
    ck_assert_uint_eq(all.budget.other_bytes, 0);
}
END_TEST

/* ---- what came too late ---- */

START_TEST(tells_of_samples_that_were_not_taken)
{
    static const struct {
        uint64_t taken_ns;
        const char *told;
    } TIMES[] = {
        { UINT64_MAX, NULL },
        { 40 * NSEC_PER_SEC, NULL },
        { 38 * NSEC_PER_SEC, "the last 2.0 s" },
        { 5 * NSEC_PER_SEC, "the last 30.0 s" }, /* no sample was taken: the whole time */
    };
    struct capture *c = add_capture(&ALICE, 30);
    struct profile *p;

    c->start_ns = 10 * NSEC_PER_SEC;
    c->end_ns = 40 * NSEC_PER_SEC;
    all.taken_ns = TIMES[_i].taken_ns;
    capture_warn_untaken(&all, c);
    p = finish(c);
    ck_assert_uint_eq(p->warning_count, TIMES[_i].told ? 1 : 0);
    ck_assert(!TIMES[_i].told || warns(p, TIMES[_i].told));
    profile_unref(p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("capture_limits");

    tcase_add_checked_fixture(tc, make_captures, free_captures);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, captures_that_last_leave_room_for_short_ones);
    tcase_add_test(tc, all_callers_together_leave_room_for_root);
    tcase_add_test(tc, captures_have_less_beside_many_symbols);
    tcase_add_test(tc, an_only_capture_may_have_one_more);
    tcase_add_test(tc, the_only_capture_may_have_all_but_roots);
    tcase_add_test(tc, the_sixth_set_is_the_last_but_roots);
    tcase_add_test(tc, a_fifth_set_leaves_one_to_others);
    tcase_add_test(tc, one_caller_leaves_events_and_rates_to_others);
    tcase_add_test(tc, kept_samples_count_for_their_caller);
    tcase_add_test(tc, many_samples_are_thinned_and_small_captures_left_whole);
    tcase_add_test(tc, the_caller_that_holds_the_most_is_thinned);
    tcase_add_test(tc, a_caller_has_half_of_the_memory);
    tcase_add_loop_test(tc, stacks_without_end_end_their_capture, 0, 2);
    tcase_add_test(tc, profiles_on_their_way_count);
    tcase_add_loop_test(tc, tells_of_samples_that_were_not_taken, 0, 4);
    return suite_run_case("capture_limits", tc);
}
