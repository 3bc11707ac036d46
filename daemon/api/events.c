/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/events: the events that can be sampled, and why others cannot. */
#include "api/api_impl.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "event/event_form.h"
#include "event/event_match.h"
#include "event/events.h"

#define LISTED_TRACEPOINTS_MAX 200 /* tracepoints in one answer; further ones are counted */
#define REASON_BYTES (ERROR_MSG_MAX + ERROR_REMEDY_MAX + 4)
#define CHECKS_KEPT_NS NSEC_PER_SEC      /* the broker opens some forty events for an answer */
#define LIST_MAX_BYTES ((size_t)1 << 20) /* limit of a list of the broker */

struct listing {
    struct api *api;
    struct span match;       /* NULL: all */
    const struct process *p; /* the request's pid; NULL: no pid, or a process not yet known */
    json_t *list;
};

static void tell_error(const struct error *why, char reason[REASON_BYTES])
{
    snprintf(reason, REASON_BYTES, "%s%s%s", why->msg, why->remedy[0] ? "; " : "", why->remedy);
}

/* Returns true, and writes the reason, if @event needs a JVM and @p is not a JVM. */
static bool lacks_jvm(const struct process *p, const struct event_info *event,
                      char reason[REASON_BYTES])
{
    if (!p || p->jvm != JVM_NO || !(event->flags & EVENT_OF_JVM))
        return false;
    snprintf(reason, REASON_BYTES,
             "process %d is no JVM: it has no libjvm.so mapped; GET /api/v1/jvms lists the JVMs, "
             "nativelock, malloc and offcpu work for any process",
             p->id.host_pid);
    return true;
}

/* Writes to @reason why @name cannot be sampled; "": it can be sampled. Returns true if the name is
 * invalid, not just unavailable. */
static bool find_reason(struct api *api, const char *name, char reason[REASON_BYTES])
{
    struct error why = ERROR_NULL;
    int r = 0;

    reason[0] = '\0';
    if (!sampling_works(api->engine.sampling))
        snprintf(reason, REASON_BYTES, "%s", api->engine.sampling->facts.bpf_problem);
    else
        r = broker_sample_check(api->engine.broker, name, &why);
    if (r < 0)
        tell_error(&why, reason);
    return r == -EINVAL;
}

/* Writes the reason that the broker's list of checks gives for @name. Returns false if the list
 * lacks @name. */
static bool find_check(const struct listing *l, const char *name, char reason[REASON_BYTES])
{
    struct span text = buf_span(&l->api->checks.text), line;

    while (span_take_line(&text, &line)) {
        if (span_take_str(&line, name) && span_take_char(&line, '\t')) {
            span_copy(line, reason, REASON_BYTES);
            return true;
        }
    }
    return false;
}

static json_t *event_json(const struct event_info *event, const char *name, const char *reason)
{
    return json_pack("{s:s, s:s, s:s, s:f, s:I, s:s, s:b, s:s}", "name", name, "description",
                     event->description, "unit", event->unit, "default_hz", event->default_hz,
                     "default_interval",
                     (json_int_t)(event_is_timed(event) ? (uint64_t)(1e9 / event->default_hz)
                                                        : event->default_period),
                     "cost", event->cost, "available", reason[0] == 0, "reason", reason);
}

static void add_event(struct listing *l, const struct event_info *event, const char *name)
{
    char reason[REASON_BYTES];

    if (l->match.p && !event_match(l->match, span_of(name)) &&
        !event_match(l->match, span_of(event->description)))
        return;
    if (!lacks_jvm(l->p, event, reason) && !find_check(l, name, reason))
        find_reason(l->api, name, reason);
    json_array_append_new(l->list, event_json(event, name, reason));
}

/* Reads into @ret the list that @ask gets from the broker. 0; -errno with @err. */
static int read_list(struct broker *b, int (*ask)(struct broker *b, int *ret_fd, struct error *err),
                     struct buf *ret, struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r = ask(b, &fd, err);

    buf_init(ret, LIST_MAX_BYTES);
    if (r == 0) {
        r = buf_read_fd(ret, fd);
        if (r < 0)
            error_code(err, r, "cannot read a list of events");
    }
    return r;
}

