/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/audit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "serve/impl.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

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
    int file_fd;    /* to append to; guarded by lock; -1: none */
    int journal_fd; /* -1: none */
};

struct audit *audit_new(int file_fd, int journal_fd)
{
    struct audit *a = calloc(1, sizeof(*a));

    if (!a) {
        if (file_fd > 0)
            close(file_fd);
        if (journal_fd > 0)
            close(journal_fd);
        return NULL;
    }
    pthread_mutex_init(&a->lock, NULL);
    a->file_fd = file_fd > 0 ? file_fd : -1;
    a->journal_fd = journal_fd > 0 ? journal_fd : -1;
    a->acts.max = AUDIT_ACTS_MAX;
    a->refusals.max = AUDIT_REFUSALS_MAX;
    a->acts.lines = calloc(a->acts.max, sizeof(*a->acts.lines));
    a->refusals.lines = calloc(a->refusals.max, sizeof(*a->refusals.lines));
    return a->acts.lines && a->refusals.lines ? a : audit_free(a);
}

void audit_set_file(struct audit *a, int fd)
{
    int old;

    pthread_mutex_lock(&a->lock);
    old = a->file_fd;
    a->file_fd = fd;
    pthread_mutex_unlock(&a->lock);
    close_fd(old);
}

int audit_journal_open(const char *path)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = -1;

    if (!path || strlen(path) >= sizeof(sa.sun_path))
        return -1;
    span_copy(span_of(path), sa.sun_path, sizeof(sa.sun_path));
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
        return -1;
    return take_fd(&fd);
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
    close_fd(a->file_fd);
    close_fd(a->journal_fd);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return NULL;
}

/* ---- one line ---- */

static enum audit_action action_of_route(const struct request *req)
{
    if (req->route->audit == AUDIT_CAPTURE && req->params.given & PARAMS_RANGE)
        return AUDIT_NONE; /* the past is read, nothing is taken */
    if (req->route->audit == AUDIT_CAPTURE && params_enter_jvm(&req->params))
        return AUDIT_ATTACH;
    return req->route->audit;
}

static enum audit_action action_of(const struct request *req)
{
    unsigned status = req->answer.status;

    if ((status == 401 || status == 403) && !req->revoked)
        return AUDIT_REFUSAL;
    if (!req->route || req->head ||
        (status >= 400 && status < 500 && status != 409 && status != STATUS_LEFT && !req->revoked))
        return AUDIT_NONE;
    return action_of_route(req);
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

static void copy_member(json_t *to, const char *name, const json_t *from, const char *member)
{
    json_t *value = json_object_get(from, member);

    if (value && !json_is_null(value))
        json_object_set(to, name, value);
}

/* What the process is that was asked for, as GET /api/v1/jvms/{pid} has it. */
static void add_facts(json_t *target, const json_t *facts)
{
    const json_t *container = json_object_get(facts, "container"),
                 *pod = json_object_get(facts, "pod");

    copy_member(target, "uid", facts, "uid");
    copy_member(target, "main", facts, "main");
    copy_member(target, "container_id", container, "id");
    copy_member(target, "pod_name", pod, "name");
    copy_member(target, "pod_namespace", pod, "namespace");
}

/* What was asked for: as it was asked, as it was known then, and as the profile says. */
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
        add_text(target, "pod_namespace", intern_get(p->strings, p->processes[0].pod_namespace).p);
    }
    if (req->target_facts)
        add_facts(target, req->target_facts);
    return target;
}

void audit_look(struct request *req)
{
    const struct target_selector *t = &req->params.target;
    int32_t pid = req->path_pid ? req->path_pid : t->pid_count == 1 ? t->pids[0] : 0;
    const struct api_backend *be = &req->serve->be;

    if (pid && !req->head && !req->target_facts && req->route->audit != AUDIT_NONE && be->jvm &&
        be->jvm(be->ctx, &req->subject.viewer, pid, &req->target_facts, NULL) != 0)
        req->target_facts = NULL;
}

/* What became of a request, or of a capture that it left behind. */
struct outcome {
    enum audit_action action;
    unsigned status;
    const struct subject *subject;
    const char *problem, *capture; /* NULL: none */
};

static void add_request(json_t *line, const struct request *req)
{
    const struct profile *p = req->profile;

    json_object_set_new(line, "via", json_string(req->client->unix_socket ? "unix socket" : "TCP"));
    json_object_set_new(line, "route", json_string(req->route ? req->route->path : "none"));
    json_object_set_new(line, "target", target_of(req));
    add_text(line, "capture", req->capture_id[0] ? req->capture_id : p ? p->id : NULL);
    if (p)
        add_text(line, "symbols", p->symbols);
}

static void add_capture(json_t *line, const struct outcome *o)
{
    json_object_set_new(line, "via", json_string("flamed"));
    json_object_set_new(line, "route", json_string("none"));
    json_object_set_new(line, "target", json_object());
    add_text(line, "capture", o->capture);
}

