/* SPDX-License-Identifier: Apache-2.0 */
#include "push/export.h"

#include "base/cleanup.h"
#include "base/list.h"
#include "render/deflater.h"
#include "render/proto/push_request.h"
#include "render/render.h"

#include <ctype.h>

#define GZIP_LEVEL 1
#define LABEL_BYTES ((size_t)160) /* longest value of a label, from an attribute */

const struct export_request EXPORT_REQUESTS[] = {
    [PUSH_OTLP] = { "/v1development/profiles",
                    { "Content-Type: application/x-protobuf", "Content-Encoding: gzip",
                      /* the version of the profiles signal, needed while the signal is in
                       * development */
                      "OTLP-Profiles-Development-Version: 1" },
                    .gzip = true },
    /* The body has no gzip: pprof is compressed already. */
    [PUSH_PYROSCOPE] = { "/push.v1.PusherService/Push",
                         { "Content-Type: application/proto", "Connect-Protocol-Version: 1" } },
    [PUSH_WEBHOOK] = { "", { "Content-Type: application/json" } },
};

/* Pyroscope's names for events. */
static const struct series_kind {
    const char *event, *name;
    const struct render_value *values; /* as in struct render_opts */
} SERIES_KINDS[] = {
    { "cpu", "process_cpu", NULL },
    { "alloc", "memory",
      (const struct render_value[]){
          { "samples", "count" }, { "alloc_space", "bytes" }, { NULL, NULL } } },
};

struct exporter {
    const struct fold *f;
    const struct export_opts *o;
    export_fn fn;
    void *cookie;
    size_t bytes_max;
    struct export_counts counts;
};

/* Renders the rows [from, to) as @format into a body. @values: as in struct render_opts. */
static int render_rows(const struct exporter *x, size_t from, size_t to, uint32_t event,
                       const struct render_value *values, const char *format, struct buf *out)
{
    const struct render_format *f = render_format_find(span_of(format));
    _cleanup_(profile_unrefp) struct profile *p = NULL;
    _cleanup_(view_freep) struct view *v = NULL;
    struct view_opts view = { .keep_lines = f->keep_lines,
                              .exact = f->exact,
                              .kinds = f->kinds,
                              .every_event = event >= PROFILE_EVENTS_MAX };
    struct render_opts o = { .version = x->o->version,
                             .host = x->o->host,
                             .link = x->o->link[0] ? x->o->link : NULL,
                             .untimed = true,
                             .values = values };
    int r = fold_profile(x->f, from, to, event, &p) ?: view_new(p, &view, &v, NULL);

    return r == 0 ? f->render(v, &o, out, NULL) : r;
}

/* ---- Pyroscope ---- */

/* Returns Pyroscope's name for @e; NULL: Pyroscope has none of its own. */
static const struct series_kind *kind_of(const struct profile_event *e)
{
    return FIRST_OF(i, SERIES_KINDS, ARRAY_SIZE(SERIES_KINDS),
                    strcmp(e->name, SERIES_KINDS[i].event) == 0);
}

/* Writes the name under which Pyroscope gets @e. */
static void series_name(const struct profile_event *e, char name[EVENT_NAME_BYTES])
{
    const struct series_kind *kind = kind_of(e);

    snprintf(name, EVENT_NAME_BYTES, "%s", kind ? kind->name : e->name);
    for (char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && *c != '_')
            *c = '_';
    }
}

/* Gets an attribute of a group, cut to LABEL_BYTES. @key ends with '='. Returns @ret. */
static const char *attribute_of(const struct exporter *x, uint32_t group, const char *key,
                                char ret[LABEL_BYTES])
{
    return span_copy(span_find_line(span_of(x->f->attributes[group]), key), ret, LABEL_BYTES);
}

