/* SPDX-License-Identifier: Apache-2.0 */
/* Answers with a profile: renders it as requested and describes it in headers. */
#include "serve/routes/handlers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/words.h"

#include <time.h>

/* Writes a name such as "flamed-4242-cpu-20260102T030405Z.html", with characters that every file
 * system accepts. */
void answer_filename(struct answer *a, const struct params *p, const struct profile *profile,
                     const char *extension)
{
    time_t when =
        (time_t)((profile ? profile->start_realtime_ns : clock_realtime_ns()) / NSEC_PER_SEC);
    const struct target_selector *t = &p->capture.target;
    const char *target = t->container       ? t->container
                         : t->pod           ? t->pod
                         : t->jvm           ? t->jvm
                         : t->service       ? t->service
                         : t->pod_namespace ? t->pod_namespace
                                            : "node";
    bool one = profile && !profile->by_process && profile->process_count == 1;
    int32_t pid = t->pid_count ? t->pids[0] : one ? profile->processes[0].host_pid : 0;
    char name[128], stamp[32];
    struct tm utc;

    if (!gmtime_r(&when, &utc) || strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc) == 0)
        stamp[0] = '\0';
    if (t->pid_count || (one && strcmp(target, "node") == 0)) /* a stored profile has no target
                                                               * parameter */
        snprintf(name, sizeof(name), "flamed-%d%s-%.20s-%s", (int)pid,
                 t->pid_count > 1 ? "-and-more" : "", p->events.names, stamp);
    else
        snprintf(name, sizeof(name), "flamed-%.48s-%.20s-%s", target, p->events.names, stamp);
    for (char *c = name; *c; c++) {
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '-' || *c == '.'))
            *c = '_';
    }
    answer_header(a, "Content-Disposition", "inline; filename=\"%s.%s\"", name, extension);
}

void answer_describe(struct request *req, const struct profile *profile,
                     const struct render_format *format)
{
    bool as_html = format->render_html && req->wants.html;

    req->answer.content_type = as_html ? "text/html; charset=utf-8" : format->content_type;
    answer_filename(&req->answer, &req->params, profile, as_html ? "html" : format->extension);
}

void answer_warnings(struct answer *a, const char *before, const struct view *v)
{
    size_t left_out = 0;

    for (size_t i = 0; i < v->warning_count; i++) {
        /* Reserves the last headers for those added after the warnings. */
        if (a->header_count + 3 >= ANSWER_HEADERS_MAX ||
            a->header_bytes + strlen(v->warnings[i]) + 160 > ANSWER_HEADER_BYTES ||
            !answer_header(a, "X-Flamed-Warning", "%s%s", before, v->warnings[i]))
            left_out++;
    }
    if (left_out)
        answer_header(a, "X-Flamed-Warning", "%s%zu more warnings stand in format=json", before,
                      left_out);
}

/* Adds headers with the counts, symbol source and warnings of the profile. */
static void add_facts(struct answer *a, const struct view *v)
{
    const struct profile *p = v->profile;

    answer_header(a, "X-Flamed-Samples", "%llu", (unsigned long long)v->samples);
    answer_header(a, "X-Flamed-Lost", "%llu", (unsigned long long)p->lost);
    answer_header(a, "X-Flamed-Unknown", "%llu", (unsigned long long)v->unknown);
    answer_header(a, "X-Flamed-Truncated", "%llu", (unsigned long long)v->truncated);
    answer_header(a, "X-Flamed-Inferred", "%llu", (unsigned long long)v->inferred);
    answer_header(a, "X-Flamed-Unsure", "%llu", (unsigned long long)v->unsure);
    answer_header(a, "X-Flamed-Symbols", "%s", p->symbols);
    answer_warnings(a, "", v);
}

static void refuse_size(struct answer *a, size_t max_bytes)
{
    struct error err = ERROR_NULL;

    error_set(&err, -EFBIG, "the profile is larger than an answer may be (%zu MiB)",
              max_bytes >> 20);
    error_remedy(&err, "ask for less: fewer processes, minwidth=0.1, depth=, names=simple, "
                       "threads=0; or raise answer_max_bytes in the configuration");
    answer_outcome(a, -EFBIG, &err, 0);
}