/* The line, owned by the caller; NULL: out of memory. @req: NULL for a capture. */
static char *line_of(const struct request *req, const struct outcome *o)
{
    const struct subject *s = o->subject;
    char name[SUBJECT_NAME_BYTES];
    json_t *line = json_object();
    char *text;

    add_time(line);
    json_object_set_new(line, "action", json_string(ACTIONS[o->action]));
    json_object_set_new(line, "subject", json_string(subject_name(s, name)));
    if (s->kind == SUBJECT_USER)
        json_object_set_new(line, "uid", json_integer((json_int_t)s->uid));
    json_object_set_new(line, "known_by",
                        json_string(req && req->session[0] ? "cookie" : subject_known_by(s)));
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

/* Keeps a line of @req: the time of each is taken in the order in which they are kept. A copy for
 * the log, owned by the caller; NULL: out of memory. */
static char *keep(struct audit *a, const struct request *req, const struct outcome *o)
{
    struct audit_ring *r = o->action == AUDIT_REFUSAL ? &a->refusals : &a->acts;
    struct audit_line *to;
    char *json, *copy = NULL;

    pthread_mutex_lock(&a->lock);
    a->counts[o->action]++;
    json = line_of(req, o);
    if (json) {
        copy = strdup(json);
        to = &r->lines[r->next++ % r->max];
        free(to->json);
        *to = (struct audit_line){ ++a->number, json };
    }
    pthread_mutex_unlock(&a->lock);
    return copy;
}

/* ---- the journal and the file ---- */

/* Fields of the journal: MESSAGE first. What has several values, or none, has no field. */
static const struct {
    const char *field, *member;
    bool of_target;
} FIELDS[] = {
    { "FLAMED_ACTION", "action", false },
    { "FLAMED_SUBJECT", "subject", false },
    { "FLAMED_KNOWN_BY", "known_by", false },
    { "FLAMED_VIA", "via", false },
    { "FLAMED_ROUTE", "route", false },
    { "FLAMED_CAPTURE", "capture", false },
    { "FLAMED_STATUS", "status", false },
    { "FLAMED_TARGET_PID", "pid", true },
    { "FLAMED_TARGET_UID", "uid", true },
    { "FLAMED_TARGET_MAIN", "main", true },
    { "FLAMED_TARGET_CONTAINER", "container_id", true },
    { "FLAMED_TARGET_POD", "pod_name", true },
    { "FLAMED_TARGET_NAMESPACE", "pod_namespace", true },
};

/* A line for each: a line break in a value would begin a field of its own. */
static void add_field(struct buf *out, const char *field, const json_t *value)
{
    const char *text = json_string_value(value);

    if (json_is_array(value) && json_array_size(value) == 1)
        value = json_array_get(value, 0);
    if (json_is_integer(value)) {
        buf_printf(out, "%s=%lld\n", field, (long long)json_integer_value(value));
        return;
    }
    if (!text)
        return;
    buf_printf(out, "%s=", field);
    for (; *text; text++)
        buf_add_char(out, (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
    buf_add_char(out, '\n');
}

/* False: the journal did not take it. */
static bool tell_journal(const struct audit *a, const char *line)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    json_t *value;
    bool sent;

    if (a->journal_fd < 0)
        return false;
    buf_init(&text, AUDIT_JOURNAL_MAX_BYTES);
    buf_printf(&text, "PRIORITY=6\nSYSLOG_IDENTIFIER=flamed\nMESSAGE=audit %s\n", line);
    value = json_loads(line, 0, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(FIELDS); i++)
        add_field(&text, FIELDS[i].field,
                  json_object_get(FIELDS[i].of_target ? json_object_get(value, "target") : value,
                                  FIELDS[i].member));
    json_decref(value);
    sent = !text.error && send(a->journal_fd, text.p, text.n, MSG_NOSIGNAL) == (ssize_t)text.n;
    return sent;
}

static void append_to_file(struct audit *a, const char *line)
{
    struct iovec parts[] = { { (char *)(uintptr_t)line, strlen(line) },
                             { (char *)(uintptr_t) "\n", 1 } };
    bool failed;

    pthread_mutex_lock(&a->lock);
    failed = a->file_fd >= 0 && writev(a->file_fd, parts, ARRAY_SIZE(parts)) < 0;
    pthread_mutex_unlock(&a->lock);
    if (failed && log_limit())
        log_err_errno(-errno, "cannot write to the audit log");
}

static void note(struct audit *a, const struct request *req, const struct outcome *o)
{
    char *line;

    if (o->action == AUDIT_NONE)
        return;
    line = keep(a, req, o);
    /* Whoever asks in vain does not fill the log. */
    if (line && (o->action != AUDIT_REFUSAL || log_limit())) {
        append_to_file(a, line);
        if (!tell_journal(a, line))
            log_info("audit %s", line);
    }
    free(line);
}

void audit_note(struct audit *a, const struct request *req)
{
    const struct outcome o = { .action = action_of(req),
                               .status = req->answer.status,
                               .subject = &req->subject,
                               .problem = req->answer.problem };

    note(a, req, &o);
}

void audit_note_revoked(struct audit *a, const struct request *req, const char *sentence)
{
    enum audit_action of_route = action_of_route(req);
    const struct outcome o = { .action = of_route == AUDIT_NONE ? AUDIT_REFUSAL : of_route,
                               .status = STATUS_REVOKED,
                               .subject = &req->subject,
                               .problem = sentence };

    note(a, req, &o);
}

void audit_note_stopped(struct audit *a, const struct subject *of, const char *capture,
                        const char *sentence)
{
    const struct outcome o = { .action = AUDIT_STOP,
                               .status = STATUS_REVOKED,
                               .subject = of,
                               .problem = sentence,
                               .capture = capture };

    note(a, NULL, &o);
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
