/* SPDX-License-Identifier: Apache-2.0 */
/* api/captures.c: a finished capture that waits for the store never looks as it did at its begin.
 */
#include "suite.h"

#include "api/api_impl.h"
#include "capture/store_writer.h"

#include <jansson.h>

static struct profile made = {
    .hold.refs = 1, .id = "a", .total = 300, .warnings = { (char *)"few" }, .warning_count = 1
};
#define TEXTS                                                                                      \
    .id = "a", .event = "cpu", .target = "", .symbols = "", .schedule = "", .failure = "",         \
    .scope = ""
static const struct store_capture begun = { TEXTS, .state = STORE_RUNNING },
                                  done = { TEXTS, .state = STORE_DONE, .samples = 300 };

static const struct store_capture
    *rows[2];              /* what each reading of the store finds; NULL: nothing */
static int readings, busy; /* how often it was read; an error of the first one */
static bool waits;

int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err);
int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err)
{
    (void)api;
    (void)fn;
    (void)arg;
    (void)err;
    return BACKEND_NOT_FOUND; /* the engine has forgotten it */
}

struct profile *__wrap_store_writer_find(struct store_writer *k, const char *id);
struct profile *__wrap_store_writer_find(struct store_writer *k, const char *id)
{
    (void)k;
    ck_assert_str_eq(id, "a");
    return waits ? profile_ref(&made) : NULL;
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
    ck_assert_int_eq(backend_capture(&api, &whole, "a", &facts, &runs, &err), CASES[_i].result);
    if (CASES[_i].result == 0) {
        ck_assert_int_eq(json_integer_value(json_object_get(facts, "samples")), CASES[_i].samples);
        ck_assert_int_eq(runs, CASES[_i].runs);
        if (CASES[_i].waits && CASES[_i].runs)
            ck_assert_uint_eq(json_array_size(json_object_get(facts, "warnings")), 1);
    }
    json_decref(facts);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("capture_waiting");

    tcase_add_loop_test(tc, one_that_waits_is_complete, 0, ARRAY_SIZE(CASES));
    return suite_run_case("capture_waiting", tc);
}
