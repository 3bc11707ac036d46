/* SPDX-License-Identifier: Apache-2.0 */
/* Format `svg`: the call tree as a picture with built-in zoom and search. */
#include "base/cleanup.h"
#include "render/standalone/calltree.h"
#include "render/standalone/palette.h"
#include "render/standalone/svg_picture.h"

/* Appends "1,234 samples, 12.34%" or, with `total`, the value. */
static void add_facts(const struct view *v, struct view_sum w, struct buf *out)
{
    svg_add_count(out, report_weigh(v, w));
    buf_printf(out, " %s, %.2f%%", v->opts.total ? report_unit(v) : "samples",
               report_percent(report_weigh(v, w), report_weigh(v, report_whole(v))));
}

/* Adds the line below the title: the amount and the quality. */
static void add_note(const struct view *v, struct buf *out)
{
    const struct profile *p = v->profile;

    svg_add_count(out, v->samples);
    buf_printf(out, " samples \u00b7 %.1f %% unknown \u00b7 %.1f %% truncated \u00b7 %llu lost",
               report_percent(v->unknown, v->samples), report_percent(v->truncated, v->samples),
               (unsigned long long)p->lost);
    if (v->warning_count)
        buf_printf(out, " \u00b7 %zu warning%s", v->warning_count,
                   v->warning_count == 1 ? "" : "s");
}

/* Draws the tree, each node from where its left sibling ends. 0 or -ENOMEM. */
static int add_boxes(const struct svg_picture *p, const struct view *v, const struct calltree *t)
{
    double whole = (double)report_weigh(v, report_whole(v));
    _cleanup_free_ double *ends = calloc((size_t)t->levels + 1, sizeof(*ends));
    _cleanup_buf_ struct buf facts = BUF_UPTO(256);

    if (!ends)
        return -ENOMEM;
    add_facts(v, report_whole(v), &facts);
    svg_add_box(p, 0, 0, 1, SPAN("all"), buf_span(&facts), PALETTE_ROOT);
    for (uint32_t i = t->first; i != CALLTREE_NONE && !p->out->error; i = calltree_next(t, i)) {
        const struct calltree_node *n = &t->nodes[i];
        double left = ends[n->depth], part = (double)report_weigh(v, n->total) / whole;
        struct span name = view_string(v, n->name);

        buf_clear(&facts);
        add_facts(v, n->total, &facts);
        svg_add_box(p, n->depth + 1, left, part, name, buf_span(&facts),
                    palette_frame(n->kind, name));
        ends[n->depth] = left + part;
        ends[n->depth + 1] = left; /* start of its first child */
    }
    return facts.error;
}

int render_svg(const struct view *v, const struct render_opts *o, struct buf *out,
               struct error *err)
{
    double whole = (double)report_weigh(v, report_whole(v));
    struct calltree_opts c = {
        .reverse = o && o->reverse,
        .by_name = true,
        .least = (uint64_t)(whole * svg_least(o ? o->width : 0, o ? o->minwidth : 0) + 0.999999),
    };
    _cleanup_(calltree_deinit) struct calltree t = { 0 };
    _cleanup_buf_ struct buf title = BUF_UPTO(RENDER_MAX_BYTES), note = BUF_UPTO(RENDER_MAX_BYTES),
                             about = BUF_UPTO(RENDER_MAX_BYTES);
    struct svg_picture p = { .out = out,
                             .width = (double)(o && o->width ? o->width : SVG_WIDTH_DEFAULT),
                             .inverted = o && o->inverted };
    int r = calltree_init(&t, v, &c);

    p.levels = t.levels + 1;
    render_add_title(v, o, &title);
    add_note(v, &note);
    report_add_head(v, o, &about);
    svg_begin(&p, buf_span(&title), buf_span(&note), buf_span(&about));
    if (r == 0)
        r = add_boxes(&p, v, &t);
    svg_end(&p);
    if (r < 0 || title.error || note.error || about.error)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    return render_result(out, err);
}
