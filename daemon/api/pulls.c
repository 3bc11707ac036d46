/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pulls.h"

#include "api/exposition.h"
#include "api/past_impl.h"
#include "api/webhook.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/places.h"
#include "capture/process_selector.h"
#include "discover/service.h"

#define ANY_SEVERITY 2 /* lowest severity at which `on: signal` without a name fires */

/* A trigger and a JVM that meets its condition. */
struct pull {
    char trigger[RULE_NAME_MAX + 1];
    int32_t host_pid;
    uint64_t start_ticks;
    uint64_t owner;             /* proc_owner() */
    uint64_t since_ns, seen_ns; /* CLOCK_MONOTONIC: when the condition began to hold, and the last
                                 * pass in which it held */
    bool fired;
};

/* A trigger that fires in this pass. */
struct fired {
    char trigger[RULE_NAME_MAX + 1], event[sizeof(((struct rule *)NULL)->event)];
    char condition[sizeof(((struct condition *)NULL)->text)];
    uint64_t keep_ns;
    int32_t host_pid;
    bool webhook; /* true: the trigger has a webhook */
    char service[SERVICE_NAME_BYTES], sentence[RULE_SENTENCE_BYTES];
};

struct pulls {
    struct api *api;
    struct pull *list; /* owned; thread: the engine's during a pass */
    size_t count, room;
    struct places places; /* number of entries in the list by owner */
    _Atomic uint64_t fired, left_out, unsent;
};

/* One pass. Thread: the engine's. */
struct look {
    struct pulls *s;
    uint64_t now_ns;
    const struct rule *rule;
    struct target *target; /* the target of the rule */
    struct fired *ret;     /* [PULLS_AT_ONCE] */
    size_t count;
};

int pulls_new(struct api *api, struct pulls **ret)
{
    struct pulls *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->api = api;
    *ret = s;
    return 0;
}

struct pulls *pulls_free(struct pulls *s)
{
    if (s)
        free(s->list);
    free(s);
    return NULL;
}

/* ---- conditions that hold ---- */

static uint64_t owner_of(const void *table, size_t i)
{
    const struct pull *list = table;

    return list[i].owner;
}

/* Returns an entry for a JVM of @owner. If the list is full, replaces an entry of the owner with
 * the most entries. NULL: no room. */
static struct pull *new_place(struct pulls *s, uint64_t owner)
{
    size_t at = s->count;

    if (s->count == PULLS_MAX) {
        at = places_find(&s->places, owner, s->count, owner_of, s->list);
        s->left_out++;
        if (at == s->count)
            return NULL;
        places_give(&s->places, s->list[at].owner);
    } else if (array_grow(&s->list, &s->room, s->count + 1, 8)) {
        s->count++;
    } else {
        s->left_out++;
        return NULL;
    }
    places_take(&s->places, owner);
    return &s->list[at];
}

static struct pull *find(struct look *l, struct process *p)
{
    struct pulls *s = l->s;
    struct pull *place;

    for (size_t i = 0; i < s->count; i++) {
        struct pull *one = &s->list[i];

        if (one->host_pid == p->id.host_pid && one->start_ticks == p->id.start_ticks &&
            strcmp(one->trigger, l->rule->name) == 0)
            return one;
    }
    place = new_place(s, process_payer(p));
    if (!place)
        return NULL;
    *place = (struct pull){ .host_pid = p->id.host_pid,
                            .start_ticks = p->id.start_ticks,
                            .owner = p->payer,
                            .since_ns = l->now_ns };
    snprintf(place->trigger, sizeof(place->trigger), "%s", l->rule->name);
    return place;
}

