/* SPDX-License-Identifier: Apache-2.0 */
/* api/past.c: an answer from stored captures of which some are damaged. */
#include "history_fixture.h"

#include "api/past_impl.h"

#include <sqlite3.h>

#define FIRST "00000000000000000000000000000001"
#define SECOND "00000000000000000000000000000002"

static void damage(const char *which)
{
    char sql[160];
    sqlite3 *db;

    snprintf(sql, sizeof(sql), "UPDATE captures SET body = substr(body, 1, 20) WHERE %s", which);
    ck_assert_int_eq(sqlite3_open(db_path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static int ask(struct store *s, struct profile **ret, struct error *err)
{
    struct api api = { .engine = { .store = s } };
    struct target_selector whole = { .viewer = &VIEWER_WHOLE };
    struct time_range range = { 0, 10000 * NSEC_PER_SEC };

    return backend_past(&api, &whole, &range, "cpu", PAST_STORED, ret, err);
}

START_TEST(a_damaged_capture_is_left_out)
{
    static const char *const DAMAGED[] = { "1 = 0", "id = '" FIRST "'", "1 = 1" };
    struct profile *a = make_profile(FIRST, 1000 * NSEC_PER_SEC, 100, "work");
    struct profile *b = make_profile(SECOND, 2000 * NSEC_PER_SEC, 50, "rest"), *p = NULL;
    _cleanup_buf_ struct buf warnings = BUF_UPTO(1 << 16);
    struct store *s = open_store(0, 0);
    struct error err = ERROR_NULL;
    int r;

    ck_assert_int_eq(store_put(s, a, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_put(s, b, NULL, 0, NULL), 0);
    store_close(s);
    damage(DAMAGED[_i]);
    s = open_store(0, 0);
    r = ask(s, &p, &err);
    if (_i == 2) { /* no other capture answers */
        ck_assert_int_eq(r, -EBADMSG);
        ck_assert_msg(strstr(err.msg, "damaged"), "%s", err.msg);
    } else {
        ck_assert_msg(r == 0, "%s", err.msg);
        ck_assert_uint_eq(p->total, _i ? b->total : a->total + b->total);
        for (size_t i = 0; i < p->warning_count; i++)
            buf_printf(&warnings, "%s\n", p->warnings[i]);
        buf_add_char(&warnings, '\0');
        ck_assert_msg(!strstr(warnings.p, "left out (1), such as " FIRST) == !_i, "%s", warnings.p);
        profile_unref(p);
    }
    store_close(s);
    profile_unref(a);
    profile_unref(b);
}
END_TEST

static const struct {
    const char *first, *second, *merged;
} SOURCES[] = {
    { "agent: asked for", "agent: asked for", "agent: asked for" },
    { "agent: asked for", "memory: read from the JVM",
      "memory, agent: as each part was taken" }, /* the newest first */
    { "memory: read from the JVM", "memory: as text", "memory: as each part was taken" },
    { "agent, memory: as each part was taken", "memory: as text",
      "memory, agent: as each part was taken" },
};

START_TEST(captures_say_where_their_names_come_from)
{
    struct profile *a = make_profile(FIRST, 1000 * NSEC_PER_SEC, 100, "work");
    struct profile *b = make_profile(SECOND, 2000 * NSEC_PER_SEC, 50, "rest"), *p = NULL;
    struct store *s = open_store(0, 0);
    struct error err = ERROR_NULL;

    snprintf(a->symbols, sizeof(a->symbols), "%s", SOURCES[_i].first);
    snprintf(b->symbols, sizeof(b->symbols), "%s", SOURCES[_i].second);
    ck_assert_int_eq(store_put(s, a, NULL, 0, NULL), 0);
    ck_assert_int_eq(store_put(s, b, NULL, 0, NULL), 0);
    ck_assert_msg(ask(s, &p, &err) == 0, "%s", err.msg);
    ck_assert_str_eq(p->symbols, SOURCES[_i].merged);
    profile_unref(p);
    store_close(s);
    profile_unref(a);
    profile_unref(b);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("past_stored");

    tcase_add_loop_test(tc, a_damaged_capture_is_left_out, 0, 3);
    tcase_add_loop_test(tc, captures_say_where_their_names_come_from, 0, ARRAY_SIZE(SOURCES));
    return run_store_tests("past_stored", tc);
}
