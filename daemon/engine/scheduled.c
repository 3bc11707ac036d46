/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/scheduled.h"

#include "base/clock.h"
#include "base/list.h"
#include "schedule/timetable.h"

/* A run needs a recent sweep of /proc, which takes longer on a busy machine. The sweep is made this
 * long before a run. */
#define SWEEP_AHEAD_NS (500 * NSEC_PER_MSEC)

/* Interval of saving histories that have changed, or could not be written. */
#define SAVE_EVERY_NS (5 * NSEC_PER_SEC)
/* Interval of attempts to read histories that could not be read: a disk may make one take long. */
#define READ_AGAIN_NS (30 * NSEC_PER_SEC)

struct entry {
    const struct rule *rule; /* points into the rules of struct scheduled */
    struct slot slot;        /* schedules only */
    bool refused;            /* schedules: the due run was refused for want of room */
    uint64_t began_ns;       /* triggers: CLOCK_MONOTONIC of the last run; 0: none */
    bool starting;           /* triggers: the capture does not sample yet */
    struct store_runs history;
    bool changed; /* the history is not saved yet */
    bool unread;  /* the store may have a history that must be added before this one is saved */
};

struct scheduled {
    struct scheduled_env env;
    struct rules *rules; /* owned */
    struct entry *schedules, *triggers;
    size_t schedule_count, trigger_count;
    uint64_t saved_ns; /* CLOCK_MONOTONIC of the last save */
    uint64_t read_ns;  /* CLOCK_MONOTONIC of the last attempt to read histories */
};

static struct clocks clocks_now(void)
{
    return (struct clocks){ clock_monotonic_ns(), clock_realtime_ns() };
}

/* ---- rules that come and go ---- */

int scheduled_new(const struct scheduled_env *env, struct scheduled **ret)
{
    struct scheduled *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->env = *env;
    *ret = s;
    return 0;
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
    return FIRST_OF(i, list, count, strcmp(list[i].rule->name, name) == 0);
}

static void entry_init(struct entry *n, const struct entry *before, const struct rule *rule,
                       const struct scheduled_env *env, struct clocks now)
{
    struct span node = span_of(env->node ? env->node : "");

    n->rule = rule;
    n->unread = before ? before->unread : env->store != NULL;
    if (before) {
        n->history = before->history;
        n->changed = before->changed;
        n->began_ns = before->began_ns;
        n->starting = before->starting;
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

/* Adds the stored history of @n to that since flamed's start. Returns false if the store cannot be
 * read now. */
static bool entry_read(const struct scheduled *s, struct entry *n)
{
    struct store_runs stored = { 0 }, *h = &n->history;

    if (!n->unread)
        return true;
    if (store_get_runs(s->env.store, n->rule->name, &stored, NULL) < 0)
        return false;
    n->unread = false;
    h->runs += stored.runs;
    h->missed += stored.missed;
    h->unmatched += stored.unmatched;
    if (!h->last_ns) {
        h->last_ns = stored.last_ns;
        memcpy(h->last_id, stored.last_id, sizeof(h->last_id));
        n->began_ns = stored.last_ns ? clock_monotonic_of(stored.last_ns) : 0;
    }
    if (!h->last_error_ns) {
        h->last_error_ns = stored.last_error_ns;
        memcpy(h->last_error, stored.last_error, sizeof(h->last_error));
    }
    return true;
}

/* Reads the histories that are not read yet, up to the first failure. */
static void read_histories(struct scheduled *s)
{
    bool works = true;

    s->read_ns = clock_monotonic_ns();
    for (size_t i = 0; i < s->schedule_count && works; i++)
        works = entry_read(s, &s->schedules[i]);
    for (size_t i = 0; i < s->trigger_count && works; i++)
        works = entry_read(s, &s->triggers[i]);
}

static void entry_save(struct scheduled *s, struct entry *n)
{
    if (!n->changed || n->unread)
        return;
    store_writer_put_runs(s->env.store_writer, n->rule->name, &n->history);
    n->changed = false;
}

/* Marks the history of @n as not saved, if it has anything to save. */
static void save_again(struct entry *n)
{
    n->changed |= n->history.last_ns || n->history.last_error_ns;
}

static void save_histories(struct scheduled *s)
{
    if (store_writer_take_failed_runs(s->env.store_writer)) {
        for (size_t i = 0; i < s->schedule_count; i++)
            save_again(&s->schedules[i]);
        for (size_t i = 0; i < s->trigger_count; i++)
            save_again(&s->triggers[i]);
    }
    for (size_t i = 0; i < s->schedule_count; i++)
        entry_save(s, &s->schedules[i]);
    for (size_t i = 0; i < s->trigger_count; i++)
        entry_save(s, &s->triggers[i]);
}

void scheduled_save(struct scheduled *s)
{
    if (!s)
        return;
    read_histories(s);
    save_histories(s);
}

int scheduled_set_rules(struct scheduled *s, struct rules *rules)
{
    struct scheduled fresh = { .env = s->env, .rules = rules };
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
                   rule, &s->env, now);
    }
    for (size_t i = 0; i < fresh.trigger_count; i++) {
        const struct rule *rule = &rules->triggers[i];

        entry_init(&fresh.triggers[i], find_entry(s->triggers, s->trigger_count, rule->name), rule,
                   &s->env, now);
    }
    save_histories(s);
    free(s->schedules);
    free(s->triggers);
    rules_free(s->rules);
    *s = fresh;
    read_histories(s);
    return 0;
}

