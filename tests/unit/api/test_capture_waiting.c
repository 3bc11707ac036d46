/* SPDX-License-Identifier: Apache-2.0 */
/* api/captures.c, api/capture_list.c: a finished capture that waits for the store is in lists, and
 * never looks as it did at its begin. */
#include "suite.h"

#include "api/api_impl.h"
#include "capture/store_writer.h"

#include <jansson.h>

static struct profile_process processes[] = { { .host_pid = 7 }, { .host_pid = 8 } };
static struct profile_thread threads[] = { { .process = 0 }, { .process = 1 } };
static struct profile_sample samples[] = { { .count = 300 } };
static struct profile made = { .hold.refs = 1,
                               .id = "a",
                               .scope = "team",
                               .start_realtime_ns = 20,
                               .end_ns = 10,
                               .events = { { .name = "cpu" } },
                               .event_count = 1,
                               .processes = processes,
                               .process_count = 2,
                               .threads = threads,
                               .thread_count = 2,
                               .samples = samples,
                               .sample_count = 1,
                               .total = 300,
                               .warnings = { (char *)"few" },
                               .warning_count = 1 };
#define TEXTS                                                                                      \
    .id = "a", .event = "cpu", .target = "", .symbols = "", .schedule = "", .failure = "",         \
    .scope = "", .start_ns = 20
static const struct store_capture begun = { TEXTS, .state = STORE_RUNNING },
                                  done = { TEXTS, .state = STORE_DONE, .samples = 300 };

static const struct store_capture
    *rows[2];              /* what each reading of the store finds; NULL: nothing */
static int readings, busy; /* how often it was read; an error of the first one */
static bool waits;
static int asked; /* what the engine says */

int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err);
int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err)
{
    (void)api;
    (void)fn;
    (void)arg;
    (void)err;
    return asked; /* the engine has forgotten it */
}

struct profile *__wrap_store_writer_find(struct store_writer *k, const char *id,
                                         char ret_schedule[STORE_WRITER_SCHEDULE_BYTES]);
struct profile *__wrap_store_writer_find(struct store_writer *k, const char *id,
                                         char ret_schedule[STORE_WRITER_SCHEDULE_BYTES])
{
    (void)k;
    ck_assert_str_eq(id, "a");
    if (waits && ret_schedule)
        snprintf(ret_schedule, STORE_WRITER_SCHEDULE_BYTES, "nightly");
    return waits ? profile_ref(&made) : NULL;
}

int __wrap_store_writer_each(struct store_writer *k, store_writer_fn fn, void *cookie);
int __wrap_store_writer_each(struct store_writer *k, store_writer_fn fn, void *cookie)
{
    (void)k;
    return waits ? fn(cookie, &made, "nightly") : 0;
}

int __wrap_store_list(struct store *s, const struct store_query *q, store_capture_fn fn,
                      void *cookie, char ret_next[STORE_CURSOR_BYTES], struct error *err);
int __wrap_store_list(struct store *s, const struct store_query *q, store_capture_fn fn,
                      void *cookie, char ret_next[STORE_CURSOR_BYTES], struct error *err)
{
    (void)s;
    (void)err;
    ret_next[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(rows) && rows[i]; i++) {
        if (q->state < 0 || q->state == (int)rows[i]->state)
            fn(cookie, rows[i]);
    }
    return 0;
}

int __wrap_store_get_facts(struct store *s, const char *id, store_capture_fn fn, void *cookie,
                           struct error *err);
int __wrap_store_get_facts(struct store *s, const char *id, store_capture_fn fn, void *cookie,
                           struct error *err)
{
    const struct store_capture *row;

    (void)s;
    ck_assert_str_eq(id, "a");
    ck_assert_int_lt(readings, 2);
    row = rows[readings++];
    if (readings == 1 && busy)
        return error_set(err, busy, "the store was busy");
    return row ? fn(cookie, row) : STORE_NOT_FOUND;
}

static const struct {
    const struct store_capture *rows[2];
    int busy;
    bool waits;
    int result, samples;
    bool runs;
} CASES[] = {
    { { &done }, 0, false, 0, 300, false },
    { { &done }, 0, true, 0, 300, false },
    { { &begun }, 0, true, 0, 300, true },
    { { &begun, &done }, 0, false, 0, 300, false }, /* stored between the two questions */
    { { &begun, &begun }, 0, false, 0, 0, true },   /* its end is on its way */
    { { NULL }, 0, true, 0, 300, true },
    { { NULL, &done }, 0, false, 0, 300, false },
    { { NULL }, -EBUSY, true, 0, 300, true },
    { { NULL }, -EBUSY, false, -EBUSY, 0, false },
    { { NULL, NULL }, 0, false, BACKEND_NOT_FOUND, 0, false },
};

static void check_waiting(const json_t *facts)
{
    const json_t *list = json_object_get(facts, "processes");

    ck_assert_str_eq(json_string_value(json_object_get(facts, "schedule")), "nightly");
    ck_assert_uint_eq(json_array_size(json_object_get(facts, "warnings")), 1);
    ck_assert_uint_eq(json_array_size(list), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, 0), "pid")), 7);
}

