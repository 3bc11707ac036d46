/* SPDX-License-Identifier: Apache-2.0 */
/* Signals, which report problems of JVMs, as JSON and as metrics. */
#include "api/api_impl.h"
#include "api/exposition.h"
#include "api/json.h"
#include "api/past_impl.h"
#include "base/array.h"
#include "base/list.h"
#include "base/utc_text.h"
#include "capture/process_selector.h"
#include "discover/service.h"

#define LINK_BYTES 512 /* room for an escaped service */
#define REMEDY_BYTES 1024
#define SENTENCE_BYTES (RULE_SENTENCE_BYTES + 80)
#define SERVICES_MAX 1024 /* services with signals in /metrics */
_Static_assert(SERVICES_MAX >= SIGNAL_JVMS_MAX + SIGNAL_ENDED_MAX, "each JVM has one");

/* ---- names ---- */

struct names {
    char *text;
    unsigned severity; /* highest severity of its signals */
};

static void add_name(void *cookie, const struct signal *s)
{
    struct names *names = cookie;
    size_t n = strlen(names->text);

    snprintf(names->text + n, SIGNAL_NAMES_BYTES - n, "%s%s", n ? " " : "", s->rule->name);
    names->severity = MAX(names->severity, s->severity);
}

unsigned signal_names(const struct api *api, const struct process *p, char ret[SIGNAL_NAMES_BYTES])
{
    struct names names = { .text = ret };

    ret[0] = '\0';
    signals_each(api->engine.signals, p, add_name, &names);
    return names.severity;
}

static void add_json_name(void *cookie, const struct signal *s)
{
    json_array_append_new(cookie, json_string(s->rule->name));
}

json_t *signal_names_json(const struct api *api, const struct process *p)
{
    json_t *list = json_array();

    if (list)
        signals_each(api->engine.signals, p, add_json_name, list);
    return list;
}

/* ---- the list ---- */

/* JVMs of one service and place that ended in the same way, or one signal that is over. */
struct ends {
    struct signal last; /* borrowed for the list */
    unsigned count;
    unsigned severity; /* highest severity */
    uint64_t first_ns; /* CLOCK_REALTIME: when the first JVM ended */
};

struct listing {
    const struct target *target;
    json_t *list;      /* owned by the caller */
    struct ends *ends; /* owned */
    size_t end_count, end_room;
    const char *failed; /* name of a signal with text that is not valid in JSON; NULL: none;
                         * static */
};

/* Returns the sentence of @s. If the signal is over, the sentence begins with the time of its
 * figures. */
static const char *sentence_of(const struct signal *s, char ret[SENTENCE_BYTES])
{
    char at[UTC_TEXT_BYTES];

    if (!s->until_ns || s->cause.n)
        return s->sentence;
    snprintf(ret, SENTENCE_BYTES, "at %s: %s", utc_text(s->now_ns, at), s->sentence);
    return ret;
}

static json_t *signal_json(const struct signal *s)
{
    char evidence[LINK_BYTES], remedy[REMEDY_BYTES], sentence[SENTENCE_BYTES];
    struct service service;
    json_t *ret;

    service_of_process(s->process, &service);
    signal_evidence(s, evidence, sizeof(evidence));
    signal_remedy(s, remedy, sizeof(remedy));
    ret = json_pack("{s:s, s:i, s:s, s:i, s:o, s:f, s:s, s:s, s:s, s:s}", "signal", s->rule->name,
                    "severity", (int)s->severity, "service", service.name, "pid",
                    (int)s->process->id.host_pid, "since", json_time(s->since_ns), "value",
                    s->value, "unit", s->rule->unit, "sentence", sentence_of(s, sentence),
                    "evidence", evidence, "remedy", remedy);
    if (s->until_ns) {
        json_object_set_new(ret, "until", json_time(s->until_ns));
        json_object_set_new(ret, "times", json_integer(s->times));
    }
    return ret;
}

static bool same_service(const struct signal *a, const struct signal *b)
{
    char a_name[PAST_NAME_BYTES], b_name[PAST_NAME_BYTES];
    const struct history_place a_place = past_place_of(a->process, a_name),
                               b_place = past_place_of(b->process, b_name);
    struct service a_service, b_service;

    service_of_process(a->process, &a_service);
    service_of_process(b->process, &b_service);
    return strcmp(a_service.name, b_service.name) == 0 && history_same_place(&a_place, &b_place);
}

