/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A diff as a page of the viewer. Its data is that of a profile (docs/formats.md). The weight of a
 * stack is that of both sides together, and its value is the weight on the first side. If the diff
 * is normalized, each side is 1,000,000 units; else the larger side is.
 */
#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/text.h"
#include "render/diff.h"
#include "render/formats.h"
#include "render/standalone/pages.h"

#define CHANGES_DEFAULT 100
#define UNIT 1e6

struct page_frame {
    uint32_t name, kind;
};

struct page {
    const struct diff *d;
    struct buf *out;
    struct id_table frames; /* struct page_frame */
    uint32_t *path;         /* frames from the root to the present node */
    uint32_t kept;          /* number of frames shared with the previous row */
    double per_a, per_b;    /* units of a sample */
    double least;           /* units below which a node is left out */
    struct buf values;      /* the rows' second weight, in the same order */
    double samples;         /* sum of the rows */
};

static int page_init(struct page *p, double minwidth)
{
    const struct diff *d = p->d;
    double larger = (double)MAX(d->a, d->b);
    bool normalized = d->scale != 1;
    uint32_t deepest = 0;

    for (size_t i = 0; i < d->node_count; i++)
        deepest = MAX(deepest, d->nodes[i].depth);
    p->path = calloc((size_t)deepest + 1, sizeof(*p->path));
    p->per_a = d->a ? UNIT / (normalized ? (double)d->a : larger) : 0;
    p->per_b = d->b ? UNIT / (normalized ? (double)d->b : larger) : 0;
    p->least = minwidth / 100 * ((double)d->a * p->per_a + (double)d->b * p->per_b);
    id_table_init(&p->frames, sizeof(struct page_frame), UINT32_MAX / 2);
    buf_init(&p->values, p->out->max);
    return p->path ? 0 : -ENOMEM;
}

static void page_deinit(struct page *p)
{
    id_table_deinit(&p->frames);
    free(p->path);
    buf_deinit(&p->values);
}

/* Adds a row of the first @depth frames of the path. @cut: its weight is what minwidth leaves out
 * above them. */
static void add_row(struct page *p, uint32_t depth, uint64_t a, uint64_t b, bool cut)
{
    double before = (double)a * p->per_a, both = before + (double)b * p->per_b;
    uint32_t kept = MIN(p->kept, depth), more = depth - kept;

    buf_printf(p->out, "%s%u,%lld", p->values.n ? "," : "", kept,
               cut ? -1 - (long long)more : (long long)more);
    for (uint32_t i = kept; i < depth; i++) {
        buf_add_char(p->out, ',');
        buf_add_u64(p->out, p->path[i]);
    }
    buf_printf(p->out, ",%.7g", both);
    buf_printf(&p->values, "%s%.7g", p->values.n ? "," : "", before);
    p->kept = depth;
    p->samples += both;
}

/* Adds a node. Returns 1 if its children must follow, else 0; -ENOMEM. */
static int add_node(struct page *p, const struct diff_node *n)
{
    struct page_frame f = { n->name, n->kind };
    uint32_t id;

    if ((double)n->a * p->per_a + (double)n->b * p->per_b < p->least) {
        p->kept = MIN(p->kept, n->depth - 1);
        add_row(p, n->depth - 1, n->a, n->b, /* cut= */ true);
        return 0;
    }
    if (id_table_add(&p->frames, &f, &id) < 0)
        return -ENOMEM;
    p->path[n->depth - 1] = id;
    p->kept = MIN(p->kept, n->depth - 1);
    if (n->a_self || n->b_self)
        add_row(p, n->depth, n->a_self, n->b_self, /* cut= */ false);
    return 1;
}

static int add_rows(struct page *p)
{
    const struct diff *d = p->d;
    uint32_t i = 0;
    int r = 1;

    buf_add_str(p->out, ",\n\"rows\":[");
    do {
        r = i ? add_node(p, &d->nodes[i]) : 1;
        if (r > 0 && d->nodes[i].child) {
            i = d->nodes[i].child;
            continue;
        }
        while (i && !d->nodes[i].sibling)
            i = d->nodes[i].parent;
        i = d->nodes[i].sibling; /* the root has no sibling */
    } while (i && r >= 0 && !p->out->error);
    buf_add_str(p->out, "],\n\"values\":[");
    buf_add_span(p->out, buf_span(&p->values));
    buf_add_char(p->out, ']');
    return r < 0 ? r : p->values.error;
}

