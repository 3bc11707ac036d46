/* SPDX-License-Identifier: Apache-2.0 */
/* render/: the output of each format for views built by hand. */
#include "suite.h"

#include "render/render.h"

#include <jansson.h>

static struct view view;
static struct profile profile;
static struct view_frame frames[64];
static uint32_t stack[4096];
static struct view_row rows[512];

static uint32_t str(const char *s)
{
    uint32_t id = 0;

    ck_assert_int_eq(intern_add(view.strings, span_of(s), &id), 0);
    return id;
}

/* Returns the id of a frame with this name. */
static uint32_t frame(const char *name, enum frame_kind kind, uint32_t line)
{
    uint32_t i = (uint32_t)view.frame_count++;

    ck_assert_uint_lt(i, ARRAY_SIZE(frames));
    frames[i] = (struct view_frame){ .name = str(name), .kind = kind, .line = line };
    return i;
}

/* Adds a row of these frames, root first, ended by UINT32_MAX. Rows must be sorted by names. */
static void row(uint64_t samples, const uint32_t *ids)
{
    struct view_row *r = &rows[view.row_count++];

    *r = (struct view_row){ .first = (uint32_t)view.stack_words,
                            .body = (uint32_t)view.body_count++,
                            .samples = samples,
                            .value = samples * profile.events[0].period,
                            .thread = UINT32_MAX };
    for (; ids[r->n] != UINT32_MAX; r->n++)
        stack[view.stack_words++] = ids[r->n];
    view.samples += samples;
    view.value += r->value;
}

#define ROW(samples, ...) row(samples, (const uint32_t[]){ __VA_ARGS__, UINT32_MAX })

static void setup(void)
{
    memset(&view, 0, sizeof(view));
    memset(&profile, 0, sizeof(profile));
    snprintf(profile.events[0].name, sizeof(profile.events[0].name), "cpu");
    snprintf(profile.events[0].unit, sizeof(profile.events[0].unit), "nanoseconds");
    snprintf(profile.target, sizeof(profile.target), "pid 42");
    snprintf(profile.symbols, sizeof(profile.symbols), "memory: nothing loaded: it is read");
    profile.events[0].period = 10000000;
    profile.event_count = 1;
    profile.start_ns = 5;
    profile.end_ns = 5 + 2500000000;
    profile.start_realtime_ns = UINT64_C(1763688414000000007);
    ck_assert_int_eq(intern_new(1 << 20, &view.strings), 0);
    ck_assert_int_eq(intern_new(1 << 20, &profile.strings), 0);
    view.profile = &profile;
    view.frames = frames;
    view.stack = stack;
    view.rows = rows;
}

static void teardown(void)
{
    intern_free(view.strings);
    intern_free(profile.strings);
}

static const char *render(const char *format, const struct render_opts *o, struct buf *out)
{
    const struct render_format *f = render_format_find(span_of(format));
    struct error err = ERROR_NULL;

    ck_assert_ptr_nonnull(f);
    buf_init(out, RENDER_MAX_BYTES);
    ck_assert_msg(f->render(&view, o, out, &err) == 0, "%s", err.msg);
    return out->p ? out->p : "";
}

/* Returns the JSON of the html format, from its <script type="application/json">. */
static json_t *html_data(const struct render_opts *o, struct buf *out)
{
    const char *from = strstr(render("html", o, out), "id=\"profile\">");
    json_error_t error;
    json_t *data;
    const char *end;

    ck_assert_ptr_nonnull(from);
    from += strlen("id=\"profile\">");
    end = strstr(from, "</script>");
    ck_assert_ptr_nonnull(end);
    data = json_loadb(from, (size_t)(end - from), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(data != NULL, "%s at %d", error.text, error.position);
    return data;
}

static void assert_numbers(const json_t *array, const json_int_t *expected, size_t n)
{
    ck_assert_uint_eq(json_array_size(array), n);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(json_integer_value(json_array_get(array, i)), expected[i]);
}

#define ASSERT_NUMBERS(array, ...)                                                                 \
    assert_numbers(array, (const json_int_t[]){ __VA_ARGS__ },                                     \
                   sizeof((json_int_t[]){ __VA_ARGS__ }) / sizeof(json_int_t))

START_TEST(collapsed_is_root_first_sorted_and_added_up)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    uint32_t z = frame("z", FRAME_C2, 0), a1 = frame("a", FRAME_C2, 1),
             a2 = frame("a", FRAME_C2, 2), bad = frame("x;y\nz\xef\xbf\xbdw", FRAME_NATIVE, 0),
             blank = frame("f(int, char)", FRAME_NATIVE, 0);

    ROW(3, z, a1);
    ROW(4, z, a2); /* reads the same, so it shares a line */
    ROW(2, a1, bad);
    ROW(1, a1, blank);
    row(7, (const uint32_t[]){ UINT32_MAX });
    ROW(0, blank);
    ck_assert_str_eq(render("collapsed", NULL, &out),
                     "[unknown] 7\na;f(int, char) 1\na;x_y_z_w 2\nz;a 7\n");
    view.opts.total = true;
    buf_deinit(&out);
    ck_assert_str_eq(
        render("collapsed", NULL, &out),
        "[unknown] 70000000\na;f(int, char) 10000000\na;x_y_z_w 20000000\nz;a 70000000\n");
}
END_TEST

