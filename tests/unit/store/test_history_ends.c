/* SPDX-License-Identifier: Apache-2.0 */
/* When a JVM ended, as the history knows it. */
#include "history_fixture.h"

static void keep_image(void *cookie, const struct history_image *image)
{
    *(struct history_image *)cookie = *image;
}

/* A JVM's end is exact, not that of its minute. It is known in the next minute, for a JVM that no
 * other minute has, and after samples that came late. */
START_TEST(test_an_end_is_exact)
{
    static const uint64_t ENDED = T0 + 20 * NSEC_PER_SEC;
    struct history *h = open_history(1 << 30, 86400);
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct history_image image = made_image(7, "shop"), kept = { 0 };
    struct history_minute m = { .images = &image, .image_count = 1 };

    image.version = "1";
    image.java = "17";
    for (uint64_t i = _i ? 0 : 1; i < 3; i++) { /* first, while it runs */
        m.start_ns = T0 + i * HISTORY_MINUTE_NS;
        m.end_ns = m.start_ns + HISTORY_MINUTE_NS;
        image.ended_ns = i == 1 ? ENDED : 0;
        ck_assert_int_eq(history_put(h, &m, NULL), 0);
        if (i > 0) {
            ck_assert_int_eq(history_images(h, &q, keep_image, &kept, NULL), 0);
            ck_assert_uint_eq(kept.last_ns, ENDED);
            ck_assert_uint_eq(kept.first_ns, T0);
        }
    }
    history_close(h);
}
END_TEST

/* The first thread of a JVM ended, and later samples show that the JVM runs on. Its end is that of
 * its last minute again. */
START_TEST(test_a_false_end_is_taken_back)
{
    struct history *h = open_history(1 << 30, 86400);
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct history_image image = made_image(7, "shop"), kept = { 0 };

    image.java = "17";
    image.ended_ns = T0 + 20 * NSEC_PER_SEC;
    put_images(h, T0, NULL, &image, 1);
    image.ended_ns = 0;
    for (uint64_t i = 1; i < 3; i++) {
        image.running = i == 1; /* then it has samples alone */
        put_images(h, T0 + i * HISTORY_MINUTE_NS, NULL, &image, 1);
        ck_assert_int_eq(history_images(h, &q, keep_image, &kept, NULL), 0);
        ck_assert_uint_eq(kept.last_ns, T0 + (i + 1) * HISTORY_MINUTE_NS);
    }
    image.running = true; /* the clock was set back: the false end is later than now */
    image.ended_ns = T0 + 7 * HISTORY_MINUTE_NS + 1;
    put_images(h, T0 + 7 * HISTORY_MINUTE_NS, NULL, &image, 1);
    image.ended_ns = 0;
    put_images(h, T0 + 3 * HISTORY_MINUTE_NS, NULL, &image, 1);
    ck_assert_int_eq(history_images(h, &q, keep_image, &kept, NULL), 0);
    ck_assert_uint_eq(kept.last_ns, T0 + 8 * HISTORY_MINUTE_NS);
    history_close(h);
}
END_TEST

/* The end of a JVM is repeated for an hour. Then the clock is set back. */
START_TEST(test_a_repeated_end_moves_no_begin)
{
    struct history *h = open_history(1 << 30, 86400);
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct history_image image = made_image(7, "shop"), kept = { 0 };

    image.java = "17";
    image.ended_ns = T0 + 20 * NSEC_PER_SEC;
    for (int i = 0; i < 2; i++)
        put_images(h, T0 - (uint64_t)i * 10 * HISTORY_MINUTE_NS, NULL, &image, 1);
    ck_assert_int_eq(history_images(h, &q, keep_image, &kept, NULL), 0);
    ck_assert_uint_eq(kept.first_ns, T0);
    ck_assert_uint_eq(kept.last_ns, image.ended_ns);
    history_close(h);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("history_ends");

    tcase_add_loop_test(tc, test_an_end_is_exact, 0, 2);
    tcase_add_test(tc, test_a_false_end_is_taken_back);
    tcase_add_test(tc, test_a_repeated_end_moves_no_begin);
    return run_store_tests("history_ends", tc);
}
