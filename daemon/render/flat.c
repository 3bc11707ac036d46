/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `flat`: methods by their own weight, hottest first, in async-profiler's columns. A row for
 * something else than a method, such as a kind of wait or a class of objects, also names the
 * application's method: "[network] <- CarrierClient.fetchRate". The same applies to a library's
 * function in which faults or calls were counted: "open <- Carrier.readRates".
 */
#include "base/cleanup.h"
#include "base/id_table.h"
#include "profile/own_code.h"
#include "render/report.h"

#define FLAT_METHODS_MAX (UINT32_MAX / 2)

/* The key of a row. */
struct place {
    uint32_t name; /* string of the view; "": a sample without frames */
    uint32_t site; /* string of the application's method, 0: none */
};

struct method {
    struct place place;
    struct view_sum self;
};

static int method_cmp(const void *a, const void *b, void *ctx)
{
    const struct view *v = ctx;
    const struct method *x = a, *y = b;
    uint64_t m = report_weigh(v, x->self), n = report_weigh(v, y->self);
    int r;

    if (m != n)
        return m < n ? 1 : -1;
    r = span_compare(view_string(v, x->place.name), view_string(v, y->place.name));
    return r ? r : span_compare(view_string(v, x->place.site), view_string(v, y->place.site));
}

/* Returns the class of a Java frame; empty of other frames. */
static struct span class_of(const struct view *v, const struct view_frame *f)
{
    const struct profile *p = v->profile;

    if (!f->frame || !frame_kind_is_java((enum frame_kind)f->kind))
        return SPAN_NULL;
    return intern_get(p->strings, p->functions[p->frames[f->frame].function].class_name);
}

/* Returns the application's method nearest to the leaf of @row, else the nearest Java method. 0:
 * none. */
static uint32_t site_of(const struct view *v, const struct own_code *own,
                        const struct view_row *row)
{
    uint32_t nearest = 0;

    for (uint32_t i = row->n; i > row->roots; i--) {
        const struct view_frame *f = &v->frames[v->stack[row->first + i - 1]];
        struct span class_name = class_of(v, f);

        if (class_name.n && own_code_has(own, class_name))
            return f->name;
        if (class_name.n && !nearest)
            nearest = f->name;
    }
    return nearest;
}

/* Returns whether the samples of @v show where something happened, not which code takes time. */
static bool counts_events(const struct view *v)
{
    const struct profile_event *event = view_event(v);

    return strcmp(event->unit, "nanoseconds") != 0 || strcmp(event->name, "safepoint") == 0;
}

static struct place place_of(const struct view *v, const struct own_code *own,
                             const struct view_row *row)
{
    const struct view_frame *leaf = row->n ? &v->frames[v->stack[row->first + row->n - 1]] : NULL;

    struct place ret = { .name = leaf ? leaf->name : 0 };

    if (leaf && (frame_kind_is_wait(leaf->kind) || leaf->kind == FRAME_CLASS || counts_events(v)))
        ret.site = site_of(v, own, row);
    if (ret.site == ret.name)
        ret.site = 0;
    return ret;
}

/* Adds up the rows of each place. Returns the number of methods, unsorted, or -ENOMEM. */
static int64_t flat_add_up(const struct view *v, struct method **ret)
{
    _cleanup_free_ struct method *methods = calloc(v->row_count + 1, sizeof(*methods));
    struct id_table places;
    struct own_code own;
    int64_t n;

    if (!methods)
        return -ENOMEM;
    own_code_init(v->profile, &own);
    id_table_init(&places, sizeof(struct place), FLAT_METHODS_MAX);
    for (size_t i = 0; i < v->row_count; i++) {
        const struct view_row *row = &v->rows[i];
        struct place place = place_of(v, &own, row);
        uint32_t id;

        if (id_table_add(&places, &place, &id) < 0) {
            id_table_deinit(&places);
            return -ENOMEM;
        }
        methods[id].place = place;
        methods[id].self.samples += row->samples;
        methods[id].self.value += row->value;
    }
    n = places.count;
    id_table_deinit(&places);
    *ret = TAKE_PTR(methods);
    return n;
}

static void add_place(const struct view *v, struct place place, struct buf *out)
{
    struct span name = view_string(v, place.name);

    buf_add_span(out, name.n ? name : SPAN("[unknown]"));
    if (place.site) {
        buf_add_str(out, " <- ");
        buf_add_span(out, view_string(v, place.site));
    }
    buf_add_char(out, '\n');
}

int render_flat(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err)
{
    _cleanup_free_ struct method *methods = NULL;
    struct view_sum rest = { 0 };
    size_t top = report_top(o), n;
    int64_t r = flat_add_up(v, &methods);

    if (r < 0)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    n = (size_t)r;
    qsort_r(methods, n, sizeof(*methods), method_cmp, (void *)v);
    report_add_head(v, o, out);
    buf_add_char(out, '\n');
    report_add_table_head(v, "top", out);
    for (size_t i = 0; i < n && i < top; i++) {
        report_add_columns(v, methods[i].self, out);
        add_place(v, methods[i].place, out);
    }
    for (size_t i = top; i < n; i++) {
        rest.samples += methods[i].self.samples;
        rest.value += methods[i].self.value;
    }
    report_add_rest(v, n > top ? n - top : 0, rest, "methods", out);
    return render_result(out, err);
}
