/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the history's part to the list of services: JVMs that have ended, and marks. */
#include "api/json.h"
#include "api/past_impl.h"
#include "api/service_entry.h"
#include "base/places.h"

#define SERVICES_ENDED_MAX 1000 /* ended JVMs, of all services together */
#define SERVICES_MARKS_MAX 1000

/* Entries of one kind, of all services. In a full list, a new entry replaces one of the owner with
 * the most entries. */
struct listed {
    size_t max;
    struct listed_one {
        uint64_t owner;
        json_t *list, *one; /* borrowed: the service's list, and the entry in it */
    } * all;                /* owned, [max] */
    size_t count, left_out;
    struct places places;
};

struct past_services {
    struct past_filter filter;
    json_t *services; /* array of the services' entries */
    json_t *by_name;  /* object: a service's name -> its entry */
    json_t *running;  /* object: pid and start of each running JVM -> its service's entry */
    struct listed ended, marks;
};

static uint64_t owner_of(const void *table, size_t i)
{
    const struct listed_one *all = table;

    return all[i].owner;
}

static void take_off(const struct listed_one *l)
{
    for (size_t i = 0; i < json_array_size(l->list); i++) {
        if (json_array_get(l->list, i) == l->one) {
            json_array_remove(l->list, i);
            return;
        }
    }
}

/* Returns a place for an entry of @owner, maybe that of another owner's entry, which is dropped.
 * NULL: none. */
static struct listed_one *place_of(struct listed *l, uint64_t owner)
{
    size_t at = l->count;

    if (!l->all)
        l->all = calloc(l->max, sizeof(*l->all));
    if (l->count == l->max) {
        at = places_find(&l->places, owner, l->count, owner_of, l->all);
        l->left_out++;
    }
    if (!l->all || at == l->max)
        return NULL;
    if (at < l->count) {
        places_give(&l->places, l->all[at].owner);
        take_off(&l->all[at]);
    } else {
        l->count++;
    }
    places_take(&l->places, owner);
    l->all[at] = (struct listed_one){ .owner = owner };
    return &l->all[at];
}

/* Adds @one, which it takes, to the list @key of @entry. */
static void put(struct listed_one *place, json_t *entry, const char *key, json_t *one)
{
    place->list = json_object_get(entry, key);
    place->one = one;
    json_array_append_new(place->list, one);
}

/* Returns the entry of service @name, borrowed; NULL: no memory. */
static json_t *entry_of(struct past_services *s, const char *name)
{
    json_t *entry = json_object_get(s->by_name, name);

    if (entry)
        return entry;
    entry = json_pack("{s:s, s:[], s:[], s:[], s:[], s:[]}", "name", name, "versions",
                      "environments", "jvms", "ended", "marks");
    json_object_set_new(s->by_name, name, entry);
    json_array_append(s->services, entry);
    return entry;
}

/* Writes the key of a JVM: its pid and start ticks. After a restart of flamed, the wall-clock time
 * of a start and the exec number may differ. */
static void key_of(json_int_t pid, json_int_t start_ticks, char ret[64])
{
    snprintf(ret, 64, "%lld %lld", (long long)pid, (long long)start_ticks);
}

/* Notes the running JVMs of @entry, and removes members that are not part of the answer. */
static void note_running(struct past_services *s, json_t *entry)
{
    json_t *jvm;
    size_t i;
    char key[64];

    json_array_foreach(json_object_get(entry, "jvms"), i, jvm)
    {
        key_of(json_integer_value(json_object_get(jvm, "pid")),
               json_integer_value(json_object_get(jvm, SERVICES_TICKS)), key);
        json_object_set(s->running, key, entry);
        json_object_del(jvm, SERVICES_TICKS);
    }
}

/* Returns the entry in which the JVM @image runs, borrowed. By now, the JVM's service may have
 * another name. NULL: the JVM has ended. */
static json_t *running_in(const struct past_services *s, const struct history_image *image)
{
    char key[64];

    key_of(image->host_pid, (json_int_t)image->start_ticks, key);
    return json_object_get(s->running, key);
}

