/* SPDX-License-Identifier: Apache-2.0 */
/* Marks in a timeline: releases, jumps of the wall clock, captures. */
#include "api/json.h"
#include "api/past_impl.h"
#include "profile/match.h"

#define MARKS_MAX 1000         /* limit of marks of the history: the earliest ones */
#define MARKS_CAPTURES_MAX 200 /* the newest captures */

struct marks {
    struct past_filter filter;
    json_t *list;
    uint64_t count; /* marks of the history */
    bool older;     /* true: older captures are left out */
};

/* Adds warnings about marks that are left out. */
static void warn_left_out(const struct marks *m, json_t *warnings)
{
    char text[160];

    if (m->count > MARKS_MAX) {
        snprintf(text, sizeof(text),
                 "%ju marks of the history are left out, the latest ones: ask for a shorter time",
                 (uintmax_t)(m->count - MARKS_MAX));
        json_array_append_new(warnings, json_string(text));
    }
    if (m->older) {
        snprintf(text, sizeof(text),
                 "the newest %d captures are marked, older ones of this time are left out: GET "
                 "/api/v1/captures lists them",
                 MARKS_CAPTURES_MAX);
        json_array_append_new(warnings, json_string(text));
    }
}

static bool wants_image(void *cookie, const struct history_image *image)
{
    const struct marks *m = cookie;

    return image->host_pid && past_wants_image(&m->filter, image);
}

static void see_mark(void *cookie, const struct history_mark *mark)
{
    struct marks *m = cookie;
    const struct history_image *image = mark->image;

    if (m->count++ >= MARKS_MAX)
        return;
    json_array_append_new(
        m->list, json_pack("{s:o, s:s, s:o, s:o, s:s}", "time", json_time(mark->time_ns), "kind",
                           history_mark_name(mark->kind), "pid",
                           image ? json_integer(image->host_pid) : json_null(), "service",
                           json_string_or_null(image ? image->service : ""), "text", mark->text));
}

static int see_capture(void *cookie, const struct store_capture *c)
{
    struct marks *m = cookie;

    if (capture_has_wanted(c, m->filter.t, m->filter.jvm))
        json_array_append_new(
            m->list, json_pack("{s:o, s:o, s:s, s:s, s:s}", "time", json_time(c->start_ns), "end",
                               json_time(MAX(c->end_ns, c->start_ns)), "kind", "capture", "id",
                               c->id, "text", c->schedule[0] ? c->schedule : c->event));
    return 0;
}

static int add_captures(struct api *api, struct marks *m, const struct time_range *range,
                        struct error *err)
{
    struct store_query q = captures_of(m->filter.t, range->from_ns, range->to_ns);
    char next[64] = "";
    int r;

    if (!api->engine.store || m->filter.asked) /* the store cannot apply matchers */
        return 0;
    q.limit = MARKS_CAPTURES_MAX;
    r = store_list(api->engine.store, &q, see_capture, m, next, err);
    m->older = next[0];
    return r;
}

json_t *timeline_marks(struct api *api, const struct target_selector *t,
                       const struct time_range *range, json_t *warnings, int *ret_error,
                       struct error *err)
{
    struct marks m = { .list = json_array() };
    const struct history_query q = {
        .from_ns = range->from_ns, .to_ns = range->to_ns, .wants = wants_image, .cookie = &m
    };
    int r = past_filter_init(t, &m.filter, err);
    uint64_t left_out = 0;

    if (r == 0 && api->engine.history)
        r = history_marks(api->engine.history, &q, see_mark, &m, &left_out, err);
    m.count += left_out;
    if (r == 0)
        r = add_captures(api, &m, range, err);
    r = past_filter_refuse(&m.filter, r, err);
    past_filter_deinit(&m.filter);
    warn_left_out(&m, warnings);
    *ret_error = MIN(r, 0);
    if (r < 0) {
        json_decref(m.list);
        m.list = NULL;
    }
    return m.list;
}
