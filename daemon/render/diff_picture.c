/* SPDX-License-Identifier: Apache-2.0 */
/* Diffs for people: the two profiles as one flame graph, alone or on a page with the table of
 * changes. No script: what a frame is stands in its <title>. */
#include "base/cleanup.h"
#include "base/text.h"
#include "render/diff.h"
#include "render/formats.h"

#define WIDTH_DEFAULT 1200
#define FRAME_HEIGHT 17
#define HEAD_HEIGHT 44
#define CHAR_WIDTH 7.0 /* of 12 px monospace, a little over */
#define MIN_WIDTH_PX 0.3
#define ROWS_DEFAULT 100

struct picture {
    const struct diff *d;
    struct buf *out;
    double width, height, least; /* least: pixels below which nothing is drawn */
};

/* What a node weighs in the picture: both sides together. */
static double node_weight(const struct diff *d, const struct diff_node *n)
{
    return (double)n->a * d->scale + (double)n->b;
}

/* Grey where nothing changed, red for more, blue for less. */
static void add_color(const struct diff *d, const struct diff_node *n, struct buf *out)
{
    double both = node_weight(d, n), part = both > 0 ? diff_delta(d, n->a, n->b) / both : 0;
    int fade = 235 - (int)((part < 0 ? -part : part) * 150);

    if (part >= 0)
        buf_printf(out, "rgb(245,%d,%d)", fade, fade);
    else
        buf_printf(out, "rgb(%d,%d,245)", fade, fade);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_rect(const struct picture *p, const struct diff_node *n, double x, double w)
{
    const struct diff *d = p->d;
    double y = p->height - FRAME_HEIGHT * (double)(n->depth + 1);
    struct span name = n->depth ? diff_string(d, n->name) : SPAN("all");
    size_t fits = (size_t)(w / CHAR_WIDTH);

    buf_add_str(p->out, "<g><title>");
    text_add_html(p->out, name);
    buf_printf(p->out, "\n%.2f%% \u2192 %.2f%% (%llu \u2192 %llu)</title>", share(n->a, d->a),
               share(n->b, d->b), (unsigned long long)n->a, (unsigned long long)n->b);
    buf_printf(p->out, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" rx=\"1\" fill=\"",
               x, y, w, FRAME_HEIGHT - 1);
    add_color(d, n, p->out);
    buf_add_str(p->out, "\"/>");
    if (fits >= 3) {
        struct span shown = name;

        if (name.n > fits) {
            for (shown.n = fits - 1; shown.n && (name.p[shown.n] & 0xc0) == 0x80; shown.n--)
                ; /* not inside a character */
        }
        buf_printf(p->out, "<text x=\"%.1f\" y=\"%.0f\">", x + 3, y + 12);
        text_add_html(p->out, shown);
        buf_printf(p->out, "%s</text>", shown.n < name.n ? "\u2026" : "");
    }
    buf_add_str(p->out, "</g>\n");
}

/* Draws all that is wide enough, depth first, without recursion. 0 or -ENOMEM. */
static int add_frames(const struct picture *p)
{
    const struct diff *d = p->d;
    double whole = node_weight(d, &d->nodes[0]);
    _cleanup_free_ double *left = calloc(d->node_count, sizeof(*left));
    uint32_t i = 0;

    if (!left)
        return -ENOMEM;
    while (whole > 0 && !p->out->error) {
        const struct diff_node *n = &d->nodes[i];
        double w = node_weight(d, n) / whole * p->width;
        bool drawn = w >= p->least;

        if (drawn)
            add_rect(p, n, left[i], w);
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
        left[n->sibling] = left[i] + node_weight(d, n) / whole * p->width;
        i = n->sibling;
    }
    return 0;
}

static uint32_t deepest_drawn(const struct diff *d, double width, double least)
{
    double whole = node_weight(d, &d->nodes[0]);
    uint32_t deepest = 0;

    for (size_t i = 0; i < d->node_count && whole > 0; i++) {
        if (node_weight(d, &d->nodes[i]) / whole * width >= least)
            deepest = MAX(deepest, d->nodes[i].depth);
    }
    return deepest;
}

static void add_legend(const struct diff *d, struct buf *out)
{
    buf_printf(out, "a: %llu, b: %llu", (unsigned long long)d->a, (unsigned long long)d->b);
    if (d->scale != 1)
        buf_printf(out, ", a scaled by %.4g", d->scale);
    buf_add_str(out, "; red: more in b, blue: less, width: both");
}

static int add_svg(const struct diff *d, const struct render_opts *o, size_t width, struct buf *out)
{
    struct picture p = { .d = d, .out = out, .width = (double)(width ? width : WIDTH_DEFAULT) };
    _cleanup_buf_ struct buf title = BUF_NULL;

    p.least = MAX(MIN_WIDTH_PX, o && o->minwidth > 0 ? o->minwidth / 100 * p.width : 0);
    p.height = HEAD_HEIGHT + FRAME_HEIGHT * (double)(deepest_drawn(d, p.width, p.least) + 1);
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" "
               "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
               "font-family=\"ui-monospace,Menlo,Consolas,monospace\" font-size=\"12\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
               "<text x=\"4\" y=\"16\" font-weight=\"bold\">",
               p.width, p.height, p.width, p.height);
    buf_init(&title, RENDER_MAX_BYTES);
    diff_add_title(d, o, &title);
    text_add_html(out, buf_span(&title));
    buf_add_str(out, "</text>\n<text x=\"4\" y=\"34\">");
    add_legend(d, out);
    buf_add_str(out, "</text>\n");
    if (add_frames(&p) < 0)
        return -ENOMEM;
    buf_add_str(out, "</svg>\n");
    return 0;
}

