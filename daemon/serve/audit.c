/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "serve/audit_impl.h"
#include "serve/audit_ring.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Log budgets of a caller. */
struct audit_caller {
    struct caller caller;
    uint64_t at_ns; /* time of its last line; 0: unused */
    struct budget refusals, acts;
};

struct audit {
    pthread_mutex_t lock;
    struct audit_ring acts, refusals, nobodies; /* nobodies: refusals of callers that the kernel
                                                 * does not identify, which may be many */
    uint64_t number;
    uint64_t counts[AUDIT_ACTIONS];
    uint64_t limited; /* lines missing from the log */
    struct audit_caller callers[AUDIT_CALLERS_MAX];
    struct budget of_known, of_nobodies; /* for all callers of the kind together */
    struct audit_sink sink;
};

struct audit *audit_new(int file_fd, int journal_fd)
{
    struct audit *a = calloc(1, sizeof(*a));
    uint64_t now_ns = clock_monotonic_ns();

    if (!a) {
        if (file_fd > 0)
            close(file_fd);
        if (journal_fd > 0)
            close(journal_fd);
        return NULL;
    }
    pthread_mutex_init(&a->lock, NULL);
    audit_sink_init(&a->sink, file_fd, journal_fd);
    budget_init(&a->of_known, 1, AUDIT_KNOWN_AT_ONCE * AUDIT_KNOWN_NS, now_ns);
    budget_init(&a->of_nobodies, 1, AUDIT_NOBODIES_AT_ONCE * AUDIT_NOBODIES_NS, now_ns);
    return audit_ring_init(&a->acts, AUDIT_ACTS_MAX, AUDIT_ACTS_MAX) &&
                   audit_ring_init(&a->refusals, AUDIT_REFUSALS_MAX, AUDIT_REFUSALS_SHARE) &&
                   audit_ring_init(&a->nobodies, AUDIT_NOBODIES_MAX, AUDIT_NOBODIES_SHARE)
               ? a
               : audit_free(a);
}

struct audit *audit_free(struct audit *a)
{
    if (!a)
        return NULL;
    audit_ring_deinit(&a->acts);
    audit_ring_deinit(&a->refusals);
    audit_ring_deinit(&a->nobodies);
    audit_sink_deinit(&a->sink);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return NULL;
}

/* ---- actions ---- */

enum audit_action audit_action_of(const struct request *req)
{
    if (req->route->audit == AUDIT_CAPTURE && req->params.given & PARAMS_RANGE)
        return AUDIT_NONE; /* a range of the past begins no capture */
    if (req->route->audit == AUDIT_CAPTURE && params_enter_jvm(&req->params))
        return AUDIT_ATTACH;
    return req->route->audit;
}

static enum audit_action action_of(const struct request *req)
{
    unsigned status = req->answer.status;

    if ((status == 401 || status == 403) && !req->revoked)
        return AUDIT_REFUSAL;
    if (!req->route || req->wants.head ||
        (status >= 400 && status < 500 && status != 409 && status != STATUS_LEFT && !req->revoked))
        return AUDIT_NONE;
    return audit_action_of(req);
}

static void keep_facts(void *cookie, const struct jvm_facts *f)
{
    struct request *req = cookie;

    if (!req->target_facts)
        req->target_facts = audit_facts_json(f);
}

void audit_look(struct request *req)
{
    const struct target_selector *t = &req->params.capture.target;
    int32_t pid = req->path_pid ? req->path_pid : t->pid_count == 1 ? t->pids[0] : 0;
    const struct api_backend *be = &req->serve->be;

    const struct target_selector one = { .pids = { pid },
                                         .pid_count = 1,
                                         .viewer = &req->who.subject.viewer };

    if (pid && !req->wants.head && !req->target_facts && req->route->audit != AUDIT_NONE)
        be->jvms_each(be->ctx, &one, keep_facts, req, NULL);
}

/* ---- log budgets ---- */

static bool is_nobody(const struct request *req)
{
    return req->who.caller.kind == CALLER_ADDRESS;
}

/* Returns the log budgets of @c. A caller without budgets replaces the least recent caller and gets
 * full ones. */
static struct audit_caller *lines_of(struct audit *a, const struct caller *c, uint64_t now_ns)
{
    struct audit_caller *oldest = &a->callers[0];

    for (size_t i = 0; i < AUDIT_CALLERS_MAX; i++) {
        struct audit_caller *of = &a->callers[i];

        if (of->at_ns && caller_equal(&of->caller, c))
            return of;
        if (of->at_ns < oldest->at_ns)
            oldest = of;
    }
    *oldest = (struct audit_caller){ .caller = *c };
    budget_init(&oldest->refusals, 1, AUDIT_LINES_AT_ONCE * AUDIT_LINE_NS, now_ns);
    budget_init(&oldest->acts, 1, AUDIT_ACTS_AT_ONCE * AUDIT_ACT_NS, now_ns);
    return oldest;
}

/* Charges a refusal to @of, the caller of @req. False: a budget is used up. */
static bool take_refusal(struct audit *a, const struct request *req, struct audit_caller *of,
                         uint64_t now_ns)
{
    struct budget *all = is_nobody(req) ? &a->of_nobodies : &a->of_known;

    if (!budget_has(&of->refusals, now_ns) || !budget_has(all, now_ns))
        return false;
    budget_spend(&of->refusals, AUDIT_LINE_NS);
    budget_spend(all, is_nobody(req) ? AUDIT_NOBODIES_NS : AUDIT_KNOWN_NS);
    return true;
}

