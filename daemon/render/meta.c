/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a profile that every format contains besides its stacks: time, target, method and
 * quality. One implementation keeps html and json consistent.
 */
#include "base/text.h"
#include "base/utc_text.h"
#include "render/formats.h"
#include "render/method_calls_table.h"

/* By enum frame_kind; web/shared/kinds.js keeps the same list (tests/web checks it against the
 * output). */
static const char *const KIND_NAMES[FRAME_KIND_COUNT] = {
    [FRAME_UNKNOWN] = "unknown",
    [FRAME_C2] = "c2",
    [FRAME_C1] = "c1",
    [FRAME_INLINED] = "inlined",
    [FRAME_INTERPRETED] = "interpreted",
    [FRAME_NATIVE] = "native",
    [FRAME_JVM] = "jvm",
    [FRAME_STUB] = "stub",
    [FRAME_KERNEL] = "kernel",
    [FRAME_THREAD] = "thread",
    [FRAME_PROCESS] = "process",
    [FRAME_TRUNCATED] = "truncated",
    [FRAME_NATIVE_INLINED] = "native_inlined",
#define WAIT(id, name, words) [FRAME_WAIT_##id] = (name),
#include "profile/waits.def"
#undef WAIT
    [FRAME_CLASS] = "class",
    [FRAME_JVMCI] = "jvmci",
    [FRAME_REQUEST] = "request",
};

const char *render_kind_name(unsigned kind)
{
    return kind < FRAME_KIND_COUNT ? KIND_NAMES[kind] : KIND_NAMES[FRAME_UNKNOWN];
}

uint64_t render_weight(const struct view *v, uint64_t samples, uint64_t value)
{
    return v->opts.total ? value : samples;
}

int render_result(const struct buf *out, struct error *err)
{
    if (out->error == -EFBIG)
        return error_set(err, -EFBIG, "the rendered profile is larger than %zu MiB",
                         out->max >> 20);
    if (out->error)
        return error_set(err, out->error, "no memory to render the profile");
    return 0;
}

void render_add_json_string(struct buf *out, struct span s)
{
    buf_add_char(out, '"');
    text_add_json(out, s);
    buf_add_char(out, '"');
}

void render_add_json_member(struct buf *out, const char *name, struct span s)
{
    if (!s.n)
        return;
    buf_printf(out, ",\"%s\":", name);
    render_add_json_string(out, s);
}

void render_add_title(const struct view *v, const struct render_opts *o, struct buf *out)
{
    const struct profile *p = v->profile;

    if (o && o->title && *o->title) {
        buf_add_str(out, o->title);
        return;
    }
    buf_add_str(out, view_event(v)->name);
    if (p->target[0]) {
        buf_add_str(out, " \u00b7 ");
        buf_add_str(out, p->target);
    }
}

/* RFC 3339 with nanoseconds, in UTC. */
static void add_time(struct buf *out, uint64_t realtime_ns)
{
    char text[UTC_TEXT_BYTES];

    buf_printf(out, "\"%s\"", utc_text_ns(realtime_ns, text));
}

static void add_member(struct buf *out, const char *name, struct span value)
{
    buf_printf(out, ",\"%s\":", name);
    render_add_json_string(out, value);
}

/* Splits a text such as "memory: read from the VM" into source and reason. */
static void add_symbols(struct buf *out, const char *symbols)
{
    struct span reason = span_of(symbols), source;

    span_take_until(&reason, ':', &source);
    if (!symbols[0])
        source = SPAN_NULL;
    buf_add_str(out, ",\"symbols\":{\"source\":");
    render_add_json_string(out, span_trim(source));
    add_member(out, "reason", span_trim(reason));
    buf_add_char(out, '}');
}

/* Adds the idle samples that the request left out. */
static void add_left_out(const struct view *v, struct buf *out)
{
    if (v->opts.no_idle)
        buf_printf(out, ",\"idle\":{\"samples\":%llu,\"value\":%llu}",
                   (unsigned long long)v->idle.samples, (unsigned long long)v->idle.value);
}

