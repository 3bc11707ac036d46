/* SPDX-License-Identifier: Apache-2.0 */
#include "api/deploys.h"

#include "api/api_impl.h"
#include "api/exposition.h"
#include "api/past_impl.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/lock.h"
#include "base/places.h"
#include "base/text.h"
#include "discover/service.h"
#include "profile/lock_words.h"
#include "request/json_text.h"
#include "store/history.h"

#include <math.h>
#include <pthread.h>

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)
#define VERSION_BYTES 64
#define NAME_BYTES PAST_NAME_BYTES
#define TEXT_BYTES 512
#define NAME_SHOWN 200 /* bytes */

/* The last release of a service. */
struct deploy {
    uint64_t time_ns;           /* CLOCK_REALTIME of the release */
    struct history_image image; /* the strings that it points to are no longer valid */
    uint64_t payer;             /* past_payer() of the first release; the entry counts for this
                                 * owner */
    char service[SERVICE_NAME_BYTES], version[VERSION_BYTES];
    struct past_place place;
    char version_source[16];        /* history_version_source() */
    bool known;                     /* a mark already states what the release changed */
    double value;                   /* percent of CPU time; NAN: too few samples */
    char text[RULE_SENTENCE_BYTES]; /* text of that mark */
};

struct deploys {
    struct api *api;
    atomic_bool stopping;
    pthread_mutex_t lock; /* guards the members below */
    struct deploy *list;  /* owned: the services of the last comparison */
    size_t count;
    uint64_t left_out;       /* services without a place */
    uint64_t marks_left_out; /* number of the oldest marks of the day that were not read */
};

/* ---- finding releases ---- */

struct finding {
    struct deploy *list; /* owned */
    size_t count, room;
    struct places places; /* number of entries in the list by owner */
    uint64_t left_out;
};

static uint64_t owner_of(const void *table, size_t i)
{
    const struct deploy *list = table;

    return list[i].payer;
}

static bool is_of(const struct deploy *d, const char *service, const struct history_place *place)
{
    const struct history_place own = past_place(&d->place);

    return strcmp(d->service, service) == 0 && history_same_place(&own, place);
}

static struct deploy *find(const struct finding *f, const struct history_image *image)
{
    const struct history_place place = history_place_of(image);

    for (size_t i = 0; i < f->count; i++) {
        if (is_of(&f->list[i], image->service, &place))
            return &f->list[i];
    }
    return NULL;
}

/* Returns an entry for a service of @payer. If the list is full, replaces an entry of the payer
 * with the most entries. NULL: no room. */
static struct deploy *new_place(struct finding *f, uint64_t payer)
{
    size_t at = f->count;

    if (f->count == DEPLOYS_MAX) {
        at = places_find(&f->places, payer, f->count, owner_of, f->list);
        f->left_out++;
        if (at == f->count)
            return NULL;
        places_give(&f->places, f->list[at].payer);
    } else if (array_grow(&f->list, &f->room, f->count + 1, 8)) {
        f->count++;
    } else {
        f->left_out++;
        return NULL;
    }
    places_take(&f->places, payer);
    f->list[at].payer = payer;
    return &f->list[at];
}

/* Adds the service of @m; see_mark() notes the release later. NULL: no room. */
static struct deploy *put(struct finding *f, const struct history_mark *m)
{
    struct deploy *d = new_place(f, past_payer(m->image));

    if (!d)
        return NULL;
    *d = (struct deploy){ .image = *m->image, .payer = d->payer };
    snprintf(d->service, sizeof(d->service), "%s", m->image->service);
    past_place_keep(m->image, &d->place);
    return d;
}

static bool is_same(const struct history_image *a, const struct history_image *b)
{
    return a->host_pid == b->host_pid && a->start_ticks == b->start_ticks &&
           a->exec_no == b->exec_no;
}

/* Notes what a release changed, by the mark @m. The mark of the release itself is passed later. */
static void note_change(struct deploy *d, const struct history_mark *m)
{
    d->known = true;
    d->value = m->value;
    text_clean_into(span_of(m->text), d->text, sizeof(d->text));
}

