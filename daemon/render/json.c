/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `json`: the profile as plain objects, for jq and small programs. docs/formats.md has the
 * schema. Frames are numbered by their place in "frames"; stacks are lists of these numbers, root
 * first.
 */
#include "base/cleanup.h"
#include "render/body_texts.h"
#include "render/formats.h"
#include "render/leaf_counts.h"
#include "render/moments.h"

static void add_processes(const struct profile *p, struct buf *out)
{
    buf_add_str(out, ",\n\"processes\":[");
    for (size_t i = 0; i < p->process_count; i++) {
        const struct profile_process *q = &p->processes[i];

        buf_printf(out, "%s\n{\"pid\":%d", i ? "," : "", q->host_pid);
        render_add_json_member(out, "name", intern_get(p->strings, q->name));
        render_add_json_member(out, "container", intern_get(p->strings, q->container));
        render_add_json_member(out, "pod", intern_get(p->strings, q->pod));
        render_add_json_member(out, "namespace", intern_get(p->strings, q->pod_namespace));
        render_add_json_member(out, "service", intern_get(p->strings, q->service));
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void add_threads(const struct profile *p, struct buf *out)
{
    buf_add_str(out, ",\n\"threads\":[");
    for (size_t i = 0; i < p->thread_count; i++) {
        buf_printf(out, "%s\n{\"tid\":%d,\"process\":%u", i ? "," : "", p->threads[i].host_tid,
                   p->threads[i].process);
        render_add_json_member(out, "name", intern_get(p->strings, p->threads[i].name));
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void add_count(struct buf *out, const char *name, uint64_t count)
{
    if (!count)
        return;
    buf_printf(out, ",\"%s\":", name);
    buf_add_u64(out, count);
}

/* 0 or -ENOMEM. */
static int add_frames(const struct view *v, struct buf *out)
{
    _cleanup_free_ struct leaf_counts *leaves = NULL;
    int r = leaf_counts_new(v, &leaves);

    if (r < 0)
        return r;
    buf_add_str(out, ",\n\"frames\":[");
    for (size_t i = 0; i < v->frame_count; i++) {
        const struct view_frame *f = &v->frames[i];

        buf_printf(out, "%s\n{\"name\":", i ? "," : "");
        render_add_json_string(out, view_string(v, f->name));
        buf_printf(out, ",\"kind\":\"%s\"", render_kind_name(f->kind));
        render_add_json_member(out, "module", view_string(v, f->module));
        render_add_json_member(out, "file", view_string(v, f->file));
        if (f->line)
            buf_printf(out, ",\"line\":%u", f->line);
        add_count(out, "inferred", leaves[i].inferred);
        add_count(out, "unsure", leaves[i].unsure);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
    return 0;
}

static void add_frame_numbers(const uint32_t *frames, uint32_t n, struct buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            buf_add_char(out, ',');
        buf_add_u64(out, frames[i]);
    }
}

static void add_stack_frames(const struct view *v, const struct view_row *row,
                             struct body_texts *texts, struct buf *text, struct buf *out)
{
    struct span body;

    buf_add_str(out, "\n{\"frames\":[");
    add_frame_numbers(v->stack + row->first, row->roots, out);
    if (row->roots && row->n > row->roots)
        buf_add_char(out, ',');
    if (!body_texts_get(texts, row->body, &body)) {
        buf_clear(text);
        add_frame_numbers(v->stack + row->first + row->roots, row->n - row->roots, text);
        body = buf_span(text);
        body_texts_keep(texts, row->body, body);
    }
    buf_add_span(out, body);
    buf_add_char(out, ']');
}

/* Appends the thread's state, for events with waiting threads. */
static void add_state(const struct view *v, const struct view_row *row, struct buf *out)
{
    if (row->state == STATE_NONE || !view_event(v)->valued)
        return;
    buf_printf(out, ",\"state\":\"%s\"", STATE_NAMES[row->state]);
    if (row->state == STATE_BLOCKED && row->wait != WAIT_BLOCKED)
        buf_printf(out, ",\"wait\":\"%s\"", WAIT_NAMES[row->wait]);
    if (row->idle)
        buf_add_str(out, ",\"idle\":true");
}

/* Appends the thread's kind, unless it is a platform thread. */
static void add_kind(const struct view_row *row, struct buf *out)
{
    if (row->kind != THREAD_PLATFORM)
        buf_printf(out, ",\"thread_kind\":\"%s\"", THREAD_KIND_NAMES[row->kind]);
}

/* Appends the owner of the awaited lock, or the age of the live object. @owner: 0, or a frame. */
static void add_owner(const struct view *v, uint32_t owner, struct buf *out)
{
    const struct profile *p = v->profile;
    uint64_t age;

    if (!owner)
        return;
    if (profile_age(p, v->opts.event, owner, &age)) {
        buf_add_str(out, ",\"age\":");
        buf_add_u64(out, age);
    } else {
        render_add_json_member(
            out, "owner", intern_get(p->strings, p->functions[p->frames[owner].function].name));
    }
}

/* Appends the request's number, if the row has a request. */
static void add_request(const struct view *v, uint32_t context, struct buf *out)
{
    if (!context || !request_known(&v->profile->contexts[context]))
        return;
    buf_add_str(out, ",\"request\":");
    buf_add_u64(out, context);
}

/* Appends the table of requests; entries without a request are null. */
static void add_requests(const struct view *v, struct buf *out)
{
    const struct profile *p = v->profile;

    if (!v->opts.requests || !p->context_count)
        return;
    buf_add_str(out, ",\n\"requests\":[");
    for (size_t i = 0; i < p->context_count; i++) {
        const struct profile_context *c = &p->contexts[i];

        buf_add_str(out, i ? ",\n" : "\n");
        if (!request_known(c)) {
            buf_add_str(out, "null");
            continue;
        }
        buf_add_char(out, '{');
        if (profile_context_has_ids(c))
            buf_printf(
                out, "\"trace\":\"%016llx%016llx\",\"span\":\"%016llx\",\"root\":\"%016llx\"%s",
                (unsigned long long)c->trace_high, (unsigned long long)c->trace_low,
                (unsigned long long)c->span, (unsigned long long)c->root, c->operation ? "," : "");
        if (c->operation) {
            buf_add_str(out, "\"operation\":");
            render_add_json_string(out, intern_get(p->strings, c->operation));
        }
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static int add_stacks(const struct view *v, struct buf *out)
{
    _cleanup_(body_texts_deinit) struct body_texts texts;
    _cleanup_buf_ struct buf text = BUF_UPTO(RENDER_MAX_BYTES);
    int r = body_texts_init(&texts, v);

    buf_add_str(out, ",\n\"stacks\":[");
    for (size_t i = 0; i < v->row_count && r == 0; i++) {
        const struct view_row *row = &v->rows[i];

        if (i)
            buf_add_char(out, ',');
        add_stack_frames(v, row, &texts, &text, out);
        buf_add_str(out, ",\"samples\":");
        buf_add_u64(out, row->samples);
        buf_add_str(out, ",\"value\":");
        buf_add_u64(out, row->value);
        add_count(out, "inferred", row->inferred);
        add_count(out, "unsure", row->unsure);
        if (row->thread != UINT32_MAX) {
            buf_add_str(out, ",\"thread\":");
            buf_add_u64(out, row->thread);
        }
        add_state(v, row, out);
        add_kind(row, out);
        add_owner(v, row->owner, out);
        add_request(v, row->context, out);
        buf_add_char(out, '}');
        r = text.error;
    }
    buf_add_char(out, ']');
    return r;
}

int render_json(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err)
{
    buf_add_str(out, "{\"format\":\"flamed-profile\",\"version\":1,\n");
    render_add_meta(v, o, out);
    add_processes(v->profile, out);
    add_threads(v->profile, out);
    add_requests(v, out);
    if (add_frames(v, out) < 0 || add_stacks(v, out) < 0)
        return error_set(err, -ENOMEM, "no memory to render the profile");
    render_add_moments(v->profile, SIZE_MAX, out);
    buf_add_str(out, "}\n");
    return render_result(out, err);
}
