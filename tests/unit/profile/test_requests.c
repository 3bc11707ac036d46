/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of samples: their last names, their limits, and views by them. */
#include "recorded.h"

#include "profile/changes.h"
#include "render/render.h"

#include "suite.h"

static uint32_t frame;
static uint64_t read_ns; /* when names are read */

static void setup(void)
{
    recorded_setup();
    read_ns = 0;
    frame = recorded_frame("Shop", "pay", FRAME_C2, 0);
}

/* Returns the id of the request with @trace, span @span and root span 9. */
static uint32_t request(uint64_t trace, uint64_t span, const char *name)
{
    struct profile_context c = { .trace_low = trace,
                                 .span = span,
                                 .root = 9,
                                 .state = *name ? PROFILE_CONTEXT_NAMED : PROFILE_CONTEXT_IDS };
    uint32_t id = 0;

    ck_assert_int_eq(record_context(rec, main_thread, &c, span_of(name), read_ns, &id), 0);
    return id;
}

/* Returns the id for samples in @state, which have no request. */
static uint32_t without(enum profile_context_state state)
{
    struct profile_context c = { .state = state };
    uint32_t id = 0;

    ck_assert_int_eq(record_context(rec, main_thread, &c, SPAN_NULL, 0, &id), 0);
    return id;
}

static void sample(uint64_t time_ns, uint32_t context)
{
    struct profile_sample s = {
        .time_ns = time_ns, .thread = main_thread, .count = 1, .context = context
    };

    ck_assert_int_eq(record_sample(rec, &s, &frame, 1), 0);
}

static struct profile *finish(void)
{
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 10, false } } };
    struct profile *p = NULL;

    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    return p;
}

static void check_rows(struct profile *p, const struct view_opts *o, const char *expected)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 65536);
    recorded_rows(p, o, &out);
    ck_assert_str_eq(out.n ? out.p : "", expected);
}

/* Makes two requests of one operation. One got its name late, and one span has no name of its
 * own. */
static struct profile *shop(void)
{
    sample(1, request(1, 11, "GET"));
    sample(2, request(1, 12, ""));
    sample(3, request(1, 11, "GET /pay/{id}"));
    sample(4, request(2, 21, "GET /pay/{id}"));
    sample(5, request(3, 31, "POST /order"));
    sample(6, request(4, 41, ""));
    sample(7, without(PROFILE_CONTEXT_NO_REQUEST));
    sample(8, without(PROFILE_CONTEXT_UNREADABLE));
    sample(9, 0);
    return finish();
}

START_TEST(takes_the_last_name_of_a_request)
{
    struct profile *p = shop();

    check_rows(p, &(struct view_opts){ .by = { VIEW_BY_OPERATION } },
               "[GET /pay/{id}];Shop.pay 4\n"
               "[POST /order];Shop.pay 1\n"
               "[unnamed requests];Shop.pay 1\n"
               "[no request];Shop.pay 1\n"
               "[request unreadable];Shop.pay 1\n"
               "[request not read];Shop.pay 1\n");
    ck_assert_uint_eq(p->context_states[PROFILE_CONTEXT_NAMED], 5);
    ck_assert_uint_eq(p->context_states[PROFILE_CONTEXT_IDS], 1);
    ck_assert_uint_eq(p->context_states[PROFILE_CONTEXT_NO_REQUEST], 1);
    ck_assert_uint_eq(p->context_states[PROFILE_CONTEXT_UNREADABLE], 1);
    profile_unref(p);
}
END_TEST

/* A history keeps only the names of requests. */
/* A sample that comes late, as one does if its stack takes long, has an early name. */
START_TEST(takes_the_last_name_by_time)
{
    struct profile *p;

    read_ns = 20;
    sample(20, request(1, 11, "GET /pay/{id}"));
    read_ns = 10;
    sample(10, request(1, 11, "GET /*"));
    read_ns = 15;
    sample(15, request(1, 12, "GET"));
    p = finish();
    check_rows(p, &(struct view_opts){ .by = { VIEW_BY_OPERATION } },
               "[GET /pay/{id}];Shop.pay 3\n");
    profile_unref(p);
}
END_TEST

