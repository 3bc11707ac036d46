/* SPDX-License-Identifier: Apache-2.0 */
/* store: captures are read back unchanged, are found, share their names, and are dropped in
 * time. */
#include "store_fixture.h"

#include "base/buf.h"
#include "profile/view.h"

/* Returns everything that a reader sees of @p, as text. */
static char *text_of(struct profile *p, struct buf *out)
{
    struct view_opts o = {
        .threads = true, .lines = true, .names = VIEW_NAMES_SIGNATURE, .annotate = true
    };
    struct view *v = NULL;

    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    for (size_t i = 0; i < v->row_count; i++) {
        for (uint32_t k = 0; k < v->rows[i].n; k++) {
            const struct view_frame *f = &v->frames[v->stack[v->rows[i].first + k]];

            buf_printf(out, "%s|%s|%s;", view_string(v, f->name).p, view_string(v, f->module).p,
                       view_string(v, f->file).p);
        }
        buf_printf(out, " %llu\n", (unsigned long long)v->rows[i].samples);
    }
    view_free(v);
    buf_printf(out, "%s %s %llu %llu %llu %llu %llu\n", p->target, p->symbols,
               (unsigned long long)p->events[0].period, (unsigned long long)p->total,
               (unsigned long long)p->truncated, (unsigned long long)p->truncated_by[5],
               (unsigned long long)p->lost);
    for (size_t i = 0; i < p->sample_count; i++)
        buf_printf(out, "%llu %x %d %d,", (unsigned long long)(p->samples[i].time_ns - p->start_ns),
                   p->samples[i].flags, p->samples[i].mode, p->samples[i].stands);
    for (size_t i = 0; i < p->warning_count; i++)
        buf_printf(out, "\n%s", p->warnings[i]);
    return out->p;
}

/* Returns the route of a.b.Main in @p. */
static struct span route_of(const struct profile *p)
{
    for (size_t i = 0; p->routes && i < p->function_count; i++) {
        if (span_eq_str(intern_get(p->strings, p->functions[i].class_name), "a.b.Main"))
            return p->routes[i] == FUNCTION_ROUTE_NONE ? SPAN("none")
                                                       : intern_get(p->strings, p->routes[i]);
    }
    return SPAN_NULL;
}

/* Stores and compares a profile. A negative @tid is a pool, as in profiles of the history. */
static void expect_back(int32_t tid)
{
    _cleanup_buf_ struct buf before = BUF_NULL, after = BUF_NULL;
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 5000, "work"), *got = NULL;
    struct store *s = open_store(0, 0);

    p->threads[0].host_tid = tid;
    p->samples[0].stands = 6;
    p->samples[1].stands = PROFILE_STANDS_MAX;
    buf_init(&before, 10 << 20);
    buf_init(&after, 10 << 20);
    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_get(s, "bb", &got, NULL), STORE_NOT_FOUND);
    store_close(s);
    s = open_store(0, 0); /* from the file, not from memory */
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    ck_assert_str_eq(text_of(p, &before), text_of(got, &after));
    ck_assert_uint_eq(got->start_ns, 1000 * NSEC_PER_SEC);
    ck_assert_int_eq(got->threads[0].host_tid, tid);
    ck_assert(span_eq_str(route_of(got), made_route));
    profile_unref(got);
    profile_unref(p);
    store_close(s);
}

START_TEST(gives_back_what_it_was_given)
{
    static const int32_t TIDS[] = { 43, -43 };

    expect_back(TIDS[_i]);
}
END_TEST

/* The captures of a day share their names. A function with two routes has none. */
START_TEST(routes_that_differ)
{
    static const char *const ROUTES[] = { "GET /orders/{id}", "GET /orders/{id}",
                                          "GET /v2/orders/{id}" };
    struct store *s = open_store(0, 0);
    struct profile *p, *got = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(ROUTES); i++) {
        made_route = ROUTES[i];
        p = make_profile((const char *[]){ "aa", "bb", "cc" }[i], (1000 + i) * NSEC_PER_SEC, 10,
                         "work");
        ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
        profile_unref(p);
        store_close(s);
        s = open_store(0, 0);
        ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
        ck_assert(span_eq_str(route_of(got), i < 2 ? ROUTES[0] : "none"));
        profile_unref(got);
    }
    store_close(s);
}
END_TEST

/* A function that was stored without a route gets none by a later process. */
START_TEST(no_route_from_another_process)
{
    struct store *s = open_store(0, 0);
    struct profile *p, *got = NULL;

    for (unsigned i = 0; i < 2; i++) {
        made_route = i == 0 ? "" : "GET /forged";
        p = make_profile(i == 0 ? "aa" : "bb", (1000 + i) * NSEC_PER_SEC, 10, "work");
        ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
        profile_unref(p);
        store_close(s);
        s = open_store(0, 0);
        ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
        ck_assert(span_eq_str(route_of(got), "none"));
        profile_unref(got);
    }
    store_close(s);
}
END_TEST