/* Charges an act to @of. False: the budget is used up. */
static bool take_act(struct audit_caller *of, uint64_t now_ns)
{
    if (!budget_has(&of->acts, now_ns))
        return false;
    budget_spend(&of->acts, AUDIT_ACT_NS);
    return true;
}

/* Returns whether the log takes one more line of @req's caller. Called with lock held. */
static bool take_line(struct audit *a, const struct request *req, bool refusal)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct audit_caller *of;
    bool room;

    if (!refusal && (!req || req->who.subject.role >= ROLE_MANAGE || req->who.subject.limited ||
                     caller_is_root(&req->who.caller)))
        return true;
    of = lines_of(a, &req->who.caller, now_ns);
    of->at_ns = now_ns;
    room = refusal ? take_refusal(a, req, of, now_ns) : take_act(of, now_ns);
    a->limited += !room;
    return room;
}

/* Formats and keeps a line under the lock, so that the times of lines are in their order. Returns a
 * copy for the log, owned by the caller; NULL: the budget is used up, or out of memory. */
static char *keep(struct audit *a, const struct request *req, const struct audit_outcome *o)
{
    bool refusal = o->action == AUDIT_REFUSAL;
    struct audit_ring *r = !refusal ? &a->acts : is_nobody(req) ? &a->nobodies : &a->refusals;
    const struct caller *c = req ? &req->who.caller : &(struct caller){ .kind = CALLER_SELF };
    char *json, *copy = NULL;
    LOCK_SCOPE(&a->lock);

    a->counts[o->action]++;
    json = audit_line(req, o);
    if (json) {
        copy = take_line(a, req, refusal) ? strdup(json) : NULL;
        audit_ring_put(r, c, ++a->number, json);
    }
    return copy;
}

/* ---- recording ---- */

static void note(struct audit *a, const struct request *req, const struct audit_outcome *o)
{
    char *line;

    if (o->action == AUDIT_NONE)
        return;
    line = keep(a, req, o);
    if (line) {
        audit_sink_append(&a->sink, line);
        if (!audit_sink_journal(&a->sink, line))
            log_info("audit %s", line);
    }
    free(line);
}

void audit_set_file(struct audit *a, int fd)
{
    audit_sink_set_file(&a->sink, fd);
}

void audit_note(struct audit *a, const struct request *req)
{
    const struct audit_outcome o = { .action = action_of(req),
                                     .status = req->answer.status,
                                     .subject = &req->who.subject,
                                     .problem = req->answer.problem };

    note(a, req, &o);
}

void audit_note_revoked(struct audit *a, const struct request *req, const char *sentence)
{
    enum audit_action of_route = audit_action_of(req);
    const struct audit_outcome o = { .action = of_route == AUDIT_NONE ? AUDIT_REFUSAL : of_route,
                                     .status = STATUS_REVOKED,
                                     .subject = &req->who.subject,
                                     .problem = sentence };

    note(a, req, &o);
}

void audit_note_stopped(struct audit *a, const struct subject *of, const char *capture,
                        const char *sentence)
{
    const struct audit_outcome o = { .action = AUDIT_STOP,
                                     .status = STATUS_REVOKED,
                                     .subject = of,
                                     .problem = sentence,
                                     .capture = capture };

    note(a, NULL, &o);
}

/* ---- reading ---- */

/* Returns the newest line with a number below @below. */
static const struct audit_line *newest(const struct audit *a, uint64_t below)
{
    const struct audit_ring *const rings[] = { &a->acts, &a->refusals, &a->nobodies };
    const struct audit_line *found = NULL;

    for (size_t k = 0; k < ARRAY_SIZE(rings); k++) {
        for (size_t i = 0; i < rings[k]->max; i++) {
            const struct audit_line *l = &rings[k]->lines[i];

            if (l->json && l->number < below && (!found || l->number > found->number))
                found = l;
        }
    }
    return found;
}

void audit_write(struct audit *a, size_t limit, struct buf *out)
{
    const struct audit_line *l;
    uint64_t below = UINT64_MAX;

    buf_add_str(out, "{\"audit\":[");
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < limit && (l = newest(a, below)); i++) {
        if (i)
            buf_add_char(out, ',');
        buf_add_str(out, l->json);
        below = l->number;
    }
    pthread_mutex_unlock(&a->lock);
    buf_add_str(out, "]}\n");
}

void audit_metrics(struct audit *a, struct buf *out)
{
    uint64_t counts[AUDIT_ACTIONS], limited, unwritten;

    pthread_mutex_lock(&a->lock);
    memcpy(counts, a->counts, sizeof(counts));
    limited = a->limited;
    unwritten = audit_sink_unwritten(&a->sink);
    pthread_mutex_unlock(&a->lock);
    buf_add_str(out, "# HELP flamed_audit_total Captures, attaches, removals, triggers, logins and "
                     "refusals, as /api/v1/audit lists them.\n# TYPE flamed_audit_total counter\n");
    for (size_t i = AUDIT_NONE + 1; i < AUDIT_ACTIONS; i++) {
        buf_add_str(out, "flamed_audit_total{action=\"");
        buf_add_str(out, audit_action_name((enum audit_action)i));
        buf_add_str(out, "\"} ");
        buf_add_u64(out, counts[i]);
        buf_add_char(out, '\n');
    }
    buf_printf(out,
               "# HELP flamed_audit_unlogged_total Lines of the audit that are not in the log "
               "(limit: lines of a caller with many) or in its file.\n# TYPE "
               "flamed_audit_unlogged_total counter\nflamed_audit_unlogged_total{reason=\"limit\"} "
               "%llu\nflamed_audit_unlogged_total{reason=\"file\"} %llu\n",
               (unsigned long long)limited, (unsigned long long)unwritten);
}
