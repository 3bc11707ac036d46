/* SPDX-License-Identifier: Apache-2.0 */
/* api/events.c: the broker is asked once a second which events the machine has. */
#include "suite.h"

#include "api/api_impl.h"
#include "base/clock.h"
#include "capture/sampling.h"

#include <sys/mman.h>

#define WHY "this machine has no such counter"

static struct sampling sampling;
static struct api api = { .engine = { .sampling = &sampling } };
static unsigned asked, asked_of_one;
static int result;

bool __wrap_sampling_works(const struct sampling *s);
bool __wrap_sampling_works(const struct sampling *s)
{
    return s == &sampling;
}

int __wrap_broker_sample_checks(struct broker *b, int *ret_fd, struct error *err);
int __wrap_broker_sample_checks(struct broker *b, int *ret_fd, struct error *err)
{
    static const char TEXT[] = "cpu\t\ncycles\t" WHY "\n";

    (void)b;
    (void)err;
    asked++;
    if (result)
        return result;
    *ret_fd = memfd_create("checks", MFD_CLOEXEC);
    ck_assert_int_eq(write(*ret_fd, TEXT, strlen(TEXT)), strlen(TEXT));
    ck_assert_int_eq(lseek(*ret_fd, 0, SEEK_SET), 0);
    return 0;
}

int __wrap_broker_sample_check(struct broker *b, const char *event, struct error *err);
int __wrap_broker_sample_check(struct broker *b, const char *event, struct error *err)
{
    (void)b;
    (void)event;
    (void)err;
    asked_of_one++;
    return 0;
}

/* Returns the reason why event @name cannot be sampled. */
static const char *reason(const char *name, json_t **list)
{
    const struct document_query q = { .viewer = &VIEWER_WHOLE };
    json_t *event;
    size_t i;

    json_decref(*list);
    ck_assert_int_eq(facts_events(&api, &q, list, NULL), 0);
    json_array_foreach(json_object_get(*list, "events"), i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "name")), name) == 0)
            return json_string_value(json_object_get(event, "reason"));
    }
    ck_abort_msg("no event %s", name);
    return NULL;
}

START_TEST(one_check_serves_a_second)
{
    json_t *list = NULL;

    for (unsigned second = 1; second <= 2; second++) {
        for (unsigned i = 0; i < 10; i++) {
            ck_assert_str_eq(reason("cycles", &list), WHY);
            ck_assert_str_eq(reason("cpu", &list), "");
        }
        ck_assert_uint_eq(asked, second);
        api.checks.asked_ns -= NSEC_PER_SEC;
    }
    json_decref(list);
    buf_deinit(&api.checks.text);
}
END_TEST

START_TEST(a_check_that_fails_leaves_no_old_answers)
{
    json_t *list = NULL;

    ck_assert_str_eq(reason("cycles", &list), WHY);
    result = -EIO;
    api.checks.asked_ns -= NSEC_PER_SEC;
    ck_assert_str_eq(reason("cycles", &list), "");
    ck_assert_uint_eq(asked, 2);
    ck_assert_uint_gt(asked_of_one, 10);
    json_decref(list);
    buf_deinit(&api.checks.text);
}
END_TEST

static void setup(void)
{
    api.checks.asked_ns = 0;
    asked = asked_of_one = 0;
    result = 0;
}

int main(void)
{
    TCase *tc = tcase_create("events_list");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, one_check_serves_a_second);
    tcase_add_test(tc, a_check_that_fails_leaves_no_old_answers);
    return suite_run_case("events_list", tc);
}
