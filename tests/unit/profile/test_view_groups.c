/* SPDX-License-Identifier: Apache-2.0 */
/* Frames at the root, by thread, pool, state, service and version: their names and their order. */
#include "recorded.h"

#include "profile/top_functions.h"
#include "render/render.h"
#include "serve/routes/top_table.h"

#include "suite.h"

static uint32_t frame;

static uint32_t thread_of(uint32_t process, int32_t tid, const char *name)
{
    struct profile_thread t = { .host_tid = tid, .process = process };
    uint32_t id;

    t.name = recorded_string(name);
    ck_assert_int_eq(record_thread(rec, &t, &id), 0);
    return id;
}

static void sample(uint64_t time_ns, uint32_t thread, enum thread_state state)
{
    struct profile_sample s = { .time_ns = time_ns,
                                .thread = thread,
                                .count = 1,
                                .flags = (unsigned)state << PROFILE_SAMPLE_STATE_SHIFT };

    ck_assert_int_eq(record_sample(rec, &s, &frame, 1), 0);
}

/* Makes two processes of service "shop", releases 1.4 and 2.0, and one without a service. */
static struct profile *shop(bool by_process)
{
    struct profile meta = { .event_count = 1,
                            .events = { { "cpu", "nanoseconds", 10, false } },
                            .by_process = by_process };
    static const char *const VERSIONS[] = { "1.4", "2.0" };
    struct profile *p = NULL;

    frame = recorded_frame("Shop", "pay", FRAME_C2, 0);
    for (int i = 0; i < 2; i++) {
        struct profile_process q = { .host_pid = 50 + i };

        q.name = recorded_string("Shop");
        q.service = recorded_string("shop");
        q.version = recorded_string(VERSIONS[i]);
        ck_assert_int_eq(record_process(rec, &q, &q.owner), 0);
        sample(1, thread_of(q.owner, 60 + i, "pool-1-thread-12"), STATE_RUNNING);
        sample(2, thread_of(q.owner, 70 + i, "pool-22-thread-3"), STATE_BLOCKED);
    }
    sample(3, thread_of(0, 43, "C2 main7"), STATE_NONE);
    sample(4, thread_of(0, 44, "main"), STATE_NONE);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    return p;
}

static const struct {
    bool by_process;
    struct view_opts o;
    const char *lines;
} CASES[] = {
    { false,
      { .by = { VIEW_BY_POOL } },
      "[C2 main*];Shop.pay 1\n[main];Shop.pay 1\n[pool-*-thread-*];Shop.pay 4\n" },
    { false, { .by = { VIEW_BY_STATE } }, "[blocked];Shop.pay 2\n[running];Shop.pay 4\n" },
    { false, { .by = { VIEW_BY_SERVICE } }, "[no service];Shop.pay 2\n[shop];Shop.pay 4\n" },
    { false,
      { .by = { VIEW_BY_VERSION, VIEW_BY_SERVICE } },
      "[no version];[no service];Shop.pay 2\n[version 1.4];[shop];Shop.pay 2\n"
      "[version 2.0];[shop];Shop.pay 2\n" },
    { false,
      { .by = { VIEW_BY_POOL, VIEW_BY_THREAD } },
      "[C2 main*];[C2 main7 tid=43];Shop.pay 1\n"
      "[main];[main tid=44];Shop.pay 1\n"
      "[pool-*-thread-*];[pool-1-thread-12 tid=60];Shop.pay 1\n"
      "[pool-*-thread-*];[pool-1-thread-12 tid=61];Shop.pay 1\n"
      "[pool-*-thread-*];[pool-22-thread-3 tid=70];Shop.pay 1\n"
      "[pool-*-thread-*];[pool-22-thread-3 tid=71];Shop.pay 1\n" },
    /* Services and versions stand above the process if they come first; all other groups stand
     * below. */
    { true,
      { .by = { VIEW_BY_SERVICE, VIEW_BY_STATE, VIEW_BY_POOL } },
      "[no service];[Main pid=42];[running];[C2 main*];Shop.pay 1\n"
      "[no service];[Main pid=42];[running];[main];Shop.pay 1\n"
      "[shop];[Shop pid=50];[blocked];[pool-*-thread-*];Shop.pay 1\n"
      "[shop];[Shop pid=50];[running];[pool-*-thread-*];Shop.pay 1\n"
      "[shop];[Shop pid=51];[blocked];[pool-*-thread-*];Shop.pay 1\n"
      "[shop];[Shop pid=51];[running];[pool-*-thread-*];Shop.pay 1\n" },
    { true,
      { .by = { VIEW_BY_STATE, VIEW_BY_SERVICE } },
      "[Main pid=42];[running];[no service];Shop.pay 2\n"
      "[Shop pid=50];[blocked];[shop];Shop.pay 1\n"
      "[Shop pid=50];[running];[shop];Shop.pay 1\n"
      "[Shop pid=51];[blocked];[shop];Shop.pay 1\n"
      "[Shop pid=51];[running];[shop];Shop.pay 1\n" },
    /* Merged names lack the numbers that differ in each start. */
    { true, { .names = VIEW_NAMES_MERGED }, "[Main];Shop.pay 2\n[Shop];Shop.pay 4\n" },
    { true,
      { .names = VIEW_NAMES_MERGED, .threads = true },
      "[Main];[C2 main7];Shop.pay 1\n[Main];[main];Shop.pay 1\n"
      "[Shop];[pool-1-thread-12];Shop.pay 2\n[Shop];[pool-22-thread-3];Shop.pay 2\n" },
};

