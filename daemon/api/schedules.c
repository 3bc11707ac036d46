/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules and triggers, as the JSON of the API. Runs on serve's worker threads. */
#include "api/api_impl.h"
#include "api/json.h"

struct trigger_args {
    const char *name;
    char *id;
    struct error *err;
};

static int call_trigger(struct api *api, void *arg)
{
    struct trigger_args *a = arg;

    return scheduled_trigger(api->engine.scheduled, a->name, /* host_pid= */ 0,
                             mailbox_ticket(api->engine.mailbox), a->id, a->err);
}

int backend_trigger(void *ctx, const char *name, char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    struct error own = ERROR_NULL;
    struct trigger_args a = { name, ret_id, err ? err : &own };

    return api_ask(ctx, call_trigger, &a, a.err);
}

/* ---- as JSON ---- */

static json_t *matchers_json(const struct matcher_list *list)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(MATCHERS_MAX * (2 * MATCHER_VALUE_MAX + 32));

    matchers_write(list, &text);
    return text.error ? NULL : json_string(text.p ? text.p : "");
}

static json_t *seconds_json(uint64_t ns)
{
    return ns ? json_real((double)ns / 1e9) : json_null();
}

static json_t *entry_json(const struct scheduled_facts *f)
{
    const struct rule *rule = f->rule;
    const struct store_runs *h = f->history;
    json_t *o = json_pack(
        "{s:s, s:o, s:s, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "name", rule->name,
        "match", matchers_json(&rule->match), "event", rule->event, "hz", rule->millihz / 1000.0,
        "for_seconds", (double)rule->for_ns / 1e9, "keep_seconds", seconds_json(rule->keep_ns),
        "last_run", h->last_ns ? json_time(h->last_ns) : json_null(), "last_capture",
        json_string_or_null(h->last_id), "last_error", json_string_or_null(h->last_error),
        "last_error_time", h->last_error_ns ? json_time(h->last_error_ns) : json_null(), "runs",
        (json_int_t)h->runs, "missed", (json_int_t)h->missed, "unmatched",
        (json_int_t)h->unmatched);

    if (!o)
        return NULL;
    if (rule->every_ns) {
        json_object_set_new(o, "every_seconds", json_real((double)rule->every_ns / 1e9));
        json_object_set_new(o, "phase_seconds", json_real((double)f->phase_ns / 1e9));
        json_object_set_new(o, "next_run", json_time(f->next_ns));
    } else {
        json_object_set_new(o, "cooldown_seconds", json_real((double)rule->cooldown_ns / 1e9));
        json_object_set_new(o, "on", json_string_or_null(rule->on.text));
    }
    return o;
}

static void add_entry(void *cookie, const struct scheduled_facts *f)
{
    json_array_append_new(cookie, entry_json(f));
}

static json_t *entries_json(const struct scheduled *s, bool triggers)
{
    json_t *all = json_array();

    scheduled_each(s, triggers, add_entry, all);
    return all;
}

static int call_schedules(struct api *api, void *arg)
{
    json_t *o = json_pack("{s:o, s:o}", "schedules", entries_json(api->engine.scheduled, false),
                          "triggers", entries_json(api->engine.scheduled, true));

    *(json_t **)arg = o;
    return o ? 0 : -ENOMEM;
}

/* Adds the states of the last captures, which may be in the store already. */
static void add_states(void *ctx, json_t *list)
{
    size_t i;
    json_t *o;

    json_array_foreach(list, i, o)
    {
        const char *id = json_string_value(json_object_get(o, "last_capture"));
        json_t *facts = NULL, *state = NULL;

        if (id && backend_capture(ctx, &VIEWER_WHOLE, id, &facts, NULL, NULL) == 0)
            state = json_incref(json_object_get(facts, "state"));
        else if (id)
            state = json_string("removed");
        json_decref(facts);
        json_object_set_new(o, "last_state", state ? state : json_null());
    }
}

int document_schedules(struct api *api, const struct document_query *q, json_t **ret,
                       struct error *err)
{
    json_t *all = NULL;
    int r;

    if (!q->viewer->whole) { /* only viewers of the whole node see schedules */
        *ret = json_pack("{s:[], s:[]}", "schedules", "triggers");
        return *ret ? 0 : -ENOMEM;
    }
    r = api_ask(api, call_schedules, &all, err);
    if (r != 0)
        return r;
    add_states(api, json_object_get(all, "schedules"));
    add_states(api, json_object_get(all, "triggers"));
    *ret = all;
    return 0;
}