static void add_frames(const struct page *p)
{
    buf_add_str(p->out, ",\n\"frames\":[");
    for (uint32_t i = 0; i < p->frames.count; i++) {
        const struct page_frame *f = id_table_get(&p->frames, i);

        buf_printf(p->out, "%s%u,%u,0,0,0", i ? "," : "", f->name, f->kind);
    }
    buf_add_str(p->out, "],\n\"strings\":[\"\"");
    for (uint32_t i = 1; i < intern_count(p->d->strings); i++) {
        buf_add_char(p->out, ',');
        render_add_json_string(p->out, diff_string(p->d, i));
    }
    buf_add_char(p->out, ']');
}

/* Adds the most changed functions: name (a string), kind, self before and after, total before and
 * after, in samples. */
static void add_changes(const struct diff *d, const struct render_opts *o, struct buf *out)
{
    size_t top = o && o->top ? o->top : CHANGES_DEFAULT, n = 0;

    buf_add_str(out, ",\n\"changes\":[");
    for (size_t i = 0; i < d->function_count && n < top; i++) {
        const struct diff_function *f = &d->functions[i];

        if (!f->a_self && !f->b_self)
            continue;
        buf_printf(out, "%s[%u,%u,%llu,%llu,%llu,%llu]", n++ ? "," : "", f->name, f->kind,
                   (unsigned long long)f->a_self, (unsigned long long)f->b_self,
                   (unsigned long long)f->a, (unsigned long long)f->b);
    }
    buf_add_char(out, ']');
}

static void add_warnings(const struct diff *d, struct buf *out)
{
    static const char *const WARNED[] = {
        [DIFF_BOTH] = "", [DIFF_A] = "before: ", [DIFF_B] = "after: "
    };

    buf_add_str(out, ",\n\"warnings\":[");
    diff_add_warnings(d, WARNED, out);
    buf_add_char(out, ']');
}

static void add_meta(const struct page *p, const struct render_opts *o, struct span title)
{
    const struct diff *d = p->d;
    struct buf *out = p->out;

    buf_add_str(out, "{\"format\":\"flamed-viewer\",\"version\":1,\n\"meta\":{\"title\":");
    render_add_json_string(out, title);
    buf_add_str(out, ",\"event\":");
    render_add_json_string(out, span_of(d->event_b->name));
    buf_printf(out,
               ",\"unit\":\"share\",\"weight\":\"samples\",\"period\":1,"
               "\"widths\":[\"Widths: both\",\"Widths: before\"],\"scale\":%.9g,\"before\":",
               d->scale);
    diff_add_side(d, /* is_b= */ false, out);
    buf_add_str(out, ",\"after\":");
    diff_add_side(d, /* is_b= */ true, out);
    if (o && o->version) {
        buf_add_str(out, ",\"flamed\":");
        render_add_json_string(out, span_of(o->version));
    }
    buf_printf(out, "},\n\"view\":{\"minwidth\":%.6g,\"reverse\":%s,\"inverted\":%s}",
               o && o->minwidth > 0 ? o->minwidth : 0.0, o && o->reverse ? "true" : "false",
               o && o->inverted ? "true" : "false");
}

static int add_data(struct page *p, const struct render_opts *o, struct span title)
{
    int r = page_init(p, o ? o->minwidth : 0);

    if (r < 0)
        return r;
    add_meta(p, o, title);
    add_warnings(p->d, p->out);
    r = add_rows(p);
    add_frames(p);
    add_changes(p->d, o, p->out);
    buf_printf(p->out,
               ",\n\"quality\":{\"samples\":%.9g,\"lost\":0,\"unknown\":0,\"truncated\":0}}\n",
               p->samples);
    return r;
}

int diff_html(const struct diff *d, const struct render_opts *o, struct buf *out, struct error *err)
{
    _cleanup_(page_deinit) struct page p = { .d = d, .out = out };
    _cleanup_buf_ struct buf title = BUF_UPTO(RENDER_MAX_BYTES);
    int r;

    diff_add_title(d, o, &title);
    buf_add_span(out, DIFF_HEAD);
    text_add_html(out, buf_span(&title));
    buf_add_span(out, DIFF_BODY);
    r = add_data(&p, o, buf_span(&title));
    buf_add_span(out, DIFF_TAIL);
    if (r < 0 || title.error)
        return error_set(err, -ENOMEM, "no memory to render the diff");
    return render_result(out, err);
}
