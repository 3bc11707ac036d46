/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `speedscope`: the JSON of speedscope 1.x, one "sampled" profile, or with threads=1 one per
 * thread, with samples in the order of time. Weights are values in the event's unit. If there are
 * too many samples for a browser, they are added up by stack.
 */
#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/text.h"
#include "render/formats.h"

#define SPEEDSCOPE_ORDERED_MAX ((size_t)4000000) /* total frames of samples listed in order */

/* A frame of the file; frames that speedscope would show in the same way are one entry. */
struct speedscope_frame {
    uint32_t name, file, line;
};

/* The weight of a sample, of a row, or of a row in one event. */
struct speedscope_item {
    uint32_t row, event, thread;
    uint32_t number; /* number in order of time, or of rows */
    uint64_t value;
};

struct speedscope {
    const struct view *v;
    struct id_table frames;
    uint32_t *number;              /* [view->frame_count]: id in frames */
    struct speedscope_item *items; /* grouped by event, and with threads=1 by thread */
    size_t count;
    bool shortens; /* some stacks are shortened: a last frame replaces the middle */
};

ORDER_FUNCTION(by_thread, struct speedscope_item,
               COMPARE(x->event, y->event) ?:
                   COMPARE(x->thread, y->thread) ?:
                   COMPARE(x->number, y->number))

/* Returns whether samples can be listed singly: their rows are known, and there are not too
 * many. */
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

static void add_sample(struct speedscope *s, size_t i)
{
    const struct profile_sample *sample = &s->v->profile->samples[i];
    uint32_t row = s->v->sample_rows[i];

    s->items[s->count] = (struct speedscope_item){ row, sample->event, s->v->rows[row].thread,
                                                   (uint32_t)s->count, sample->value };
    s->count++;
}

static void add_row(struct speedscope *s, uint32_t row, uint32_t event, uint64_t value)
{
    if (!value && event != s->v->opts.event)
        return;
    s->items[s->count] =
        (struct speedscope_item){ row, event, s->v->rows[row].thread, (uint32_t)s->count, value };
    s->count++;
}

/* Adds an item per row and event, summed from the samples. */
static int add_rows_by_event(struct speedscope *s)
{
    const struct view *v = s->v;
    const struct profile *p = v->profile;
    _cleanup_free_ uint64_t *values = calloc(v->row_count * p->event_count + 1, sizeof(*values));

    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < p->sample_count; i++)
        if (v->sample_rows[i] != VIEW_NO_ROW)
            values[v->sample_rows[i] * p->event_count + p->samples[i].event] += p->samples[i].value;
    for (uint32_t row = 0; row < v->row_count; row++)
        for (uint32_t e = 0; e < p->event_count; e++)
            if (values[row * p->event_count + e])
                add_row(s, row, e, values[row * p->event_count + e]);
    return 0;
}

static int add_items(struct speedscope *s)
{
    const struct view *v = s->v;
    bool ordered = is_ordered(v);
    size_t n = ordered ? v->profile->sample_count : v->row_count * v->profile->event_count;

    s->items = calloc(n + 1, sizeof(*s->items));
    if (!s->items)
        return -ENOMEM;
    if (!ordered && v->opts.every_event)
        return add_rows_by_event(s);
    for (size_t i = 0; ordered && i < n; i++)
        if (v->sample_rows[i] != VIEW_NO_ROW)
            add_sample(s, i);
    for (uint32_t row = 0; !ordered && row < v->row_count; row++)
        add_row(s, row, v->opts.event, v->rows[row].value);
    return 0;
}

static int speedscope_init(struct speedscope *s)
{
    const struct view *v = s->v;
    int r;

    s->shortens = render_shortened(render_format_find(SPAN("speedscope")), v) > 0;
    s->number = calloc(v->frame_count + 1, sizeof(*s->number));
    r = s->number ? add_items(s) : -ENOMEM;
    if (r < 0)
        return r;
    for (size_t i = 0; i < v->frame_count; i++) {
        const struct view_frame *f = &v->frames[i];
        struct speedscope_frame frame = { f->name, f->file, v->opts.lines ? f->line : 0 };

        if (id_table_add(&s->frames, &frame, &s->number[i]) < 0)
            return -ENOMEM;
    }
    if (v->opts.threads || v->opts.every_event)
        qsort(s->items, s->count, sizeof(*s->items), by_thread);
    return 0;
}

static void speedscope_deinit(struct speedscope *s)
{
    id_table_deinit(&s->frames);
    free(s->number);
    free(s->items);
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
    if (s->shortens)
        buf_add_str(out, ",\n{\"name\":\"[\xe2\x80\xa6]\"}");
    buf_add_str(out, "]}");
}