static void note_release(struct deploy *d, const struct history_mark *m)
{
    d->known &= is_same(&d->image, m->image);
    d->time_ns = m->time_ns;
    d->image = *m->image;
    snprintf(d->version, sizeof(d->version), "%s", m->image->version);
    span_copy(history_version_source(m->image->attributes), d->version_source,
              sizeof(d->version_source));
}

/* Keeps the last release of each service. Marks are passed newest first. */
static void see_mark(void *cookie, const struct history_mark *m)
{
    struct finding *f = cookie;
    struct deploy *d;

    if (!m->image || !m->image->service[0])
        return;
    d = find(f, m->image);
    if (m->kind == HISTORY_MARK_CHANGE && !d && (d = put(f, m)))
        note_change(d, m);
    else if (m->kind == HISTORY_MARK_DEPLOY && (d ? !d->time_ns : (d = put(f, m)) != NULL))
        note_release(d, m);
}

/* Drops the services without a release in the marks read. */
static void drop_old(struct finding *f)
{
    size_t kept = 0;

    for (size_t i = 0; i < f->count; i++) {
        if (f->list[i].time_ns)
            f->list[kept++] = f->list[i];
    }
    f->count = kept;
}

/* ---- measuring their effect ---- */

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Returns the change that the mark names: the function that grew most. If none grew, the function
 * that shrank most; else the greatest change, except one of allocation, which is not in time. NULL:
 * no change. @changes: sorted, the greatest first. */
static const json_t *pick(const json_t *changes)
{
    const json_t *shrank = NULL, *first = NULL;

    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *one = json_array_get(changes, i);

        if (!first && strcmp(json_text(one, "kind"), "allocation") != 0)
            first = one;
        if (strcmp(json_text(one, "kind"), "function") != 0)
            continue;
        if (number_of(one, "difference") > 0)
            return one;
        shrank = shrank ? shrank : one;
    }
    /* Changes with other units are last in the list. */
    return shrank || strcmp(json_text(first, "unit"), "percent") != 0 ? shrank : first;
}

/* Returns "2.4.1", or what stands for a release without a version. */
static const char *version_of(const struct deploy *d)
{
    return d->version[0] ? d->version : "the restart";
}

/* Writes "since 2.4.1: +6.1 +-0.4 % CPU, shop.Rules.match", or why no change is named. */
static void write_text(const struct deploy *d, const json_t *answer, const json_t *change,
                       struct buf *text)
{
    const char *kind = json_text(change, "kind"), *name = json_text(change, "name");
    const json_t *why = json_array_get(json_object_get(answer, "sentences"), 0);
    double minutes = number_of(json_object_get(answer, "minutes"), "a");

    buf_printf(text, "since %s: ", version_of(d));
    if (change)
        buf_printf(text, "%+.1f \u00b1%.1f %% %s", number_of(change, "difference"),
                   (number_of(change, "high") - number_of(change, "low")) / 2,
                   strcmp(kind, "lock") == 0    ? "waits for "
                   : strcmp(kind, "wait") == 0  ? "waits, "
                   : strcmp(kind, "pause") == 0 ? "pauses, "
                                                : "CPU, ");
    else
        name = json_is_string(why) ? json_string_value(why) : "nothing is known";
    if (change && strcmp(kind, "lock") == 0)
        lock_words(span_of(name), text);
    else
        /* text_clean() cuts only between characters */
        text_clean(span_of(name), TEXT_UTF8, NAME_SHOWN, text);
    if (change && minutes < CHANGES_STEPS_MIN)
        buf_printf(text, "; only %.0f minute%s before %s known", minutes, minutes < 2 ? "" : "s",
                   minutes < 2 ? "is" : "are");
}

/* Compares the minutes after @d with the hour before the minute of @d, and writes the difference as
 * a mark. The minute of @d is left out, because it has samples of both versions. Only JVMs of the
 * same place count (history_same_place()). */
