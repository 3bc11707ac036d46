/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/scheduled.h"

#include "api/json.h"
#include "capture/capture_impl.h"
#include "schedule/timetable.h"

/* A run begins with a look at /proc that takes as long as the machine is busy: it is taken ahead.
 */
#define SWEEP_AHEAD_NS (500 * NSEC_PER_MSEC)

/* Runs are written down at once, what did not run as often as this. */
#define SAVE_EVERY_NS (5 * NSEC_PER_SEC)

struct entry {
    const struct rule *rule; /* of the rules beside */
    struct slot slot;        /* schedules */
    bool refused;            /* schedules: the run that is due was tried, and there was no room */
    uint64_t began_ns;       /* triggers: monotonic, of the last run; 0: none yet */
    struct store_history history;
    bool changed; /* not written down yet */
};

struct scheduled {
    struct rules *rules; /* owned */
    struct entry *schedules, *triggers;
    size_t schedule_count, trigger_count;
    uint64_t saved_ns; /* CLOCK_MONOTONIC: when the entries were last written down */
};

static struct clocks clocks_now(void)
{
    return (struct clocks){ clock_monotonic_ns(), clock_realtime_ns() };
}

/* ---- rules that come and go ---- */

int scheduled_new(struct scheduled **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct scheduled *scheduled_free(struct scheduled *s)
{
    if (!s)
        return NULL;
    free(s->schedules);
    free(s->triggers);
    rules_free(s->rules);
    free(s);
    return NULL;
}

static const struct entry *find_entry(const struct entry *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].rule->name, name) == 0)
            return &list[i];
    }
    return NULL;
}

static void entry_init(struct entry *n, const struct entry *before, const struct rule *rule,
                       struct engine *e, struct clocks now)
{
    struct span node = span_of(e->opts.node ? e->opts.node : "");

    n->rule = rule;
    if (!before && e->store)
        store_get_history(e->store, rule->name, &n->history, NULL);
    if (before) {
        n->history = before->history;
        n->changed = before->changed;
        n->began_ns = before->began_ns;
    }
    if (!rule->every_ns)
        return;
    if (before && before->rule->every_ns == rule->every_ns &&
        before->rule->for_ns == rule->for_ns) {
        n->slot = before->slot;
        return;
    }
    slot_init(&n->slot, rule->every_ns, rule->for_ns,
              timetable_phase(node, rule->name, rule->every_ns), now);
}

/* ---- what outlives flamed ---- */

static void entry_save(struct engine *e, struct entry *n)
{
    if (n->changed)
        keeper_put_history(e->keeper, n->rule->name, &n->history);
    n->changed = false;
}

void scheduled_save(struct engine *e)
{
    struct scheduled *s = e->scheduled;

    for (size_t i = 0; s && i < s->schedule_count; i++)
        entry_save(e, &s->schedules[i]);
    for (size_t i = 0; s && i < s->trigger_count; i++)
        entry_save(e, &s->triggers[i]);
}

int scheduled_set_rules(struct engine *e, struct rules *rules)
{
    struct scheduled *s = e->scheduled, fresh = { .rules = rules };
    struct clocks now = clocks_now();

    fresh.schedule_count = rules ? rules->schedule_count : 0;
    fresh.trigger_count = rules ? rules->trigger_count : 0;
    fresh.schedules = calloc(fresh.schedule_count + 1, sizeof(*fresh.schedules));
    fresh.triggers = calloc(fresh.trigger_count + 1, sizeof(*fresh.triggers));
    if (!fresh.schedules || !fresh.triggers) {
        free(fresh.schedules);
        free(fresh.triggers);
        return -ENOMEM;
    }
    for (size_t i = 0; i < fresh.schedule_count; i++) {
        const struct rule *rule = &rules->schedules[i];

        entry_init(&fresh.schedules[i], find_entry(s->schedules, s->schedule_count, rule->name),
                   rule, e, now);
    }
    for (size_t i = 0; i < fresh.trigger_count; i++) {
        const struct rule *rule = &rules->triggers[i];

        entry_init(&fresh.triggers[i], find_entry(s->triggers, s->trigger_count, rule->name), rule,
                   e, now);
    }
    scheduled_save(e);
    free(s->schedules);
    free(s->triggers);
    rules_free(s->rules);
    *s = fresh;
    return 0;
}