START_TEST(one_that_waits_is_complete)
{
    static int place; /* never dereferenced */
    struct api api = { .engine.store = (struct store *)&place };
    struct viewer whole = { .whole = true };
    struct error err = ERROR_NULL;
    json_t *facts = NULL;
    bool runs = false;

    memcpy(rows, CASES[_i].rows, sizeof(rows));
    readings = 0;
    busy = CASES[_i].busy;
    waits = CASES[_i].waits;
    asked = BACKEND_NOT_FOUND;
    ck_assert_int_eq(backend_capture(&api, &whole, "a", &facts, &runs, &err), CASES[_i].result);
    if (CASES[_i].result == 0) {
        ck_assert_int_eq(json_integer_value(json_object_get(facts, "samples")), CASES[_i].samples);
        ck_assert_int_eq(runs, CASES[_i].runs);
        if (CASES[_i].waits && CASES[_i].runs)
            check_waiting(facts);
    }
    json_decref(facts);
}
END_TEST

static const struct {
    const struct store_capture *row; /* NULL: the store has none */
    struct captures_query q;
    bool waits;
    const char *state; /* of the one row of the answer; NULL: the answer is empty */
    bool whole;        /* the viewer sees the node; else captures of "team" alone */
} LISTS[] = {
    { &begun, { .limit = 9 }, true, "running", true },
    { &begun, { .limit = 9 }, false, NULL, true },
    { NULL, { .limit = 9 }, true, "running", true }, /* a range of the past */
    { &done, { .limit = 9 }, true, "done", true },   /* it was stored meanwhile */
    { &done, { .limit = 9 }, false, "done", true },
    { &begun, { .state = "running" }, true, "running", true },
    { &begun, { .state = "done" }, true, NULL, true },
    { NULL, { .event = "cpu" }, true, "running", true },
    { NULL, { .event = "wall" }, true, NULL, true },
    { NULL, { .schedule = "nightly" }, true, "running", true },
    { NULL, { .schedule = "hourly" }, true, NULL, true },
    { NULL, { .target = { .pids = { 7 }, .pid_count = 1 } }, true, "running", true },
    { NULL, { .target = { .pids = { 8 }, .pid_count = 1 } }, true, NULL, true }, /* no sample */
    { NULL, { .target = { .pod = "shop" } }, true, NULL, true },
    { NULL, { .range = { 30, 40 } }, true, "running", true },
    { NULL, { .range = { 31, 40 } }, true, NULL, true },
    { NULL, { .range = { 10, 20 } }, true, NULL, true },
    { NULL, { .range = { 10, 21 } }, true, "running", true },
    { NULL, { .cursor = "21.a" }, true, "running", true },
    { NULL, { .cursor = "20.a" }, true, NULL, true }, /* the page before has it */
    { NULL, { .limit = 9 }, true, "running", false },
    { NULL, { .target = { .service = "shop" } }, true, NULL, false },
};

START_TEST(one_that_waits_is_listed)
{
    static int place; /* never dereferenced */
    struct api api = { .engine.store = (struct store *)&place };
    struct viewer viewer = { .whole = LISTS[_i].whole, .scope = "team" };
    struct captures_query q = LISTS[_i].q;
    struct error err = ERROR_NULL;
    json_t *answer = NULL, *list, *first;

    q.target.viewer = &viewer;
    rows[0] = LISTS[_i].row;
    rows[1] = NULL;
    waits = LISTS[_i].waits;
    asked = 0;
    ck_assert_int_eq(backend_captures(&api, &q, &answer, &err), 0);
    list = json_object_get(answer, "captures");
    ck_assert_uint_eq(json_array_size(list), LISTS[_i].state != NULL);
    first = json_array_get(list, 0);
    if (first) {
        ck_assert_str_eq(json_string_value(json_object_get(first, "state")), LISTS[_i].state);
        if (strcmp(LISTS[_i].state, "running") == 0)
            check_waiting(first);
    }
    json_decref(answer);
}
END_TEST

/* What another caller keeps is in no list of the viewer. */
START_TEST(one_of_another_scope_is_not_listed)
{
    struct api api = { 0 };
    struct viewer viewer = { .scope = "other" };
    struct captures_query q = { .target.viewer = &viewer };
    json_t *answer = NULL;

    waits = true;
    asked = 0;
    ck_assert_int_eq(backend_captures(&api, &q, &answer, NULL), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(answer, "captures")), 0);
    json_decref(answer);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("capture_waiting");
    int r;

    if (intern_new(1024, &made.strings) != 0)
        return 1;
    tcase_add_loop_test(tc, one_that_waits_is_complete, 0, ARRAY_SIZE(CASES));
    tcase_add_loop_test(tc, one_that_waits_is_listed, 0, ARRAY_SIZE(LISTS));
    tcase_add_test(tc, one_of_another_scope_is_not_listed);
    r = suite_run_case("capture_waiting", tc);
    intern_free(made.strings);
    return r;
}
