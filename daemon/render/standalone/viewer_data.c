/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile in the form that the viewer reads. Stacks are sorted, so each has the number of
 * frames that it shares with the previous stack, and lists only the rest. Frames are numbered by
 * how often they are listed, so that frequent frames have short numbers. docs/formats.md describes
 * it.
 */
#include "render/standalone/viewer_data.h"

#include "base/cleanup.h"
#include "base/list.h"
#include "render/leaf_counts.h"
#include "render/moments.h"
#include "render/shared_stacks.h"

/* A body with at least this many rows is listed once, and rows refer to it. */
#define BODY_ROWS_MIN 2

#define WRITER_NONE UINT32_MAX

#define VIEWER_MOMENTS_MAX 5000 /* more would be unreadable */

/* State of writing a profile. cut[r]: how many frames of row r are kept; the others are narrower
 * than minwidth. order: frames by number; number: the inverse. */
struct writer {
    const struct view *v;
    uint32_t *cut;    /* row_count */
    uint32_t *uses;   /* frame_count: how often a frame is listed */
    uint32_t *order;  /* used frames, most listed first */
    uint32_t *number; /* frame_count; WRITER_NONE: not used */
    uint32_t used;
    uint32_t *text;    /* by string id of the view, number in "strings"; 0: not there yet */
    uint32_t *strings; /* string ids of the view in the order of "strings"; [0]: the empty string */
    uint32_t string_count;
    struct leaf_counts *leaves; /* frame_count */
    bool by_body;               /* bodies are listed once, because there are many more rows than
                                 * bodies */
    struct shared_stacks bodies;
};

static void writer_deinit(struct writer *w)
{
    free(w->cut);
    free(w->uses);
    free(w->order);
    free(w->number);
    free(w->text);
    free(w->strings);
    free(w->leaves);
    shared_stacks_deinit(&w->bodies);
}

static int writer_init(struct writer *w, const struct view *v)
{
    size_t strings = (size_t)intern_count(v->strings) + 1;

    w->v = v;
    w->cut = calloc(v->row_count + 1, sizeof(*w->cut));
    w->uses = calloc(v->frame_count + 1, sizeof(*w->uses));
    w->order = calloc(v->frame_count + 1, sizeof(*w->order));
    w->number = calloc(v->frame_count + 1, sizeof(*w->number));
    w->text = calloc(strings, sizeof(*w->text));
    w->strings = calloc(strings, sizeof(*w->strings));
    if (!w->cut || !w->uses || !w->order || !w->number || !w->text || !w->strings)
        return -ENOMEM;
    if (leaf_counts_new(v, &w->leaves) < 0)
        return -ENOMEM;
    return shared_stacks_init(&w->bodies, v);
}

static uint64_t row_weight(const struct view *v, size_t row)
{
    return render_weight(v, v->rows[row].samples, v->rows[row].value);
}

/* Returns the number of frames that two rows share from the root on. */
static uint32_t rows_shared(const struct view *v, const struct view_row *a,
                            const struct view_row *b)
{
    uint32_t n = MIN(a->n, b->n), i = 0;

    while (i < n && v->stack[a->first + i] == v->stack[b->first + i])
        i++;
    return i;
}

/* Does the same as rows_shared(), but compares names only: rows are sorted by name, and the viewer
 * merges by name. */
static uint32_t rows_shared_names(const struct view *v, const struct view_row *a,
                                  const struct view_row *b)
{
    uint32_t n = MIN(a->n, b->n), i = 0;

    while (i < n &&
           v->frames[v->stack[a->first + i]].name == v->frames[v->stack[b->first + i]].name)
        i++;
    return i;
}

/* A frame of the tree for which the weight is not complete: its rows begin at @first, and weigh
 * @weight so far. */
struct open_frame {
    size_t first;
    uint64_t weight;
};

/* Ends the frames at @depth and deeper at row @end. Cuts the rows of frames that are too narrow. */
static void close_frames(struct writer *w, struct open_frame *open, uint32_t n, uint32_t depth,
                         size_t end, double least)
{
    while (n-- > depth) {
        if ((double)open[n].weight >= least)
            continue;
        for (size_t r = open[n].first; r < end; r++)
            w->cut[r] = MIN(w->cut[r], n);
    }
}

/* Cuts frames below minwidth, in one pass: rows with equal names are neighbours. */
static int writer_cut(struct writer *w, double minwidth_percent)
{
    const struct view *v = w->v;
    _cleanup_free_ struct open_frame *open = NULL;
    double least = (double)(v->opts.total ? v->value : v->samples) * minwidth_percent / 100;
    uint32_t deepest = 0, n = 0;

    for (size_t r = 0; r < v->row_count; r++) {
        w->cut[r] = v->rows[r].n;
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

        close_frames(w, open, n, shared, r, least);
        for (n = shared; n < row->n; n++)
            open[n] = (struct open_frame){ r, 0 };
        for (uint32_t i = 0; i < n; i++)
            open[i].weight += row_weight(v, r);
    }
    close_frames(w, open, n, 0, v->row_count, least);
    return 0;
}