#define REQUESTS UINT64_C(100000) /* of each of two profiles: more than one has room for */

/* A merge counts the samples whose requests find no room, not the requests. */
START_TEST(a_merge_counts_samples_without_a_trace)
{
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 10, false } } };
    struct profile *parts[2], *p = NULL;
    const char *found = NULL;
    unsigned long long said;
    uint64_t without = 0;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        recorded_teardown();
        recorded_setup_for(/* entries= */ 1000, /* samples= */ 2 * REQUESTS);
        frame = recorded_frame("Shop", "pay", FRAME_C2, 0);
        for (uint64_t k = 0; k < REQUESTS; k++)
            sample(k, request(i * REQUESTS + k + 1, 7, ""));
        for (uint64_t k = REQUESTS - 5; k < REQUESTS; k++) /* again */
            sample(REQUESTS + k, request(i * REQUESTS + k + 1, 7, ""));
        parts[i] = finish();
        ck_assert_uint_eq(parts[i]->warning_count, 0);
    }
    ck_assert_int_eq(profile_merge(parts, 2, NULL, &meta, &p), 0);
    for (size_t i = 0; i < p->sample_count; i++)
        without += !profile_context_has_ids(&p->contexts[p->samples[i].context]);
    for (size_t i = 0; i < p->warning_count && !found; i++)
        found = strstr(p->warnings[i], "samples have no trace") ? p->warnings[i] : NULL;
    ck_assert_ptr_nonnull(found);
    said = strtoull(found, NULL, 10);
    ck_assert_uint_eq(said, without);
    ck_assert_uint_gt(without, 2);
    profile_unref(p);
    profile_unref(parts[0]);
    profile_unref(parts[1]);
}
END_TEST

START_TEST(operations_without_ids_stay_apart)
{
    struct profile_context c = { .state = PROFILE_CONTEXT_NAMED };
    static const char *const NAMES[] = { "GET /pay", "GET /order", "GET /pay", "" };
    uint32_t ids[ARRAY_SIZE(NAMES)];
    struct profile *p;

    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        ck_assert_int_eq(record_context(rec, main_thread, &c, span_of(NAMES[i]), 0, &ids[i]), 0);
        sample(i, ids[i]);
    }
    ck_assert_uint_eq(ids[0], ids[2]);
    p = finish();
    check_rows(p, &(struct view_opts){ .by = { VIEW_BY_OPERATION } },
               "[GET /pay];Shop.pay 2\n"
               "[GET /order];Shop.pay 1\n"
               "[unnamed requests];Shop.pay 1\n");
    check_rows(p, &(struct view_opts){ .by = { VIEW_BY_TRACE } }, "[ids not kept];Shop.pay 4\n");
    check_rows(p, &(struct view_opts){ .trace_low = 1 }, "");
    profile_unref(p);
}
END_TEST

/* A trace may pass through a process several times. A log without spans does not tell which time a
 * sample is of, so that none takes the name of another. */
START_TEST(operations_of_a_trace_without_spans_stay_apart)
{
    struct profile_context c = { .trace_low = 1, .state = PROFILE_CONTEXT_NAMED };
    static const char *const NAMES[] = { "GET /cart", "POST /pay", "GET /cart", "" };
    struct profile *p;
    uint32_t id = 0;

    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        ck_assert_int_eq(record_context(rec, main_thread, &c, span_of(NAMES[i]), i, &id), 0);
        sample(i, id);
    }
    p = finish();
    check_rows(p, &(struct view_opts){ .by = { VIEW_BY_OPERATION } },
               "[GET /cart];Shop.pay 2\n"
               "[POST /pay];Shop.pay 1\n"
               "[unnamed requests];Shop.pay 1\n");
    check_rows(p, &(struct view_opts){ .trace_low = 1 }, "Shop.pay 4\n");
    profile_unref(p);
}
END_TEST

