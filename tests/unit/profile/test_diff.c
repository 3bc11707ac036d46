/* SPDX-License-Identifier: Apache-2.0 */
/* profile/diff and profile/hot on views built by hand, and diffs in the formats of render/. */
#include "suite.h"

#include "base/cleanup.h"
#include "profile/diff.h"
#include "profile/top_functions.h"
#include "render/diff.h"

#include <jansson.h>

/* A view and the objects that it points to. */
struct side {
    struct view view;
    struct profile *profile;
    struct view_frame frames[64];
    uint32_t stack[512];
    struct view_row rows[64];
};

static struct side a, b;

static void side_init(struct side *s, const char *target)
{
    memset(s, 0, sizeof(*s));
    s->profile = calloc(1, sizeof(*s->profile));
    ck_assert_ptr_nonnull(s->profile);
    s->profile->hold.refs = 1;
    s->profile->events[0].period = 10;
    s->profile->end_ns = 1500000000;
    snprintf(s->profile->events[0].name, sizeof(s->profile->events[0].name), "cpu");
    snprintf(s->profile->events[0].unit, sizeof(s->profile->events[0].unit), "nanoseconds");
    snprintf(s->profile->target, sizeof(s->profile->target), "%s", target);
    ck_assert_int_eq(intern_new(1 << 20, &s->profile->strings), 0);
    ck_assert_int_eq(intern_new(1 << 20, &s->view.strings), 0);
    s->view.profile = s->profile;
    s->view.frames = s->frames;
    s->view.stack = s->stack;
    s->view.rows = s->rows;
}

static void setup(void)
{
    side_init(&a, "before");
    side_init(&b, "after </script>");
}

static void teardown(void)
{
    struct side *sides[] = { &a, &b };

    for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
        intern_free(sides[i]->view.strings);
        profile_unref(sides[i]->profile);
    }
}

static uint32_t frame_of(struct side *s, const char *name, size_t n, enum frame_kind kind)
{
    uint32_t id, i = (uint32_t)s->view.frame_count;

    ck_assert_int_eq(intern_add(s->view.strings, (struct span){ name, n }, &id), 0);
    for (uint32_t k = 0; k < i; k++)
        if (s->frames[k].name == id && s->frames[k].kind == kind)
            return k;
    ck_assert_uint_lt(i, ARRAY_SIZE(s->frames));
    s->frames[i] = (struct view_frame){ .name = id, .kind = kind };
    s->view.frame_count++;
    return i;
}

/* Adds a row such as "main;work;k:read": root first; a letter and a colon before a name give its
 * kind. Stacks come in the order in which their names were first seen. */
static void row(struct side *s, uint64_t samples, const char *stack)
{
    struct view_row *r = &s->rows[s->view.row_count++];
    struct span rest = span_of(stack), part;

    *r = (struct view_row){ .first = (uint32_t)s->view.stack_words,
                            .body = (uint32_t)s->view.body_count++,
                            .samples = samples,
                            .value = samples * 10,
                            .thread = UINT32_MAX };
    while (span_take_until(&rest, ';', &part)) {
        enum frame_kind kind = FRAME_C2;

        if (part.n > 1 && part.p[1] == ':') {
            kind = part.p[0] == 'k'   ? FRAME_KERNEL
                   : part.p[0] == '0' ? FRAME_INTERPRETED
                   : part.p[0] == 't' ? FRAME_THREAD
                                      : FRAME_NATIVE;
            part = span_from(part, 2);
        }
        s->stack[s->view.stack_words++] = frame_of(s, part.p, part.n, kind);
        r->n++;
    }
    s->view.samples += samples;
    s->view.value += r->value;
}

static struct diff *diff_of(struct diff_opts o)
{
    struct diff *d = NULL;
    struct error err = ERROR_NULL;

    ck_assert_msg(diff_new(&a.view, &b.view, &o, &d, &err) == 0, "%s", err.msg);
    return d;
}

static bool named(const struct diff *d, uint32_t name, const char *text)
{
    return span_eq_str(diff_string(d, name), text);
}

/* Returns the node of a path. */
static const struct diff_node *node_at(const struct diff *d, const char *path)
{
    struct span rest = span_of(path), part;
    const struct diff_node *n = &d->nodes[0];

    while (span_take_until(&rest, ';', &part)) {
        uint32_t i = n->child;

        while (i && !(diff_string(d, d->nodes[i].name).n == part.n &&
                      !memcmp(diff_string(d, d->nodes[i].name).p, part.p, part.n)))
            i = d->nodes[i].sibling;
        ck_assert_msg(i != 0, "there is no %s", path);
        n = &d->nodes[i];
    }
    return n;
}

