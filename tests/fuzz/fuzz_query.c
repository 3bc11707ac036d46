/* SPDX-License-Identifier: Apache-2.0 */
/* A request's target: path and query string, decoded, routed, and read as parameters. The first
 * line is the target; two more are the headers Accept and Accept-Encoding, one more each Host and
 * Origin. For any input, results are within their limits and every refusal has a sentence of valid
 * text. */
#include "base/text.h"
#include "serve/origin.h"
#include "serve/params/negotiate.h"
#include "serve/params/params.h"
#include "serve/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_params(const struct params *p)
{
    check(p->capture.target.pid_count <= BACKEND_PIDS_MAX);
    for (size_t i = 0; i < p->capture.target.pid_count; i++)
        check(p->capture.target.pids[i] > 0);
    check(p->capture.duration_ns >= NSEC_PER_SEC / 10 &&
          p->capture.duration_ns <= 3600 * NSEC_PER_SEC);
    check(p->capture.event_count >= 1 && p->capture.event_count <= EVENTS_AT_ONCE_MAX);
    for (size_t i = 0; i < p->capture.event_count; i++)
        check(p->capture.events[i].name[0] && p->capture.events[i].period > 0);
    check(p->picture.minwidth >= 0 && p->picture.minwidth <= 100);
    check(p->view.depth <= PARAMS_DEPTH_MAX);
    check(p->range.from_ns < p->range.to_ns);
    check(p->picture.width <= PARAMS_WIDTH_MAX && p->picture.top <= PARAMS_TOP_MAX &&
          p->list.limit <= 1000);
    check(p->refresh_ns >= NSEC_PER_SEC / 2 && p->refresh_ns <= 60 * NSEC_PER_SEC);
    check(p->events.names[0] && strlen(p->events.names) < sizeof(p->events.names));
    check(text_is_utf8(span_of(p->picture.title)) && strlen(p->picture.title) <= PARAMS_TITLE_MAX);
}

static void try_target(struct span target)
{
    struct span unknown = SPAN_NULL, path = target;
    struct route_args args = { .pid = 1 };
    const struct route *route = NULL;
    struct error err = ERROR_NULL;
    struct query q = { 0 };
    char *decoded = NULL;
    struct params p;
    int r;

    path.n = span_find(path, '?');
    if (query_decode_path(path, &decoded, &err) == 0) {
        check(text_is_utf8(span_of(decoded)));
        if (route_find(span_of(decoded), "GET", &route, &args) == 0)
            check(args.pid >= 0 && text_is_utf8(args.text));
        else
            route_nearest(span_of(decoded));
        free(decoded);
    } else {
        check(err.msg[0]);
    }
    err = ERROR_NULL;
    if (query_parse(span_from(target, path.n + 1), &q, &err) < 0) {
        check(err.msg[0]);
        return;
    }
    for (size_t i = 0; i < q.count; i++)
        check(text_is_utf8(q.items[i].name) && text_is_utf8(q.items[i].value) &&
              strlen(q.items[i].value.p) == q.items[i].value.n);
    r = params_parse(&q, route ? route->params : PARAMS_PROFILE, &p, &unknown, &err);
    if (r == 0)
        check_params(&p);
    else
        check(err.msg[0] || r == -ENOMEM);
    params_deinit(&p);
    query_deinit(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span rest = { (const char *)data, size }, line[5] = { SPAN_NULL };
    const struct render_format *formats;
    static const char *const ALLOWED[] = { "flamed.example.com" };
    struct origin_facts facts = { 0 };
    struct error err = ERROR_NULL;
    size_t count;

    for (size_t i = 0; i < ARRAY_SIZE(line) && span_take_line(&rest, &line[i]); i++)
        ;
    if (line[0].n)
        try_target(line[0]);
    formats = render_formats(&count);
    negotiate_format(line[1], formats, count);
    negotiate_coding(line[2]);
    facts = (struct origin_facts){ .host = line[3],
                                   .origin = line[4],
                                   .host_count = 1,
                                   .origin_count = 1,
                                   .fetch_site = rest,
                                   .purpose = size % 16 ? SPAN_NULL : rest,
                                   .referer = rest,
                                   .referer_count = 1,
                                   .fetch_site_count = 1,
                                   .local_address = "::1",
                                   .allowed = ALLOWED,
                                   .allowed_count = ARRAY_SIZE(ALLOWED) };
    if (origin_check(&facts, &err) < 0)
        check(err.msg[0]);
    facts.local_address = "127.0.0.2";
    origin_check(&facts, &err);
    return 0;
}