START_TEST(an_empty_profile_renders_in_every_format)
{
    size_t n;
    const struct render_format *formats = render_formats(&n);

    ck_assert_uint_ge(n, 8);
    for (size_t i = 0; i < n; i++) {
        _cleanup_buf_ struct buf out = BUF_NULL;
        const char *text = render(formats[i].name, NULL, &out);

        ck_assert(!strcmp(formats[i].name, "collapsed") == !text[0]);
    }
    ck_assert_ptr_null(render_format_find(SPAN("HTML")));
    ck_assert_ptr_null(render_format_find(SPAN("")));
}
END_TEST

START_TEST(summary_has_waits_by_kind_and_names_the_other_events)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    const char *text;

    profile.event_count = 2;
    snprintf(profile.events[1].name, sizeof(profile.events[1].name), "alloc");
    ROW(70, 0);
    ROW(30, 0, 0);
    rows[0].state = STATE_BLOCKED;
    rows[0].wait = WAIT_LOCK;
    rows[1].state = STATE_RUNNABLE;
    text = render("summary", NULL, &out);
    ck_assert_ptr_nonnull(strstr(text, "\nOther events        : alloc: "));
    ck_assert_ptr_nonnull(strstr(text, "  work and waits\n"));
    ck_assert_ptr_nonnull(strstr(text, " 30.00%         30  runnable\n"));
    ck_assert_ptr_nonnull(strstr(text, " 70.00%         70  lock\n"));
}
END_TEST

START_TEST(json_says_what_is_known)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 43 };
    struct render_opts o = { .title = "a \"title\" </script>", .version = "1.2.3" };
    char warning[] = "one\\two \"three\"";
    json_error_t error;
    json_t *data, *meta, *stacks;

    ck_assert_int_eq(intern_add(profile.strings, SPAN("Main"), &process.name), 0);
    profile.processes = &process;
    profile.process_count = 1;
    profile.threads = &thread;
    profile.thread_count = 1;
    profile.warnings[profile.warning_count++] = warning;
    profile.lost = 3;
    view.unknown = 2;
    view.truncated = 1;
    view.inferred = 2;
    view.unsure = 1;
    frame("<&>\"\\\x01", FRAME_KERNEL, 0);
    frames[0].module = str("[kernel]");
    frame("a.B.c", FRAME_INLINED, 17);
    ROW(5, 1, 0);
    rows[0].thread = 0;
    rows[0].inferred = 2;
    rows[0].unsure = 1;
    view_warn(&view);
    data = json_loads(render("json", &o, &out), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(data != NULL, "%s", error.text);
    ck_assert_ptr_null(strstr(out.p, "</"));
    meta = json_object_get(data, "meta");
    ck_assert_str_eq(json_string_value(json_object_get(meta, "title")), o.title);
    ck_assert_str_eq(json_string_value(json_object_get(meta, "start")),
                     "2025-11-21T01:26:54.000000007Z");
    ck_assert_str_eq(json_string_value(json_object_get(meta, "end")),
                     "2025-11-21T01:26:56.500000007Z");
    ck_assert(json_real_value(json_object_get(meta, "seconds")) == 2.5);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "hz")), 100);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "value")), 50000000);
    meta = json_object_get(meta, "symbols");
    ck_assert_str_eq(json_string_value(json_object_get(meta, "source")), "memory");
    ck_assert_str_eq(json_string_value(json_object_get(meta, "reason")),
                     "nothing loaded: it is read");
    meta = json_object_get(data, "quality");
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "samples")), 5);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "lost")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "unknown")), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "truncated")), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "inferred")), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "unsure")), 1);
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(data, "warnings"), 0)),
                     warning);
    meta = json_array_get(json_object_get(data, "frames"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(meta, "name")), "<&>\"\\\x01");
    ck_assert_str_eq(json_string_value(json_object_get(meta, "kind")), "kernel");
    ck_assert_str_eq(json_string_value(json_object_get(meta, "module")), "[kernel]");
    ck_assert_ptr_null(json_object_get(meta, "line"));
    meta = json_array_get(json_object_get(data, "frames"), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "line")), 17);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "inferred")), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "unsure")), 1);
    stacks = json_array_get(json_object_get(data, "stacks"), 0);
    ASSERT_NUMBERS(json_object_get(stacks, "frames"), 1, 0);
    ck_assert_int_eq(json_integer_value(json_object_get(stacks, "value")), 50000000);
    ck_assert_int_eq(json_integer_value(json_object_get(stacks, "thread")), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(stacks, "inferred")), 2);
    meta = json_array_get(json_object_get(data, "processes"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(meta, "name")), "Main");
    ck_assert_int_eq(json_integer_value(json_object_get(meta, "pid")), 42);
    json_decref(data);
}
END_TEST

