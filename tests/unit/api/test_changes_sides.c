/* SPDX-License-Identifier: Apache-2.0 */
/* api/changes_sides.c: the times that are compared if the request names none. */
#include "api/changes_impl.h"
#include "history_fixture.h"

#define MINUTE_NS HISTORY_MINUTE_NS

/* A service without a release that the history has had for so many minutes. */
static const struct {
    unsigned minutes, since; /* since: of another service */
    unsigned before;         /* minutes of a */
    unsigned lately;         /* minutes of b */
    const char *why;
} TIMES[] = {
    { 12, 100, 5, 5, "The last 5 minutes are compared with the 5 before: " },
    { 27, 100, 5, 5, "The last 5 minutes are compared with the 5 before: " },
    { 40, 100, 30, 10, "The last 10 minutes are compared with the 30 before: " },
    { 90, 100, 60, 10, "The last 10 minutes are compared with the 60 before: " },
};

static void put(struct history *h, uint64_t from_ns, uint64_t to_ns, int32_t pid,
                const char *service)
{
    for (uint64_t at_ns = from_ns; at_ns < to_ns; at_ns += MINUTE_NS) {
        const struct made_jvm jvm = { pid, 1000, service, "work", 4, NULL };
        struct history_image image = made_image(pid, service);

        put_images(h, at_ns, make_slice(at_ns, &jvm, 1), &image, 1);
    }
}

START_TEST(of_a_service_without_a_release)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    uint64_t now_ns = clock_realtime_ns() / MINUTE_NS * MINUTE_NS;
    struct history *h = open_history(1 << 30, 864000);
    struct api api = { .engine = { .history = h } };
    struct time_range sides[2];
    enum changes_times times = CHANGES_ASKED;
    char why[CHANGES_WHY_BYTES];

    put(h, now_ns - TIMES[_i].since * MINUTE_NS, now_ns - TIMES[_i].minutes * MINUTE_NS, 41,
        "cart");
    put(h, now_ns - TIMES[_i].minutes * MINUTE_NS, now_ns, 42, "shop");
    ck_assert_int_eq(history_roll(h, now_ns, NULL), 0);
    ck_assert_int_eq(changes_sides(&api, &t, sides, &times, why, NULL), 0);
    ck_assert_uint_eq(sides[0].to_ns, sides[1].from_ns);
    ck_assert_uint_eq((sides[1].to_ns - sides[1].from_ns) / MINUTE_NS, TIMES[_i].lately);
    ck_assert_uint_le(TIMES[_i].before - (sides[0].to_ns - sides[0].from_ns) / MINUTE_NS, 1);
    ck_assert_int_eq(times, CHANGES_BEFORE);
    ck_assert_msg(strncmp(why, TIMES[_i].why, 40) == 0, "%s", why);
    history_close(h);
}
END_TEST

/* Minutes with two JVMs that claim to be one service: @own in no container, and one elsewhere that
 * starts again with another version at minute 5. */
static void put_claimed(struct history *h, uint64_t now_ns, unsigned own, unsigned elsewhere)
{
    for (uint64_t minute = 60; minute > 0; minute--) {
        uint64_t at_ns = now_ns - minute * MINUTE_NS;
        const struct made_jvm jvms[] = { { 41, 1000, "shop", "work", own, NULL },
                                         { minute > 5 ? 42 : 43, 1000, "shop", "work", elsewhere,
                                           NULL } };
        struct history_image images[] = { made_image(41, "shop"), made_image(jvms[1].pid, "shop") };

        images[0].version = "1.0";
        images[0].java = images[1].java = "17";
        images[1].version = minute > 5 ? "7" : "8";
        images[1].container = "abc";
        images[1].attributes = HISTORY_CONTAINER_NAME "forged\n";
        put_images(h, at_ns, make_slice(at_ns, jvms, ARRAY_SIZE(jvms)), images, ARRAY_SIZE(images));
    }
}

/* A release counts if it is of the place in which the service takes most of its CPU time. */
START_TEST(a_release_of_another_place_is_none)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    uint64_t now_ns = clock_realtime_ns() / MINUTE_NS * MINUTE_NS;
    struct history *h = open_history(1 << 30, 864000);
    struct api api = { .engine = { .history = h } };
    bool released = _i;
    struct time_range sides[2];
    enum changes_times times = CHANGES_ASKED;
    char why[CHANGES_WHY_BYTES];

    put_claimed(h, now_ns, released ? 4 : 40, released ? 40 : 4);
    ck_assert_int_eq(history_roll(h, now_ns, NULL), 0);
    ck_assert_int_eq(changes_sides(&api, &t, sides, &times, why, NULL), 0);
    ck_assert_msg((strstr(why, "before the last deploy") != NULL) == released, "%s", why);
    ck_assert_int_eq(times, released ? CHANGES_SINCE_DEPLOY : CHANGES_BEFORE);
    history_close(h);
}
END_TEST