static int count_captures(void *cookie, const struct store_capture *c)
{
    ck_assert_uint_eq(c->warning_count, 1);
    ck_assert_uint_eq(c->process_count, 1);
    ck_assert_str_eq(c->processes[0].pod, "web-1");
    ++*(unsigned *)cookie;
    return 0;
}

START_TEST(lists_page_by_page_and_filters)
{
    struct store *s = open_store(0, 0);
    struct store_query q = { .to_ns = UINT64_MAX, .state = -1, .limit = 7 };
    char next[64] = "", cursor[64], id[STORE_ID_BYTES];
    unsigned seen = 0, pages = 0;

    for (unsigned i = 0; i < 40; i++) {
        struct profile *p;

        snprintf(id, sizeof(id), "id%u", i);
        p = make_profile(id, (1000 + i / 2) * NSEC_PER_SEC, 10, "work");
        ck_assert_int_eq(store_put(s, p, i % 2 ? "nightly" : NULL, 0, NULL), 0);
        profile_unref(p);
    }
    do {
        snprintf(cursor, sizeof(cursor), "%s", next);
        q.cursor = cursor[0] ? cursor : NULL;
        ck_assert_int_eq(store_list(s, &q, count_captures, &seen, next, NULL), 0);
        pages++;
    } while (next[0]);
    ck_assert_uint_eq(seen, 40);
    ck_assert_uint_eq(pages, 6);
    q = (struct store_query){ .from_ns = 1005 * NSEC_PER_SEC,
                              .to_ns = 1006 * NSEC_PER_SEC,
                              .state = STORE_DONE,
                              .schedule = "nightly",
                              .host_pid = 42,
                              .container = "012345",
                              .limit = 100 };
    seen = 0;
    ck_assert_int_eq(store_list(s, &q, count_captures, &seen, next, NULL), 0);
    ck_assert_uint_eq(seen, 2); /* 1004, which ends at 1005, and 1005 */
    q.container = "9999999";
    seen = 0;
    ck_assert_int_eq(store_list(s, &q, count_captures, &seen, next, NULL), 0);
    ck_assert_uint_eq(seen, 0);
    q.cursor = "garbage";
    ck_assert_int_eq(store_list(s, &q, count_captures, &seen, next, NULL), -EINVAL);
    store_close(s);
}
END_TEST

START_TEST(shares_names_and_keeps_to_its_size)
{
    struct store *s = open_store(200 << 10, 0);
    struct store_stats stats;
    char id[STORE_ID_BYTES], leaf[64];

    for (unsigned i = 0; i < 1000; i++) {
        struct profile *p;

        snprintf(id, sizeof(id), "id%u", i);
        snprintf(leaf, sizeof(leaf), "work%u", i % 3);
        p = make_profile(id, (1000 + i) * NSEC_PER_SEC, 300, leaf);
        ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
        profile_unref(p);
        ck_assert_int_eq(store_retain(s, (1000 + i) * NSEC_PER_SEC, NULL), 0);
    }
    store_stats(s, &stats);
    ck_assert_uint_eq(stats.puts, 1000);
    ck_assert_uint_gt(stats.dropped_by_size, 0);
    ck_assert_uint_gt(stats.captures, 100); /* under 2 KB each: names are stored once */
    ck_assert_uint_le(stats.bytes, 400 << 10);
    store_close(s);
}
END_TEST

/* Puts 600 captures, of USERS in turn from "user 1" on, into a full store. It must keep an older
 * capture of a viewer of the whole node, and one of another user. */