/* Returns how many frames row @r shares with the previous row, within the kept part of both. */
static uint32_t row_kept(const struct writer *w, size_t r)
{
    uint32_t shared;

    if (!r)
        return 0;
    shared = rows_shared(w->v, &w->v->rows[r - 1], &w->v->rows[r]);
    return MIN(shared, MIN(w->cut[r - 1], w->cut[r]));
}

static int uses_cmp(const void *a, const void *b, void *ctx)
{
    const uint32_t *uses = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (uses[x] != uses[y])
        return uses[x] < uses[y] ? 1 : -1;
    return (x > y) - (x < y);
}

static void writer_count_in_rows(struct writer *w)
{
    const struct view *v = w->v;

    for (size_t r = 0; r < v->row_count; r++)
        for (uint32_t i = row_kept(w, r); i < w->cut[r]; i++)
            w->uses[v->stack[v->rows[r].first + i]]++;
}

static void writer_count_in_bodies(struct writer *w)
{
    const struct view *v = w->v;

    for (uint32_t b = 0; b < v->body_count; b++) {
        uint32_t n;
        const uint32_t *frames = shared_stacks_frames(&w->bodies, b, &n);

        for (uint32_t i = shared_stacks_shared(&w->bodies, b); i < n; i++)
            w->uses[frames[i]]++;
    }
    for (size_t r = 0; r < v->row_count; r = shared_stacks_run_end(&w->bodies, r))
        for (uint32_t i = 0; i < v->rows[r].roots; i++)
            w->uses[v->stack[v->rows[r].first + i]]++;
}

static void writer_number_frames(struct writer *w)
{
    const struct view *v = w->v;

    if (w->by_body)
        writer_count_in_bodies(w);
    else
        writer_count_in_rows(w);
    for (size_t f = 0; f < v->frame_count; f++) {
        w->number[f] = WRITER_NONE;
        if (w->uses[f])
            w->order[w->used++] = (uint32_t)f;
    }
    qsort_r(w->order, w->used, sizeof(*w->order), uses_cmp, w->uses);
    for (uint32_t i = 0; i < w->used; i++)
        w->number[w->order[i]] = i;
}

/* Returns the number in "strings" of a string of the view. */
static uint32_t writer_string(struct writer *w, uint32_t id)
{
    if (!id || id >= intern_count(w->v->strings))
        return 0;
    if (!w->text[id]) {
        w->text[id] = ++w->string_count;
        w->strings[w->string_count] = id;
    }
    return w->text[id];
}

/* Writes, for each frame with an inferred or unsure leaf: its number, and the samples of both
 * kinds. */
static void writer_add_leaves(const struct writer *w, struct buf *out)
{
    bool first = true;

    for (uint32_t i = 0; i < w->used; i++) {
        const struct leaf_counts *c = &w->leaves[w->order[i]];

        if (!c->inferred && !c->unsure)
            continue;
        buf_printf(out, "%s%u,%llu,%llu", first ? "" : ",", i, (unsigned long long)c->inferred,
                   (unsigned long long)c->unsure);
        first = false;
    }
}

static void writer_add_frames(struct writer *w, struct buf *out)
{
    buf_add_str(out, ",\n\"frames\":[");
    for (uint32_t i = 0; i < w->used; i++) {
        const struct view_frame *f = &w->v->frames[w->order[i]];
        uint32_t name = writer_string(w, f->name), module = writer_string(w, f->module);

        if (i)
            buf_add_char(out, ',');
        buf_printf(out, "%u,%u,%u,%u,%u", name, f->kind, module, writer_string(w, f->file),
                   f->line);
    }
    buf_add_str(out, "],\n\"leaves\":[");
    writer_add_leaves(w, out);
    buf_add_str(out, "],\n\"strings\":[\"\"");
    for (uint32_t i = 1; i <= w->string_count; i++) {
        buf_add_char(out, ',');
        render_add_json_string(out, view_string(w->v, w->strings[i]));
    }
    buf_add_char(out, ']');
}

/* Returns whether the value of every row is its samples times the period. Then the viewer needs no
 * values. */
static bool values_are_samples(const struct view *v)
{
    return ALL_OF(r, v->row_count, v->rows[r].value == v->rows[r].samples * view_event(v)->period);
}

static void writer_add_frame_numbers(const struct writer *w, const uint32_t *frames, uint32_t n,
                                     struct buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        buf_add_char(out, ',');
        buf_add_u64(out, w->number[frames[i]]);
    }
}

/* Writes the bodies. A body has the number of frames that it shares with the previous body, the
 * number of further frames, and these frames. */
static void writer_add_bodies(const struct writer *w, struct buf *out)
{
    buf_add_str(out, ",\n\"bodies\":[");
    for (uint32_t b = 0; b < w->v->body_count; b++) {
        uint32_t n, shared = shared_stacks_shared(&w->bodies, b);
        const uint32_t *frames = shared_stacks_frames(&w->bodies, b, &n);

        buf_printf(out, "%s%u,%u", b ? "," : "", shared, n - shared);
        writer_add_frame_numbers(w, frames + shared, n - shared, out);
    }
    buf_add_char(out, ']');
}

