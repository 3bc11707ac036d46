/* SPDX-License-Identifier: Apache-2.0 */
/* The two profiles of a diff as one flame graph. */
#include "base/cleanup.h"
#include "render/diff.h"
#include "render/formats.h"
#include "render/report.h"
#include "render/standalone/palette.h"
#include "render/standalone/svg_picture.h"

struct picture {
    const struct diff *d;
    const struct svg_picture *svg;
    struct buf facts;
    double whole, least; /* least: smallest part of the whole that is drawn */
};

static double weight_of_both(const struct diff *d, uint64_t a, uint64_t b)
{
    return (double)a * d->scale + (double)b;
}

static double part_of(const struct picture *p, const struct diff_node *n)
{
    return weight_of_both(p->d, n->a, n->b) / p->whole;
}

/* Returns the colour of a node: grey for no change, red for more, blue for less. */
static uint32_t colour_of(const struct diff *d, const struct diff_node *n)
{
    double both = weight_of_both(d, n->a, n->b),
           part = both > 0 ? diff_delta(d, n->a, n->b) / both : 0;
    uint32_t fade = 235 - (uint32_t)((part < 0 ? -part : part) * 150);

    if (!n->depth)
        return PALETTE_ROOT;
    return part >= 0 ? 245u << 16 | fade << 8 | fade : fade << 16 | fade << 8 | 245u;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Appends the unit of weights. */
static void add_unit(const struct diff *d, struct buf *out)
{
    if (d->unit[0])
        buf_printf(out, " %s", d->by_value_b ? report_unit_name(d->unit) : "samples");
}

static void add_box(struct picture *p, const struct diff_node *n, double left)
{
    const struct diff *d = p->d;
    struct buf *out = &p->facts;

    buf_clear(out);
    buf_printf(out, "%.2f%% \u2192 %.2f%%, %+.2f; ", share(n->a, d->a), share(n->b, d->b),
               share(n->b, d->b) - share(n->a, d->a));
    svg_add_count(out, n->a);
    buf_add_str(out, " \u2192 ");
    svg_add_count(out, n->b);
    add_unit(d, out);
    svg_add_box(p->svg, n->depth, left, part_of(p, n),
                n->depth ? diff_string(d, n->name) : SPAN("all"), buf_span(out), colour_of(d, n));
}

/* Draws all that is wide enough, depth first, without recursion. 0 or -ENOMEM. */
static int add_boxes(struct picture *p)
{
    const struct diff *d = p->d;
    _cleanup_free_ double *left = calloc(d->node_count, sizeof(*left));
    uint32_t i = 0;

    if (!left)
        return -ENOMEM;
    while (p->whole > 0 && !p->svg->out->error) {
        const struct diff_node *n = &d->nodes[i];
        bool drawn = part_of(p, n) >= p->least;

        if (drawn)
            add_box(p, n, left[i]);
        if (drawn && n->child) {
            left[n->child] = left[i];
            i = n->child;
            continue;
        }
        while (i && !d->nodes[i].sibling)
            i = d->nodes[i].parent;
        if (!i)
            break;
        n = &d->nodes[i];
        left[n->sibling] = left[i] + part_of(p, n);
        i = n->sibling;
    }
    return p->facts.error;
}

static uint32_t levels_drawn(const struct picture *p)
{
    uint32_t deepest = 0;

    for (size_t i = 0; i < p->d->node_count && p->whole > 0; i++) {
        if (part_of(p, &p->d->nodes[i]) >= p->least)
            deepest = MAX(deepest, p->d->nodes[i].depth);
    }
    return deepest + 1;
}

static void add_note(const struct diff *d, struct buf *out)
{
    buf_add_str(out, "a: ");
    svg_add_count(out, d->a);
    buf_add_str(out, ", b: ");
    svg_add_count(out, d->b);
    add_unit(d, out);
    if (d->scale != 1)
        buf_printf(out, ", a scaled by %.4g", d->scale);
    buf_add_str(out, " \u00b7 red: more in b, blue: less, width: both");
}

/* Adds the target of a side and how many samples were lost. */
static void add_side(const struct profile *p, char side, struct buf *out)
{
    buf_printf(out, "%c: %s, %llu lost\n", side, p->target, (unsigned long long)p->lost);
}

static void add_warnings(const struct diff *d, struct buf *out)
{
    enum diff_side side;
    const char *text;

    for (size_t i = 0; (text = diff_warning(d, i, &side)); i++)
        buf_printf(out, "%s%s\n", side == DIFF_A ? "a: " : side == DIFF_B ? "b: " : "", text);
}

int diff_svg(const struct diff *d, const struct render_opts *o, struct buf *out, struct error *err)
{
    struct svg_picture svg = { .out = out,
                               .width = (double)(o && o->width ? o->width : SVG_WIDTH_DEFAULT),
                               .inverted = o && o->inverted };
    struct picture p = { .d = d, .svg = &svg, .whole = weight_of_both(d, d->a, d->b) };
    _cleanup_buf_ struct buf title = BUF_UPTO(RENDER_MAX_BYTES), note = BUF_UPTO(RENDER_MAX_BYTES),
                             about = BUF_UPTO(RENDER_MAX_BYTES);
    int r;

    p.least = svg_least(o ? o->width : 0, o ? o->minwidth : 0);
    svg.levels = levels_drawn(&p);
    buf_init(&p.facts, 512);
    diff_add_title(d, o, &title);
    add_note(d, &note);
    add_side(d->profile_a, 'a', &about);
    add_side(d->profile_b, 'b', &about);
    add_warnings(d, &about);
    svg_begin(&svg, buf_span(&title), buf_span(&note), buf_span(&about));
    r = add_boxes(&p);
    svg_end(&svg);
    buf_deinit(&p.facts);
    if (r < 0 || title.error || note.error || about.error)
        return error_set(err, -ENOMEM, "no memory to render the diff");
    return render_result(out, err);
}