static bool ended_alike(const struct signal *a, const struct signal *b)
{
    return span_eq(a->cause, b->cause) && same_service(a, b);
}

/* Adds the end of a JVM to similar ends, or a signal that is over. Returns false if there is no
 * memory. */
static bool join_end(struct listing *l, const struct signal *s)
{
    struct ends *e = NULL;

    if (s->cause.n)
        e = FIRST_OF(i, l->ends, l->end_count, ended_alike(&l->ends[i].last, s));

    if (!e) {
        if (!array_grow(&l->ends, &l->end_room, l->end_count + 1, 8))
            return false;
        e = &l->ends[l->end_count++];
        *e = (struct ends){ .last = *s, .first_ns = s->since_ns };
    }
    e->count++;
    e->severity = MAX(e->severity, s->severity);
    e->first_ns = MIN(e->first_ns, s->since_ns);
    if (s->since_ns > e->last.since_ns)
        e->last = *s;
    return true;
}

/* Returns one signal for all of @e: the last one, with the number of all. */
static json_t *ends_json(const struct ends *e)
{
    char sentence[SENTENCE_BYTES];
    struct signal s = e->last;
    json_t *ret;

    if (e->count == 1)
        return signal_json(&s);
    snprintf(sentence, sizeof(sentence), "%s; %u JVMs of this service ended so within %u min",
             s.sentence, e->count, (unsigned)((s.since_ns - e->first_ns) / NSEC_PER_SEC / 60) + 1);
    s.sentence = sentence;
    s.severity = e->severity;
    ret = signal_json(&s);
    json_object_set_new(ret, "count", json_integer(e->count));
    json_object_set_new(ret, "first", json_time(e->first_ns));
    json_object_set_new(ret, "last", json_time(s.since_ns));
    return ret;
}

static void list_one(void *cookie, const struct signal *s)
{
    struct listing *l = cookie;

    if (!target_matches(l->target, s->process))
        return;
    if (s->cause.n || s->until_ns ? !join_end(l, s)
                                  : json_array_append_new(l->list, signal_json(s)) != 0)
        l->failed = s->rule->name;
}

static int compare_past(const void *a, const void *b)
{
    const struct ends *x = a, *y = b;
    uint64_t of_a = x->last.until_ns, of_b = y->last.until_ns;

    return x->severity != y->severity ? (x->severity < y->severity) - (x->severity > y->severity)
                                      : (of_a < of_b) - (of_a > of_b);
}

/* Adds all signals to l->list, those that are on or, with @past, those that are over: by severity,
 * then newest first. Returns the name of a signal that could not be added; NULL: all were added. */
static const char *list_all(struct api *api, struct listing *l, bool past)
{
    if (past)
        signals_each_past(api->engine.signals, list_one, l);
    else
        signals_each(api->engine.signals, NULL, list_one, l);
    if (past && l->end_count)
        qsort(l->ends, l->end_count, sizeof(*l->ends), compare_past);
    for (size_t i = 0; i < l->end_count; i++) {
        if (json_array_append_new(l->list, ends_json(&l->ends[i])) != 0)
            l->failed = l->ends[i].last.rule->name;
    }
    free(l->ends);
    return l->failed;
}

int facts_signals(struct api *api, const struct document_query *q, json_t **ret, struct error *err)
{
    const struct target_selector *t = q->target;
    _cleanup_(target_freep) struct target *target = NULL;
    json_t *on = json_array(), *past = json_array();
    const char *failed = NULL;
    int r = on && past ? target_new(t, &target, err) : -ENOMEM;

    if (r == 0)
        failed = list_all(api, &(struct listing){ .target = target, .list = on }, false);
    if (r == 0 && !failed)
        failed = list_all(api, &(struct listing){ .target = target, .list = past }, true);
    if (failed)
        r = error_set(err, -EIO, "a signal %s could not be written as JSON", failed);
    if (r == 0 && !json_array_size(on) && !json_array_size(past) && (t->pid_count || t->service))
        r = target_check(target, api->engine.discover, api->engine.opts->proc_fd, err);
    if (r != 0) {
        json_decref(on);
        json_decref(past);
        return r;
    }
    *ret = json_pack("{s:o, s:o}", "signals", on, "past", past);
    return *ret ? 0 : -ENOMEM;
}

