/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/audit.h"

#include "base/clock.h"
#include "base/log.h"
#include "serve/impl.h"

#include <time.h>

static const char *const ACTIONS[AUDIT_ACTIONS] = {
    [AUDIT_CAPTURE] = "capture", [AUDIT_ATTACH] = "attach",   [AUDIT_STOP] = "stop",
    [AUDIT_DELETE] = "delete",   [AUDIT_TRIGGER] = "trigger", [AUDIT_REFUSAL] = "refusal",
    [AUDIT_LOGIN] = "login",     [AUDIT_LOGOUT] = "logout",
};

struct audit_ring {
    struct audit_line {
        uint64_t number;
        char *json; /* owned; NULL: none yet */
    } * lines;      /* owned, [max] */
    size_t max, next;
};

struct audit {
    pthread_mutex_t lock;
    struct audit_ring acts, refusals;
    uint64_t number;
    uint64_t counts[AUDIT_ACTIONS];
};

struct audit *audit_new(void)
{
    struct audit *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    pthread_mutex_init(&a->lock, NULL);
    a->acts.max = AUDIT_ACTS_MAX;
    a->refusals.max = AUDIT_REFUSALS_MAX;
    a->acts.lines = calloc(a->acts.max, sizeof(*a->acts.lines));
    a->refusals.lines = calloc(a->refusals.max, sizeof(*a->refusals.lines));
    return a->acts.lines && a->refusals.lines ? a : audit_free(a);
}

static void ring_free(struct audit_ring *r)
{
    for (size_t i = 0; r->lines && i < r->max; i++)
        free(r->lines[i].json);
    free(r->lines);
}

struct audit *audit_free(struct audit *a)
{
    if (!a)
        return NULL;
    ring_free(&a->acts);
    ring_free(&a->refusals);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return NULL;
}

/* ---- one line ---- */

static bool enters_jvm(const struct params *p)
{
    return p->symbols == SYMBOLS_AGENT || p->symbols == SYMBOLS_PERFMAP ||
           p->map_symbols == SYMBOLS_AGENT || p->map_symbols == SYMBOLS_PERFMAP;
}

static enum audit_action action_of(const struct request *req)
{
    unsigned status = req->answer.status;

    if (status == 401 || status == 403)
        return AUDIT_REFUSAL;
    if (!req->route || req->head || (status >= 400 && status < 500 && status != 409))
        return AUDIT_NONE;
    if (req->route->audit == AUDIT_CAPTURE && req->params.given & PARAMS_RANGE)
        return AUDIT_NONE; /* the past is read, nothing is taken */
    if (req->route->audit == AUDIT_CAPTURE && enters_jvm(&req->params))
        return AUDIT_ATTACH;
    return req->route->audit;
}

static void add_time(json_t *line)
{
    uint64_t now = clock_realtime_ns();
    time_t seconds = (time_t)(now / NSEC_PER_SEC);
    char text[64] = "";
    struct tm utc;
    size_t n = 0;

    if (gmtime_r(&seconds, &utc))
        n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, sizeof(text) - n, ".%09lluZ", (unsigned long long)(now % NSEC_PER_SEC));
    json_object_set_new(line, "time", json_string(text));
}

static void add_text(json_t *object, const char *name, const char *value)
{
    if (value && value[0])
        json_object_set_new(object, name, json_string(value));
}

/* What was asked for: as it was asked, and as the profile says. */
static json_t *target_of(const struct request *req)
{
    const struct target_selector *t = &req->params.target;
    const struct profile *p = req->profile;
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
    if (p)
        add_text(target, "is", p->target);
    if (p && p->process_count == 1) {
        add_text(target, "main", intern_get(p->strings, p->processes[0].name).p);
        add_text(target, "container_id", intern_get(p->strings, p->processes[0].container).p);
        add_text(target, "pod_name", intern_get(p->strings, p->processes[0].pod).p);
    }
    return target;
}

