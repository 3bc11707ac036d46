/* SPDX-License-Identifier: Apache-2.0 */
/* Diffs for programs: collapsed stacks with two columns, and JSON. */
#include "base/cleanup.h"
#include "render/diff.h"
#include "render/formats.h"

#define DIFF_CHANGES_DEFAULT 200
#define DIFF_LINES_DEFAULT 40 /* lines of text */
#define PERCENT 100.0

/* Appends a name; ';' and line breaks would end a frame. */
static void add_name(struct span s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++)
        if (span_starts_with(span_from(s, i), "\xef\xbf\xbd")) { /* a cleaned line break */
            buf_add_char(out, '_');
            i += 2;
        } else {
            buf_add_char(out, s.p[i] == ';' || s.p[i] == '\n' || s.p[i] == '\r' ? '_' : s.p[i]);
        }
}

int diff_collapsed(const struct diff *d, const struct render_opts *o, struct buf *out,
                   struct error *err)
{
    _cleanup_free_ uint32_t *path = NULL;
    uint32_t deepest = 0;

    (void)o;
    for (size_t i = 0; i < d->node_count; i++)
        deepest = MAX(deepest, d->nodes[i].depth);
    path = calloc((size_t)deepest + 1, sizeof(*path));
    if (!path)
        return error_set(err, -ENOMEM, "no memory to render the diff");
    for (size_t i = 1; i < d->node_count && !out->error; i++) {
        const struct diff_node *n = &d->nodes[i];
        uint64_t a = (uint64_t)((double)n->a_self * d->scale + 0.5);
        uint32_t at = (uint32_t)i;

        if (a == 0 && n->b_self == 0)
            continue;
        for (uint32_t k = n->depth; k > 0; k--, at = d->nodes[at].parent)
            path[k - 1] = at;
        for (uint32_t k = 0; k < n->depth; k++) {
            if (k)
                buf_add_char(out, ';');
            add_name(diff_string(d, d->nodes[path[k]].name), out);
        }
        buf_printf(out, " %llu %llu\n", (unsigned long long)a, (unsigned long long)n->b_self);
    }
    return render_result(out, err);
}

/* Appends the warnings about @side, each after @indent. */
static void add_text_warnings(const struct diff *d, enum diff_side side, const char *indent,
                              struct buf *out)
{
    enum diff_side about;
    const char *text;

    for (size_t i = 0; (text = diff_warning(d, i, &about)); i++) {
        if (about == side)
            buf_printf(out, "%swarning: %s\n", indent, text);
    }
}

/* Appends the time and weight of a side, and its warnings. */
static void add_text_side(const struct diff *d, bool is_b, struct buf *out)
{
    const struct profile *p = is_b ? d->profile_b : d->profile_a;
    uint64_t weight = is_b ? d->b : d->a;

    buf_printf(out, "%s: %.1f s, %llu %s\n", is_b ? "B" : "A",
               p->end_ns > p->start_ns ? (double)(p->end_ns - p->start_ns) / NSEC_PER_SEC : 0.0,
               (unsigned long long)weight,
               (is_b ? d->by_value_b : d->by_value_a) ? (is_b ? d->event_b : d->event_a)->unit
                                                      : "samples");
    add_text_warnings(d, is_b ? DIFF_B : DIFF_A, "   ", out);
}

int diff_text(const struct diff *d, const struct render_opts *o, struct buf *out, struct error *err)
{
    size_t top = o && o->top ? o->top : DIFF_LINES_DEFAULT;
    double a = (double)d->a * d->scale, b = (double)d->b;

    diff_add_title(d, o, out);
    buf_add_char(out, '\n');
    add_text_warnings(d, DIFF_BOTH, "", out);
    add_text_side(d, /* is_b= */ false, out);
    add_text_side(d, /* is_b= */ true, out);
    buf_printf(out, "\n%9s %9s %9s  %s\n", "A SELF %", "B SELF %", "CHANGE", "FUNCTION");
    for (size_t i = 0; i < MIN(top, d->function_count) && !out->error; i++) {
        const struct diff_function *f = &d->functions[i];
        double before = a > 0 ? (double)f->a_self * d->scale * PERCENT / a : 0;
        double after = b > 0 ? (double)f->b_self * PERCENT / b : 0;

        if (f->a_self == 0 && f->b_self == 0)
            break;
        buf_printf(out, "%9.2f %9.2f %+9.2f  ", before, after, after - before);
        add_name(diff_string(d, f->name), out);
        buf_add_char(out, '\n');
    }
    return render_result(out, err);
}

