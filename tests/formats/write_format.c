/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a made-up profile in a format: write_format CASE FORMAT [OPTION...], options as in the
 * URL: threads=1 lines=1 annotate=1 names=simple total=1 depth=N top=N reverse=1 include=REGEX
 * exclude=REGEX. The format "samples" is not flamed's: a line "time_ns tid count stack" for each
 * sample, root first, which the tests compare with.
 */
#include "made.h"

#include "render/render.h"

static bool option(const char *arg, const char *name, const char **ret)
{
    size_t n = strlen(name);

    if (strncmp(arg, name, n) != 0 || arg[n] != '=')
        return false;
    *ret = arg + n + 1;
    return true;
}

static int parse(const char *arg, struct view_opts *v, struct render_opts *o, struct error *err)
{
    const char *value;

    if (option(arg, "threads", &value))
        v->threads = *value == '1';
    else if (option(arg, "lines", &value))
        v->lines = *value == '1';
    else if (option(arg, "annotate", &value))
        v->annotate = *value == '1';
    else if (option(arg, "total", &value))
        v->total = *value == '1';
    else if (option(arg, "reverse", &value))
        o->reverse = *value == '1';
    else if (option(arg, "depth", &value))
        v->depth = strtoul(value, NULL, 10);
    else if (option(arg, "top", &value))
        o->top = strtoul(value, NULL, 10);
    else if (option(arg, "names", &value))
        v->names = !strcmp(value, "simple")      ? VIEW_NAMES_SIMPLE
                   : !strcmp(value, "signature") ? VIEW_NAMES_SIGNATURE
                                                 : VIEW_NAMES_FULL;
    else if (option(arg, "include", &value))
        return match_new(&value, 1, "include", &v->include, err);
    else if (option(arg, "exclude", &value))
        return match_new(&value, 1, "exclude", &v->exclude, err);
    else
        return error_set(err, -EINVAL, "no option '%s'", arg);
    return 0;
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

int main(int argc, char **argv)
{
    struct profile *p = argc > 2 ? made_profile(argv[1]) : NULL;
    const struct render_format *f = p ? render_format_find(span_of(argv[2])) : NULL;
    bool samples = p && !strcmp(argv[2], "samples");
    struct render_opts o = { .version = "0.0-test" };
    struct view_opts vo = { 0 };
    struct error err = ERROR_NULL;
    struct view *v = NULL;
    struct buf out = BUF_NULL;
    int r = f || samples ? 0 : error_set(&err, -EINVAL, "write_format CASE FORMAT [OPTION...]");

    for (int i = 3; i < argc && r == 0; i++)
        r = parse(argv[i], &vo, &o, &err);
    vo.exact = samples || (f && f->exact);
    vo.keep_lines = f && f->keep_lines;
    buf_init(&out, (size_t)1 << 30);
    if (r == 0)
        r = view_new(p, &vo, &v, &err);
    if (r == 0)
        r = samples ? add_samples(v, &out) : f->render(v, &o, &out, &err);
    if (r < 0)
        fprintf(stderr, "write_format: %s\n", err.msg);
    else
        fwrite(out.p, 1, out.n, stdout);
    view_free(v);
    match_free(vo.include);
    match_free(vo.exclude);
    profile_unref(p);
    buf_deinit(&out);
    return r < 0 ? 1 : 0;
}
