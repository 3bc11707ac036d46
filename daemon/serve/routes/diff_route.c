/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/diff: compares two captures, or two ranges of a target's past. */
#include "serve/routes/handlers.h"

#include "base/cleanup.h"
#include "render/diff.h"
#include "serve/params/time_text.h"

/* Gets the profile of one side. @parameter: "a" or "b". 0, an outcome or -errno. */
static int side_profile(struct request *req, const char *parameter, const char *text,
                        struct profile **ret, struct error *err)
{
    const struct api_backend *be = &req->serve->be;
    const struct params *p = &req->params;
    struct time_range range;
    char show[QUERY_SHOW_MAX];
    int r;

    if (!text) {
        error_remedy(err, "give a and b, such as a=-20m..-10m&b=-10m with a target");
        return error_parameter(err, parameter, -EINVAL,
                               "there is no %s: a diff takes two captures or ranges of time",
                               parameter);
    }
    if (is_capture_id(text)) {
        r = be->capture_profile(be->ctx, &req->who.subject.viewer, text, ret, err);
        if (r != 0)
            err->parameter = parameter;
        return r;
    }
    if (!range_parse(span_of(text), p->now_ns, &range))
        return error_parameter(err, parameter, -EINVAL,
                               "%s=%s is not possible: %s takes the id of a capture or a range of "
                               "time that ends after it begins, such as -10m..-5m",
                               parameter, query_show(span_of(text), show), parameter);
    r = be->past(be->ctx, &p->capture.target, &range, p->events.names, PAST_SUMMED, ret, err);
    if (r != BACKEND_NOT_FOUND)
        return r;
    err->parameter = parameter;
    return explain_nothing(req, r, err);
}

static const struct {
    const char *content_type, *extension;
} FORMATS[] = {
    [DIFF_HTML] = { "text/html; charset=utf-8", "diff.html" },
    [DIFF_SVG] = { "image/svg+xml", "diff.svg" },
    [DIFF_COLLAPSED] = { "text/plain; charset=utf-8", "diff.collapsed.txt" },
    [DIFF_JSON] = { "application/json", "diff.json" },
    [DIFF_TEXT] = { "text/plain; charset=utf-8", "diff.txt" },
};

static int write_diff(struct request *req, const struct diff *d, struct error *err)
{
    const struct params *p = &req->params;
    struct render_opts o = { .title = p->picture.title[0] ? p->picture.title : NULL,
                             .minwidth = p->picture.minwidth,
                             .top = p->picture.top,
                             .width = p->picture.width,
                             .reverse = p->picture.reverse,
                             .inverted = p->picture.inverted,
                             .version = req->serve->opts.version };
    struct buf *out = &req->answer.body;

    switch (p->diff.format) {
    case DIFF_SVG:
        return diff_svg(d, &o, out, err);
    case DIFF_COLLAPSED:
        return diff_collapsed(d, &o, out, err);
    case DIFF_JSON:
        return diff_json(d, &o, out, err);
    case DIFF_TEXT:
        return diff_text(d, &o, out, err);
    default:
        return diff_html(d, &o, out, err);
    }
}

static int side_view(const struct params *p, struct profile *profile, struct view **ret,
                     struct error *err)
{
    struct view_opts o = p->view;
    int r;

    o.waits = p->diff.format == DIFF_HTML || p->diff.format == DIFF_SVG;
    r = shown_event(p, profile, &o.event, err);

    return r < 0 ? r : view_new(profile, &o, ret, err);
}

/* Returns the warning that the target of the request has no effect on captures; NULL: it has. */
static const char *unused_target(const struct params *p)
{
    bool a = is_capture_id(p->diff.a), b = is_capture_id(p->diff.b);

    if (!(p->given & PARAMS_TARGET) || (!a && !b))
        return NULL;
    return a && b ? "a and b are captures, which are compared whole: the target has no effect"
           : a    ? "a is a capture, which is compared whole: the target is for b alone"
                  : "b is a capture, which is compared whole: the target is for a alone";
}

/* Adds the warnings about both sides, then those of each. */
static void add_warnings(struct answer *answer, const struct diff *d)
{
    enum diff_side side;
    const char *text;

    for (size_t i = 0; (text = diff_warning(d, i, &side)) && side == DIFF_BOTH; i++)
        answer_header(answer, "X-Flamed-Warning", "%s", text);
    answer_warnings(answer, "a: ", d->view_a);
    answer_warnings(answer, "b: ", d->view_b);
}

/* Diffs two profiles. Their views are made one after the other, because patterns match one name at
 * a time. */
static int diff_profiles(struct request *req, struct profile *a, struct profile *b,
                         struct error *err)
{
    _cleanup_(view_freep) struct view *view_a = NULL, *view_b = NULL;
    _cleanup_(diff_freep) struct diff *d = NULL;
    const struct params *p = &req->params;
    struct diff_opts o = { .absolute = p->diff.absolute,
                           .reverse = p->picture.reverse && p->diff.format == DIFF_SVG,
                           .note = unused_target(p) };
    int r = side_view(p, a, &view_a, err) ?:
            side_view(p, b, &view_b, err) ?:
            diff_new(view_a, view_b, &o, &d, err) ?:
            write_diff(req, d, err);

    if (r != 0)
        return r;
    answer_header(&req->answer, "X-Flamed-Samples", "%llu, %llu",
                  (unsigned long long)view_a->samples, (unsigned long long)view_b->samples);
    add_warnings(&req->answer, d);
    /* a capture may show another event than that of the parameters */
    span_copy(span_of(d->event_b->name), req->params.events.names,
              sizeof(req->params.events.names));
    return 0;
}

bool handle_diff(struct request *req)
{
    _cleanup_(profile_unrefp) struct profile *a = NULL, *b = NULL;
    const struct params *p = &req->params;
    struct answer *answer = &req->answer;
    struct error err = ERROR_NULL;
    int r;

    if (!(p->given & PARAM_BIT(PARAM_DIFF_FORMAT)) && req->wants.text && !req->wants.html)
        req->params.diff.format = DIFF_TEXT;
    r = side_profile(req, "a", p->diff.a, &a, &err) ?:
        side_profile(req, "b", p->diff.b, &b, &err) ?:
        diff_profiles(req, a, b, &err);
    if (r != 0) {
        answer_reset(answer);
        answer_outcome(answer, r, &err, 1);
        return true;
    }
    answer->status = 200;
    answer->content_type = FORMATS[p->diff.format].content_type;
    answer_filename(answer, p, b, FORMATS[p->diff.format].extension);
    return true;
}
