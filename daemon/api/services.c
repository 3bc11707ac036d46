/* SPDX-License-Identifier: Apache-2.0 */
/* The services of this node, each with its running JVMs. */
#include "api/api_impl.h"
#include "api/service_entry.h"
#include "capture/process_selector.h"
#include "discover/service.h"

json_t *service_json(const struct process *p)
{
    struct service s;

    service_of_process(p, &s);
    return json_pack("{s:s, s:o, s:o, s:o, s:s}", "name", s.name, "version",
                     json_string_or_null(s.version), "environment",
                     json_string_or_null(s.environment), "instance",
                     json_string_or_null(s.instance), "source", service_source_name(s.source));
}

struct services_args {
    struct target *target;
    json_t *by_name; /* object: a service's name -> its entry */
};

static json_t *entry_of(json_t *by_name, const struct service *s)
{
    json_t *entry = json_object_get(by_name, s->name);

    if (entry)
        return entry;
    entry =
        json_pack("{s:s, s:[], s:[], s:[]}", "name", s->name, "versions", "environments", "jvms");
    json_object_set_new(by_name, s->name, entry);
    return entry;
}

static int services_add(void *cookie, struct process *p)
{
    struct services_args *a = cookie;
    struct service s;
    json_t *entry;

    if (p->exited || !process_runs_java(p) || !target_matches(a->target, p))
        return 0;
    service_of_process(p, &s);
    entry = entry_of(a->by_name, &s);
    service_add_text(entry, "versions", s.version);
    service_add_text(entry, "environments", s.environment);
    json_array_append_new(
        json_object_get(entry, "jvms"),
        json_pack("{s:i, s:s, s:o, s:o, s:s, s:o, s:I}", "pid", (int)p->id.host_pid, "main",
                  target_main_of(p), "version", json_string_or_null(s.version), "instance",
                  json_string_or_null(s.instance), "source", service_source_name(s.source),
                  "start_time", json_time(p->start_realtime_ns), SERVICES_TICKS,
                  (json_int_t)p->id.start_ticks));
    service_keep_time(entry, "first_seen", p->start_realtime_ns, /* earlier= */ true);
    return 0;
}

int facts_services(struct api *api, const struct document_query *q, json_t **ret, struct error *err)
{
    struct target_selector everything = { .viewer = q->viewer };
    _cleanup_(target_freep) struct target *target = NULL;
    struct services_args a = { 0 };
    json_t *list, *entry;
    const char *name;
    int r = target_new(&everything, &target, err);

    if (r < 0)
        return r;
    discover_catch_up(api->engine.discover);
    a.target = target;
    a.by_name = json_object();
    discover_each(api->engine.discover, services_add, &a);
    list = json_array();
    json_object_foreach(a.by_name, name, entry) json_array_append(list, entry);
    json_decref(a.by_name);
    *ret = json_pack("{s:o}", "services", list);
    return *ret ? 0 : -ENOMEM;
}