static void check_kept_beside(unsigned users)
{
    struct store *s = open_store(200 << 10, 0);
    struct profile *whole = make_scoped("whole", 10 * NSEC_PER_SEC, 300, "work", ""),
                   *other = make_scoped("other", 11 * NSEC_PER_SEC, 300, "work", "user 77"),
                   *got = NULL;
    struct store_stats stats;
    char id[STORE_ID_BYTES], scope[16];

    ck_assert_int_eq(store_put(s, whole, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_put(s, other, NULL, 0, NULL), 0);
    for (unsigned i = 0; i < 600; i++) {
        struct profile *p;

        snprintf(id, sizeof(id), "id%u", i);
        snprintf(scope, sizeof(scope), "user %u", 1 + i % users);
        p = make_scoped(id, (1000 + i) * NSEC_PER_SEC, 300, "work", scope);
        ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
        profile_unref(p);
        ck_assert_int_eq(store_retain(s, (1000 + i) * NSEC_PER_SEC, NULL), 0);
    }
    store_stats(s, &stats);
    ck_assert_uint_gt(stats.dropped_by_size, 0);
    ck_assert_int_eq(store_get(s, "whole", &got, NULL), 0);
    profile_unref(got);
    ck_assert_int_eq(store_get(s, "other", &got, NULL), 0);
    profile_unref(got);
    ck_assert_int_eq(store_get(s, "id0", &got, NULL), STORE_NOT_FOUND);
    ck_assert_int_eq(store_get(s, "id599", &got, NULL), 0);
    profile_unref(got);
    profile_unref(whole);
    profile_unref(other);
    store_close(s);
}

/* A user who fills the store drops his own captures, not older ones of other users. */
START_TEST(one_scope_fills_the_store_at_its_own_cost)
{
    check_kept_beside(1);
}
END_TEST

/* Twelve users, each with less than the share of one. They drop neither captures of viewers of the
 * whole node, nor those of another user. */
START_TEST(many_scopes_leave_a_reserve)
{
    check_kept_beside(12);
}
END_TEST

START_TEST(drops_by_age_and_with_it_the_names)
{
    struct store *s = open_store(0, 3600);
    uint64_t day = 86400 * NSEC_PER_SEC;
    struct profile *old = make_profile("old", 10 * day, 10, "work"),
                   *kept = make_profile("kept", 10 * day, 10, "work"),
                   *fresh = make_profile("fresh", 12 * day, 10, "other"), *got = NULL;

    ck_assert_int_eq(store_put(s, old, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_put(s, kept, "weekly", 7 * 86400, NULL), 0);
    ck_assert_int_eq(store_put(s, fresh, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_retain(s, 12 * day + 60 * NSEC_PER_SEC, NULL), 0);
    ck_assert_int_eq(store_get(s, "old", &got, NULL), STORE_NOT_FOUND);
    ck_assert_int_eq(store_get(s, "kept", &got, NULL), 0);
    profile_unref(got);
    ck_assert_int_eq(store_get(s, "fresh", &got, NULL), 0);
    profile_unref(got);
    ck_assert_int_eq(store_delete(s, "kept", NULL), 0);
    ck_assert_int_eq(store_delete(s, "kept", NULL), STORE_NOT_FOUND);
    ck_assert_int_eq(store_get(s, "fresh", &got, NULL), 0);
    profile_unref(got);
    profile_unref(old);
    profile_unref(kept);
    profile_unref(fresh);
    store_close(s);
}
END_TEST

START_TEST(nothing_is_old_while_the_clock_is_doubted)
{
    struct profile *p = make_profile("aa", 1000 * NSEC_PER_SEC, 10, "work"), *got = NULL;
    struct store *s = open_store(0, 3600);

    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_retain(s, 0, NULL), 0);
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    profile_unref(got);
    profile_unref(p);
    store_close(s);
}
END_TEST

START_TEST(history_outlives_a_restart)
{
    struct store_runs h = { .last_ns = 5,
                            .last_error_ns = 6,
                            .runs = 7,
                            .missed = 8,
                            .unmatched = 9,
                            .last_id = "aa",
                            .last_error = "why" },
                      got = { 0 };
    struct store *s = open_store(0, 0);

    ck_assert_int_eq(store_get_runs(s, "nightly", &got, NULL), STORE_NOT_FOUND);
    ck_assert_int_eq(store_put_runs(s, "nightly", &h, NULL), 0);
    h.runs++;
    ck_assert_int_eq(store_put_runs(s, "nightly", &h, NULL), 0);
    store_close(s);
    s = open_store(0, 0);
    ck_assert_int_eq(store_get_runs(s, "nightly", &got, NULL), 0);
    ck_assert_mem_eq(&got, &h, sizeof(h));
    store_close(s);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("store");

    tcase_add_loop_test(tc, gives_back_what_it_was_given, 0, 2);
    tcase_add_test(tc, routes_that_differ);
    tcase_add_test(tc, no_route_from_another_process);
    tcase_add_test(tc, lists_page_by_page_and_filters);
    tcase_add_test(tc, shares_names_and_keeps_to_its_size);
    tcase_add_test(tc, one_scope_fills_the_store_at_its_own_cost);
    tcase_add_test(tc, many_scopes_leave_a_reserve);
    tcase_add_test(tc, drops_by_age_and_with_it_the_names);
    tcase_add_test(tc, nothing_is_old_while_the_clock_is_doubted);
    tcase_add_test(tc, history_outlives_a_restart);
    return run_store_tests("store", tc);
}
