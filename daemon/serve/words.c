/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/words.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/url.h"
#include "base/utc_text.h"
#include "event/events.h"
#include "request/json_text.h"

#define LATELY_NS (600 * NSEC_PER_SEC) /* age of a range that signals of now apply to */
#define SIGNALS_SHOWN 2
#define SIGNAL_LEAST 1 /* lowest severity that is shown */
#define DURATION_BYTES 24

/* Ranges to try if there are few samples, in seconds, ascending. */
static const uint64_t WIDER_S[] = { 300, 900, 3600, 4 * 3600, 24 * 3600 };

struct composing {
    const struct api_backend *be;
    const struct words_request *q;
    struct words *ret;
    struct view *wider; /* owned: view that replaces the requested one; NULL: none */
};

/* ---- links ---- */

static void add_text(struct buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(out, "&%s=", name);
    url_add_escaped(out, span_of(value));
}

static void add_time(struct buf *out, const char *name, uint64_t time_ns)
{
    char text[UTC_TEXT_BYTES];

    buf_printf(out, "&%s=%s", name, utc_text(time_ns, text));
}

/* Appends the path of the described profile. Its times are whole seconds, so that a person can read
 * and change them. */
static void add_link(const struct composing *c, const char *format, struct buf *out)
{
    const struct target_selector *t = c->q->target;
    const char *event = c->q->view ? view_event(c->q->view)->name : events_default()->name;

    if (c->q->link && !c->wider) {
        buf_printf(out, "%s%cformat=%s", c->q->link, strchr(c->q->link, '?') ? '&' : '?', format);
        return;
    }
    buf_add_str(out, "/profile?event=");
    url_add_escaped(out, span_of(event));
    for (size_t i = 0; i < t->pid_count; i++)
        buf_printf(out, "%s%d", i ? "," : "&pid=", (int)t->pids[i]);
    add_text(out, "service", t->service);
    add_text(out, "container", t->container);
    add_text(out, "pod", t->pod);
    add_text(out, "namespace", t->pod_namespace);
    add_text(out, "jvm", t->jvm);
    if (t->ns_pid)
        buf_printf(out, "&nspid=%d", (int)t->ns_pid);
    add_time(out, "from", c->ret->from_ns);
    add_time(out, "to", c->ret->to_ns + NSEC_PER_SEC - 1);
    buf_printf(out, "&format=%s", format);
}

/* ---- too few samples ---- */

static const char *duration_text(uint64_t ns, char text[DURATION_BYTES])
{
    double seconds = (double)ns / (double)NSEC_PER_SEC;

    if (seconds < 90)
        snprintf(text, DURATION_BYTES, "%.3g s", seconds);
    else if (seconds < 5400)
        snprintf(text, DURATION_BYTES, "%.3g min", seconds / 60);
    else
        snprintf(text, DURATION_BYTES, "%.3g h", seconds / 3600);
    return text;
}

/* Returns a view of the samples of @range with the options of the request. NULL: there are none. */
static struct view *view_of(const struct composing *c, const struct time_range *range)
{
    _cleanup_(profile_unrefp) struct profile *p = NULL;
    const char *event = c->q->view ? view_event(c->q->view)->name : events_default()->name;
    struct view_opts o = { .exact = true, .waits = true };
    struct error err = ERROR_NULL;
    struct view *v = NULL;

    if (c->be->past(c->be->ctx, c->q->target, range, event, PAST_RECORDED, &p, &err) != 0)
        return NULL;
    if (c->q->view)
        o = c->q->view->opts;
    o.event = 0;
    for (uint32_t i = 0; i < p->event_count; i++) {
        if (strcmp(p->events[i].name, event) == 0)
            o.event = (uint8_t)i;
    }
    return view_new(p, &o, &v, &err) == 0 ? v : NULL;
}

/* Chooses the shortest range with enough samples, else the one with the most. */
static void widen(struct composing *c)
{
    struct time_range range = c->q->range;
    double most = c->q->view ? c->q->view->looks : 0;

    for (size_t i = 0; i < ARRAY_SIZE(WIDER_S) && most < WORDS_FEW; i++) {
        struct view *v;

        if (range.to_ns - c->q->range.from_ns >= WIDER_S[i] * NSEC_PER_SEC)
            continue;
        range.from_ns = range.to_ns - WIDER_S[i] * NSEC_PER_SEC;
        v = view_of(c, &range);
        if (!v || v->looks <= most) {
            view_free(v);
            continue;
        }
        view_free(c->wider);
        c->wider = v;
        most = v->looks;
        c->ret->from_ns = range.from_ns;
    }
}

