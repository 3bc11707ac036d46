/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of releases whose JVMs are named late. */
#include "history_fixture.h"

#define OLD_NS T0
#define NEW_NS (T0 + 10 * HISTORY_MINUTE_NS) /* begin of the new JVM's first minute */

struct seen {
    int count;
    uint64_t time_ns;
    char text[512];
};

static void see_mark(void *cookie, const struct history_mark *m)
{
    struct seen *seen = cookie;

    seen->count++;
    seen->time_ns = m->time_ns;
    snprintf(seen->text, sizeof(seen->text), "%s", m->text);
}

/* A JVM of shop in a namespace. */
static struct history_image shop(int32_t pid, const char *version, const char *attributes)
{
    struct history_image image = made_image(pid, "shop");

    image.java = "21";
    image.running = true;
    image.flags = 5;
    image.pod = image.pod_namespace = "shop";
    image.version = version;
    image.attributes = attributes;
    image.started_ns = (pid == 1 ? OLD_NS : NEW_NS) + NSEC_PER_SEC;
    return image;
}

#define FROM_IMAGE HISTORY_VERSION_SOURCE "image\n"
#define JAR_A HISTORY_JAR "00000000000000aa app.jar\n"
#define JAR_B HISTORY_JAR "00000000000000bb app.jar\n"

/* The new JVM in its first minute, and in minute `minute`. */
static const struct {
    const char *service[2], *version[2], *attributes[2];
    unsigned minute;
    const char *mark; /* NULL: none */
} CASES[] = {
    /* a tracer publishes the version */
    { { "shop", "shop" },
      { "", "2" },
      { "", "" },
      1,
      "shop was started again: version 2 after 1." },
    { { "shop", "shop" },
      { "", "2" },
      { "", "" },
      4,
      "shop was started again: version 2 after 1." },
    { { "shop", "shop" }, { "", "2" }, { "", "" }, 5, NULL },
    { { "shop", "shop" }, { "", "1" }, { "", "" }, 1, NULL },
    /* first it has that of its container's image */
    { { "shop", "shop" },
      { "2", "2" },
      { FROM_IMAGE, "" },
      1,
      "shop was started again: version 2 after 1." },
    /* a tracer publishes the service */
    { { "main", "shop" },
      { "2", "2" },
      { "", "" },
      1,
      "shop was started again: version 2 after 1." },
    /* its first name was that of another service: that mark was false */
    { { "cart", "shop" }, { "1", "1" }, { "", "" }, 1, NULL },
    { { "cart", "cart" },
      { "1", "1" },
      { "", "" },
      1,
      "cart was started again: version 1 after 9." },
    { { "cart", "shop" },
      { "2", "2" },
      { "", "" },
      1,
      "shop was started again: version 2 after 1." },
    /* the jar is read late */
    { { "shop", "shop" },
      { "1", "1" },
      { "", JAR_B },
      1,
      "shop was started again: another app.jar." },
    { { "shop", "shop" }, { "1", "1" }, { "", JAR_A }, 1, NULL },
};

START_TEST(a_jvm_is_named_late)
{
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct history *h = open_history(1 << 30, 86400);
    struct history_image image = shop(1, "1", JAR_A);
    struct seen seen = { 0 };
    uint64_t left_out;

    put_images(h, OLD_NS, NULL, &image, 1);
    image = shop(1, "9", "");
    image.service = "cart";
    image.host_pid = 3;
    put_images(h, OLD_NS, NULL, &image, 1);
    for (unsigned i = 0; i < CASES[_i].minute + 2; i++) {
        bool late = i >= CASES[_i].minute;

        image = shop(2, CASES[_i].version[late], CASES[_i].attributes[late]);
        image.service = CASES[_i].service[late];
        put_images(h, NEW_NS + i * HISTORY_MINUTE_NS, NULL, &image, 1);
    }
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_msg(seen.count == (CASES[_i].mark != NULL), "%d: %s", seen.count, seen.text);
    if (CASES[_i].mark) {
        ck_assert_str_eq(seen.text, CASES[_i].mark);
        ck_assert_uint_eq(seen.time_ns, NEW_NS + NSEC_PER_SEC);
    }
    history_close(h);
}
END_TEST

/* The runtime names the container some seconds after its JVM started. */
START_TEST(a_container_is_named_late)
{
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct history *h = open_history(1 << 30, 86400);
    struct seen seen = { 0 };
    uint64_t left_out;

    for (int i = 0; i < 3; i++) {
        struct history_image image =
            shop(i ? 2 : 1, i ? "2" : "1", i == 1 ? "" : "container.name=a\n");

        image.pod = image.pod_namespace = "";
        image.container = i ? "bb" : "aa";
        put_images(h, i ? NEW_NS + (uint64_t)i * HISTORY_MINUTE_NS : OLD_NS, NULL, &image, 1);
    }
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_str_eq(seen.text, "shop was started again: version 2 after 1.");
    history_close(h);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("history_releases");

    tcase_add_loop_test(tc, a_jvm_is_named_late, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, a_container_is_named_late);
    return run_store_tests("history_releases", tc);
}
