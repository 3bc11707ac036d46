/* SPDX-License-Identifier: Apache-2.0 */
/* Which Java code belongs to an application itself, and where format=flat shows waits and
 * objects. */
#include "recorded.h"

#include "profile/own_code.h"
#include "profile/waits.h"
#include "render/render.h"

#include "suite.h"

static struct profile *p;

static void teardown(void)
{
    p = profile_unref(p);
    recorded_teardown();
}

/* Adds a sample of @value ns in @state. Its frames are root first and end with 0. */
static void add(enum thread_state state, uint64_t value, const uint32_t *frames)
{
    struct profile_sample s = { .time_ns = 1,
                                .value = value,
                                .thread = main_thread,
                                .count = 1,
                                .flags = (unsigned)state << PROFILE_SAMPLE_STATE_SHIFT };
    uint32_t stack[8];
    size_t n = 0, at = 0;

    while (frames[n])
        n++;
    for (size_t i = n; i > 0; i--)
        stack[at++] = frames[i - 1];
    ck_assert_int_eq(record_sample(rec, &s, stack, n), 0);
}

#define FRAMES(...) ((const uint32_t[]){ __VA_ARGS__, 0 })

static void finish(const char *event, const char *unit)
{
    struct profile meta = { .event_count = 1, .events = { { .period = 10, .valued = true } } };

    snprintf(meta.events[0].name, sizeof(meta.events[0].name), "%s", event);
    snprintf(meta.events[0].unit, sizeof(meta.events[0].unit), "%s", unit);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
}

/* Checks the rows of format=flat. @expected: "value name" each. */
static void check(enum view_names names, const char *expected)
{
    const struct render_format *format = render_format_find(SPAN("flat"));
    struct view_opts o = { .exact = format->exact, .waits = format->waits, .names = names };
    _cleanup_buf_ struct buf out = BUF_NULL, rows = BUF_NULL;
    struct view *v = NULL;
    char *line, *end;

    buf_init(&out, 1 << 20);
    buf_init(&rows, 1 << 20);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    ck_assert_int_eq(format->render(v, NULL, &out, NULL), 0);
    line = strstr(out.p, "  ---\n");
    for (line += strlen("  ---\n"); *line; line = end + 1) {
        end = strchr(line, '\n');
        buf_printf(&rows, "%lld %.*s\n", strtoll(line, NULL, 10), (int)(end - line) - 36,
                   line + 36);
    }
    ck_assert_str_eq(rows.p, expected);
    view_free(v);
}

START_TEST(waits_have_a_place)
{
    uint32_t run = recorded_frame("java.lang.Thread", "run", FRAME_C2, 1),
             spring = recorded_frame("org.springframework.web.Servlet", "service", FRAME_C2, 1),
             fetch = recorded_frame("shop.CarrierClient", "fetchRate", FRAME_C2, 30),
             fetch_later = recorded_frame("shop.CarrierClient", "fetchRate", FRAME_C1, 31),
             read = recorded_frame("sun.nio.ch.Net", "poll", FRAME_C2, 1),
             park = recorded_frame("jdk.internal.misc.Unsafe", "park", FRAME_C2, 1),
             native = recorded_frame("", "epoll_wait", FRAME_NATIVE, 0);

    add(STATE_BLOCKED, 1000, FRAMES(run, spring, fetch, read));
    add(STATE_BLOCKED, 2000, FRAMES(run, spring, fetch_later, read));
    add(STATE_BLOCKED, 500, FRAMES(run, spring, park));
    add(STATE_BLOCKED, 400, FRAMES(native));
    add(STATE_NONE, 300, FRAMES(run, fetch));
    add(STATE_RUNNABLE, 200, FRAMES(run, fetch, read));
    finish("wall", "nanoseconds");
    check(VIEW_NAMES_FULL, "3000 [network] <- shop.CarrierClient.fetchRate\n"
                           "500 [park] <- jdk.internal.misc.Unsafe.park\n"
                           "400 [blocked]\n"
                           "300 shop.CarrierClient.fetchRate\n"
                           "200 sun.nio.ch.Net.poll\n");
    check(VIEW_NAMES_SIMPLE, "3000 [network] <- CarrierClient.fetchRate\n"
                             "500 [park] <- Unsafe.park\n"
                             "400 [blocked]\n"
                             "300 CarrierClient.fetchRate\n"
                             "200 Net.poll\n");
}
END_TEST