void diff_add_title(const struct diff *d, const struct render_opts *o, struct buf *out)
{
    const struct profile *a = d->profile_a, *b = d->profile_b;

    if (o && o->title && *o->title) {
        buf_add_str(out, o->title);
        return;
    }
    buf_printf(out, "%s \u00b7 %s", d->event_b->name, a->target);
    if (strcmp(a->target, b->target) != 0)
        buf_printf(out, " \u2192 %s", b->target);
}

void diff_add_side(const struct diff *d, bool is_b, struct buf *out)
{
    const struct profile *p = is_b ? d->profile_b : d->profile_a;
    const struct profile_event *event = is_b ? d->event_b : d->event_a;
    uint64_t weight = is_b ? d->b : d->a, worth = is_b ? d->worth_b : d->worth_a;

    buf_add_str(out, "{\"id\":");
    if (p->id[0])
        render_add_json_string(out, span_of(p->id));
    else
        buf_add_str(out, "null");
    buf_add_str(out, ",\"target\":");
    render_add_json_string(out, span_of(p->target));
    buf_add_str(out, ",\"event\":");
    render_add_json_string(out, span_of(event->name));
    buf_printf(out, ",\"seconds\":%.9f,\"weight\":%llu,\"lost\":%llu",
               p->end_ns > p->start_ns ? (double)(p->end_ns - p->start_ns) / 1e9 : 0.0,
               (unsigned long long)weight, (unsigned long long)p->lost);
    if (d->unit[0])
        buf_printf(out, ",\"value\":%llu,\"unit\":\"%s\"", (unsigned long long)(weight * worth),
                   d->unit);
    buf_printf(out, ",\"stock\":%s}", event_name_is_stock(event->name) ? "true" : "false");
}

static void add_change(const struct diff *d, const struct diff_function *f, struct buf *out)
{
    buf_add_str(out, "{\"name\":");
    render_add_json_string(out, diff_string(d, f->name));
    buf_printf(out,
               ",\"kind\":\"%s\",\"a_self\":%llu,\"b_self\":%llu,\"a\":%llu,\"b\":%llu,"
               "\"delta_self\":%.6g,\"delta\":%.6g}",
               render_kind_name(f->kind), (unsigned long long)f->a_self,
               (unsigned long long)f->b_self, (unsigned long long)f->a, (unsigned long long)f->b,
               diff_delta(d, f->a_self, f->b_self), diff_delta(d, f->a, f->b));
}

static void add_node(const struct diff *d, const struct diff_node *n, struct buf *out)
{
    buf_printf(out, "{\"parent\":%u,\"name\":", n->parent);
    render_add_json_string(out, diff_string(d, n->name));
    buf_printf(out, ",\"kind\":\"%s\",\"a\":%llu,\"b\":%llu,\"a_self\":%llu,\"b_self\":%llu}",
               render_kind_name(n->kind), (unsigned long long)n->a, (unsigned long long)n->b,
               (unsigned long long)n->a_self, (unsigned long long)n->b_self);
}

void diff_add_warnings(const struct diff *d, const char *const names[], struct buf *out)
{
    _cleanup_buf_ struct buf line = BUF_UPTO(RENDER_MAX_BYTES);
    enum diff_side side;
    const char *text;

    for (size_t i = 0; (text = diff_warning(d, i, &side)); i++) {
        buf_clear(&line);
        buf_printf(&line, "%s%s", names[side], text);
        buf_add_str(out, i ? "," : "");
        render_add_json_string(out, buf_span(&line));
    }
}

int diff_json(const struct diff *d, const struct render_opts *o, struct buf *out, struct error *err)
{
    static const char *const WARNED[] = { [DIFF_BOTH] = "", [DIFF_A] = "a: ", [DIFF_B] = "b: " };
    size_t top = o && o->top ? o->top : DIFF_CHANGES_DEFAULT;

    buf_add_str(out, "{\"format\":\"flamed-diff\",\"version\":1,\n\"a\":");
    diff_add_side(d, /* is_b= */ false, out);
    buf_add_str(out, ",\n\"b\":");
    diff_add_side(d, /* is_b= */ true, out);
    buf_printf(out, ",\n\"scale\":%.9g,\n\"changes\":[", d->scale);
    for (size_t i = 0; i < MIN(top, d->function_count); i++) {
        buf_add_str(out, i ? ",\n" : "\n");
        add_change(d, &d->functions[i], out);
    }
    buf_add_str(out, "],\n\"warnings\":[");
    diff_add_warnings(d, WARNED, out);
    buf_add_str(out, "],\n\"nodes\":[");
    for (size_t i = 0; i < d->node_count && !out->error; i++) {
        buf_add_str(out, i ? ",\n" : "\n");
        add_node(d, &d->nodes[i], out);
    }
    buf_add_str(out, "]}\n");
    return render_result(out, err);
}