START_TEST(html_lists_what_differs_from_the_row_before)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    uint32_t unused = frame("unused", FRAME_C2, 0), a = frame("a", FRAME_C2, 7),
             b = frame("b", FRAME_NATIVE, 0), c = frame("c", FRAME_KERNEL, 0);
    json_t *data;

    (void)unused;
    frames[b].module = str("libb.so");
    ROW(1, a, b);
    ROW(2, a, b, c);
    ROW(3, a, c);
    ROW(4, c, b, c);
    data = html_data(NULL, &out);
    /* c is listed four times; b and a follow in order of their uses */
    ASSERT_NUMBERS(json_object_get(data, "rows"), 0, 2, 2, 1, 1, 2, 1, 0, 2, 1, 1, 0, 3, 0, 3, 0, 1,
                   0, 4);
    ASSERT_NUMBERS(json_object_get(data, "frames"), 1, FRAME_KERNEL, 0, 0, 0, 2, FRAME_NATIVE, 3, 0,
                   0, 4, FRAME_C2, 0, 0, 7);
    ck_assert_uint_eq(json_array_size(json_object_get(data, "strings")), 5);
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(data, "strings"), 3)),
                     "libb.so");
    ck_assert_ptr_null(json_object_get(data, "values"));
    json_decref(data);
    rows[1].value = 77; /* differs from samples times period: values must be written */
    buf_deinit(&out);
    data = html_data(NULL, &out);
    ASSERT_NUMBERS(json_object_get(data, "values"), 10000000, 77, 30000000, 40000000);
    json_decref(data);
}
END_TEST

START_TEST(html_lists_what_threads_have_in_common_once)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    uint32_t t = frame("[t tid=1]", FRAME_THREAD, 0), u = frame("[u tid=2]", FRAME_THREAD, 0),
             a = frame("a", FRAME_C2, 0), b = frame("b", FRAME_C2, 0), c = frame("c", FRAME_C2, 0);
    static const uint32_t BODIES[] = { 0, 1, 2, 0, 2, 2 };
    json_t *data;

    ROW(1, t, a, b);
    ROW(2, t, a, c);
    ROW(3, t, c);
    ROW(4, u, a, b);
    ROW(5, u, c);
    ROW(6, u, c); /* of another thread with the same text */
    for (size_t i = 0; i < view.row_count; i++) {
        rows[i].roots = 1;
        rows[i].body = BODIES[i];
    }
    view.body_count = 3;
    data = html_data(NULL, &out);
    /* a, b and the two threads once; c twice, so it gets number 0 */
    ASSERT_NUMBERS(json_object_get(data, "bodies"), 0, 2, 3, 4, 1, 1, 0, 0, 1, 0);
    ASSERT_NUMBERS(json_object_get(data, "runs"), 1, 1, 3, 0, 1, 1, 2, 1, 3, 1, 2, 3, 0, 4, 2, 5, 0,
                   6);
    ck_assert_ptr_null(json_object_get(data, "rows"));
    json_decref(data);
}
END_TEST