/* Notes that the condition holds for @p, with the reason in @sentence. */
static void note(struct look *l, struct process *p, const char *sentence)
{
    struct pull *one = find(l, p);
    struct service service;
    struct fired *f;

    if (!one)
        return;
    one->seen_ns = l->now_ns;
    if (one->fired || l->now_ns - one->since_ns < l->rule->on.hold_ns || l->count == PULLS_AT_ONCE)
        return;
    one->fired = true;
    f = &l->ret[l->count++];
    *f = (struct fired){ .host_pid = p->id.host_pid,
                         .keep_ns = l->rule->keep_ns,
                         .webhook = l->rule->webhook };
    service_of_process(p, &service);
    snprintf(f->trigger, sizeof(f->trigger), "%s", l->rule->name);
    snprintf(f->event, sizeof(f->event), "%s", l->rule->event);
    snprintf(f->condition, sizeof(f->condition), "%s", l->rule->on.text);
    snprintf(f->service, sizeof(f->service), "%s", service.name);
    snprintf(f->sentence, sizeof(f->sentence), "%s", sentence);
}

static void see_signal(void *cookie, const struct signal *signal)
{
    struct look *l = cookie;
    const char *wanted = l->rule->on.signal;

    if ((wanted[0] ? strcmp(wanted, signal->rule->name) == 0 : signal->severity >= ANY_SEVERITY) &&
        !signal->process->exited && target_matches(l->target, signal->process))
        note(l, signal->process, signal->sentence);
}

static void see_measures(void *cookie, struct process *p, const double v[MEASURES])
{
    struct look *l = cookie;
    const struct condition *c = &l->rule->on;
    char sentence[RULE_SENTENCE_BYTES];

    if (!condition_met(c, v[c->measure]) || !target_matches(l->target, p))
        return;
    snprintf(sentence, sizeof(sentence), "%s: it is %.3g", c->text, v[c->measure]);
    note(l, p, sentence);
}

static void look_at(void *cookie, const struct scheduled_facts *f)
{
    struct look *l = cookie;
    _cleanup_(target_freep) struct target *target = NULL;
    const struct target_selector t = { .matchers = f->rule->match.count ? &f->rule->match : NULL,
                                       .viewer = &VIEWER_WHOLE };

    if (f->rule->on.kind == CONDITION_NONE || target_new(&t, &target, NULL) != 0)
        return;
    l->rule = f->rule;
    l->target = target;
    if (f->rule->on.kind == CONDITION_SIGNAL)
        signals_each(l->s->api->engine.signals, NULL, see_signal, l);
    else
        signals_measure(l->s->api->engine.signals, see_measures, l);
}

/* Drops the entries with conditions that no longer hold. */
static void sweep(struct pulls *s, uint64_t now_ns)
{
    for (size_t i = s->count; i-- > 0;) {
        if (s->list[i].seen_ns == now_ns)
            continue;
        places_give(&s->places, s->list[i].owner);
        s->list[i] = s->list[--s->count];
    }
}

static int call_look(struct api *api, void *arg)
{
    struct look *l = arg;

    l->now_ns = clock_monotonic_ns();
    scheduled_each(api->engine.scheduled, /* triggers= */ true, look_at, l);
    sweep(l->s, l->now_ns);
    return 0;
}

/* ---- firing ---- */

struct start {
    const struct fired *f;
    char *id;
    struct error *err;
    bool rests; /* its cooldown runs, or it already starts a capture */
};

static int call_start(struct api *api, void *arg)
{
    struct start *a = arg;

    a->rests = scheduled_trigger_rests(api->engine.scheduled, a->f->trigger);
    return scheduled_trigger(api->engine.scheduled, a->f->trigger, a->f->host_pid,
                             mailbox_ticket(api->engine.mailbox), a->id, a->err);
}

/* Writes the trigger's events that the recorder has; "cpu" if the recorder has none of them. */
static void recorded_events(const char *list, char *ret, size_t size)
{
    struct span names[EVENTS_AT_ONCE_MAX];
    size_t count = 0, n = 0;

    ret[0] = '\0';
    if (events_split(span_of(list), names, &count) < 0)
        count = 0;
    for (size_t i = 0; i < count && n < size; i++) {
        char name[EVENT_NAME_BYTES];

        span_copy(names[i], name, sizeof(name));
        if (past_is_recorded(name))
            n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? "," : "", name);
    }
    if (!ret[0])
        snprintf(ret, size, "%s", events_default()->name);
}