/* Asks the broker again which events the machine has, unless it was asked in the last second. */
static void renew_checks(struct api *api)
{
    struct event_checks *checks = &api->checks;
    uint64_t now_ns = clock_monotonic_ns();

    if (!sampling_works(api->engine.sampling) ||
        (checks->asked_ns && now_ns - checks->asked_ns < CHECKS_KEPT_NS))
        return;
    checks->asked_ns = now_ns;
    buf_deinit(&checks->text);
    read_list(api->engine.broker, broker_sample_checks, &checks->text, NULL);
}

/* Lists the events of events.def, and those of processor caches. */
static void list_all(struct listing *l)
{
    char name[EVENT_CACHE_NAME_BYTES];
    size_t count;
    const struct event_info *events = events_table(&count);

    renew_checks(l->api);
    for (size_t i = 0; i < count; i++)
        add_event(l, &events[i], events[i].name);
    for (size_t i = 0; event_cache_name(i, name); i++)
        add_event(l, events_find(name), name);
}

/* Lists the names of tracepoints in @text. Checks only the first tracepoint: the kernel takes long
 * to open and close one, and can open each that it lists. Returns how many matches are left out. */
static size_t list_tracepoints(struct listing *l, struct span text)
{
    size_t listed = 0, left_out = 0;
    char name[EVENT_NAME_BYTES], reason[REASON_BYTES];
    struct span line;

    while (span_take_until(&text, '\n', &line)) {
        const struct event_info *event;

        if (line.n >= sizeof(name) || !event_match(l->match, line))
            continue;
        span_copy(line, name, sizeof(name));
        event = events_find(name);
        if (!event)
            continue;
        if (listed == LISTED_TRACEPOINTS_MAX) {
            left_out++;
            continue;
        }
        if (listed++ == 0)
            find_reason(l->api, name, reason);
        json_array_append_new(l->list, event_json(event, name, reason));
    }
    return left_out;
}

/* Lists the tracepoints that the broker knows. Returns as list_tracepoints(). @reason: why the list
 * could not be read. */
static size_t read_tracepoints(struct listing *l, char reason[REASON_BYTES])
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct error err = ERROR_NULL;

    if (read_list(l->api->engine.broker, broker_tracepoints, &text, &err) != 0) {
        tell_error(&err, reason);
        return 0;
    }
    return list_tracepoints(l, buf_span(&text));
}

int facts_events(struct api *api, const struct document_query *q, json_t **ret, struct error *err)
{
    const struct target_selector one = { .pids = { q->host_pid },
                                         .pid_count = 1,
                                         .viewer = q->viewer };
    struct listing l = { .api = api, .match = q->match ? span_of(q->match) : SPAN_NULL };
    char reason[REASON_BYTES] = "";
    size_t left_out = 0;
    int r = q->host_pid ? facts_check(api, &one, err) : 0;

    if (r != 0)
        return r;
    l.p = q->host_pid ? discover_find(api->engine.discover, q->host_pid) : NULL;
    l.list = json_array();
    list_all(&l);
    if (q->match)
        left_out = read_tracepoints(&l, reason);
    *ret = q->match ? json_pack("{s:o, s:I, s:s}", "events", l.list, "left_out",
                                (json_int_t)left_out, "tracepoints_reason", reason)
                    : json_pack("{s:o}", "events", l.list);
    return *ret ? 0 : -ENOMEM;
}

int facts_events_check(struct api *api, const char *names, struct error *err)
{
    char name[EVENT_NAME_BYTES], reason[REASON_BYTES];
    struct span parts[EVENTS_AT_ONCE_MAX];
    size_t count;
    int r = events_split(span_of(names), parts, &count);

    for (size_t i = 0; r == 0 && i < count; i++) {
        bool wrong;

        span_copy(parts[i], name, sizeof(name));
        wrong = find_reason(api, name, reason);
        if (wrong && strchr(name, '{'))
            return error_parameter(err, "filter", -EINVAL, "%s", reason);
        if (reason[0]) {
            error_remedy(err, "GET /api/v1/events lists the events that can be sampled here");
            error_parameter(err, "event", -EOPNOTSUPP, "%s", reason);
            r = BACKEND_UNAVAILABLE;
        }
    }
    return r;
}