/* Adds the sentence that there are few samples, and which range is described instead. */
static void add_few(struct composing *c, uint64_t had)
{
    _cleanup_buf_ struct buf link = BUF_UPTO(WORDS_LINK_BYTES);
    char text[DURATION_BYTES], rest[WORDS_SENTENCE_BYTES] = "";

    add_link(c, "summary", &link);
    if (c->wider)
        snprintf(rest, sizeof(rest),
                 c->wider->looks >= WORDS_FEW ? "; what follows is about %s, with %llu"
                                              : ", as are those of %s: %llu",
                 duration_text(c->ret->to_ns - c->ret->from_ns, text),
                 (unsigned long long)c->ret->samples);
    words_add(c->ret, WORDS_FEW_SAMPLES, buf_span(&link).p, "%llu sample%s: too few to tell%s",
              (unsigned long long)had, had == 1 ? "" : "s", rest);
}

/* ---- signals and changes ---- */

/* Gets a document about the target. Returns 0 if the backend has one. */
static int document(const struct composing *c, enum backend_document which, json_t **ret)
{
    const struct document_query q = { .viewer = c->q->target->viewer, .target = c->q->target };
    struct error err = ERROR_NULL;

    return c->be->document(c->be->ctx, which, &q, ret, &err);
}

/* Adds the most severe signals; the backend orders them by JVM. */
static void add_signals(struct composing *c)
{
    json_t *value = NULL;
    const json_t *list;
    size_t shown = 0;

    if (document(c, DOCUMENT_SIGNALS, &value) != 0)
        return;
    list = json_object_get(value, "signals");
    for (json_int_t severity = 3; severity >= SIGNAL_LEAST; severity--) {
        for (size_t i = 0; i < json_array_size(list) && shown < SIGNALS_SHOWN; i++) {
            const json_t *one = json_array_get(list, i);

            if (json_integer_value(json_object_get(one, "severity")) != severity)
                continue;
            words_add(c->ret, WORDS_SIGNAL, json_text(one, "evidence"), "%s: %s",
                      json_text(one, "signal"), json_text(one, "sentence"));
            shown++;
        }
    }
    json_decref(value);
}

/* Returns the change that the first sentence names: what ranks first, not the greatest. NULL: there
 * is none. */
static const json_t *first_named(const json_t *answer)
{
    const json_t *changes = json_object_get(answer, "changes"),
                 *sentence = json_array_get(json_object_get(answer, "sentences"), 0);

    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *one = json_array_get(changes, i);

        if (json_equal(json_object_get(one, "sentence"), sentence))
            return one;
    }
    return json_array_get(changes, 0);
}

/* Adds the change that ranks first. */
static void add_change(struct composing *c)
{
    json_t *value = NULL;
    const json_t *one;

    if (document(c, DOCUMENT_CHANGES, &value) != 0)
        return;
    one = first_named(value);
    if (one)
        words_add(c->ret, WORDS_CHANGE, json_text(one, "diff"), "%s", json_text(one, "sentence"));
    json_decref(value);
}

/* ---- composing ---- */

/* Returns whether the backend may have signals and changes: for a service or single JVMs, not for
 * the whole node. */
static bool has_facts(const struct words_request *q)
{
    const struct target_selector *t = q->target;

    return (t->pid_count || t->service) && !t->container && !t->pod && !t->pod_namespace &&
           !t->jvm && !t->ns_pid;
}

static bool is_late(const struct words_request *q)
{
    uint64_t now_ns = clock_realtime_ns();

    return q->range.to_ns + LATELY_NS >= now_ns;
}

void words_compose(const struct api_backend *be, const struct words_request *q, struct words *ret)
{
    _cleanup_buf_ struct buf link = BUF_UPTO(WORDS_LINK_BYTES);
    uint64_t had = q->view ? q->view->samples : 0;
    struct composing c = { .be = be, .q = q, .ret = ret };
    const struct view *v;
    bool few = !q->view || q->view->looks < WORDS_FEW, enough;

    *ret = (struct words){ .from_ns = q->range.from_ns, .to_ns = q->range.to_ns, .samples = had };
    if (few && has_facts(q))
        widen(&c);
    v = c.wider ? c.wider : q->view;
    ret->samples = v ? v->samples : 0;
    enough = v && v->looks >= WORDS_FEW;
    if (few)
        add_few(&c, had);
    add_link(&c, "html", &link);
    if (enough)
        words_add_time(ret, v, buf_span(&link).p);
    if (has_facts(q) && is_late(q)) {
        add_signals(&c);
        add_change(&c);
    }
    if (enough) {
        buf_clear(&link);
        add_link(&c, "summary", &link);
        words_add_sure(ret, v, buf_span(&link).p);
    }
    view_free(c.wider);
}

json_t *words_json(const struct words *w)
{
    json_t *list = json_array();

    for (size_t i = 0; i < w->count; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s}", "kind", words_kind_name(w->list[i].kind),
                                        "sentence", w->list[i].text, "evidence", w->list[i].link));
    return json_pack("{s:o, s:I}", "sentences", list, "samples", (json_int_t)w->samples);
}