int shown_event(const struct params *p, const struct profile *profile, uint8_t *ret,
                struct error *err)
{
    char names[PROFILE_EVENT_NAMES_BYTES];
    const struct profile_event calls = { .name = CALLS_EVENT, .unit = "nanoseconds" };

    *ret = 0;
    if (p->calls.count) {
        *ret = (uint8_t)profile_find_event(profile, &calls);
        if (*ret < profile->event_count)
            return 0;
        return error_parameter(err, "calls", -EINVAL,
                               "calls are found in samples of event=" CALLS_EVENT
                               ", which this profile has not");
    }
    if (!(p->given & PARAM_BIT(PARAM_EVENT)))
        return 0;
    for (size_t i = 0; i < p->capture.event_count; i++) {
        for (uint32_t k = 0; k < profile->event_count; k++) {
            if (strcmp(p->capture.events[i].name, profile->events[k].name) == 0) {
                *ret = (uint8_t)k;
                return 0;
            }
        }
    }
    profile_event_names(profile, names);
    return error_parameter(err, "event", -EINVAL, "this profile has no event=%s: it has %s",
                           p->events.names, names);
}

/* Composes the sentences on @v; @ret needs words_deinit(). */
static void compose_words(const struct request *req, struct view *v, struct words *ret)
{
    const struct profile *p = v->profile;
    uint64_t length_ns = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0;
    char link[64 + CAPTURE_ID_BYTES];
    struct words_request q = { .target = &req->params.capture.target,
                               .view = v,
                               .range = { p->start_realtime_ns, p->start_realtime_ns + length_ns },
                               .link = p->id[0] ? link : NULL };

    snprintf(link, sizeof(link), "/api/v1/captures/%s/profile", p->id);
    words_compose(&req->serve->be, &q, ret);
}

void answer_profile(struct request *req, struct profile *profile,
                    const struct render_format *format)
{
    _cleanup_(view_freep) struct view *view = NULL;
    const struct params *p = &req->params;
    struct answer *a = &req->answer;
    struct view_opts view_opts = p->view;
    struct render_opts opts = {
        .title = p->picture.title[0] ? p->picture.title : NULL,
        .minwidth = p->picture.minwidth,
        .version = req->serve->opts.version,
        .host = req->serve->opts.host,
        .reverse = p->picture.reverse,
        .inverted = p->picture.inverted,
        .top = p->picture.top,
        .width = p->picture.width,
        .values = req->wants.values,
        .spans = p->picture.spans,
    };
    bool as_html = format->render_html && req->wants.html;
    struct words words = { .count = 0 };
    struct error err = ERROR_NULL;
    int r = 0;

    r = shown_event(p, profile, &view_opts.event, &err);
    view_opts.keep_lines = format->keep_lines;
    view_opts.exact = format->exact;
    view_opts.owners = format->owners;
    view_opts.kinds = format->kinds;
    view_opts.requests = format->requests && p->picture.spans;
    view_opts.every_event = format->every_event;
    view_opts.waits = format->waits;
    if (r == 0)
        r = view_new(profile, &view_opts, &view, &err);
    if (r == 0 && format->words)
        compose_words(req, view, &words);
    opts.words = &words;
    if (r == 0 && format->flows && !as_html)
        answer_flow(a);
    if (r == 0)
        r = (as_html ? format->render_html : format->render)(view, &opts, &a->body, &err);
    if (r == 0)
        r = answer_flow_end(a);
    words_deinit(&words);
    if (r != 0) {
        size_t max_bytes = a->body.max;

        answer_reset(a);
        if (r == -EFBIG) {
            refuse_size(a, max_bytes);
        } else {
            if (!err.msg[0] && r != -ENOMEM)
                error_code(&err, r, "the profile could not be written as %s", format->name);
            answer_outcome(a, r, &err, 0);
        }
        return;
    }
    a->status = 200;
    answer_describe(req, profile, format);
    add_facts(a, view);
    if (render_shortened(format, view))
        answer_header(a, "X-Flamed-Warning",
                      "%zu different stacks have over %zu frames, which %s cannot open: the middle "
                      "of each is left out; other formats have all",
                      render_shortened(format, view), format->stack_max, format->name);
    if (req->capture.err.msg[0]) /* the profile is complete but could not be stored */
        answer_header(a, "X-Flamed-Warning", "%s", req->capture.err.msg);
    else if (profile->id[0])
        answer_header(a, "X-Flamed-Capture", "%s", profile->id);
}