static int compare(struct deploys *ds, struct deploy *d, struct error *err)
{
    const struct viewer viewer = { .whole = d->image.owner == 0, .uid = d->image.owner };
    const struct history_place place = past_place(&d->place);
    const struct target_selector t = { .service = d->service, .place = &place, .viewer = &viewer };
    const struct time_range a = { d->time_ns - DEPLOYS_BEFORE_NS,
                                  history_minute_of(d->time_ns, d->time_ns) },
                            b = { d->time_ns + DEPLOYS_WARM_NS,
                                  d->time_ns + DEPLOYS_WARM_NS + DEPLOYS_LATELY_NS };
    _cleanup_buf_ struct buf text = BUF_UPTO(TEXT_BYTES);
    struct history_mark mark = { .time_ns = b.to_ns,
                                 .kind = HISTORY_MARK_CHANGE,
                                 .image = &d->image };
    json_t *answer = NULL;
    const json_t *change;
    int r = changes_kept(ds->api, &t, &a, &b, &answer, err);

    if (r < 0)
        return r;
    change = pick(json_object_get(answer, "changes"));
    write_text(d, answer, change, &text);
    mark.text = text.error ? "" : text.p;
    mark.value = change                                            ? number_of(change, "difference")
                 : json_is_true(json_object_get(answer, "enough")) ? 0
                                                                   : (double)NAN;
    r = history_mark_put(ds->api->engine.history, &mark, err);
    json_decref(answer);
    if (r < 0)
        return r;
    d->known = true;
    d->value = mark.value;
    text_clean_into(span_of(mark.text), d->text, sizeof(d->text));
    return 0;
}

static bool is_due(const struct deploy *d, uint64_t now_ns)
{
    return !d->known &&
           now_ns >= d->time_ns + DEPLOYS_WARM_NS + DEPLOYS_LATELY_NS + DEPLOYS_WRITTEN_NS;
}

int deploys_look(struct deploys *d, uint64_t now_ns, struct error *err)
{
    struct history_query q = { .from_ns = now_ns - DAY_NS, .to_ns = now_ns, .newest_first = true };
    struct finding f = { 0 };
    uint64_t marks_left_out = 0;
    int r = history_marks(d->api->engine.history, &q, see_mark, &f, &marks_left_out, err);

    drop_old(&f);
    for (size_t i = 0; i < f.count && r == 0 && !d->stopping; i++) {
        if (is_due(&f.list[i], now_ns))
            r = compare(d, &f.list[i], err);
        if (r == -ENOENT) /* the samples of @d are no longer kept */
            r = 0;
    }
    LOCK_SCOPE(&d->lock);
    free(d->list);
    d->list = f.list;
    d->count = f.count;
    d->left_out = f.left_out;
    d->marks_left_out = marks_left_out;
    return r;
}

/* ---- making and freeing ---- */

int deploys_new(struct api *api, struct deploys **ret)
{
    struct deploys *d = calloc(1, sizeof(*d));

    if (!d)
        return -ENOMEM;
    d->api = api;
    pthread_mutex_init(&d->lock, NULL);
    *ret = d;
    return 0;
}

void deploys_stop(struct deploys *d)
{
    if (d)
        d->stopping = true;
}

struct deploys *deploys_free(struct deploys *d)
{
    if (!d)
        return NULL;
    pthread_mutex_destroy(&d->lock);
    free(d->list);
    free(d);
    return NULL;
}

/* ---- the signal ---- */

/* Returns whether @p runs the release @d: same service and version, and not started before. */
static bool runs(const struct process *p, const struct service *service, const struct deploy *d)
{
    char name[PAST_NAME_BYTES];
    const struct history_place place = past_place_of(p, name);

    return strcmp(service->version, d->version) == 0 && is_of(d, service->name, &place) &&
           p->start_realtime_ns + NSEC_PER_SEC > d->time_ns;
}

/* Returns whether the release @d replaced @p, which ended at @ended_ns: @d is another version of
 * the service of @p. */
static bool made_room(const struct process *p, const struct service *service, uint64_t ended_ns,
                      const struct deploy *d)
{
    char name[PAST_NAME_BYTES];
    const struct history_place place = past_place_of(p, name);

    return service->version[0] && d->version[0] && strcmp(service->version, d->version) != 0 &&
           strcmp(version_source_name(service->version_source), d->version_source) == 0 &&
           is_of(d, service->name, &place) && ended_ns + DEPLOYS_STOPPED_NS >= d->time_ns &&
           ended_ns <= d->time_ns + DEPLOYS_ROLLOUT_NS;
}

