/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `speedscope`: the JSON of speedscope 1.x, one "sampled" profile, or with threads=1 one for
 * each thread, its samples in the order of time. Weights are values in the event's unit. What is
 * too much for a browser in the order of time is added up by stack instead.
 */
#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/text.h"
#include "render/formats.h"

#define SPEEDSCOPE_ORDERED_MAX ((size_t)4000000) /* numbers of frames that are listed in order */

/* Frames that speedscope would show as one are one there. */
struct speedscope_frame {
    uint32_t name, file, line;
};

struct speedscope {
    const struct view *v;
    struct id_table frames;
    uint32_t *number; /* [view->frame_count]: in frames */
    uint32_t *order;  /* rows, or samples of the profile, those of one thread together */
    size_t count;     /* of order */
    bool samples;     /* order lists samples, not rows */
};

static const struct view_row *row_of(const struct speedscope *s, uint32_t i)
{
    return &s->v->rows[s->samples ? s->v->sample_rows[i] : i];
}

static uint64_t value_of(const struct speedscope *s, uint32_t i)
{
    const struct profile *p = s->v->profile;

    return s->samples ? p->samples[i].value : s->v->rows[i].value;
}

static int by_thread(const void *a, const void *b, void *ctx)
{
    const struct speedscope *s = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t t = row_of(s, x)->thread, u = row_of(s, y)->thread;

    return t != u ? (t < u ? -1 : 1) : (x > y) - (x < y); /* samples are sorted by time */
}

/* Whether the samples can be listed one by one: they are known, and not too many. */
static bool is_ordered(const struct view *v)
{
    size_t words = 0;

    if (!v->opts.threads || !v->sample_rows)
        return false;
    for (size_t i = 0; i < v->profile->sample_count && words <= SPEEDSCOPE_ORDERED_MAX; i++)
        if (v->sample_rows[i] != VIEW_NO_ROW)
            words += v->rows[v->sample_rows[i]].n;
    return words <= SPEEDSCOPE_ORDERED_MAX;
}