START_TEST(objects_have_a_place)
{
    uint32_t cart = recorded_frame("shop.Cart", "add", FRAME_C2, 1),
             list = recorded_frame("java.util.ArrayList", "grow", FRAME_C2, 1),
             objects = recorded_frame("", "java.lang.Object[]", FRAME_CLASS, 0),
             bytes = recorded_frame("", "byte[]", FRAME_CLASS, 0);

    add(STATE_NONE, 64, FRAMES(cart, list, objects));
    add(STATE_NONE, 32, FRAMES(list, objects));
    add(STATE_NONE, 16, FRAMES(bytes));
    finish("alloc", "bytes");
    check(VIEW_NAMES_FULL, "64 java.lang.Object[] <- shop.Cart.add\n"
                           "32 java.lang.Object[] <- java.util.ArrayList.grow\n"
                           "16 byte[]\n");
}
END_TEST

START_TEST(counted_events_have_a_place)
{
    uint32_t load = recorded_frame("shop.Rates", "load", FRAME_C2, 1),
             file = recorded_frame("java.io.FileInputStream", "open0", FRAME_C2, 1),
             native = recorded_frame("", "open", FRAME_NATIVE, 0);

    add(STATE_NONE, 40, FRAMES(load, file, native));
    add(STATE_NONE, 20, FRAMES(load, file));
    add(STATE_NONE, 10, FRAMES(load));
    add(STATE_NONE, 5, FRAMES(native));
    finish(_i == 0   ? "libc.so.6:open64"
           : _i == 1 ? "safepoint"
                     : "cpu",
           _i == 0 ? "count" : "nanoseconds");
    check(VIEW_NAMES_FULL, _i == 2 ? "45 open\n"
                                     "20 java.io.FileInputStream.open0\n"
                                     "10 shop.Rates.load\n"
                                   : "40 open <- shop.Rates.load\n"
                                     "20 java.io.FileInputStream.open0 <- shop.Rates.load\n"
                                     "10 shop.Rates.load\n"
                                     "5 open\n");
}
END_TEST

static const struct {
    const char *main, *class_name;
    bool own;
} CLASSES[] = {
    { "shop.Main", "shop.Cart", true },
    { "shop.Main", "Demo", true },
    { "shop.Main", "java.util.List", false },
    { "shop.Main", "javassist.Loader", true },
    { "shop.Main", "org.apache.kafka.Producer", false },
    { "org.apache.kafka.server.Kafka", "org.apache.kafka.Producer", true },
    { "/opt/org.apache.kafka.server.Kafka", "org.apache.kafka.Producer", true },
    { "org.apache.kafka.server.Kafka", "org.apache.kafkas.Other", false },
    { "org.apache.kafka.server.Kafka", "org.apache.coyote.Http", false },
    { "org.springframework.boot.loader.launch.JarLauncher", "org.springframework.boot.A", false },
    { "/opt/app.jar", "java.util.List", false },
};

START_TEST(knows_own_code)
{
    struct profile_process process = { .host_pid = 7, .name = recorded_string(CLASSES[_i].main) };
    struct own_code own;
    uint32_t id;

    ck_assert_int_eq(record_process(rec, &process, &id), 0);
    finish("cpu", "nanoseconds");
    own_code_init(p, &own);
    ck_assert_int_eq(own_code_has(&own, span_of(CLASSES[_i].class_name)), CLASSES[_i].own);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("own_code");

    tcase_add_checked_fixture(tc, recorded_setup, teardown);
    tcase_add_test(tc, waits_have_a_place);
    tcase_add_test(tc, objects_have_a_place);
    tcase_add_loop_test(tc, counted_events_have_a_place, 0, 3);
    tcase_add_loop_test(tc, knows_own_code, 0, ARRAY_SIZE(CLASSES));
    return suite_run_case("own_code", tc);
}