int diff_svg(const struct diff *d, const struct render_opts *o, size_t width, struct buf *out,
             struct error *err)
{
    buf_add_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if (add_svg(d, o, width, out) < 0)
        return error_set(err, -ENOMEM, "no memory to render the diff");
    return render_result(out, err);
}

static void add_change(const struct diff *d, const struct diff_function *f, struct buf *out)
{
    double a = share(f->a_self, d->a), b = share(f->b_self, d->b);

    buf_printf(out,
               "<tr><td>%+.2f</td><td>%.2f</td><td>%.2f</td><td>%llu</td><td>%llu</td>"
               "<td class=\"m\">",
               b - a, a, b, (unsigned long long)f->a_self, (unsigned long long)f->b_self);
    text_add_html(out, diff_string(d, f->name));
    buf_add_str(out, "</td></tr>\n");
}

int diff_html(const struct diff *d, const struct render_opts *o, size_t width, struct buf *out,
              struct error *err)
{
    _cleanup_buf_ struct buf title = BUF_NULL;
    size_t top = o && o->top ? o->top : ROWS_DEFAULT;

    buf_init(&title, RENDER_MAX_BYTES);
    diff_add_title(d, o, &title);
    buf_add_str(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    text_add_html(out, buf_span(&title));
    buf_add_str(out, "</title>\n<style>\nbody{font:13px/20px system-ui,sans-serif;margin:16px;"
                     "font-variant-numeric:tabular-nums;color:#222;background:#fff}\n"
                     "td,th{text-align:right;padding:0 12px 0 0}th{font-weight:600}\n"
                     ".m{text-align:left;font-family:ui-monospace,Menlo,Consolas,monospace}\n"
                     "</style></head><body>\n");
    if (add_svg(d, o, width, out) < 0)
        return error_set(err, -ENOMEM, "no memory to render the diff");
    buf_add_str(out, "<h2>Most changed functions (self, % of the samples)</h2>\n<table><tr>"
                     "<th>change</th><th>a %</th><th>b %</th><th>a</th><th>b</th>"
                     "<th class=\"m\">function</th></tr>\n");
    for (size_t i = 0; i < MIN(top, d->function_count); i++)
        add_change(d, &d->functions[i], out);
    buf_add_str(out, "</table>\n</body></html>\n");
    return render_result(out, err);
}
