/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `heatmap`: a page with the times of all samples. A range selected there shows its flame
 * graph. Its data is that of the viewer, plus "times". This list has two numbers for each sample,
 * in order of time: milliseconds since the previous sample (the first one: since the start), and
 * the row. If a sample stands for several, the row is written as -1 - row, followed by their
 * number. For an event that measures time, "spans" has the microseconds of each sample, or the mean
 * if it stands for several. If a look of the recorder also stands for other threads, "spans" has
 * the time of its own thread, and "stands" has the number of threads of each sample.
 */
#include "base/cleanup.h"
#include "base/list.h"
#include "base/text.h"
#include "render/standalone/pages.h"
#include "render/standalone/viewer_data.h"

static void add_times(const struct view *v, const uint32_t *numbers, struct buf *out)
{
    const struct profile *p = v->profile;
    uint64_t before_ms = 0;
    bool first = true;

    buf_add_str(out, ",\n\"times\":[");
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        uint64_t ms = s->time_ns > p->start_ns ? (s->time_ns - p->start_ns) / NSEC_PER_MSEC : 0;

        if (v->sample_rows[i] == VIEW_NO_ROW)
            continue;
        if (!first)
            buf_add_char(out, ',');
        first = false;
        ms = MAX(ms, before_ms);
        buf_add_u64(out, ms - before_ms);
        before_ms = ms;
        buf_add_char(out, ',');
        if (s->count == 1)
            buf_add_u64(out, numbers[v->sample_rows[i]]);
        else
            buf_printf(out, "%lld,%u", -1 - (long long)numbers[v->sample_rows[i]], s->count);
    }
    buf_add_char(out, ']');
}

/* Returns true if the samples of @v have values in nanoseconds. */
static bool has_spans(const struct view *v)
{
    const struct profile *p = v->profile;

    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_event *event = &p->events[p->samples[i].event];

        if (v->sample_rows[i] != VIEW_NO_ROW)
            return event->valued && strcmp(event->unit, "nanoseconds") == 0;
    }
    return false;
}

static uint64_t stands(const struct profile_sample *s)
{
    return profile_sample_stands(s);
}

static uint64_t span_us(const struct profile_sample *s)
{
    return profile_sample_length(s) / NSEC_PER_USEC;
}

/* Adds the list @name: what @number gives of each sample that is shown. */
static void add_numbers(const struct view *v, const char *name,
                        uint64_t (*number)(const struct profile_sample *), struct buf *out)
{
    const struct profile *p = v->profile;
    bool first = true;

    buf_printf(out, ",\n\"%s\":[", name);
    for (size_t i = 0; i < p->sample_count; i++) {
        if (v->sample_rows[i] == VIEW_NO_ROW)
            continue;
        if (!first)
            buf_add_char(out, ',');
        first = false;
        buf_add_u64(out, number(&p->samples[i]));
    }
    buf_add_char(out, ']');
}

static void add_spans(const struct view *v, struct buf *out)
{
    const struct profile *p = v->profile;

    add_numbers(v, "spans", span_us, out);
    if (ANY_OF(i, p->sample_count, stands(&p->samples[i]) > 1))
        add_numbers(v, "stands", stands, out);
}

int render_heatmap(const struct view *v, const struct render_opts *o, struct buf *out,
                   struct error *err)
{
    _cleanup_free_ uint32_t *numbers = calloc(v->row_count + 1, sizeof(*numbers));
    _cleanup_buf_ struct buf title = BUF_UPTO(RENDER_MAX_BYTES);
    int r = -ENOMEM;

    render_add_title(v, o, &title);
    buf_add_span(out, HEATMAP_HEAD);
    text_add_html(out, buf_span(&title));
    buf_add_span(out, HEATMAP_BODY);
    if (numbers)
        r = viewer_data_add(v, o, numbers, out);
    if (r == 0 && v->sample_rows)
        add_times(v, numbers, out);
    if (r == 0 && v->sample_rows && has_spans(v))
        add_spans(v, out);
    buf_add_str(out, "}\n");
    buf_add_span(out, HEATMAP_TAIL);
    if (r == 0)
        r = title.error;
    if (r < 0)
        return error_code(err, r, "cannot render the profile");
    return render_result(out, err);
}