/* The history keeps whole minutes: that of an older release has samples of both versions. */
START_TEST(the_minute_of_a_release_is_not_before_it)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    uint64_t now_ns = clock_realtime_ns() / MINUTE_NS * MINUTE_NS;
    struct history *h = open_history(1 << 30, 864000);
    struct api api = { .engine = { .history = h } };
    const uint64_t since = _i ? 20 : 5, minute_ns = now_ns - since * MINUTE_NS,
                   mark_ns = minute_ns + 20 * NSEC_PER_SEC;
    enum changes_times times = CHANGES_ASKED;
    struct time_range sides[2];
    char why[CHANGES_WHY_BYTES];

    for (uint64_t minute = 60; minute > 0; minute--) {
        uint64_t at_ns = now_ns - minute * MINUTE_NS;
        bool old = minute > since;
        const struct made_jvm jvm = { old ? 41 : 42, 1000, "shop", "work", 40, NULL };
        struct history_image image = made_image(jvm.pid, "shop");

        image.version = old ? "1" : "2";
        image.java = "17";
        image.started_ns = old ? now_ns - 60 * MINUTE_NS : mark_ns;
        put_images(h, at_ns, make_slice(at_ns, &jvm, 1), &image, 1);
    }
    ck_assert_int_eq(history_roll(h, now_ns, NULL), 0);
    ck_assert_int_eq(changes_sides(&api, &t, sides, &times, why, NULL), 0);
    ck_assert_int_eq(times, _i ? CHANGES_AFTER_DEPLOY : CHANGES_SINCE_DEPLOY);
    ck_assert_uint_eq(sides[0].to_ns, _i ? minute_ns : mark_ns);
    history_close(h);
}
END_TEST

#define IMPOSTORS 100

/* Many containers claim the service, with another id and release at minute 5, and hardly run. */
START_TEST(many_places_displace_none_that_works)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    uint64_t now_ns = clock_realtime_ns() / MINUTE_NS * MINUTE_NS;
    struct history *h = open_history(1 << 30, 864000);
    struct api api = { .engine = { .history = h } };
    struct made_jvm jvms[IMPOSTORS + 1];
    struct history_image images[IMPOSTORS + 1];
    char ids[IMPOSTORS][65];
    struct time_range sides[2];
    enum changes_times times = CHANGES_ASKED;
    char why[CHANGES_WHY_BYTES];

    for (uint64_t minute = 12; minute > 0; minute--) {
        uint64_t at_ns = now_ns - minute * MINUTE_NS;

        for (int i = 0; i < IMPOSTORS; i++) {
            int32_t pid = 1000 + 2 * i + (minute > 5);

            snprintf(ids[i], sizeof(ids[i]), "%064x", (unsigned)i);
            jvms[i] = (struct made_jvm){ pid, 1000, "shop", "work", 4, NULL };
            images[i] = made_image(pid, "shop");
            images[i].version = minute > 5 ? "7" : "8";
            images[i].java = "17";
            images[i].container = ids[i];
        }
        jvms[IMPOSTORS] = (struct made_jvm){ 9999, 1000, "shop", "work", 400, NULL };
        images[IMPOSTORS] = made_image(9999, "shop");
        images[IMPOSTORS].version = "1.0";
        images[IMPOSTORS].java = "17";
        put_images(h, at_ns, make_slice(at_ns, jvms, ARRAY_SIZE(jvms)), images, ARRAY_SIZE(images));
    }
    ck_assert_int_eq(history_roll(h, now_ns, NULL), 0);
    ck_assert_int_eq(changes_sides(&api, &t, sides, &times, why, NULL), 0);
    ck_assert_ptr_null(strstr(why, "before the last deploy"));
    history_close(h);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("changes_sides");

    tcase_add_loop_test(tc, of_a_service_without_a_release, 0, ARRAY_SIZE(TIMES));
    tcase_add_loop_test(tc, a_release_of_another_place_is_none, 0, 2);
    tcase_add_loop_test(tc, the_minute_of_a_release_is_not_before_it, 0, 2);
    tcase_add_test(tc, many_places_displace_none_that_works);
    return run_store_tests("changes_sides", tc);
}
