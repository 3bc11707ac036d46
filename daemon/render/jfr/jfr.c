/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `jfr`: a flight recording of one chunk with an event for each sample, events for moments
 * of JVMs, and the profile's facts as settings. Ticks are nanoseconds of the clock that samples
 * have.
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

/* Fills in the header, after everything else is written. Positions are relative to the start of the
 * header. */
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
    _cleanup_buf_ struct buf title = BUF_UPTO(RENDER_MAX_BYTES);
    size_t begin = jfr_begin(out, JFR_ACTIVE_RECORDING);

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

static void add_number_setting(const struct profile *p, const char *name, uint64_t value,
                               struct buf *out)
{
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    add_setting(p, name, span_of(text), out);
}

/* Adds the settings of event @i, under the type of its samples: viewers check whether a type was
 * enabled. */
static void add_event_settings(const struct view *v, uint32_t i, struct buf *out)
{
    const struct profile *p = v->profile;
    const struct profile_event *e = &p->events[i];
    enum jfr_type type = jfr_type_of_event(v, i);
    char period[48];

    snprintf(period, sizeof(period), "%llu%s", (unsigned long long)e->period,
             strcmp(e->unit, "nanoseconds") == 0 ? " ns" : "");
    add_setting_of(p, type, "enabled", SPAN("true"), out);
    add_setting_of(p, type, "period", span_of(period), out);
    add_setting_of(p, type, "event", span_of(e->name), out);
    add_setting_of(p, type, "unit", span_of(e->unit), out);
}

/* Adds the settings of all events, wall first, because readers that keep one value per setting keep
 * the last. If Pyroscope took wall for the event, it would count running threads of wall as CPU
 * time, too. */
static void add_all_event_settings(const struct view *v, struct buf *out)
{
    const struct profile *p = v->profile;

    for (unsigned others = 0; others < 2; others++)
        for (uint32_t i = p->event_count; i > 0; i--)
            if ((v->opts.every_event || i - 1 == v->opts.event) &&
                (strcmp(p->events[i - 1].name, "wall") != 0) == others)
                add_event_settings(v, i - 1, out);
}

static void add_settings(const struct view *v, const struct render_opts *o, struct buf *out)
{
    const struct profile *p = v->profile;

    add_all_event_settings(v, out);
    add_setting(p, "target", span_of(p->target), out);
    add_setting(p, "symbols", span_of(p->symbols), out);
    if (o && o->version)
        add_setting(p, "flamed", span_of(o->version), out);
    add_number_setting(p, "samples", v->samples, out);
    add_number_setting(p, "unknown", v->unknown, out);
    add_number_setting(p, "truncated", v->truncated, out);
    add_number_setting(p, "lost", p->lost, out);
    for (size_t i = 0; i < v->warning_count; i++)
        add_setting(p, "warning", span_of(v->warnings[i]), out);
}

/* Adds samples of time after all others, because Pyroscope's parser also multiplies later samples
 * by the number of periods of such a sample. */
static void add_samples(const struct jfr_pools *pools, struct buf *out)
{
    const struct view *v = pools->v;
    const struct profile *p = v->profile;
    uint64_t carry[PROFILE_EVENTS_MAX] = { 0 };

    for (unsigned wall = 0; wall < 2; wall++)
        for (size_t i = 0; v->sample_rows && i < p->sample_count && !out->error; i++)
            if (v->sample_rows[i] != VIEW_NO_ROW &&
                (jfr_type_of_event(v, p->samples[i].event) == JFR_WALL_CLOCK_SAMPLE) == wall)
                jfr_add_sample(pools, i, carry, out);
}

int render_jfr(const struct view *v, const struct render_opts *o, struct buf *out,
               struct error *err)
{
    static const char HEADER[JFR_HEADER_BYTES];
    _cleanup_(jfr_pools_deinit) struct jfr_pools pools = { 0 };
    const struct profile *p = v->profile;
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
    add_samples(&pools, out);
    r = jfr_add_moments(&pools, out) ?: jfr_add_requests(&pools, out);
    if (r < 0)
        return error_set(err, r, "no memory to render the profile");
    pools_at = out->n;
    jfr_add_pools(&pools, p->start_ns, out);
    fill_header(p, out, base, pools_at, metadata_at);
    return render_result(out, err);
}