/* ---- /metrics ---- */

struct service_row {
    char name[SERVICE_NAME_BYTES];
    unsigned severity[RULES]; /* by rule: highest severity of its JVMs */
};

struct scrape {
    const struct target *seen;
    struct service_row *rows; /* owned */
    size_t count, room;
    struct buf *out;
};

static struct service_row *row_of(struct scrape *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->rows[i].name, name) == 0)
            return &a->rows[i];
    }
    if (a->count == SERVICES_MAX || !array_grow(&a->rows, &a->room, a->count + 1, 8))
        return NULL;
    a->rows[a->count] = (struct service_row){ .name = "" };
    snprintf(a->rows[a->count].name, SERVICE_NAME_BYTES, "%s", name);
    return &a->rows[a->count++];
}

static void count_signal(void *cookie, const struct signal *s)
{
    struct scrape *a = cookie;
    struct service_row *row;
    struct service service;

    if (!target_sees(a->seen, s->process))
        return;
    service_of_process(s->process, &service);
    row = row_of(a, service.name);
    for (size_t i = 0; row && i < RULES; i++) {
        if (rule_of((enum rule_id)i) == s->rule)
            row->severity[i] = MAX(row->severity[i], s->severity);
    }
}

static void own_metrics(const struct api *api, struct buf *out)
{
    struct signals_stats s;

    signals_stats(api->engine.signals, &s);
    metric(out, "flamed_signal_jvms", "JVMs whose numbers are read for signals.", s.jvms);
    metric(out, "flamed_signal_left_out",
           "JVMs without signals, because the table of JVMs is full.", s.left_out);
    metric(out, "flamed_signal_ends_dropped_total",
           "JVMs that ended and are no longer shown, because too many did.", s.ends_dropped);
    metric(out, "flamed_signal_threads_left_out",
           "Threads that signals do not read, because their JVM has too many.", s.threads_left_out);
    metric(out, "flamed_signal_bytes", "Memory of the numbers that signals are made of.", s.bytes);
    metric(out, "flamed_signal_readings_total", "Readings of the numbers of a JVM.", s.readings);
    metric(out, "flamed_signal_seconds_total", "CPU time of reading the numbers of JVMs.",
           (double)s.cpu_ns / (double)NSEC_PER_SEC);
}

static void write_throttled(void *cookie, const struct process *p, const struct signal_throttled *t)
{
    const struct scrape *a = cookie;

    if (!target_sees(a->seen, p))
        return;
    buf_add_str(a->out, "flamed_jvm_throttled_seconds_total{");
    metric_jvm_labels(a->out, p);
    buf_add_str(a->out, "} ");
    metric_seconds(a->out, t->ns);
}

void signal_metrics(struct api *api, const struct viewer *v, struct buf *out)
{
    struct target_selector all = { .viewer = v };
    _cleanup_(target_freep) struct target *seen = NULL;
    struct scrape a = { .out = out };

    if (target_new(&all, &seen, NULL) != 0)
        return;
    a.seen = seen;
    signals_each(api->engine.signals, NULL, count_signal, &a);
    metric_head(out, "flamed_signal",
                "Severity, 1 to 3, of a signal that is on for a JVM of the service.");
    for (size_t i = 0; i < a.count; i++) {
        for (size_t id = 0; id < RULES; id++) {
            if (!a.rows[i].severity[id])
                continue;
            buf_add_str(out, "flamed_signal{");
            metric_label(out, "signal", rule_of((enum rule_id)id)->name);
            buf_add_char(out, ',');
            metric_label(out, "service", a.rows[i].name);
            buf_add_str(out, "} ");
            metric_value(out, a.rows[i].severity[id]);
        }
    }
    free(a.rows);
    metric_head(
        out, "flamed_jvm_throttled_seconds_total",
        "Time that the cgroup of a JVM was stopped because it had used up its limit of CPU time.");
    signals_throttled(api->engine.signals, /* since_ns= */ UINT64_MAX, write_throttled, &a);
    if (v->whole)
        own_metrics(api, out);
}