static int add_series(const struct exporter *x, size_t from, size_t to, struct buf *out)
{
    const struct profile *p = x->f->p;
    const struct fold_row *row = &x->f->rows[from];
    const struct profile_process *g = &x->f->groups[row->group];
    const struct series_kind *kind = kind_of(&p->events[row->event]);
    _cleanup_buf_ struct buf pprof = BUF_NULL;
    char name[EVENT_NAME_BYTES], repository[LABEL_BYTES], revision[LABEL_BYTES];
    struct push_label labels[] = {
        { "__name__", name },
        { "service_name", fold_service(x->f, row->group).p },
        { "namespace", intern_get(p->strings, g->pod_namespace).p },
        { "service_version", intern_get(p->strings, g->version).p },
        { "service_repository",
          attribute_of(x, row->group, "vcs.repository.url.full=", repository) },
        { "service_git_ref", attribute_of(x, row->group, "vcs.ref.head.revision=", revision) },
        { "hostname", x->o->host },
    };
    int r;

    series_name(&p->events[row->event], name);
    buf_init(&pprof, out->max);
    r = render_rows(x, from, to, row->event, kind ? kind->values : NULL, "pprof", &pprof);
    if (r == 0)
        r = push_request_add(out, labels, ARRAY_SIZE(labels), buf_span(&pprof));
    return r;
}

static int render_series(const struct exporter *x, size_t from, size_t to, struct buf *out)
{
    const struct fold_row *rows = x->f->rows;
    int r = 0;

    for (size_t at = from, end; r == 0 && at < to; at = end) {
        for (end = at + 1;
             end < to && rows[end].group == rows[at].group && rows[end].event == rows[at].event;)
            end++;
        r = add_series(x, at, end, out);
    }
    return r;
}

/* ---- splitting ---- */

static uint64_t samples_of(const struct fold *f, size_t from, size_t to)
{
    uint64_t sum = 0;

    for (size_t i = from; i < to; i++)
        sum += f->rows[i].samples;
    return sum;
}

static int emit(struct exporter *x, struct span body, uint64_t samples)
{
    _cleanup_buf_ struct buf packed = BUF_UPTO(2 * EXPORT_BYTES_MAX);
    int r = 0;

    if (EXPORT_REQUESTS[x->o->protocol].gzip) {
        r = deflater_pack(body, GZIP_LEVEL, DEFLATER_GZIP, &packed);
        body = buf_span(&packed);
    }
    if (r == 0)
        r = x->fn(x->cookie, body);
    if (r == 0) {
        x->counts.bodies++;
        x->counts.samples += samples;
    }
    return r;
}

/* Returns where to split [from, to): at a border between services if possible, else in the middle.
 */
static size_t middle_of(const struct fold *f, size_t from, size_t to)
{
    size_t middle = from + (to - from) / 2, at = middle;

    while (at > from && f->rows[at].group == f->rows[at - 1].group)
        at--;
    if (at > from)
        return at;
    for (at = middle; at < to && f->rows[at].group == f->rows[at - 1].group;)
        at++;
    return at < to ? at : middle;
}

/* Limit of halvings. After 22 steps, 2^22 rows are single stacks; uneven services need a few steps
 * more. */
#define DEPTH_MAX 64

static int export_rows(struct exporter *x, size_t from, size_t to, unsigned depth)
{
    _cleanup_buf_ struct buf body = BUF_NULL;
    size_t middle;
    int r;

    buf_init(&body, x->bytes_max);
    r = x->o->protocol == PUSH_PYROSCOPE
            ? render_series(x, from, to, &body)
            : render_rows(x, from, to, UINT32_MAX, NULL, "otlp", &body);
    if (r == 0 && !body.error)
        return emit(x, buf_span(&body), samples_of(x->f, from, to));
    if (r != -EFBIG && body.error != -EFBIG)
        return r < 0 ? r : -ENOMEM;
    if (to - from == 1 || depth == DEPTH_MAX) {
        x->counts.dropped += samples_of(x->f, from, to);
        return 0;
    }
    buf_deinit(&body);
    middle = middle_of(x->f, from, to);
    r = export_rows(x, from, middle, depth + 1);
    return r == 0 ? export_rows(x, middle, to, depth + 1) : r;
}

int export_fold(const struct fold *f, const struct export_opts *o, export_fn fn, void *cookie,
                struct export_counts *ret)
{
    struct exporter x = { .f = f,
                          .o = o,
                          .fn = fn,
                          .cookie = cookie,
                          .bytes_max = o->bytes_max ? o->bytes_max : EXPORT_BYTES_MAX };
    int r = f->count ? export_rows(&x, 0, f->count, 0) : 0;

    *ret = x.counts;
    return r;
}