/* A process that sends the ids of another's request cannot rename that request. */
START_TEST(a_process_names_its_own_requests)
{
    struct profile_context c = {
        .trace_low = 1, .span = 2, .root = 9, .state = PROFILE_CONTEXT_NAMED
    };
    struct profile_process other = { .host_pid = 77 };
    struct profile_thread thread = { .host_tid = 77 };
    uint32_t mine, its, id;
    struct profile *p;

    ck_assert_int_eq(record_process(rec, &other, &thread.process), 0);
    ck_assert_int_eq(record_thread(rec, &thread, &its), 0);
    ck_assert_int_eq(record_context(rec, main_thread, &c, SPAN("GET /pay"), 0, &mine), 0);
    ck_assert_int_eq(record_context(rec, its, &c, SPAN("nonsense"), 0, &id), 0);
    sample(1, mine);
    p = finish();
    check_rows(p, &(struct view_opts){ .by = { VIEW_BY_OPERATION } }, "[GET /pay];Shop.pay 1\n");
    profile_unref(p);
}
END_TEST

/* Samples without an operation count only in the whole. */
START_TEST(counts_what_changes_by_operation)
{
    const struct change_steps steps = { .b_ns = 20, .step_ns = 2, .a = 10, .b = 10 };
    struct profile *p = shop();
    struct change_set set;
    struct view *v = NULL;

    ck_assert_int_eq(change_set_init(&set, &steps), 0);
    ck_assert_int_eq(view_new(p, &(struct view_opts){ .exact = true }, &v, NULL), 0);
    ck_assert_int_eq(change_set_add(&set, v, CHANGE_OPERATION), 0);
    ck_assert_uint_eq(set.count, 2);
    ck_assert_str_eq(set.series[0].name, "GET /pay/{id}");
    ck_assert(set.series[0].by_step[0] == 1.0 && set.series[0].by_step[1] == 2.0);
    ck_assert_str_eq(set.series[1].name, "POST /order");
    ck_assert(set.series[1].by_step[2] == 1.0);
    ck_assert(set.whole[CHANGE_OPERATION][4] == 2.0); /* at 8 and 9 */
    change_set_deinit(&set);
    view_free(v);
    profile_unref(p);
}
END_TEST

START_TEST(filters_by_request)
{
    struct profile *p = shop();
    struct view_opts o = { .by = { VIEW_BY_TRACE }, .trace_low = 1 };
    const char *pattern = "^GET";

    check_rows(p, &o, "[trace 00000000000000000000000000000001];Shop.pay 3\n");
    o.span = 12;
    check_rows(p, &o, "[trace 00000000000000000000000000000001];Shop.pay 1\n");
    o = (struct view_opts){ .by = { VIEW_BY_NONE } };
    ck_assert_int_eq(match_new(&pattern, 1, "operation", &o.operation, NULL), 0);
    check_rows(p, &o, "Shop.pay 4\n");
    match_free(o.operation);
    o = (struct view_opts){ .trace_high = 1 };
    check_rows(p, &o, "");
    profile_unref(p);
}
END_TEST

START_TEST(merges_requests)
{
    struct profile *p = shop(), *parts[] = { p, p }, *sum = NULL;
    struct profile meta = { .event_count = 0 };

    ck_assert_int_eq(profile_merge(parts, 2, NULL, &meta, &sum), 0);
    check_rows(sum, &(struct view_opts){ .by = { VIEW_BY_OPERATION } },
               "[GET /pay/{id}];Shop.pay 8\n"
               "[POST /order];Shop.pay 2\n"
               "[unnamed requests];Shop.pay 2\n"
               "[no request];Shop.pay 2\n"
               "[request unreadable];Shop.pay 2\n"
               "[request not read];Shop.pay 2\n");
    profile_unref(sum);
    profile_unref(p);
}
END_TEST