/* ---- runs ---- */

/* Records that the capture @id of rule @n samples. */
static void note_run(struct scheduled *s, struct entry *n, const char *id)
{
    n->began_ns = clock_monotonic_ns();
    span_copy(span_of(id), n->history.last_id, sizeof(n->history.last_id));
    n->history.last_ns = clock_realtime_ns();
    n->history.runs++;
    n->changed = true;
    entry_save(s, n);
}

/* Starts the capture of rule @n. Returns as captures_create(). */
static int run_rule(struct scheduled *s, struct entry *n, int32_t host_pid, uint64_t ticket,
                    char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    struct capture_request req = rule_request(n->rule);
    int r;

    if (host_pid) {
        req.target.pids[0] = host_pid;
        req.target.pid_count = 1;
    }
    r = captures_create(s->env.captures, &req, n->rule->name, n->rule->keep_ns / NSEC_PER_SEC,
                        ticket, ret_id, err);
    if (r == 0)
        note_run(s, n, ret_id);
    return r;
}

static void note_error(struct entry *n, const struct error *err)
{
    n->changed = true;
    n->history.last_error_ns = clock_realtime_ns();
    snprintf(n->history.last_error, sizeof(n->history.last_error), "%s%s%s",
             err->msg[0] ? err->msg : "out of memory", err->remedy[0] ? ": " : "", err->remedy);
}

/* Stores why the capture of @n failed: @r with @err. */
static void note_failure(struct entry *n, int r, const struct error *err)
{
    if (r == BACKEND_NOT_FOUND)
        n->history.unmatched++;
    else
        n->history.missed++;
    note_error(n, err);
}

void scheduled_begun(struct scheduled *s, const struct capture_begun *b)
{
    struct entry *n = (struct entry *)find_entry(s->triggers, s->trigger_count, b->schedule);

    if (n)
        n->starting = false;
    else
        n = (struct entry *)find_entry(s->schedules, s->schedule_count, b->schedule);
    if (n && b->r == 0)
        note_run(s, n, b->id);
    else if (n)
        note_failure(n, b->r, b->err);
}

static void count_missed(struct entry *n, uint64_t missed)
{
    struct error err = ERROR_NULL;

    if (!missed)
        return;
    n->changed = true;
    n->history.missed += missed;
    if (!n->refused) { /* else last_error already has the reason */
        error_set(&err, -EBUSY, "flamed was too busy to begin it in time");
        note_error(n, &err);
    }
    n->refused = false;
}