/* Stores the minute before @at_ns as a separate capture. Writes the id of that capture; "": nothing
 * was recorded. */
static void keep_before(struct pulls *s, const struct fired *f, uint64_t at_ns,
                        char ret_id[CAPTURE_ID_BYTES])
{
    const struct target_selector t = { .pids = { f->host_pid },
                                       .pid_count = 1,
                                       .viewer = &VIEWER_WHOLE };
    const struct time_range range = { at_ns - PULLS_BEFORE_NS, at_ns };
    const struct past_kept as = { f->trigger, f->keep_ns / NSEC_PER_SEC };
    char events[sizeof(f->event)];

    recorded_events(f->event, events, sizeof(events));
    if (past_keep(s->api, &t, &range, events, &as, ret_id, NULL) != 0)
        ret_id[0] = '\0';
}

/* Sends the event to the trigger's webhook. @problem: why there is no capture, or "". */
static void call_webhook(struct pulls *s, const struct fired *f, uint64_t at_ns, const char *id,
                         const char *before, const char *problem)
{
    const struct webhook_event e = { .trigger = f->trigger,
                                     .condition = f->condition,
                                     .service = f->service,
                                     .sentence = f->sentence,
                                     .host_pid = f->host_pid,
                                     .capture = id,
                                     .before = before,
                                     .problem = problem,
                                     .time_ns = at_ns };
    int r = f->webhook ? webhook_send(s->api, &e) : 0;

    s->unsent += r != 0;
    if (r == WEBHOOK_NEW)
        log_warn("trigger=%s: its webhook is new: flamed calls it only after a restart",
                 f->trigger);
    else if (r == WEBHOOK_NO_PUSH)
        log_warn("trigger=%s: its webhook is not called: flamed is starting, or had no webhook "
                 "when it was started",
                 f->trigger);
    else if (r < 0)
        log_warn_errno(r, "trigger=%s: its webhook is not called", f->trigger);
}

static void fire(struct pulls *s, const struct fired *f)
{
    uint64_t at_ns = clock_realtime_ns();
    char id[CAPTURE_ID_BYTES] = "", before[CAPTURE_ID_BYTES] = "";
    struct error err = ERROR_NULL;
    struct start a = { .f = f, .id = id, .err = &err };
    int r = api_ask(s->api, call_start, &a, &err);

    if (r != 0) {
        log_warn("trigger=%s host_pid=%d service=%s: %s; no capture: %s", f->trigger, f->host_pid,
                 f->service, f->sentence, err.msg);
        if (r != BACKEND_TOO_MANY || !a.rests) /* no event is sent during the cooldown */
            call_webhook(s, f, at_ns, "", "", err.msg);
        return;
    }
    s->fired++;
    keep_before(s, f, at_ns, before);
    log_info("trigger=%s host_pid=%d service=%s capture=%s before=%s: %s", f->trigger, f->host_pid,
             f->service, id, before[0] ? before : "none", f->sentence);
    call_webhook(s, f, at_ns, id, before, "");
}

void pulls_look(struct pulls *s)
{
    struct fired fired[PULLS_AT_ONCE];
    struct look l = { .s = s, .ret = fired };

    if (api_ask(s->api, call_look, &l, NULL) != 0)
        return;
    for (size_t i = 0; i < l.count; i++)
        fire(s, &fired[i]);
}

void pulls_metrics(struct pulls *s, struct buf *out)
{
    if (!s)
        return;
    metric(out, "flamed_triggers_fired_total", "Captures that triggers began by themselves.",
           s->fired);
    metric(out, "flamed_triggers_left_out_total",
           "Times that a trigger's condition held for a JVM and was not noted, because its table "
           "was full.",
           s->left_out);
    metric(out, "flamed_triggers_webhooks_lost_total",
           "Messages to webhooks of triggers that were lost before they reached a spool.",
           s->unsent);
}
