/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `html`: one file that opens offline: the viewer of web/, put together when flamed is
 * built, and the profile as compact JSON in a <script type="application/json">. Stacks are sorted,
 * so each one says how many frames it shares with the one before and lists only the rest; frames
 * are numbered by how often they are listed, so that the common ones are short. docs/formats.md
 * describes it.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "render/formats.h"
#include "render/viewer.h"

#define HTML_NONE UINT32_MAX

/* The profile while it is written. @cut[r] is how many frames of row r are kept: the rest is
 * narrower than minwidth. @order lists the frames by number, @number is its inverse. */
struct html {
    const struct view *v;
    uint32_t *cut;    /* row_count */
    uint32_t *uses;   /* frame_count: how often a frame is listed */
    uint32_t *order;  /* used frames, most listed first */
    uint32_t *number; /* frame_count; HTML_NONE: not used */
    uint32_t used;
    uint32_t *text;    /* view string id to number in "strings", 0: not there yet */
    uint32_t *strings; /* their view string ids in order; [0] is the empty one */
    uint32_t string_count;
};

static void html_deinit(struct html *h)
{
    free(h->cut);
    free(h->uses);
    free(h->order);
    free(h->number);
    free(h->text);
    free(h->strings);
}

static int html_init(struct html *h, const struct view *v)
{
    size_t strings = (size_t)intern_count(v->strings) + 1;

    h->v = v;
    h->cut = calloc(v->row_count + 1, sizeof(*h->cut));
    h->uses = calloc(v->frame_count + 1, sizeof(*h->uses));
    h->order = calloc(v->frame_count + 1, sizeof(*h->order));
    h->number = calloc(v->frame_count + 1, sizeof(*h->number));
    h->text = calloc(strings, sizeof(*h->text));
    h->strings = calloc(strings, sizeof(*h->strings));
    return h->cut && h->uses && h->order && h->number && h->text && h->strings ? 0 : -ENOMEM;
}

static uint64_t row_weight(const struct view *v, size_t row)
{
    return render_weight(v, v->rows[row].samples, v->rows[row].value);
}

/* How many frames two rows share from the root on. */
static uint32_t rows_shared(const struct view *v, const struct view_row *a,
                            const struct view_row *b)
{
    uint32_t n = MIN(a->n, b->n), i = 0;

    while (i < n && v->stack[a->first + i] == v->stack[b->first + i])
        i++;
    return i;
}

/* As rows_shared(), by names alone: that is what rows are sorted by, and what the viewer puts
 * together. */
static uint32_t rows_shared_names(const struct view *v, const struct view_row *a,
                                  const struct view_row *b)
{
    uint32_t n = MIN(a->n, b->n), i = 0;

    while (i < n &&
           v->frames[v->stack[a->first + i]].name == v->frames[v->stack[b->first + i]].name)
        i++;
    return i;
}

/* A frame of the tree that is still being added up: rows from @first on, weighing @weight. */
struct open_frame {
    size_t first;
    uint64_t weight;
};

/* Ends the frames of depth @depth and more at row @end: rows of those that are too narrow are cut
 * there. */
static void close_frames(struct html *h, struct open_frame *open, uint32_t n, uint32_t depth,
                         size_t end, double least)
{
    while (n-- > depth) {
        if ((double)open[n].weight >= least)
            continue;
        for (size_t r = open[n].first; r < end; r++)
            h->cut[r] = MIN(h->cut[r], n);
    }
}

/* Finds what minwidth leaves out. One pass: rows of a name are neighbours. */
static int html_cut(struct html *h, double minwidth_percent)
{
    const struct view *v = h->v;
    _cleanup_free_ struct open_frame *open = NULL;
    double least = (double)(v->opts.total ? v->value : v->samples) * minwidth_percent / 100;
    uint32_t deepest = 0, n = 0;

    for (size_t r = 0; r < v->row_count; r++) {
        h->cut[r] = v->rows[r].n;
        deepest = MAX(deepest, v->rows[r].n);
    }
    if (!(minwidth_percent > 0))
        return 0;
    open = calloc((size_t)deepest + 1, sizeof(*open));
    if (!open)
        return -ENOMEM;
    for (size_t r = 0; r < v->row_count; r++) {
        const struct view_row *row = &v->rows[r];
        uint32_t shared = r ? rows_shared_names(v, row - 1, row) : 0;

        close_frames(h, open, n, shared, r, least);
        for (n = shared; n < row->n; n++)
            open[n] = (struct open_frame){ r, 0 };
        for (uint32_t i = 0; i < n; i++)
            open[i].weight += row_weight(v, r);
    }
    close_frames(h, open, n, 0, v->row_count, least);
    return 0;
}

/* How many frames row @r takes over from the row before, both as they are cut. */
static uint32_t row_kept(const struct html *h, size_t r)
{
    uint32_t shared;

    if (!r)
        return 0;
    shared = rows_shared(h->v, &h->v->rows[r - 1], &h->v->rows[r]);
    return MIN(shared, MIN(h->cut[r - 1], h->cut[r]));
}

static int uses_cmp(const void *a, const void *b, void *ctx)
{
    const uint32_t *uses = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (uses[x] != uses[y])
        return uses[x] < uses[y] ? 1 : -1;
    return (x > y) - (x < y);
}

