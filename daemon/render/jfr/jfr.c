/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `jfr`: a flight recording of one chunk with an event for each sample, events of what JVMs
 * did as a whole, and as settings what is known about the profile. Ticks are
 * nanoseconds of the samples' own clock.
 */
#include "render/jfr/jfr.h"

#include "base/cleanup.h"

#define JFR_HEADER_BYTES 68
#define JFR_COMPRESSED_INTS 1
#define JFR_LAST_CHUNK 2

/* ---- the header ---- */

static void put_u64(char *p, uint64_t v)
{
    for (size_t i = 0; i < 8; i++)
        p[i] = (char)(v >> (56 - 8 * i));
}

/* Fills the header in, once everything else is there. Positions are from the beginning of it. */
static void fill_header(const struct profile *p, struct buf *out, size_t base, size_t pools,
                        size_t metadata)
{
    static const char MAGIC[8] = { 'F', 'L', 'R', 0, 0, 2, 0, 1 }; /* version 2.1 */
    char *h = out->p + base;

    if (out->error)
        return;
    memcpy(h, MAGIC, sizeof(MAGIC));
    put_u64(h + 8, out->n - base);
    put_u64(h + 16, pools - base);
    put_u64(h + 24, metadata - base);
    put_u64(h + 32, p->start_realtime_ns);
    put_u64(h + 40, p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0);
    put_u64(h + 48, p->start_ns);
    put_u64(h + 56, NSEC_PER_SEC); /* ticks a second */
    h[67] = JFR_COMPRESSED_INTS | JFR_LAST_CHUNK;
}

/* ---- events ---- */

static void add_recording(const struct view *v, const struct render_opts *o, struct buf *out)
{
    const struct profile *p = v->profile;
    uint64_t duration_ns = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0;
    _cleanup_buf_ struct buf title = BUF_NULL;
    size_t begin = jfr_begin(out, JFR_ACTIVE_RECORDING);

    buf_init(&title, RENDER_MAX_BYTES);
    render_add_title(v, o, &title);
    jfr_add_number(out, p->start_ns);
    jfr_add_number(out, 1); /* id */
    jfr_add_string(out, buf_span(&title));
    buf_add_char(out, 0); /* no destination */
    buf_add_char(out, 0); /* not to disk */
    jfr_add_number(out, 0);
    jfr_add_number(out, 0);
    jfr_add_number(out, 0);
    jfr_add_number(out, p->start_realtime_ns / NSEC_PER_MSEC);
    jfr_add_number(out, duration_ns / NSEC_PER_MSEC);
    jfr_end(out, begin);
    begin = jfr_begin(out, JFR_OS_INFORMATION);
    jfr_add_number(out, p->start_ns);
    jfr_add_string(out, SPAN("Linux"));
    jfr_end(out, begin);
}

static void add_setting_of(const struct profile *p, enum jfr_type type, const char *name,
                           struct span value, struct buf *out)
{
    size_t begin = jfr_begin(out, JFR_ACTIVE_SETTING);

    jfr_add_number(out, p->start_ns);
    jfr_add_number(out, type);
    jfr_add_string(out, span_of(name));
    jfr_add_string(out, value);
    jfr_end(out, begin);
}

static void add_setting(const struct profile *p, const char *name, struct span value,
                        struct buf *out)
{
    add_setting_of(p, JFR_EXECUTION_SAMPLE, name, value, out);
}

/* The name, unit and period of each event that is written as samples of its own type. */
static void add_event_settings(const struct view *v, struct buf *out)
{
    const struct profile *p = v->profile;
    char period[32];

    for (uint32_t i = 0; i < p->event_count; i++) {
        if (jfr_type_of_event(v, i) != JFR_EVENT_SAMPLE)
            continue;
        snprintf(period, sizeof(period), "%llu", (unsigned long long)p->events[i].period);
        add_setting_of(p, JFR_EVENT_SAMPLE, "event", span_of(p->events[i].name), out);
        add_setting_of(p, JFR_EVENT_SAMPLE, "unit", span_of(p->events[i].unit), out);
        add_setting_of(p, JFR_EVENT_SAMPLE, "period", span_of(period), out);
    }
}

static void add_number_setting(const struct profile *p, const char *name, uint64_t value,
                               const char *unit, struct buf *out)
{
    char text[64];

    snprintf(text, sizeof(text), "%llu%s", (unsigned long long)value, unit);
    add_setting(p, name, span_of(text), out);
}

static void add_settings(const struct view *v, const struct render_opts *o, struct buf *out)
{
    const struct profile *p = v->profile;
    const struct profile_event *event = view_event(v);
    bool timed = !strcmp(event->unit, "nanoseconds");

    add_setting(p, "enabled", SPAN("true"), out);
    add_number_setting(p, "period", event->period, timed ? " ns" : "", out);
    add_setting(p, "event", span_of(event->name), out);
    add_setting(p, "unit", span_of(event->unit), out);
    add_setting(p, "target", span_of(p->target), out);
    add_setting(p, "symbols", span_of(p->symbols), out);
    if (o && o->version)
        add_setting(p, "flamed", span_of(o->version), out);
    add_number_setting(p, "samples", v->samples, "", out);
    add_number_setting(p, "unknown", v->unknown, "", out);
    add_number_setting(p, "truncated", v->truncated, "", out);
    add_number_setting(p, "lost", p->lost, "", out);
    for (size_t i = 0; i < p->warning_count; i++)
        add_setting(p, "warning", span_of(p->warnings[i]), out);
    add_event_settings(v, out);
}

int render_jfr(const struct view *v, const struct render_opts *o, struct buf *out,
               struct error *err)
{
    static const char HEADER[JFR_HEADER_BYTES];
    _cleanup_(jfr_pools_deinit) struct jfr_pools pools = { 0 };
    const struct profile *p = v->profile;
    uint64_t carry[PROFILE_EVENTS_MAX] = { 0 };
    size_t base = out->n, pools_at, metadata_at;
    int r = jfr_pools_init(&pools, v);

    if (r < 0)
        return error_set(err, r, "no memory to render the profile");
    if (!v->sample_rows && v->row_count)
        return error_set(err, -EINVAL, "a recording needs the samples, which this view is without");
    buf_add(out, HEADER, sizeof(HEADER));
    metadata_at = out->n;
    r = jfr_add_metadata(out, p->start_ns);
    if (r < 0)
        return error_set(err, r, "no memory to render the profile");
    add_recording(v, o, out);
    add_settings(v, o, out);
    for (size_t i = 0; v->sample_rows && i < p->sample_count && !out->error; i++)
        if (v->sample_rows[i] != VIEW_NO_ROW)
            jfr_add_sample(&pools, i, carry, out);
    r = jfr_add_moments(&pools, out);
    if (r < 0)
        return error_set(err, r, "no memory to render the profile");
    pools_at = out->n;
    jfr_add_pools(&pools, p->start_ns, out);
    fill_header(p, out, base, pools_at, metadata_at);
    return render_result(out, err);
}