void deploys_release(struct deploys *d, const struct process *p, uint64_t ended_ns,
                     struct rule_release *ret)
{
    struct service service;

    if (!d)
        return;
    service_of_process(p, &service);
    LOCK_SCOPE(&d->lock);
    for (size_t i = 0; i < d->count; i++) {
        const struct deploy *one = &d->list[i];

        if (ended_ns) {
            ret->replaced |= made_room(p, &service, ended_ns, one);
            continue;
        }
        if (!one->known || isnan(one->value) || !runs(p, &service, one))
            continue;
        ret->percent = fmax(one->value, 0);
        snprintf(ret->text, sizeof(ret->text), "%s", one->text);
        return;
    }
}

void deploys_note(struct deploys *d, const struct process *p, uint64_t now_ns,
                  char ret[DEPLOYS_NOTE_BYTES])
{
    struct service service;

    ret[0] = '\0';
    if (!d)
        return;
    service_of_process(p, &service);
    LOCK_SCOPE(&d->lock);
    for (size_t i = 0; i < d->count; i++) {
        const struct deploy *one = &d->list[i];

        if (!runs(p, &service, one))
            continue;
        if (one->known && !isnan(one->value) && one->value != 0)
            text_clean_into(span_of(one->text), ret, DEPLOYS_NOTE_BYTES);
        else if (!one->known && now_ns >= one->time_ns)
            snprintf(ret, DEPLOYS_NOTE_BYTES, "since %s, %u min ago", version_of(one),
                     (unsigned)((now_ns - one->time_ns) / HISTORY_MINUTE_NS));
        return;
    }
}

/* ---- /metrics ---- */

static bool is_shown(const struct deploy *d, const struct viewer *v)
{
    return d->known && !isnan(d->value) && viewer_sees_user(v, d->image.owner);
}

/* Writes the container's name, else its id; "": in a pod, or in no container. */
static void container_of(const struct deploy *d, char ret[NAME_BYTES])
{
    struct span name = history_container_name(d->place.attributes);

    span_copy(d->place.pod[0] ? SPAN_NULL
              : name.n        ? name
                              : span_of(d->place.container),
              ret, NAME_BYTES);
}

/* Returns true if another user's service of the same name is shown in place of number @i. */
static bool is_hidden(const struct deploys *d, const struct viewer *v, size_t i)
{
    const struct deploy *one = &d->list[i];
    char own[NAME_BYTES], name[NAME_BYTES];

    container_of(one, own);
    for (size_t k = 0; k < d->count; k++) {
        const struct deploy *other = &d->list[k];

        container_of(other, name);
        if (k != i && is_shown(other, v) && strcmp(one->service, other->service) == 0 &&
            strcmp(one->place.pod_namespace, other->place.pod_namespace) == 0 &&
            strcmp(own, name) == 0 &&
            (other->value > one->value || (other->value == one->value && k < i)))
            return true;
    }
    return false;
}

void deploys_metrics(struct deploys *d, const struct viewer *v, struct buf *out)
{
    if (!d)
        return;
    metric_head(out, "flamed_regression",
                "CPU time that a service takes more since its last release of the last day, in "
                "percent, by the function that grew most; below 0 if none grew, 0 without a "
                "change. Absent where too few minutes or samples are kept.");
    LOCK_SCOPE(&d->lock);
    for (size_t i = 0; i < d->count; i++) {
        const struct deploy *one = &d->list[i];
        char container[NAME_BYTES];

        if (!is_shown(one, v) || is_hidden(d, v, i))
            continue;
        container_of(one, container);
        buf_add_str(out, "flamed_regression{");
        metric_label(out, "service", one->service);
        buf_add_char(out, ',');
        metric_label(out, "namespace", one->place.pod_namespace);
        buf_add_char(out, ',');
        metric_label(out, "container", container);
        buf_add_char(out, ',');
        metric_label(out, "version", one->version);
        buf_add_str(out, "} ");
        metric_value(out, one->value);
    }
    if (!v->whole)
        return;
    metric(out, "flamed_regression_left_out",
           "Releases and comparisons without a place in the full table of services.", d->left_out);
    metric(out, "flamed_regression_marks_left_out",
           "The oldest marks of the last day, not read for it, because there were too many.",
           d->marks_left_out);
}