START_TEST(puts_a_frame_for_each)
{
    const struct render_opts how = { 0 };
    struct profile *p = shop(CASES[_i].by_process);
    struct view *v = NULL;
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 65536);
    ck_assert_int_eq(view_new(p, &CASES[_i].o, &v, NULL), 0);
    ck_assert_int_eq(render_format_find(SPAN("collapsed"))->render(v, &how, &out, NULL), 0);
    buf_add_char(&out, '\0');
    ck_assert_str_eq(out.p, CASES[_i].lines);
    view_free(v);
    profile_unref(p);
}
END_TEST

START_TEST(lists_groups_by_weight)
{
    static const struct view_opts BY[] = { { .by = { VIEW_BY_STATE, VIEW_BY_SERVICE } }, { 0 } };
    static const struct {
        const char *name;
        uint64_t weight;
    } GROUPS[][4] = {
        { { "[running] [shop]", 2 }, { "[blocked] [shop]", 2 }, { "[running] [no service]", 2 } },
        { { "", 6 } }
    };
    struct profile *p = shop(/* by_process= */ false);
    _cleanup_buf_ struct buf name = BUF_UPTO(4096);
    _cleanup_free_ struct top_group *groups = NULL;
    _cleanup_(top_sums_freep) struct top_sums *sums = NULL;
    size_t count = 0, found = 0, functions;
    struct view *v = NULL;

    ck_assert_int_eq(view_new(p, &BY[_i], &v, NULL), 0);
    ck_assert_int_eq(top_groups(v, &groups, &count), 0);
    ck_assert_int_eq(top_sums_new(v, &sums), 0);
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ struct top_function *list = NULL;

        ck_assert(i == 0 || groups[i].weight <= groups[i - 1].weight);
        buf_clear(&name);
        top_group_name(v, &groups[i], &name);
        for (size_t k = 0; k < ARRAY_SIZE(GROUPS[0]) && GROUPS[_i][k].name; k++)
            found += span_eq_str(buf_span(&name), GROUPS[_i][k].name) &&
                     groups[i].weight == GROUPS[_i][k].weight;
        ck_assert_int_eq(top_group_functions(sums, &groups[i], &list, &functions), 0);
        ck_assert_uint_eq(functions, 1);
        ck_assert(span_eq_str(view_string(v, list[0].name), "Shop.pay"));
        ck_assert_uint_eq(list[0].self, groups[i].weight); /* only of this group */
    }
    ck_assert_uint_eq(count, _i ? 1 : 3);
    ck_assert_uint_eq(found, count);
    view_free(v);
    profile_unref(p);
}
END_TEST