/* Returns the unit for speedscope, which shows plain numbers for "none". */
static const char *unit_of(const struct profile_event *e)
{
    return !strcmp(e->unit, "nanoseconds") || !strcmp(e->unit, "bytes") ? e->unit : "none";
}

/* Appends a stack; without its middle if it is too long. */
static void add_stack(const struct speedscope *s, const struct view_row *row, struct buf *out)
{
    bool longer = row->n > SPEEDSCOPE_STACK_MAX;
    uint32_t gap = longer ? SPEEDSCOPE_STACK_MAX / 2 : row->n;

    for (uint32_t i = 0; i < row->n; i++) {
        buf_add_char(out, i ? ',' : '[');
        buf_add_u64(out, i == gap ? s->frames.count : s->number[s->v->stack[row->first + i]]);
        if (i == gap)
            i += row->n - SPEEDSCOPE_STACK_MAX;
    }
    buf_add_str(out, row->n ? "]" : "[]");
}

/* Appends the profile of items[from .. to). */
static void add_profile(const struct speedscope *s, size_t from, size_t to, struct span name,
                        struct buf *out)
{
    const struct view *v = s->v;
    uint32_t event = to > from ? s->items[from].event : v->opts.event;
    uint64_t total = 0;

    buf_printf(out, "%s\n{\"type\":\"sampled\",\"name\":", from ? "," : "");
    render_add_json_string(out, name);
    buf_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[",
               unit_of(&v->profile->events[event]));
    for (size_t i = from; i < to; i++) {
        if (i > from)
            buf_add_char(out, ',');
        add_stack(s, &v->rows[s->items[i].row], out);
        total += s->items[i].value;
    }
    buf_add_str(out, "],\"weights\":[");
    for (size_t i = from; i < to; i++) {
        if (i > from)
            buf_add_char(out, ',');
        buf_add_u64(out, s->items[i].value);
    }
    buf_printf(out, "],\"endValue\":%llu}", (unsigned long long)total);
}

static void add_thread_name(const struct profile *p, uint32_t thread, struct buf *out)
{
    const struct profile_thread *t = &p->threads[thread];
    struct span name = intern_get(p->strings, t->name);

    buf_add_span(out, name);
    if (t->host_tid > 0)
        buf_printf(out, "%stid=%d", name.n ? " " : "", t->host_tid);
    if (p->by_process && t->process < p->process_count) {
        buf_add_str(out, ", ");
        buf_add_span(out, intern_get(p->strings, p->processes[t->process].name));
        buf_printf(out, " pid=%d", p->processes[t->process].host_pid);
    }
}

/* Returns whether two items belong to one profile. */
static bool are_together(const struct view *v, const struct speedscope_item *a,
                         const struct speedscope_item *b)
{
    return a->event == b->event && (!v->opts.threads || a->thread == b->thread);
}

/* Writes the name of the profile that begins with @first. */
static void add_profile_name(const struct view *v, const struct speedscope_item *first,
                             struct span title, struct buf *name)
{
    const struct profile *p = v->profile;

    buf_clear(name);
    if (v->opts.threads && first->thread < p->thread_count)
        add_thread_name(p, first->thread, name);
    if (!name->n)
        buf_add_span(name, title);
    if (v->opts.every_event)
        buf_printf(name, " \u00b7 %s", p->events[first->event].name);
}

static void add_profiles(const struct speedscope *s, struct span title, struct buf *out)
{
    _cleanup_buf_ struct buf name = BUF_UPTO(RENDER_MAX_BYTES);

    buf_add_str(out, ",\n\"profiles\":[");
    if (!s->count)
        add_profile(s, 0, 0, title, out);
    for (size_t from = 0, to; from < s->count; from = to) {
        for (to = from + 1; to < s->count && are_together(s->v, &s->items[from], &s->items[to]);)
            to++;
        add_profile_name(s->v, &s->items[from], title, &name);
        add_profile(s, from, to, buf_span(&name), out);
    }
    buf_add_char(out, ']');
}

int render_speedscope(const struct view *v, const struct render_opts *o, struct buf *out,
                      struct error *err)
{
    _cleanup_(speedscope_deinit) struct speedscope s = { .v = v };
    _cleanup_buf_ struct buf title = BUF_UPTO(RENDER_MAX_BYTES);

    id_table_init(&s.frames, sizeof(struct speedscope_frame), UINT32_MAX / 2);
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