START_TEST(html_minwidth_cuts_what_is_narrow_and_keeps_its_weight)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct render_opts o = { .minwidth = 10 };
    uint32_t a = frame("a", FRAME_C2, 0), b = frame("b", FRAME_C2, 0), c = frame("c", FRAME_C2, 0),
             d1 = frame("d", FRAME_C2, 1), d2 = frame("d", FRAME_C2, 2),
             e = frame("e", FRAME_C2, 0);
    json_t *data;

    ROW(2, a, b, c); /* b has 4 %: it is cut above a */
    ROW(2, a, b, e);
    ROW(3, a, c); /* c is cut, too: one row with the two before */
    ROW(80, a, e);
    ROW(6, d1, e); /* d1, d2 and their e have 13 % by name, though neither row is wide enough */
    ROW(7, d2, e);
    data = html_data(&o, &out);
    ASSERT_NUMBERS(json_object_get(data, "rows"), 0, -2, 1, 7, 1, 1, 0, 80, 0, 2, 2, 0, 6, 0, 2, 3,
                   0, 7);
    ck_assert(json_number_value(json_object_get(json_object_get(data, "view"), "minwidth")) == 10);
    json_decref(data);
}
END_TEST

START_TEST(html_is_deterministic_and_hostile_names_stay_data)
{
    _cleanup_buf_ struct buf out = BUF_NULL, again = BUF_NULL;
    struct render_opts o = { .title = "</title><script>alert(1)</script>" };
    const char *script = "<script";
    size_t scripts = 0;

    frame("</script><script>alert(2)</script>", FRAME_C2, 0);
    frame("<!--", FRAME_C2, 0);
    ROW(1, 0, 1);
    render("html", &o, &out);
    render("html", &o, &again);
    ck_assert_str_eq(out.p, again.p);
    for (const char *p = out.p; (p = strstr(p, script)); p += strlen(script))
        scripts++;
    ck_assert_uint_eq(scripts, 2); /* the profile and the viewer */
    ck_assert_ptr_nonnull(strstr(out.p, "<title>&lt;/title&gt;&lt;script&gt;"));
    ck_assert_ptr_null(strstr(out.p, "<!--"));
    ck_assert_ptr_null(strstr(out.p, "http://127"));
}
END_TEST

START_TEST(the_ceiling_is_an_error_with_a_sentence)
{
    size_t n;
    const struct render_format *formats = render_formats(&n);

    frame("some.name.of.a.Frame", FRAME_C2, 0);
    for (uint64_t i = 0; i < 400; i++)
        ROW(i + 1, 0, 0, 0, 0);
    for (size_t i = 0; i < n; i++) {
        _cleanup_buf_ struct buf out = BUF_NULL;
        struct error err = ERROR_NULL;

        if (formats[i].exact || !strncmp(formats[i].content_type, "text/plain", 10))
            continue; /* test_render_formats.c tests these with suitable profiles */
        buf_init(&out, 1000);
        ck_assert_int_eq(formats[i].render(&view, NULL, &out, &err), -EFBIG);
        ck_assert_ptr_nonnull(strstr(err.msg, "larger than"));
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("render");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, collapsed_is_root_first_sorted_and_added_up);
    tcase_add_test(tc, an_empty_profile_renders_in_every_format);
    tcase_add_test(tc, summary_has_waits_by_kind_and_names_the_other_events);
    tcase_add_test(tc, json_says_what_is_known);
    tcase_add_test(tc, html_lists_what_differs_from_the_row_before);
    tcase_add_test(tc, html_lists_what_threads_have_in_common_once);
    tcase_add_test(tc, html_minwidth_cuts_what_is_narrow_and_keeps_its_weight);
    tcase_add_test(tc, html_is_deterministic_and_hostile_names_stay_data);
    tcase_add_test(tc, the_ceiling_is_an_error_with_a_sentence);
    return suite_run_case("render", tc);
}