static void html_number_frames(struct html *h)
{
    const struct view *v = h->v;

    for (size_t r = 0; r < v->row_count; r++)
        for (uint32_t i = row_kept(h, r); i < h->cut[r]; i++)
            h->uses[v->stack[v->rows[r].first + i]]++;
    for (size_t f = 0; f < v->frame_count; f++) {
        h->number[f] = HTML_NONE;
        if (h->uses[f])
            h->order[h->used++] = (uint32_t)f;
    }
    qsort_r(h->order, h->used, sizeof(*h->order), uses_cmp, h->uses);
    for (uint32_t i = 0; i < h->used; i++)
        h->number[h->order[i]] = i;
}

/* The number of a string of the view in "strings". */
static uint32_t html_string(struct html *h, uint32_t id)
{
    if (!id || id >= intern_count(h->v->strings))
        return 0;
    if (!h->text[id]) {
        h->text[id] = ++h->string_count;
        h->strings[h->string_count] = id;
    }
    return h->text[id];
}

static void html_add_frames(struct html *h, struct buf *out)
{
    buf_add_str(out, ",\n\"frames\":[");
    for (uint32_t i = 0; i < h->used; i++) {
        const struct view_frame *f = &h->v->frames[h->order[i]];
        uint32_t name = html_string(h, f->name), module = html_string(h, f->module);

        if (i)
            buf_add_char(out, ',');
        buf_printf(out, "%u,%u,%u,%u,%u", name, f->kind, module, html_string(h, f->file), f->line);
    }
    buf_add_str(out, "],\n\"strings\":[\"\"");
    for (uint32_t i = 1; i <= h->string_count; i++) {
        buf_add_char(out, ',');
        render_add_json_string(out, view_string(h->v, h->strings[i]));
    }
    buf_add_char(out, ']');
}

/* True if every row's value is its samples times the period: then the viewer needs no values. */
static bool values_are_samples(const struct view *v)
{
    for (size_t r = 0; r < v->row_count; r++)
        if (v->rows[r].value != v->rows[r].samples * v->profile->period)
            return false;
    return true;
}

/* The end of the rows that look like row @r: neighbours that minwidth cut in the same place. */
static size_t html_run_end(const struct html *h, size_t r)
{
    const struct view *v = h->v;
    size_t end = r + 1;

    while (end < v->row_count && h->cut[r] < v->rows[r].n && h->cut[end] < v->rows[end].n &&
           h->cut[end] == h->cut[r] && row_kept(h, end) == h->cut[r])
        end++;
    return end;
}

/* A row is: frames kept, frames that follow, those, samples. A row cut by minwidth says -1 -
 * (frames that follow): its weight belongs to a nameless frame above the last one. */
static void html_add_row(const struct html *h, size_t r, uint64_t samples, struct buf *out)
{
    const struct view *v = h->v;
    const struct view_row *row = &v->rows[r];
    uint32_t kept = row_kept(h, r), more = h->cut[r] - kept;

    buf_add_u64(out, kept);
    if (h->cut[r] < row->n)
        buf_printf(out, ",%lld", -1 - (long long)more);
    else
        buf_printf(out, ",%u", more);
    for (uint32_t i = kept; i < h->cut[r]; i++) {
        buf_add_char(out, ',');
        buf_add_u64(out, h->number[v->stack[row->first + i]]);
    }
    buf_add_char(out, ',');
    buf_add_u64(out, samples);
}

/* @values: only the rows' values, as a second list. */
static void html_add_rows(const struct html *h, bool values, struct buf *out)
{
    const struct view *v = h->v;

    buf_printf(out, ",\n\"%s\":[", values ? "values" : "rows");
    for (size_t r = 0, end; r < v->row_count; r = end) {
        uint64_t samples = 0, value = 0;

        end = html_run_end(h, r);
        for (size_t i = r; i < end; i++) {
            samples += v->rows[i].samples;
            value += v->rows[i].value;
        }
        if (r)
            buf_add_char(out, ',');
        if (values)
            buf_add_u64(out, value);
        else
            html_add_row(h, r, samples, out);
    }
    buf_add_char(out, ']');
}

static int html_add_profile(struct html *h, const struct render_opts *o, struct buf *out)
{
    int r = html_init(h, h->v);

    if (r == 0)
        r = html_cut(h, o ? o->minwidth : 0);
    if (r < 0)
        return r;
    html_number_frames(h);
    buf_add_str(out, "{\"format\":\"flamed-viewer\",\"version\":1,\n");
    render_add_meta(h->v, o, out);
    buf_printf(out, ",\n\"view\":{\"minwidth\":%.6g,\"reverse\":%s,\"inverted\":%s}",
               o && o->minwidth > 0 ? o->minwidth : 0.0, o && o->reverse ? "true" : "false",
               o && o->inverted ? "true" : "false");
    html_add_frames(h, out);
    html_add_rows(h, /* values= */ false, out);
    if (!values_are_samples(h->v))
        html_add_rows(h, /* values= */ true, out);
    buf_add_str(out, "}\n");
    return 0;
}

int render_html(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err)
{
    _cleanup_(html_deinit) struct html h = { .v = v };
    _cleanup_buf_ struct buf title = BUF_NULL;
    int r;

    buf_init(&title, RENDER_MAX_BYTES);
    render_add_title(v, o, &title);
    buf_add_span(out, VIEWER_HEAD);
    text_add_html(out, buf_span(&title));
    buf_add_span(out, VIEWER_BODY);
    r = html_add_profile(&h, o, out);
    buf_add_span(out, VIEWER_TAIL);
    if (r == 0)
        r = title.error;
    if (r < 0)
        return error_code(err, r, "cannot render the profile");
    return render_result(out, err);
}