/* /top has a short interval, and a profile may have 50,000 groups. */
START_TEST(a_table_has_200_groups_at_most)
{
    static const struct {
        size_t rows, shown;
        bool said; /* the text says so if a terminal has room */
    } TABLES[] = { { 100000, 200, true }, { 40, 20, false } };
    const struct top_opts how = { .width = 80, .rows = TABLES[_i].rows };
    const struct view_opts by = { .by = { VIEW_BY_THREAD } };
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 10, false } } };
    _cleanup_buf_ struct buf out = BUF_UPTO(1 << 20);
    struct profile *p = NULL;
    struct view *v = NULL;
    json_t *value;

    recorded_teardown();
    recorded_setup_for(/* entries= */ 1000, /* samples= */ 1000);
    for (int i = 0; i < 250; i++) {
        frame = recorded_frame("Shop", i % 2 ? "pay" : "ship", FRAME_C2, 0);
        sample(1, thread_of(0, 100 + i, "worker"), STATE_RUNNING);
    }
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &by, &v, NULL), 0);
    ck_assert_int_eq(top_table(v, &how, &out), 0);
    buf_add_char(&out, '\0');
    ck_assert_int_eq(strstr(out.p, "\n50 smaller groups are left out\n") != NULL, TABLES[_i].said);
    value = top_json(v, how.rows);
    ck_assert_ptr_nonnull(value);
    ck_assert_uint_eq(json_array_size(json_object_get(value, "groups")), TABLES[_i].shown);
    ck_assert_int_eq(json_integer_value(json_object_get(value, "groups_left_out")),
                     250 - TABLES[_i].shown);
    json_decref(value);
    view_free(v);
    profile_unref(p);
}
END_TEST

/* JSON has each warning; a table has two, and the number of the others. */
START_TEST(a_table_leads_to_further_warnings)
{
    const struct top_opts how = { .width = 80, .rows = 20 };
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 10, false } } };
    _cleanup_buf_ struct buf out = BUF_UPTO(1 << 20);
    struct profile *p = NULL;
    struct view *v = NULL;
    json_t *value, *list;

    sample(1, thread_of(0, 100, "worker"), STATE_RUNNING);
    for (int i = 0; i < 2 + _i; i++)
        record_warn(rec, "warning %d", i);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &(struct view_opts){ 0 }, &v, NULL), 0);
    ck_assert_int_eq(top_table(v, &how, &out), 0);
    buf_add_char(&out, '\0');
    ck_assert_ptr_nonnull(strstr(out.p, "warning 1\n"));
    ck_assert_ptr_null(strstr(out.p, "warning 2"));
    ck_assert_int_eq(strstr(out.p, "\n1 more warnings: /profile?format=summary") != NULL, _i);
    value = top_json(v, how.rows);
    list = json_object_get(value, "warnings");
    ck_assert_uint_eq(json_array_size(list), 2 + _i + 1); /* one sample is few */
    ck_assert_str_eq(json_string_value(json_array_get(list, 1)), "warning 1");
    json_decref(value);
    view_free(v);
    profile_unref(p);
}
END_TEST

static const struct {
    const char *event;
    bool sampled; /* it has samples, but a parameter hides all of them */
    const char *line;
} EMPTY[] = {
    { "cpu", false, "(no samples: the target used no CPU time)\n" },
    { "cpu", true, "(no samples)\n" },
    { "alloc", false, "(no samples)\n" }, /* it may have run all the time */
};

START_TEST(a_table_without_samples)
{
    const struct top_opts how = { .width = 80, .rows = 20 };
    struct view_opts o = { .trace_high = EMPTY[_i].sampled };
    struct profile meta = { .event_count = 1, .events = { { .unit = "nanoseconds" } } };
    _cleanup_buf_ struct buf out = BUF_UPTO(1 << 20);
    struct profile *p = NULL;
    struct view *v = NULL;

    snprintf(meta.events[0].name, sizeof(meta.events[0].name), "%s", EMPTY[_i].event);
    frame = recorded_frame("Shop", "pay", FRAME_C2, 0);
    if (EMPTY[_i].sampled)
        sample(1, main_thread, STATE_RUNNING);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    ck_assert_int_eq(top_table(v, &how, &out), 0);
    buf_add_char(&out, '\0');
    ck_assert_msg(strstr(out.p, EMPTY[_i].line), "%s", out.p);
    view_free(v);
    profile_unref(p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("view_groups");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_add_loop_test(tc, puts_a_frame_for_each, 0, ARRAY_SIZE(CASES));
    tcase_add_loop_test(tc, lists_groups_by_weight, 0, 2);
    tcase_add_loop_test(tc, a_table_has_200_groups_at_most, 0, 2);
    tcase_add_loop_test(tc, a_table_leads_to_further_warnings, 0, 2);
    tcase_add_loop_test(tc, a_table_without_samples, 0, ARRAY_SIZE(EMPTY));
    return suite_run_case("view_groups", tc);
}
