/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a made-up profile in a format: write_format CASE FORMAT [OPTION...], options as in the
 * URL: threads=1 lines=1 annotate=1 names=simple total=1 depth=N top=N reverse=1 inverted=1
 * spans=1 by=GROUP width=N minwidth=P title=T include=REGEX exclude=REGEX; event=N; html=1: as for
 * a browser; inlined=1: with the native frames that json, pprof, jfr and otlp keep without lines=1.
 * CASE/CASE with the format diff-html, diff-svg, diff-json or diff-collapsed (normalize=0) is their
 * diff. The format "samples" is not flamed's: a line "time_ns tid count stack" for each sample,
 * root first, which the tests compare with; "values" is a line with the value of each of these.
 */
#include "made.h"

#include "base/cleanup.h"
#include "render/diff.h"

static bool option(const char *arg, const char *name, const char **ret)
{
    size_t n = strlen(name);

    if (strncmp(arg, name, n) != 0 || arg[n] != '=')
        return false;
    *ret = arg + n + 1;
    return true;
}

static bool as_html, absolute, inlined;

static int parse(const char *arg, struct view_opts *v, struct render_opts *o, struct error *err)
{
    const char *value;

    if (option(arg, "threads", &value))
        v->threads = *value == '1';
    else if (option(arg, "lines", &value))
        v->lines = *value == '1';
    else if (option(arg, "spans", &value))
        o->spans = *value == '1';
    else if (option(arg, "by", &value))
        v->by[0] = !strcmp(value, "span")    ? VIEW_BY_SPAN
                   : !strcmp(value, "trace") ? VIEW_BY_TRACE
                                             : VIEW_BY_OPERATION;
    else if (option(arg, "annotate", &value))
        v->annotate = *value == '1';
    else if (option(arg, "total", &value))
        v->total = *value == '1', v->total_said = true;
    else if (option(arg, "event", &value)) /* its number */
        v->event = (uint8_t)strtoul(value, NULL, 10);
    else if (option(arg, "reverse", &value))
        o->reverse = *value == '1';
    else if (option(arg, "inverted", &value))
        o->inverted = *value == '1';
    else if (option(arg, "html", &value))
        as_html = *value == '1';
    else if (option(arg, "inlined", &value))
        inlined = *value == '1';
    else if (option(arg, "normalize", &value))
        absolute = *value == '0';
    else if (option(arg, "width", &value))
        o->width = strtoul(value, NULL, 10);
    else if (option(arg, "minwidth", &value))
        o->minwidth = strtod(value, NULL);
    else if (option(arg, "title", &value))
        o->title = value;
    else if (option(arg, "depth", &value))
        v->depth = strtoul(value, NULL, 10);
    else if (option(arg, "top", &value))
        o->top = strtoul(value, NULL, 10);
    else if (option(arg, "names", &value))
        v->names = !strcmp(value, "simple")      ? VIEW_NAMES_SIMPLE
                   : !strcmp(value, "signature") ? VIEW_NAMES_SIGNATURE
                   : !strcmp(value, "merged")    ? VIEW_NAMES_MERGED
                                                 : VIEW_NAMES_FULL;
    else if (option(arg, "include", &value))
        return match_new(&value, 1, "include", &v->include, err);
    else if (option(arg, "exclude", &value))
        return match_new(&value, 1, "exclude", &v->exclude, err);
    else
        return error_set(err, -EINVAL, "no option '%s'", arg);
    return 0;
}

static int add_values(const struct view *v, struct buf *out)
{
    for (size_t i = 0; i < v->profile->sample_count; i++)
        if (v->sample_rows[i] != VIEW_NO_ROW)
            buf_printf(out, "%llu\n", (unsigned long long)v->profile->samples[i].value);
    return out->error;
}