static int speedscope_init(struct speedscope *s)
{
    const struct view *v = s->v;
    size_t n;

    s->samples = is_ordered(v);
    n = s->samples ? v->profile->sample_count : v->row_count;
    s->number = calloc(v->frame_count + 1, sizeof(*s->number));
    s->order = calloc(n + 1, sizeof(*s->order));
    if (!s->number || !s->order)
        return -ENOMEM;
    for (size_t i = 0; i < v->frame_count; i++) {
        const struct view_frame *f = &v->frames[i];
        struct speedscope_frame frame = { f->name, f->file, v->opts.lines ? f->line : 0 };

        if (id_table_add(&s->frames, &frame, &s->number[i]) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        if (!s->samples || v->sample_rows[i] != VIEW_NO_ROW)
            s->order[s->count++] = (uint32_t)i;
    if (v->opts.threads)
        qsort_r(s->order, s->count, sizeof(*s->order), by_thread, s);
    return 0;
}

static void speedscope_deinit(struct speedscope *s)
{
    id_table_deinit(&s->frames);
    free(s->number);
    free(s->order);
}

static void add_frames(const struct speedscope *s, struct buf *out)
{
    buf_add_str(out, "\"shared\":{\"frames\":[");
    for (uint32_t i = 0; i < s->frames.count; i++) {
        const struct speedscope_frame *f = id_table_get(&s->frames, i);

        buf_printf(out, "%s\n{\"name\":", i ? "," : "");
        render_add_json_string(out, view_string(s->v, f->name));
        if (f->file) {
            buf_add_str(out, ",\"file\":");
            render_add_json_string(out, view_string(s->v, f->file));
        }
        if (f->line)
            buf_printf(out, ",\"line\":%u", f->line);
        buf_add_char(out, '}');
    }
    buf_add_str(out, "]}");
}

/* Units that speedscope knows; it takes what it is told for "none". */
static const char *unit_of(const struct view *v)
{
    const char *unit = view_event(v)->unit;

    return !strcmp(unit, "nanoseconds") || !strcmp(unit, "bytes") ? unit : "none";
}

static void add_stack(const struct speedscope *s, const struct view_row *row, struct buf *out)
{
    for (uint32_t i = 0; i < row->n; i++) {
        buf_add_char(out, i ? ',' : '[');
        buf_add_u64(out, s->number[s->v->stack[row->first + i]]);
    }
    buf_add_str(out, row->n ? "]" : "[]");
}

/* The profile of order[from .. to). */
static void add_profile(const struct speedscope *s, size_t from, size_t to, struct span name,
                        struct buf *out)
{
    uint64_t total = 0;

    buf_printf(out, "%s\n{\"type\":\"sampled\",\"name\":", from ? "," : "");
    render_add_json_string(out, name);
    buf_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[", unit_of(s->v));
    for (size_t i = from; i < to; i++) {
        if (i > from)
            buf_add_char(out, ',');
        add_stack(s, row_of(s, s->order[i]), out);
        total += value_of(s, s->order[i]);
    }
    buf_add_str(out, "],\"weights\":[");
    for (size_t i = from; i < to; i++) {
        if (i > from)
            buf_add_char(out, ',');
        buf_add_u64(out, value_of(s, s->order[i]));
    }
    buf_printf(out, "],\"endValue\":%llu}", (unsigned long long)total);
}

static void add_thread_name(const struct profile *p, uint32_t thread, struct buf *out)
{
    const struct profile_thread *t = &p->threads[thread];
    struct span name = intern_get(p->strings, t->name);

    buf_add_span(out, name);
    buf_printf(out, "%stid=%d", name.n ? " " : "", t->host_tid);
    if (p->by_process && t->process < p->process_count) {
        buf_add_str(out, ", ");
        buf_add_span(out, intern_get(p->strings, p->processes[t->process].name));
        buf_printf(out, " pid=%d", p->processes[t->process].host_pid);
    }
}

static void add_profiles(const struct speedscope *s, struct span title, struct buf *out)
{
    const struct profile *p = s->v->profile;
    _cleanup_buf_ struct buf name = BUF_NULL;

    buf_init(&name, RENDER_MAX_BYTES);
    buf_add_str(out, ",\n\"profiles\":[");
    if (!s->v->opts.threads || !s->count)
        add_profile(s, 0, s->count, title, out);
    for (size_t from = 0, to; s->v->opts.threads && from < s->count; from = to) {
        uint32_t thread = row_of(s, s->order[from])->thread;

        for (to = from + 1; to < s->count && row_of(s, s->order[to])->thread == thread;)
            to++;
        buf_clear(&name);
        if (thread < p->thread_count)
            add_thread_name(p, thread, &name);
        add_profile(s, from, to, name.n ? buf_span(&name) : title, out);
    }
    buf_add_char(out, ']');
}

int render_speedscope(const struct view *v, const struct render_opts *o, struct buf *out,
                      struct error *err)
{
    _cleanup_(speedscope_deinit) struct speedscope s = { .v = v };
    _cleanup_buf_ struct buf title = BUF_NULL;

    id_table_init(&s.frames, sizeof(struct speedscope_frame), UINT32_MAX / 2);
    buf_init(&title, RENDER_MAX_BYTES);
    render_add_title(v, o, &title);
    if (speedscope_init(&s) < 0 || title.error)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    buf_add_str(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
    if (o && o->version) {
        buf_add_str(out, "\"exporter\":\"flamed@");
        text_add_json(out, span_of(o->version));
        buf_add_str(out, "\",\n");
    }
    buf_add_str(out, "\"name\":");
    render_add_json_string(out, buf_span(&title));
    buf_add_str(out, ",\"activeProfileIndex\":0,\n");
    add_frames(&s, out);
    add_profiles(&s, buf_span(&title), out);
    buf_add_str(out, "}\n");
    return render_result(out, err);
}