static const struct diff_function *function_of(const struct diff *d, const char *name)
{
    for (size_t i = 0; i < d->function_count; i++)
        if (named(d, d->functions[i].name, name))
            return &d->functions[i];
    ck_abort_msg("there is no function %s", name);
    return NULL;
}

static void two_sides(void)
{
    row(&a, 30, "main;old");
    row(&a, 10, "main;work;read");
    row(&a, 10, "main;work");
    row(&b, 40, "main;work;read");
    row(&b, 40, "main;work");
    row(&b, 20, "main;zip;k:copy");
}

START_TEST(both_sides_are_in_one_tree)
{
    _cleanup_(diff_freep) struct diff *d = NULL;

    two_sides();
    d = diff_of((struct diff_opts){ 0 });
    ck_assert_uint_eq(d->a, 50);
    ck_assert_uint_eq(d->b, 100);
    ck_assert(d->scale == 2);
    ck_assert_uint_eq(node_at(d, "main")->a, 50);
    ck_assert_uint_eq(node_at(d, "main")->b, 100);
    ck_assert_uint_eq(node_at(d, "main;work")->a, 20);
    ck_assert_uint_eq(node_at(d, "main;work")->b, 80);
    ck_assert_uint_eq(node_at(d, "main;work")->b_self, 40);
    ck_assert_uint_eq(node_at(d, "main;old")->a, 30); /* vanished */
    ck_assert_uint_eq(node_at(d, "main;old")->b, 0);
    ck_assert_uint_eq(node_at(d, "main;zip;copy")->a, 0); /* new */
    ck_assert_uint_eq(node_at(d, "main;zip;copy")->kind, FRAME_KERNEL);
    ck_assert_uint_eq(node_at(d, "main;zip;copy")->depth, 3);
    ck_assert(diff_delta(d, 20, 80) == 40); /* a counts twice */
}
END_TEST

START_TEST(siblings_are_sorted_by_name)
{
    _cleanup_(diff_freep) struct diff *d = NULL;
    const char *wanted[] = { "old", "work", "zip" };
    uint32_t i;

    two_sides();
    d = diff_of((struct diff_opts){ 0 });
    i = node_at(d, "main")->child;
    for (size_t k = 0; k < ARRAY_SIZE(wanted); k++, i = d->nodes[i].sibling)
        ck_assert(named(d, d->nodes[i].name, wanted[k]));
    ck_assert_uint_eq(i, 0);
}
END_TEST

START_TEST(functions_are_listed_by_change)
{
    _cleanup_(diff_freep) struct diff *d = NULL;

    two_sides();
    d = diff_of((struct diff_opts){ 0 });
    ck_assert(named(d, d->functions[0].name, "old")); /* 60 of 100 less */
    for (size_t i = 1; i < d->function_count; i++) {
        double x = diff_delta(d, d->functions[i - 1].a_self, d->functions[i - 1].b_self),
               y = diff_delta(d, d->functions[i].a_self, d->functions[i].b_self);

        ck_assert((x < 0 ? -x : x) >= (y < 0 ? -y : y));
    }
    ck_assert_uint_eq(function_of(d, "main")->b, 100);
    ck_assert_uint_eq(function_of(d, "main")->b_self, 0);
    ck_assert_uint_eq(function_of(d, "work")->a_self, 10);
    ck_assert_uint_eq(d->function_count, 6);
}
END_TEST

START_TEST(counts_stay_as_they_are_when_asked)
{
    _cleanup_(diff_freep) struct diff *d = NULL;

    two_sides();
    d = diff_of((struct diff_opts){ .absolute = true });
    ck_assert(d->scale == 1);
    ck_assert(diff_delta(d, 20, 80) == 60);
}
END_TEST

START_TEST(values_weigh_when_asked)
{
    _cleanup_(diff_freep) struct diff *d = NULL;

    two_sides();
    a.view.opts.total = b.view.opts.total = true;
    d = diff_of((struct diff_opts){ 0 });
    ck_assert_uint_eq(d->a, 500);
    ck_assert_uint_eq(node_at(d, "main;work")->b, 800);
}
END_TEST