static int add_samples(const struct view *v, struct buf *out)
{
    const struct profile *p = v->profile;

    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        const struct view_row *row;

        if (v->sample_rows[i] == VIEW_NO_ROW)
            continue;
        row = &v->rows[v->sample_rows[i]];
        buf_printf(out, "%llu\t%d\t%u\t",
                   (unsigned long long)(p->start_realtime_ns + s->time_ns - p->start_ns),
                   p->threads[s->thread].host_tid, s->count);
        for (uint32_t k = 0; k < row->n; k++) {
            const struct view_frame *f = &v->frames[v->stack[row->first + k]];

            buf_printf(out, "%s%u:%u:", k ? ";" : "", f->kind, f->line);
            buf_add_span(out, view_string(v, f->name));
        }
        buf_add_char(out, '\n');
    }
    return out->error;
}

static typeof(&diff_html) diff_writer_of(const char *format)
{
    static const struct {
        const char *name;
        typeof(&diff_html) write;
    } FORMATS[] = {
        { "diff-html", diff_html },
        { "diff-svg", diff_svg },
        { "diff-json", diff_json },
        { "diff-collapsed", diff_collapsed },
    };

    for (size_t i = 0; i < ARRAY_SIZE(FORMATS); i++)
        if (!strcmp(FORMATS[i].name, format))
            return FORMATS[i].write;
    return NULL;
}

static int write_diff(const char *cases, const char *format, const struct view_opts *vo,
                      const struct render_opts *o, struct buf *out, struct error *err)
{
    struct diff_opts opts = { .absolute = absolute,
                              .reverse = o->reverse && !strcmp(format, "diff-svg") };
    const char *slash = strchr(cases, '/');
    char first[32];
    struct profile *a, *b;
    struct view *va = NULL, *vb = NULL;
    struct diff *d = NULL;
    int r;

    if (!slash)
        return error_set(err, -EINVAL, "a diff is of CASE/CASE");
    span_copy((struct span){ cases, (size_t)(slash - cases) }, first, sizeof(first));
    a = made_profile(first);
    b = made_profile(slash + 1);
    r = view_new(a, vo, &va, err);
    if (r == 0)
        r = view_new(b, vo, &vb, err);
    if (r == 0)
        r = diff_new(va, vb, &opts, &d, err);
    if (r == 0)
        r = diff_writer_of(format)(d, o, out, err);
    diff_free(d);
    view_free(va);
    view_free(vb);
    profile_unref(a);
    profile_unref(b);
    return r;
}

static int write_profile(const char *name, const char *format, struct view_opts *vo,
                         const struct render_opts *o, struct buf *out, struct error *err)
{
    const struct render_format *f = render_format_find(span_of(format));
    bool values = !strcmp(format, "values"), samples = values || !strcmp(format, "samples");
    struct profile *p;
    struct view *v = NULL;
    int r;

    if (!f && !samples)
        return error_set(err, -EINVAL, "there is no format '%s'", format);
    p = made_profile(name);
    vo->exact = samples || f->exact;
    vo->requests = f && f->requests && o->spans;
    vo->every_event = f && f->every_event;
    vo->keep_lines = inlined || (f && f->keep_lines);
    r = view_new(p, vo, &v, err);
    if (r == 0 && samples)
        r = values ? add_values(v, out) : add_samples(v, out);
    else if (r == 0)
        r = (as_html && f->render_html ? f->render_html : f->render)(v, o, out, err);
    view_free(v);
    profile_unref(p);
    return r;
}

int main(int argc, char **argv)
{
    struct render_opts o = { .version = "0.0-test" };
    struct view_opts vo = { 0 };
    struct error err = ERROR_NULL;
    struct buf out = BUF_NULL;
    int r = argc > 2 ? 0 : error_set(&err, -EINVAL, "write_format CASE FORMAT [OPTION...]");

    for (int i = 3; i < argc && r == 0; i++)
        r = parse(argv[i], &vo, &o, &err);
    buf_init(&out, (size_t)1 << 30);
    if (r == 0)
        r = diff_writer_of(argv[2]) ? write_diff(argv[1], argv[2], &vo, &o, &out, &err)
                                    : write_profile(argv[1], argv[2], &vo, &o, &out, &err);
    if (r < 0)
        fprintf(stderr, "write_format: %s\n", err.msg);
    else
        fwrite(out.p, 1, out.n, stdout);
    match_free(vo.include);
    match_free(vo.exclude);
    buf_deinit(&out);
    return r < 0 ? 1 : 0;
}
