/* SPDX-License-Identifier: Apache-2.0 */
#include "api/webhook.h"

#include "api/api_impl.h"
#include "api/json.h"
#include "base/text.h"
#include "push/push.h"

#define LINK_BYTES (PUSH_URL_MAX + 160)
#define TEXT_BYTES 1024

/* Returns @text as JSON, cut only between characters: an incomplete character is invalid in JSON.
 * NULL: no memory. */
static json_t *text_json(const char *text)
{
    _cleanup_buf_ struct buf clean = BUF_UPTO(TEXT_BYTES + 1);

    text_clean(span_of(text), TEXT_UTF8, TEXT_BYTES, &clean);
    return clean.error ? NULL : json_stringn(clean.p ? clean.p : "", clean.n);
}

/* Adds a capture, unless its @id is "". */
static void add_capture(json_t *list, const struct push_webhook *w, const char *kind,
                        const char *id)
{
    char link[LINK_BYTES];

    if (!id[0])
        return;
    snprintf(link, sizeof(link), "%s/api/v1/captures/%s/profile", w->link, id);
    json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "kind", kind, "id", id, "link", link));
}

static json_t *event_json(const struct webhook_event *e, const struct push_webhook *w)
{
    char page[LINK_BYTES];
    json_t *captures = json_array(),
           *o = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:i, s:[o]}", "version", 1, "trigger",
                          e->trigger, "condition", text_json(e->condition), "time",
                          json_time(e->time_ns), "host", text_json(w->host ? w->host : ""),
                          "service", text_json(e->service), "pid", e->host_pid, "sentences",
                          text_json(e->sentence));

    snprintf(page, sizeof(page), "%s/#/jvm/%d", w->link, e->host_pid);
    add_capture(captures, w, "capture", e->capture);
    add_capture(captures, w, "before", e->before);
    if (!o) {
        json_decref(captures);
        return NULL;
    }
    if (json_object_set_new(o, "captures", captures) < 0 ||
        json_object_set_new(o, "page", json_string(page)) < 0 ||
        (e->problem[0] && json_object_set_new(o, "problem", text_json(e->problem)) < 0)) {
        json_decref(o);
        return NULL;
    }
    return o;
}

int webhook_send(struct api *api, const struct webhook_event *e)
{
    struct push *push = atomic_load(&api->push);
    struct push_webhook w;
    json_t *value;
    char *text;
    int r;

    if (!push_webhook_find(push, e->trigger, &w))
        return push ? WEBHOOK_NEW : WEBHOOK_NO_PUSH;
    value = event_json(e, &w);
    text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    r = text ? push_webhook_send(push, &w, e->time_ns, span_of(text)) : -ENOMEM;
    free(text);
    json_decref(value);
    return r;
}