START_TEST(reversed_the_leaves_are_at_the_root)
{
    _cleanup_(diff_freep) struct diff *d = NULL;

    two_sides();
    d = diff_of((struct diff_opts){ .reverse = true });
    ck_assert_uint_eq(node_at(d, "read;work;main")->b, 40);
    ck_assert_uint_eq(node_at(d, "work")->a, 10); /* the time of read counts below read */
    ck_assert_uint_eq(node_at(d, "old;main")->a, 30);
}
END_TEST

START_TEST(an_empty_side_is_no_trouble)
{
    _cleanup_(diff_freep) struct diff *d = NULL;
    _cleanup_buf_ struct buf out = BUF_NULL;

    row(&b, 5, "main");
    d = diff_of((struct diff_opts){ 0 });
    ck_assert(d->scale == 1);
    ck_assert_uint_eq(d->a, 0);
    ck_assert_uint_eq(d->b, 5);
    buf_init(&out, RENDER_MAX_BYTES);
    ck_assert_int_eq(diff_html(d, NULL, &out, NULL), 0);
    ck_assert_int_eq(diff_svg(d, NULL, &out, NULL), 0);
}
END_TEST

START_TEST(collapsed_has_two_columns)
{
    _cleanup_(diff_freep) struct diff *d = NULL;
    _cleanup_buf_ struct buf out = BUF_NULL;

    two_sides();
    d = diff_of((struct diff_opts){ 0 });
    buf_init(&out, RENDER_MAX_BYTES);
    ck_assert_int_eq(diff_collapsed(d, NULL, &out, NULL), 0);
    ck_assert_ptr_nonnull(strstr(out.p, "main;old 60 0\n"));
    ck_assert_ptr_nonnull(strstr(out.p, "main;work;read 20 40\n"));
    ck_assert_ptr_nonnull(strstr(out.p, "main;zip;copy 0 20\n"));
}
END_TEST

START_TEST(svg_shows_what_vanished)
{
    _cleanup_(diff_freep) struct diff *d = NULL;
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct render_opts o = { .width = 1020, .title = "</title><script>" };

    two_sides();
    d = diff_of((struct diff_opts){ 0 });
    buf_init(&out, RENDER_MAX_BYTES);
    ck_assert_int_eq(diff_svg(d, &o, &out, NULL), 0);
    /* 60 of 200 parts of 1,000 pixels, blue */
    ck_assert_ptr_nonnull(
        strstr(out.p, "<title>old (60.00% \u2192 0.00%, -60.00; 30 \u2192 0 samples)</title>"
                      "<rect x=\"10.000\" y=\"80\" width=\"300.000\" "
                      "height=\"15\" fill=\"#5555f5\"/>"));
    ck_assert_ptr_nonnull(
        strstr(out.p, "<title>copy (0.00% \u2192 20.00%, +20.00; 0 \u2192 20 samples)"));
    ck_assert_ptr_null(strstr(out.p, "</title><script>"));
}
END_TEST

/* The object inside the page. */
static json_t *page_data(const struct render_opts *o, const struct diff *d)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    const char *from, *end;
    json_error_t error;
    json_t *data;

    buf_init(&out, RENDER_MAX_BYTES);
    ck_assert_int_eq(diff_html(d, o, &out, NULL), 0);
    from = strstr(out.p, "id=\"profile\">");
    ck_assert_ptr_nonnull(from);
    from += strlen("id=\"profile\">");
    end = strstr(from, "</script>");
    data = json_loadb(from, (size_t)(end - from), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(data != NULL, "%s at %d", error.text, error.position);
    return data;
}