/* Adds how many samples have a request, by state, if the capture recorded requests. */
static void add_requests(const struct profile *p, struct buf *out)
{
    static const char *const NAMES[PROFILE_CONTEXT_STATES] = {
        [PROFILE_CONTEXT_NO_TRACER] = "no_tracer",   [PROFILE_CONTEXT_UNREADABLE] = "unreadable",
        [PROFILE_CONTEXT_NO_REQUEST] = "no_request", [PROFILE_CONTEXT_IDS] = "unnamed",
        [PROFILE_CONTEXT_NAMED] = "named",
    };

    if (!p->context_count)
        return;
    buf_add_str(out, ",\"requests\":{");
    for (size_t i = 1; i < PROFILE_CONTEXT_STATES; i++)
        buf_printf(out, "%s\"%s\":%llu", i > 1 ? "," : "", NAMES[i],
                   (unsigned long long)p->context_states[i]);
    buf_add_char(out, '}');
}

static void add_quality(const struct view *v, struct buf *out)
{
    buf_printf(out,
               ",\"quality\":{\"samples\":%llu,\"lost\":%llu,\"unknown\":%llu,\"truncated\":%llu,"
               "\"inferred\":%llu,\"unsure\":%llu",
               (unsigned long long)v->samples, (unsigned long long)v->profile->lost,
               (unsigned long long)v->unknown, (unsigned long long)v->truncated,
               (unsigned long long)v->inferred, (unsigned long long)v->unsure);
    add_requests(v->profile, out);
    buf_add_char(out, '}');
}

void render_add_meta(const struct view *v, const struct render_opts *o, struct buf *out)
{
    const struct profile *p = v->profile;
    const struct profile_event *event = view_event(v);
    uint64_t duration_ns = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0;
    _cleanup_buf_ struct buf title = BUF_UPTO(RENDER_MAX_BYTES);

    render_add_title(v, o, &title);
    buf_add_str(out, "\"meta\":{\"title\":");
    render_add_json_string(out, buf_span(&title));
    add_member(out, "event", span_of(event->name));
    add_member(out, "unit", span_of(event->unit));
    buf_printf(out, ",\"period\":%llu", (unsigned long long)event->period);
    if (!strcmp(event->unit, "nanoseconds") && event->period)
        buf_printf(out, ",\"hz\":%.6g", (double)NSEC_PER_SEC / (double)event->period);
    else
        buf_add_str(out, ",\"hz\":null");
    add_member(out, "weight", v->opts.total ? SPAN("value") : SPAN("samples"));
    buf_printf(out, ",\"stock\":%s", event_name_is_stock(event->name) ? "true" : "false");
    buf_printf(out, ",\"value\":%llu", (unsigned long long)v->value);
    buf_add_str(out, ",\"start\":");
    add_time(out, p->start_realtime_ns);
    buf_add_str(out, ",\"end\":");
    add_time(out, p->start_realtime_ns + duration_ns);
    buf_printf(out, ",\"seconds\":%llu.%09llu", (unsigned long long)(duration_ns / NSEC_PER_SEC),
               (unsigned long long)(duration_ns % NSEC_PER_SEC));
    add_member(out, "target", span_of(p->target));
    add_symbols(out, p->symbols);
    if (o && o->version)
        add_member(out, "flamed", span_of(o->version));
    add_left_out(v, out);
    render_add_calls(v, out);
    buf_add_char(out, '}');
    add_quality(v, out);
    buf_add_str(out, ",\"warnings\":[");
    for (size_t i = 0; i < v->warning_count; i++) {
        if (i)
            buf_add_char(out, ',');
        render_add_json_string(out, span_of(v->warnings[i]));
    }
    buf_add_char(out, ']');
    if (title.error && !out->error)
        out->error = title.error;
}