/* All have one stack, each under its own root frame: more than a byte can count. */
START_TEST(writes_many_traces_of_one_stack)
{
    const struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 43 };
    const struct view_opts o = { .by = { VIEW_BY_TRACE } };
    const struct render_opts how = { 0 };
    struct view *v = NULL;
    struct profile *p;
    struct buf out;
    size_t lines = 0;

    record_free(rec);
    ck_assert_int_eq(record_new(table, 10000, &rec), 0);
    ck_assert_int_eq(record_process(rec, &process, &thread.process), 0);
    ck_assert_int_eq(record_thread(rec, &thread, &main_thread), 0);
    for (uint64_t i = 1; i <= 5000; i++)
        sample(i, request(i, i, "GET /pay/{id}"));
    p = finish();
    buf_init(&out, (size_t)8 << 20);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    ck_assert_int_eq(render_format_find(SPAN("collapsed"))->render(v, &how, &out, NULL), 0);
    for (size_t i = 0; i < out.n; i++)
        lines += out.p[i] == '\n';
    ck_assert_uint_eq(lines, 5000);
    buf_deinit(&out);
    view_free(v);
    profile_unref(p);
}
END_TEST

START_TEST(bounds_operations)
{
    struct profile *p;
    char name[32];
    bool warned = false;
    uint32_t id;
    _cleanup_buf_ struct buf out = BUF_NULL;

    for (unsigned i = 0; i <= PROFILE_OPERATIONS_MAX; i++) {
        snprintf(name, sizeof(name), "GET /%u", i);
        id = request(i + 1, 1, name);
        if (i == 7 || i == PROFILE_OPERATIONS_MAX)
            sample(i + 1, id);
    }
    sample(5000, request(5000, 1, "GET /7")); /* the table has this one */
    p = finish();
    buf_init(&out, 1 << 20);
    recorded_rows(p, &(struct view_opts){ .by = { VIEW_BY_OPERATION } }, &out);
    ck_assert_ptr_nonnull(strstr(out.p, "[other operations];Shop.pay 1\n"));
    ck_assert_ptr_nonnull(strstr(out.p, "[GET /7];Shop.pay 2\n"));
    for (size_t i = 0; i < p->warning_count; i++)
        warned |= strstr(p->warnings[i], "more than 1000 operations") != NULL;
    ck_assert(warned);
    profile_unref(p);
}
END_TEST

/* A running request keeps its ids when the table is full of others. */
START_TEST(a_full_table_still_finds_a_request)
{
    uint32_t known = request(1, 11, "GET /pay");

    for (uint64_t i = 0; i < PROFILE_CONTEXTS_MAX; i++)
        request(2 + i, 11, "GET /pay");
    ck_assert_uint_eq(request(1, 11, "GET /pay"), known);
    ck_assert_uint_ne(request(UINT64_MAX, 11, "GET /pay"), known);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("requests");

    tcase_add_checked_fixture(tc, setup, recorded_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, takes_the_last_name_of_a_request);
    tcase_add_test(tc, takes_the_last_name_by_time);
    tcase_add_test(tc, operations_without_ids_stay_apart);
    tcase_add_test(tc, a_merge_counts_samples_without_a_trace);
    tcase_add_test(tc, operations_of_a_trace_without_spans_stay_apart);
    tcase_add_test(tc, a_process_names_its_own_requests);
    tcase_add_test(tc, counts_what_changes_by_operation);
    tcase_add_test(tc, filters_by_request);
    tcase_add_test(tc, merges_requests);
    tcase_add_test(tc, writes_many_traces_of_one_stack);
    tcase_add_test(tc, bounds_operations);
    tcase_add_test(tc, a_full_table_still_finds_a_request);
    return suite_run_case("requests", tc);
}