static void see_image(void *cookie, const struct history_image *image)
{
    struct past_services *s = cookie;
    json_t *running = running_in(s, image), *entry = running;
    struct listed_one *place;

    if (!image->service[0])
        return;
    place = running ? NULL : place_of(&s->ended, past_payer(image));
    if (!running)
        entry = place ? entry_of(s, image->service) : json_object_get(s->by_name, image->service);
    service_add_text(entry, "versions", image->version);
    service_add_text(entry, "environments", image->environment);
    service_keep_time(entry, "first_seen", image->started_ns ? image->started_ns : image->first_ns,
                      true);
    if (!running)
        service_keep_time(entry, "last_seen", image->last_ns, false);
    if (place)
        put(place, entry, "ended",
            json_pack("{s:i, s:s, s:o, s:o, s:o, s:o}", "pid", (int)image->host_pid, "main",
                      image->name, "version", json_string_or_null(image->version), "java_version",
                      json_string_or_null(image->java), "start_time",
                      image->started_ns ? json_time(image->started_ns) : json_null(), "last_seen",
                      json_time(image->last_ns)));
}

static void see_mark(void *cookie, const struct history_mark *m)
{
    struct past_services *s = cookie;

    struct listed_one *place;

    if (!m->image || !m->image->service[0])
        return;
    place = place_of(&s->marks, past_payer(m->image));
    if (place)
        put(place, entry_of(s, m->image->service), "marks",
            json_pack("{s:o, s:s, s:i, s:s}", "time", json_time(m->time_ns), "kind",
                      history_mark_name(m->kind), "pid", (int)m->image->host_pid, "text", m->text));
}

static bool wants(void *cookie, const struct history_image *image)
{
    const struct past_services *s = cookie;

    return image->host_pid && past_wants_image(&s->filter, image);
}

/* Adds the members that only entries of the past have. */
static void complete(json_t *entry, uint64_t now_ns)
{
    static const char *const LISTS[] = { "ended", "marks" };

    for (size_t i = 0; i < ARRAY_SIZE(LISTS); i++) {
        if (!json_object_get(entry, LISTS[i]))
            json_object_set_new(entry, LISTS[i], json_array());
    }
    if (json_array_size(json_object_get(entry, "jvms")))
        json_object_set_new(entry, "last_seen", json_time(now_ns));
}

int services_add_past(struct api *api, const struct viewer *v, json_t *ret, struct error *err)
{
    struct target_selector everything = { .viewer = v };
    struct past_services s = { .filter = { .t = &everything },
                               .services = json_object_get(ret, "services"),
                               .by_name = json_object(),
                               .running = json_object(),
                               .ended = { .max = SERVICES_ENDED_MAX },
                               .marks = { .max = SERVICES_MARKS_MAX } };
    struct history_query q = {
        .to_ns = UINT64_MAX, .wants = wants, .cookie = &s, .newest_first = true
    };
    uint64_t left_out = 0;
    json_t *entry;
    size_t i;
    int r = 0;

    json_array_foreach(s.services, i, entry)
    {
        complete(entry, clock_realtime_ns());
        json_object_set(s.by_name, json_string_value(json_object_get(entry, "name")), entry);
        note_running(&s, entry);
    }
    if (api->engine.history && v && v->seen)
        r = matcher_set_new(v->seen, &s.filter.seen, err);
    if (r == 0 && api->engine.history)
        r = history_images(api->engine.history, &q, see_image, &s, err);
    if (r == 0 && api->engine.history)
        r = history_marks(api->engine.history, &q, see_mark, &s, &left_out, err);
    if (r == 0)
        r = matcher_set_refuse_spent(s.filter.seen, err);
    json_object_set_new(ret, "ended_left_out", json_integer((json_int_t)s.ended.left_out));
    json_object_set_new(ret, "marks_left_out",
                        json_integer((json_int_t)(s.marks.left_out + left_out)));
    free(s.ended.all);
    free(s.marks.all);
    matcher_set_free(s.filter.seen);
    json_decref(s.by_name);
    json_decref(s.running);
    return r;
}
