/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a line of the audit. */
#include "base/utc_text.h"
#include "serve/audit_impl.h"

#include "base/clock.h"

const char *audit_action_name(enum audit_action action)
{
    static const char *const ACTIONS[AUDIT_ACTIONS] = {
        [AUDIT_CAPTURE] = "capture", [AUDIT_ATTACH] = "attach",   [AUDIT_STOP] = "stop",
        [AUDIT_DELETE] = "delete",   [AUDIT_TRIGGER] = "trigger", [AUDIT_REFUSAL] = "refusal",
        [AUDIT_LOGIN] = "login",     [AUDIT_LOGOUT] = "logout",
    };

    return ACTIONS[action];
}

static void add_time(json_t *line)
{
    char text[UTC_TEXT_BYTES];

    json_object_set_new(line, "time", json_string(utc_text_ns(clock_realtime_ns(), text)));
}

static void add_text(json_t *object, const char *name, const char *value)
{
    if (value && value[0])
        json_object_set_new(object, name, json_string(value));
}

json_t *audit_facts_json(const struct jvm_facts *f)
{
    json_t *facts = json_pack("{s:I}", "uid", (json_int_t)f->uid);

    add_text(facts, "main", f->main);
    add_text(facts, "container_id", f->container_id);
    add_text(facts, "pod_name", f->pod_name);
    add_text(facts, "pod_namespace", f->pod_namespace);
    return facts;
}

/* Returns the target: as requested, as known at that time, and as in the profile. */
static json_t *target_of(const struct request *req)
{
    const struct target_selector *t = &req->params.capture.target;
    const struct profile *p = req->capture.profile;
    json_t *target = json_object(), *pids = json_array();

    for (size_t i = 0; i < t->pid_count; i++)
        json_array_append_new(pids, json_integer(t->pids[i]));
    if (req->path_pid)
        json_array_append_new(pids, json_integer(req->path_pid));
    if (json_array_size(pids))
        json_object_set(target, "pid", pids);
    json_decref(pids);
    add_text(target, "container", t->container);
    add_text(target, "pod", t->pod);
    add_text(target, "namespace", t->pod_namespace);
    add_text(target, "jvm", t->jvm);
    add_text(target, "service", t->service);
    if (p)
        add_text(target, "is", p->target);
    if (p && p->process_count == 1) {
        add_text(target, "main", intern_get(p->strings, p->processes[0].name).p);
        add_text(target, "container_id", intern_get(p->strings, p->processes[0].container).p);
        add_text(target, "pod_name", intern_get(p->strings, p->processes[0].pod).p);
        add_text(target, "pod_namespace", intern_get(p->strings, p->processes[0].pod_namespace).p);
    }
    if (req->target_facts)
        json_object_update(target, req->target_facts);
    return target;
}

static void add_request(json_t *line, const struct request *req)
{
    const struct profile *p = req->capture.profile;

    json_object_set_new(line, "via", json_string(req->client->unix_socket ? "unix socket" : "TCP"));
    add_text(line, "address", req->client->peer_address);
    if (req->who.subject.kind == SUBJECT_NOBODY && req->client->end.peer.known)
        json_object_set_new(line, "peer_uid", json_integer((json_int_t)req->client->end.peer.uid));
    add_text(line, "claimed", req->who.password.claimed);
    json_object_set_new(line, "route", json_string(req->route ? req->route->path : "none"));
    add_text(line, "tool", req->mcp.tool);
    json_object_set_new(line, "target", target_of(req));
    add_text(line, "capture", req->capture_id[0] ? req->capture_id : p ? p->id : NULL);
    if (p)
        add_text(line, "symbols", p->symbols);
}

static void add_capture(json_t *line, const struct audit_outcome *o)
{
    json_object_set_new(line, "via", json_string("flamed"));
    json_object_set_new(line, "route", json_string("none"));
    json_object_set_new(line, "target", json_object());
    add_text(line, "capture", o->capture);
}

char *audit_line(const struct request *req, const struct audit_outcome *o)
{
    const struct subject *s = o->subject;
    char name[SUBJECT_NAME_BYTES];
    json_t *line = json_object();
    char *text;

    add_time(line);
    json_object_set_new(line, "action", json_string(audit_action_name(o->action)));
    json_object_set_new(line, "subject", json_string(subject_name(s, name)));
    if (s->kind == SUBJECT_USER)
        json_object_set_new(line, "uid", json_integer((json_int_t)s->uid));
    json_object_set_new(line, "known_by",
                        json_string(req && req->who.session[0] ? "cookie" : subject_known_by(s)));
    if (s->kind == SUBJECT_NOBODY)
        add_text(line, "unknown", s->problem);
    if (req)
        add_request(line, req);
    else
        add_capture(line, o);
    json_object_set_new(line, "status", json_integer(o->status));
    add_text(line, "problem", o->problem);
    text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(line);
    return text;
}
