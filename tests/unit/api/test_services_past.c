/* SPDX-License-Identifier: Apache-2.0 */
/* services_add_past(): which ended JVMs and which marks are listed if there are too many.
 * past_history(): which JVM a pid means. */
#include "api/api_impl.h"
#include "api/past_impl.h"
#include "history_fixture.h"

#define CROWD 1500 /* JVMs of one user, or of one container */
#define ENDED_MAX 1000

static struct history *history;
static struct api api;

/* Writes the JVMs @from to @to of @owner, for which @payer pays, in a minute of their own. Each
 * has another id of a container if they are @forged. */
static void put(int minute, uint32_t owner, uint64_t payer, bool forged, int from, int to)
{
    static struct history_image images[CROWD];
    static char names[CROWD][32], ids[CROWD][80];
    uint64_t start_ns = T0 + (uint64_t)minute * HISTORY_MINUTE_NS;

    for (int i = 0; i < to - from; i++) {
        snprintf(names[i], sizeof(names[i]), "service-%d", from + i);
        images[i] = made_image(from + i, names[i]);
        images[i].start_ticks += (uint64_t)minute;
        images[i].owner = owner;
        images[i].payer = payer;
        snprintf(ids[i], sizeof(ids[i]), "%064x", (unsigned)(from + i));
        images[i].container = forged ? ids[i] : "";
        images[i].version = "1";
        images[i].java = "21";
        images[i].started_ns = start_ns;
    }
    put_images(history, start_ns, NULL, images, (size_t)(to - from));
}

static json_t *services(void)
{
    json_t *ret = json_pack("{s:[]}", "services");

    ck_assert_int_eq(services_add_past(&api, &VIEWER_WHOLE, ret, NULL), 0);
    return ret;
}

static size_t ended_in(const json_t *answer, const char *service)
{
    const json_t *entry;
    size_t i, n = 0;

    json_array_foreach(json_object_get(answer, "services"), i, entry)
    {
        if (!service || strcmp(json_string_value(json_object_get(entry, "name")), service) == 0)
            n += json_array_size(json_object_get(entry, "ended"));
    }
    return n;
}

static void check(uint32_t other, bool forged)
{
    json_t *answer;

    history = open_history(1 << 30, 864000);
    api = (struct api){ .engine = { .history = history } };
    put(1, other, 77, /* forged= */ false, 10,
        12); /* in an earlier minute, so they come after the crowd */
    put(2, 0, 78, forged, 1000, 1000 + CROWD);
    answer = services();
    ck_assert_uint_eq(ended_in(answer, NULL), ENDED_MAX);
    ck_assert_uint_eq(ended_in(answer, "service-10"), 1);
    ck_assert_uint_eq(ended_in(answer, "service-11"), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(answer, "ended_left_out")),
                     CROWD + 2 - ENDED_MAX);
    /* The answer has no more services than entries listed, plus those that gave way. */
    ck_assert_uint_le(json_array_size(json_object_get(answer, "services")), ENDED_MAX + 2);
    json_decref(answer);
    history_close(history);
}

START_TEST(a_users_crowd_leaves_room_for_others)
{
    check(1000, /* forged= */ false);
}
END_TEST

/* A container that may write cgroups has as many ids as it likes. */
START_TEST(a_containers_crowd_leaves_room_for_others)
{
    check(0, /* forged= */ true); /* both users are root */
}
END_TEST

/* ---- marks ---- */

#define MARKS 1200 /* marks of one JVM */

START_TEST(the_newest_marks_are_listed)
{
    json_t *answer, *marks;

    history = open_history(1 << 30, 864000);
    api = (struct api){ .engine = { .history = history } };
    put(1, 1000, 77, /* forged= */ false, 10, 11);
    for (int i = 0; i < MARKS; i++) {
        const struct history_image image = {
            .n = 1, .host_pid = 10, .start_ticks = 8, .owner = 1000, .service = "service-10"
        };
        const struct history_mark m = { .time_ns = T0 + (uint64_t)i * NSEC_PER_SEC,
                                        .kind = HISTORY_MARK_CHANGE,
                                        .image = &image,
                                        .text = i == MARKS - 1 ? "last" : "one" };

        ck_assert_int_eq(history_mark_put(history, &m, NULL), 0);
    }
    answer = services();
    marks = json_object_get(json_array_get(json_object_get(answer, "services"), 0), "marks");
    ck_assert_uint_eq(json_array_size(marks), 1000);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(marks, 0), "text")), "last");
    ck_assert_int_eq(json_integer_value(json_object_get(answer, "marks_left_out")), MARKS - 1000);
    json_decref(answer);
    history_close(history);
}
END_TEST

/* ---- a pid that was given again ---- */

START_TEST(of_two_that_ended_at_once_the_later_one_is_meant)
{
    static const struct target_selector one = { .viewer = &VIEWER_WHOLE,
                                                .pids = { 10 },
                                                .pid_count = 1 };
    struct past_filter filter = { .t = &one };
    struct history_reach reach;
    struct profile *p = NULL;
    struct history_image images[2];

    history = open_history(1 << 30, 864000);
    api = (struct api){ .engine = { .history = history } };
    for (size_t i = 0; i < ARRAY_SIZE(images); i++) {
        images[i] = made_image(10, "shop");
        images[i].start_ticks += i;
        images[i].owner = 0;
        images[i].version = "1";
        images[i].java = "21";
        images[i].started_ns = T0;
    }
    put_images(history, T0, NULL, images, ARRAY_SIZE(images));
    ck_assert_int_eq(past_history(&api, &filter, T0, T0 + HISTORY_MINUTE_NS, &reach, &p, NULL), 0);
    ck_assert_int_eq(filter.pid, 10);
    ck_assert_uint_eq(filter.start_ticks, 8);
    profile_unref(p);
    history_close(history);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("services_past");

    tcase_add_test(tc, a_users_crowd_leaves_room_for_others);
    tcase_add_test(tc, a_containers_crowd_leaves_room_for_others);
    tcase_add_test(tc, the_newest_marks_are_listed);
    tcase_add_test(tc, of_two_that_ended_at_once_the_later_one_is_meant);
    tcase_set_timeout(tc, 60);
    return run_store_tests("services_past", tc);
}