static void assert_numbers(const json_t *list, const double *wanted, size_t n)
{
    ck_assert_uint_eq(json_array_size(list), n);
    for (size_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(json_number_value(json_array_get(list, i)), wanted[i], 1e-6);
}

#define ASSERT_NUMBERS(list, ...)                                                                  \
    assert_numbers(list, (const double[]){ __VA_ARGS__ },                                          \
                   sizeof((double[]){ __VA_ARGS__ }) / sizeof(double))

/* Checks the members of both sides in JSON. @unit "": they are missing. @stock: that of side b. */
static void check_sides(const char *unit, json_int_t value_a, json_int_t value_b, bool stock)
{
    _cleanup_(diff_freep) struct diff *d = diff_of((struct diff_opts){ 0 });
    _cleanup_buf_ struct buf out = BUF_NULL;
    json_t *data, *side;
    const char *got;

    buf_init(&out, RENDER_MAX_BYTES);
    ck_assert_int_eq(diff_json(d, NULL, &out, NULL), 0);
    data = json_loadb(out.p, out.n, JSON_REJECT_DUPLICATES, NULL);
    for (int i = 0; i < 2; i++) {
        side = json_object_get(data, i ? "b" : "a");
        got = json_string_value(json_object_get(side, "unit"));
        ck_assert_str_eq(got ? got : "", unit);
        ck_assert_int_eq(json_integer_value(json_object_get(side, "value")), i ? value_b : value_a);
    }
    ck_assert(json_is_true(json_object_get(side, "stock")) == stock); /* of side b */
    json_decref(data);
}

static void set_event(struct side *s, const char *name, const char *unit)
{
    struct profile_event *e = &s->profile->events[0];

    snprintf(e->name, sizeof(e->name), "%s", name);
    snprintf(e->unit, sizeof(e->unit), "%s", unit);
}

START_TEST(sides_say_what_they_are_worth)
{
    two_sides();
    check_sides("nanoseconds", 500, 1000, false); /* samples of a period each */
    a.profile->events[0].valued = b.profile->events[0].valued = true;
    check_sides("samples", 50, 100, false); /* by samples, as requested */
    a.view.opts.total = b.view.opts.total = true;
    check_sides("nanoseconds", 500, 1000, false);
    set_event(&a, "live", "bytes");
    check_sides("", 0, 0, false); /* bytes and time */
}
END_TEST

typedef int diff_writer(const struct diff *d, const struct render_opts *o, struct buf *out,
                        struct error *err);

static char *written(diff_writer *write, const struct diff *d)
{
    static char text[1 << 20]; /* of the test */
    _cleanup_buf_ struct buf out = BUF_UPTO(RENDER_MAX_BYTES);

    ck_assert_int_eq(write(d, &(struct render_opts){ .version = "1" }, &out, NULL), 0);
    span_copy(buf_span(&out), text, sizeof(text));
    return text;
}

static void check_has(const char *text, const char *wanted)
{
    ck_assert_msg(strstr(text, wanted) != NULL, "no '%s' in %s", wanted, text);
}

#define MIXED                                                                                      \
    "a shows event=cpu and b event=alloc, which count different things: choose one that both "     \
    "have with event="

/* Each format with room for warnings has those of both views, and that the events differ. */
START_TEST(every_format_warns)
{
    _cleanup_(diff_freep) struct diff *d = NULL;
    char *text;

    two_sides();
    set_event(&b, "alloc", "bytes");
    a.view.warnings[a.view.warning_count++] = "idle threads are left out";
    b.view.opts.total = true;
    b.view.warnings[b.view.warning_count++] = "20 samples are few";
    d = diff_of((struct diff_opts){ .note = "whole" });

    check_has(written(diff_json, d), "\"warnings\":[\"" MIXED "\",\"whole\",\"a: idle threads are "
                                     "left out\",\"b: 20 samples are few\"]");
    check_has(written(diff_html, d), "\"warnings\":[\"" MIXED
                                     "\",\"whole\",\"before: idle threads are left out\",\"after: "
                                     "20 samples are few\"]");
    text = written(diff_text, d);
    check_has(text, "\nwarning: " MIXED "\nwarning: whole\nA: 1.5 s, 50 samples\n   warning: idle");
    check_has(text, "\nB: 1.5 s, 1000 bytes\n   warning: 20 samples are few\n");
    text = written(diff_svg, d);
    check_has(text, "\n" MIXED "\nwhole\na: idle threads are left out\nb: 20 samples are few\n");
}
END_TEST

START_TEST(sides_of_one_event_need_no_warning)
{
    _cleanup_(diff_freep) struct diff *d = NULL;

    two_sides();
    d = diff_of((struct diff_opts){ 0 });
    check_has(written(diff_json, d), "\"warnings\":[]");
    ck_assert_ptr_null(strstr(written(diff_text, d), "warning"));
}
END_TEST

START_TEST(what_is_there_at_the_end_is_no_rate)
{
    two_sides();
    a.view.opts.total = b.view.opts.total = true;
    set_event(&a, "nativelive", "bytes");
    set_event(&b, "nativelive", "bytes");
    check_sides("bytes", 500, 1000, true);
    set_event(&a, "alloc", "bytes");
    set_event(&b, "alloc", "bytes");
    check_sides("bytes", 500, 1000, false);
}
END_TEST

START_TEST(the_page_carries_both_weights)
{
    _cleanup_(diff_freep) struct diff *d = NULL;
    struct render_opts o = { .top = 1, .version = "1" };
    json_t *data, *change;

    two_sides();
    d = diff_of((struct diff_opts){ 0 });
    data = page_data(&o, d);
    /* main;old, main;work, main;work;read, main;zip;copy: kept, more, frames, both, before */
    ASSERT_NUMBERS(json_object_get(data, "rows"), 0, 2, 0, 1, 600000, 1, 1, 2, 600000, 2, 1, 3,
                   600000, 1, 2, 4, 5, 200000);
    ASSERT_NUMBERS(json_object_get(data, "values"), 600000, 200000, 200000, 0);
    ck_assert_double_eq_tol(
        json_number_value(json_object_get(json_object_get(data, "quality"), "samples")), 2e6, 1);
    ck_assert_uint_eq(json_array_size(json_object_get(data, "changes")), 1);
    change = json_array_get(json_object_get(data, "changes"), 0);
    ck_assert_int_eq(json_integer_value(json_array_get(change, 2)), 30);
    ck_assert_int_eq(json_integer_value(json_array_get(change, 3)), 0);
    json_decref(data);
}
END_TEST

START_TEST(minwidth_cuts_the_page)
{
    _cleanup_(diff_freep) struct diff *d = NULL;
    struct render_opts o = { .minwidth = 21 };
    json_t *data;

    two_sides();
    d = diff_of((struct diff_opts){ .absolute = true });
    /* as counted: main 150, old 30 (20 %), work 100, read 50, zip 20 (13 %) */
    data = page_data(&o, d);
    ASSERT_NUMBERS(json_object_get(data, "rows"), 0, -2, 0, 300000, 1, 1, 1, 500000, 2, 1, 2,
                   500000, 1, -1, 200000);
    json_decref(data);
}
END_TEST

START_TEST(hot_functions_count_a_recursion_once)
{
    _cleanup_free_ struct top_function *list = NULL;
    size_t n = 0;

    row(&a, 5, "t:[main tid=1];main;0:down;down;down");
    row(&a, 3, "t:[main tid=1];main;down;n:read");
    ck_assert_int_eq(top_functions(&a.view, &list, &n), 0);
    ck_assert_uint_eq(n, 3); /* threads are not listed */
    ck_assert(span_eq_str(view_string(&a.view, list[0].name), "down"));
    ck_assert_uint_eq(list[0].self, 5);
    ck_assert_uint_eq(list[0].total, 8);
    ck_assert_uint_eq(list[0].kind, FRAME_C2); /* the kind in which most of it ran */
    ck_assert(span_eq_str(view_string(&a.view, list[1].name), "read"));
    ck_assert_uint_eq(list[2].self, 0);
    ck_assert_uint_eq(list[2].total, 8);
}
END_TEST

START_TEST(hot_functions_of_nothing)
{
    _cleanup_free_ struct top_function *list = NULL;
    size_t n = 7;

    ck_assert_int_eq(top_functions(&a.view, &list, &n), 0);
    ck_assert_uint_eq(n, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("diff");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, both_sides_are_in_one_tree);
    tcase_add_test(tc, siblings_are_sorted_by_name);
    tcase_add_test(tc, functions_are_listed_by_change);
    tcase_add_test(tc, counts_stay_as_they_are_when_asked);
    tcase_add_test(tc, values_weigh_when_asked);
    tcase_add_test(tc, reversed_the_leaves_are_at_the_root);
    tcase_add_test(tc, an_empty_side_is_no_trouble);
    tcase_add_test(tc, collapsed_has_two_columns);
    tcase_add_test(tc, svg_shows_what_vanished);
    tcase_add_test(tc, sides_say_what_they_are_worth);
    tcase_add_test(tc, every_format_warns);
    tcase_add_test(tc, sides_of_one_event_need_no_warning);
    tcase_add_test(tc, what_is_there_at_the_end_is_no_rate);
    tcase_add_test(tc, the_page_carries_both_weights);
    tcase_add_test(tc, minwidth_cuts_the_page);
    tcase_add_test(tc, hot_functions_count_a_recursion_once);
    tcase_add_test(tc, hot_functions_of_nothing);
    return suite_run_case("diff", tc);
}