/* Writes the runs of rows. A run has the number of roots, the roots, and the number of rows. For
 * each row follow two numbers: the difference between its body's number and that of the previous
 * row (first row: and 0), and its samples. */
static void writer_add_runs(const struct writer *w, struct buf *out)
{
    const struct view *v = w->v;

    buf_add_str(out, ",\n\"runs\":[");
    for (size_t r = 0, end; r < v->row_count; r = end) {
        const struct view_row *row = &v->rows[r];
        uint32_t body = 0;

        end = shared_stacks_run_end(&w->bodies, r);
        buf_printf(out, "%s%u", r ? "," : "", row->roots);
        writer_add_frame_numbers(w, v->stack + row->first, row->roots, out);
        buf_printf(out, ",%zu", end - r);
        for (; row < v->rows + end; row++) {
            buf_add_char(out, ',');
            buf_add_u64(out, row->body - body);
            buf_add_char(out, ',');
            buf_add_u64(out, row->samples);
            body = row->body;
        }
    }
    buf_add_char(out, ']');
}

/* Returns the end of the rows that are equal to row @r after minwidth cut them. */
static size_t writer_run_end(const struct writer *w, size_t r)
{
    const struct view *v = w->v;
    size_t end = r + 1;

    while (end < v->row_count && w->cut[r] < v->rows[r].n && w->cut[end] < v->rows[end].n &&
           w->cut[end] == w->cut[r] && row_kept(w, end) == w->cut[r])
        end++;
    return end;
}

/* Writes a row: number of frames shared with the previous row, number of further frames, these
 * frames, samples. In a row that minwidth cut, the second number n is written as -1 - n: the weight
 * belongs to a nameless frame above the last frame. */
static void writer_add_row(const struct writer *w, size_t r, uint64_t samples, struct buf *out)
{
    const struct view *v = w->v;
    const struct view_row *row = &v->rows[r];
    uint32_t kept = row_kept(w, r), more = w->cut[r] - kept;

    buf_add_u64(out, kept);
    if (w->cut[r] < row->n)
        buf_printf(out, ",%lld", -1 - (long long)more);
    else
        buf_printf(out, ",%u", more);
    writer_add_frame_numbers(w, v->stack + row->first + kept, more, out);
    buf_add_char(out, ',');
    buf_add_u64(out, samples);
}

/* Writes the rows. @values: writes only the values of the rows, as a second list. */
static void writer_add_rows(const struct writer *w, bool values, struct buf *out)
{
    const struct view *v = w->v;

    buf_printf(out, ",\n\"%s\":[", values ? "values" : "rows");
    for (size_t r = 0, end; r < v->row_count; r = end) {
        uint64_t samples = 0, value = 0;

        end = writer_run_end(w, r);
        for (size_t i = r; i < end; i++) {
            samples += v->rows[i].samples;
            value += v->rows[i].value;
        }
        if (r)
            buf_add_char(out, ',');
        if (values)
            buf_add_u64(out, value);
        else
            writer_add_row(w, r, samples, out);
    }
    buf_add_char(out, ']');
}

/* Gets for each row of the view the row of the output that contains it. */
static void writer_number_rows(const struct writer *w, uint32_t *ret)
{
    uint32_t number = 0;

    for (size_t r = 0, end; r < w->v->row_count; r = end, number++) {
        end = writer_run_end(w, r);
        for (size_t i = r; i < end; i++)
            ret[i] = number;
    }
}

int viewer_data_add(const struct view *v, const struct render_opts *o, uint32_t *ret_rows,
                    struct buf *out)
{
    _cleanup_(writer_deinit) struct writer w = { .v = v };
    int r = writer_init(&w, v) ?: writer_cut(&w, o ? o->minwidth : 0);

    if (r < 0)
        return r;
    w.by_body =
        !(o && o->minwidth > 0) && v->row_count && v->row_count / BODY_ROWS_MIN >= v->body_count;
    writer_number_frames(&w);
    buf_add_str(out, "{\"format\":\"flamed-viewer\",\"version\":1,\n");
    render_add_meta(v, o, out);
    buf_printf(out, ",\n\"view\":{\"minwidth\":%.6g,\"reverse\":%s,\"inverted\":%s}",
               o && o->minwidth > 0 ? o->minwidth : 0.0, o && o->reverse ? "true" : "false",
               o && o->inverted ? "true" : "false");
    writer_add_frames(&w, out);
    if (w.by_body) {
        writer_add_bodies(&w, out);
        writer_add_runs(&w, out);
    } else {
        writer_add_rows(&w, /* values= */ false, out);
    }
    if (!values_are_samples(v))
        writer_add_rows(&w, /* values= */ true, out);
    render_add_moments(v->profile, VIEWER_MOMENTS_MAX, out);
    if (ret_rows)
        writer_number_rows(&w, ret_rows);
    return 0;
}