static void schedule_run(struct scheduled *s, struct entry *n)
{
    struct error err = ERROR_NULL;
    char id[CAPTURE_ID_BYTES];
    int r = run_rule(s, n, /* host_pid= */ 0, /* ticket= */ 0, id, &err);

    n->refused = r == BACKEND_TOO_MANY;
    if (r == 0 || r == -EINPROGRESS) {
        slot_started(&n->slot, clocks_now());
    } else if (n->refused) {
        note_error(n, &err);
        slot_retry(&n->slot, clocks_now());
    } else {
        note_failure(n, r, &err);
        slot_skip(&n->slot);
    }
}

void scheduled_tick(struct scheduled *s)
{
    for (size_t i = 0; i < s->schedule_count; i++) {
        struct entry *n = &s->schedules[i];
        struct clocks now = clocks_now();
        uint64_t missed;
        bool due = slot_due(&n->slot, now, &missed);

        count_missed(n, missed);
        if (due)
            schedule_run(s, n);
        else if (n->rule->match.count && n->slot.next_ns - now.real_ns < SWEEP_AHEAD_NS)
            discover_catch_up(s->env.discover); /* so that the run needs no sweep of /proc */
    }
    if (clock_monotonic_ns() - s->read_ns >= READ_AGAIN_NS)
        read_histories(s);
    if (clock_monotonic_ns() - s->saved_ns >= SAVE_EVERY_NS) {
        s->saved_ns = clock_monotonic_ns();
        save_histories(s);
    }
}

uint64_t scheduled_next_ns(const struct scheduled *s)
{
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

/* Refuses to start another capture of the trigger @n. */
static int refuse_trigger(struct entry *n, uint64_t wait_ns, struct error *err)
{
    err->retry_s = (unsigned)(wait_ns / NSEC_PER_SEC) + 1;
    n->history.missed++;
    n->changed = true;
    error_remedy(err, "ask again in %u s%s", err->retry_s,
                 n->starting ? "" : ", or lower its cooldown");
    return BACKEND_TOO_MANY;
}

/* Returns CLOCK_MONOTONIC of the end of the cooldown; 0: none. */
static uint64_t cooled_ns(const struct entry *n)
{
    return n->began_ns ? n->began_ns + n->rule->cooldown_ns : 0;
}

bool scheduled_trigger_rests(const struct scheduled *s, const char *name)
{
    const struct entry *n = find_entry(s->triggers, s->trigger_count, name);

    return n && (n->starting || clock_monotonic_ns() < cooled_ns(n));
}

int scheduled_trigger(struct scheduled *s, const char *name, int32_t host_pid, uint64_t ticket,
                      char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    struct entry *n = (struct entry *)find_entry(s->triggers, s->trigger_count, name);
    uint64_t now = clock_monotonic_ns(), again;
    int r;

    if (!n)
        return not_found(s, name, err);
    again = cooled_ns(n);
    if (n->starting) {
        error_set(err, -EAGAIN, "trigger '%s' is starting a capture", n->rule->name);
        return refuse_trigger(n, /* wait_ns= */ 0, err);
    }
    if (now < again) {
        error_set(err, -EAGAIN, "trigger '%s' started capture %s %llu s ago and is cooling down",
                  n->rule->name, n->history.last_id,
                  (unsigned long long)((now - n->began_ns) / NSEC_PER_SEC));
        return refuse_trigger(n, again - now, err);
    }
    r = run_rule(s, n, host_pid, ticket, ret_id, err);
    n->starting = r == -EINPROGRESS;
    if (r != 0 && !n->starting)
        note_failure(n, r, err);
    return r;
}

/* ---- facts ---- */

void scheduled_each(const struct scheduled *s, bool triggers,
                    void (*fn)(void *cookie, const struct scheduled_facts *f), void *cookie)
{
    const struct entry *list = triggers ? s->triggers : s->schedules;
    size_t count = triggers ? s->trigger_count : s->schedule_count;

    for (size_t i = 0; i < count; i++)
        fn(cookie, &(struct scheduled_facts){ .rule = list[i].rule,
                                              .history = &list[i].history,
                                              .phase_ns = list[i].slot.phase_ns,
                                              .next_ns = list[i].slot.next_ns });
}