/* ---- runs ---- */

/* The result of captures_create(). */
static int run_rule(struct engine *e, struct entry *n, struct error *err)
{
    struct capture_request req = rule_request(n->rule);
    char id[CAPTURE_ID_BYTES];
    int r = captures_create(e, &req, n->rule->name, n->rule->keep_ns / NSEC_PER_SEC, id, err);

    if (r != 0)
        return r;
    memcpy(n->history.last_id, id, sizeof(id));
    n->history.last_ns = clock_realtime_ns();
    n->history.runs++;
    n->changed = true;
    entry_save(e, n);
    return 0;
}

static void note_error(struct entry *n, const struct error *err)
{
    n->changed = true;
    n->history.last_error_ns = clock_realtime_ns();
    snprintf(n->history.last_error, sizeof(n->history.last_error), "%s%s%s",
             err->msg[0] ? err->msg : "out of memory", err->remedy[0] ? ": " : "", err->remedy);
}

static void count_missed(struct entry *n, uint64_t missed)
{
    struct error err = ERROR_NULL;

    if (!missed)
        return;
    n->changed = true;
    n->history.missed += missed;
    if (!n->refused) { /* else last_error says why it could not begin */
        error_set(&err, -EBUSY, "flamed was too busy to begin it in time");
        note_error(n, &err);
    }
    n->refused = false;
}

static void schedule_run(struct engine *e, struct entry *n)
{
    struct error err = ERROR_NULL;
    int r = run_rule(e, n, &err);

    n->refused = r == BACKEND_TOO_MANY;
    if (r == 0) {
        slot_started(&n->slot, clocks_now());
        return;
    }
    note_error(n, &err);
    if (n->refused) {
        slot_retry(&n->slot, clocks_now());
        return;
    }
    slot_skip(&n->slot);
    if (r == BACKEND_NOT_FOUND)
        n->history.unmatched++;
    else
        n->history.missed++;
}

void scheduled_tick(struct engine *e)
{
    struct scheduled *s = e->scheduled;

    for (size_t i = 0; i < s->schedule_count; i++) {
        struct entry *n = &s->schedules[i];
        struct clocks now = clocks_now();
        uint64_t missed;
        bool due = slot_due(&n->slot, now, &missed);

        count_missed(n, missed);
        if (due)
            schedule_run(e, n);
        else if (n->rule->match.count && n->slot.next_ns - now.real_ns < SWEEP_AHEAD_NS)
            engine_sweep(e); /* once a second: the run itself finds it done */
    }
    if (clock_monotonic_ns() - s->saved_ns >= SAVE_EVERY_NS) {
        s->saved_ns = clock_monotonic_ns();
        scheduled_save(e);
    }
}

uint64_t scheduled_next_ns(const struct engine *e)
{
    const struct scheduled *s = e->scheduled;
    struct clocks now = clocks_now();
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < s->schedule_count; i++)
        next = MIN(next, slot_wake_ns(&s->schedules[i].slot, now));
    return next;
}

/* ---- triggers ---- */

static int not_found(const struct scheduled *s, const char *name, struct error *err)
{
    const struct rule *nearest = s->rules ? rules_nearest_trigger(s->rules, name) : NULL;

    error_set(err, -ENOENT, "there is no trigger '%.64s'", name);
    if (nearest)
        error_remedy(err, "the nearest is '%s'; GET /api/v1/schedules lists them", nearest->name);
    else
        error_remedy(err, "none is configured: add it under triggers in the configuration");
    return BACKEND_NOT_FOUND;
}

struct trigger_args {
    const char *name;
    char *id;
    struct error *err;
};