/* The line, owned by the caller; NULL: out of memory. */
static char *line_of(const struct request *req, enum audit_action action)
{
    const struct profile *p = req->profile;
    const struct answer *a = &req->answer;
    char name[SUBJECT_NAME_BYTES];
    json_t *line = json_object();
    char *text;

    add_time(line);
    json_object_set_new(line, "action", json_string(ACTIONS[action]));
    json_object_set_new(line, "subject", json_string(subject_name(&req->subject, name)));
    if (req->subject.kind == SUBJECT_USER)
        json_object_set_new(line, "uid", json_integer((json_int_t)req->subject.uid));
    json_object_set_new(line, "known_by",
                        json_string(req->session[0] ? "cookie" : subject_known_by(&req->subject)));
    if (req->subject.kind == SUBJECT_NOBODY)
        add_text(line, "unknown", req->subject.problem);
    json_object_set_new(line, "via", json_string(req->client->unix_socket ? "unix socket" : "TCP"));
    json_object_set_new(line, "route", json_string(req->route ? req->route->path : "none"));
    json_object_set_new(line, "target", target_of(req));
    add_text(line, "capture", req->capture_id[0] ? req->capture_id : p ? p->id : NULL);
    if (p)
        add_text(line, "symbols", p->symbols);
    json_object_set_new(line, "status", json_integer(a->status));
    add_text(line, "problem", a->problem);
    text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(line);
    return text;
}

/* Keeps a line of @req: the time of each is taken in the order in which they are kept. A copy for
 * the log, owned by the caller; NULL: out of memory. */
static char *keep(struct audit *a, enum audit_action action, const struct request *req)
{
    struct audit_ring *r = action == AUDIT_REFUSAL ? &a->refusals : &a->acts;
    struct audit_line *to;
    char *json, *copy = NULL;

    pthread_mutex_lock(&a->lock);
    a->counts[action]++;
    json = line_of(req, action);
    if (json) {
        copy = strdup(json);
        to = &r->lines[r->next++ % r->max];
        free(to->json);
        *to = (struct audit_line){ ++a->number, json };
    }
    pthread_mutex_unlock(&a->lock);
    return copy;
}

void audit_note(struct audit *a, const struct request *req)
{
    enum audit_action action = action_of(req);
    char *line;

    if (action == AUDIT_NONE)
        return;
    line = keep(a, action, req);
    /* Whoever asks in vain does not fill the log. */
    if (line && (action != AUDIT_REFUSAL || log_limit()))
        log_info("audit %s", line);
    free(line);
}

/* ---- what is asked of it ---- */

/* The newest of @r with a number below @below. */
static const struct audit_line *newest(const struct audit_ring *r, uint64_t below)
{
    const struct audit_line *found = NULL;

    for (size_t i = 0; i < r->max && i < r->next; i++) {
        const struct audit_line *l = &r->lines[(r->next - 1 - i) % r->max];

        if (l->json && l->number < below && (!found || l->number > found->number)) {
            found = l;
            break; /* each is older than the one before */
        }
    }
    return found;
}

void audit_write(struct audit *a, size_t limit, struct buf *out)
{
    uint64_t acts = UINT64_MAX, refusals = UINT64_MAX;

    buf_add_str(out, "{\"audit\":[");
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < limit; i++) {
        const struct audit_line *x = newest(&a->acts, acts), *y = newest(&a->refusals, refusals);
        const struct audit_line *l = !x || (y && y->number > x->number) ? y : x;

        if (!l)
            break;
        if (l == x)
            acts = l->number;
        else
            refusals = l->number;
        if (i)
            buf_add_char(out, ',');
        buf_add_str(out, l->json);
    }
    pthread_mutex_unlock(&a->lock);
    buf_add_str(out, "]}\n");
}

void audit_metrics(struct audit *a, struct buf *out)
{
    uint64_t counts[AUDIT_ACTIONS];

    pthread_mutex_lock(&a->lock);
    memcpy(counts, a->counts, sizeof(counts));
    pthread_mutex_unlock(&a->lock);
    buf_add_str(out,
                "# HELP flamed_audit_total Captures, attaches, removals, triggers, logins "
                "and refusals, as /api/v1/audit lists them.\n# TYPE flamed_audit_total counter\n");
    for (size_t i = AUDIT_NONE + 1; i < AUDIT_ACTIONS; i++)
        buf_printf(out, "flamed_audit_total{action=\"%s\"} %llu\n", ACTIONS[i],
                   (unsigned long long)counts[i]);
}