static int call_trigger(struct engine *e, void *arg)
{
    struct trigger_args *a = arg;
    struct scheduled *s = e->scheduled;
    struct entry *n = (struct entry *)find_entry(s->triggers, s->trigger_count, a->name);
    uint64_t now = clock_monotonic_ns(), again;
    int r;

    if (!n)
        return not_found(s, a->name, a->err);
    again = n->began_ns ? n->began_ns + n->rule->cooldown_ns : 0;
    if (now < again) {
        n->history.missed++;
        n->changed = true;
        error_set(a->err, -EAGAIN, "trigger '%s' started capture %s %llu s ago and is cooling down",
                  n->rule->name, n->history.last_id,
                  (unsigned long long)((now - n->began_ns) / NSEC_PER_SEC));
        if (a->err)
            a->err->retry_s = (unsigned)((again - now) / NSEC_PER_SEC) + 1;
        error_remedy(a->err, "ask again in %llu s, or lower its cooldown",
                     (unsigned long long)((again - now) / NSEC_PER_SEC) + 1);
        return BACKEND_TOO_MANY;
    }
    r = run_rule(e, n, a->err);
    if (r == 0) {
        n->began_ns = now;
        memcpy(a->id, n->history.last_id, CAPTURE_ID_BYTES);
        return 0;
    }
    if (r == BACKEND_NOT_FOUND)
        n->history.unmatched++;
    else
        n->history.missed++;
    note_error(n, a->err);
    return r;
}

int backend_trigger(void *ctx, const char *name, char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    struct error own = ERROR_NULL;
    struct trigger_args a = { name, ret_id, err ? err : &own };

    return engine_ask(ctx, call_trigger, &a, err);
}

/* ---- as JSON ---- */

static json_t *matchers_json(const struct matcher_list *list)
{
    _cleanup_buf_ struct buf text = BUF_NULL;

    buf_init(&text, MATCHERS_MAX * (2 * MATCHER_VALUE_MAX + 32));
    matchers_write(list, &text);
    return text.error ? NULL : json_string(text.p ? text.p : "");
}

static json_t *seconds_json(uint64_t ns)
{
    return ns ? json_real((double)ns / 1e9) : json_null();
}

static json_t *entry_json(const struct entry *n)
{
    const struct rule *rule = n->rule;
    const struct store_history *h = &n->history;
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
        json_object_set_new(o, "phase_seconds", json_real((double)n->slot.phase_ns / 1e9));
        json_object_set_new(o, "next_run", json_time(n->slot.next_ns));
    } else {
        json_object_set_new(o, "cooldown_seconds", json_real((double)rule->cooldown_ns / 1e9));
    }
    return o;
}

static json_t *entries_json(const struct entry *list, size_t count)
{
    json_t *all = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(all, entry_json(&list[i]));
    return all;
}

static int call_schedules(struct engine *e, void *arg)
{
    const struct scheduled *s = e->scheduled;
    json_t *o = json_pack("{s:o, s:o}", "schedules", entries_json(s->schedules, s->schedule_count),
                          "triggers", entries_json(s->triggers, s->trigger_count));

    *(json_t **)arg = o;
    return o ? 0 : -ENOMEM;
}

/* What has become of the last captures, which the engine may have handed to the store by now. */
static void add_states(void *ctx, json_t *list)
{
    size_t i;
    json_t *o;

    json_array_foreach(list, i, o)
    {
        const char *id = json_string_value(json_object_get(o, "last_capture"));
        json_t *facts = NULL, *state = NULL;

        if (id && backend_capture(ctx, &VIEWER_WHOLE, id, &facts, NULL) == 0)
            state = json_incref(json_object_get(facts, "state"));
        else if (id)
            state = json_string("removed");
        json_decref(facts);
        json_object_set_new(o, "last_state", state ? state : json_null());
    }
}

int backend_schedules(void *ctx, const struct viewer *v, json_t **ret, struct error *err)
{
    json_t *all = NULL;
    int r;

    if (!v->whole) { /* they are the node's */
        *ret = json_pack("{s:[], s:[]}", "schedules", "triggers");
        return *ret ? 0 : -ENOMEM;
    }
    r = engine_ask(ctx, call_schedules, &all, err);
    if (r != 0)
        return r;
    add_states(ctx, json_object_get(all, "schedules"));
    add_states(ctx, json_object_get(all, "triggers"));
    *ret = all;
    return 0;
}
