/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/service_counters.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/heavy_names.h"
#include "profile/service_minute.h"

#include <pthread.h>

struct service {
    char *name, *pod_namespace; /* owned */
    uint32_t owner;
    uint64_t payer; /* as in struct minute_service; of the time when it got its place */
    struct heavy_names kinds[SERVICE_COUNTER_KINDS];
    uint64_t recent_ns; /* as in struct heavy_name */
    unsigned idle;
};

struct service_counters {
    struct service_counters_opts o;
    pthread_mutex_t lock;
    struct service *services[SERVICE_COUNTERS_MAX]; /* owned, sorted by name, namespace and owner */
    size_t count;
    struct service *others;
    uint64_t left_out;
};

/* ---- services ---- */

static struct service *service_free(struct service *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < SERVICE_COUNTER_KINDS; i++)
        heavy_names_deinit(&s->kinds[i]);
    free(s->name);
    free(s->pod_namespace);
    free(s);
    return NULL;
}

static struct service *service_new(const struct minute_service *from)
{
    struct service *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->name = span_dup(from->name);
    s->pod_namespace = span_dup(from->pod_namespace);
    s->owner = from->owner;
    s->payer = from->payer;
    return s->name && s->pod_namespace ? s : service_free(s);
}

static int service_cmp(const struct service *s, const struct minute_service *m)
{
    int r = strcmp(s->name, m->name.p) ?: strcmp(s->pod_namespace, m->pod_namespace.p);

    return r ? r : (s->owner > m->owner) - (s->owner < m->owner);
}

/* Returns the index of @m or, for a new service, where to insert it. */
static size_t service_at(const struct service_counters *c, const struct minute_service *m)
{
    return array_first(c->count, middle, service_cmp(c->services[middle], m) < 0);
}

static struct service *service_find(const struct service_counters *c,
                                    const struct minute_service *m)
{
    size_t at = service_at(c, m);

    return at < c->count && service_cmp(c->services[at], m) == 0 ? c->services[at] : NULL;
}

static bool same_name(const struct service *a, const struct service *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->pod_namespace, b->pod_namespace) == 0;
}

struct heir {
    struct service_counters *c;
    const struct service *from;
    uint32_t kind;
};

/* Adds the time of @n, which is removed, to the same name in another owner's service of the same
 * name. Both are reported as one sum, which must not fall: scrapers treat a fall as a restart. If
 * no other service has the name, its counter ends. */
static void bequeath_name(void *cookie, const struct heavy_name *n)
{
    const struct heir *heir = cookie;

    for (size_t i = 0; i < heir->c->count; i++) {
        struct service *s = heir->c->services[i];
        struct heavy_names *h = &s->kinds[heir->kind];

        for (size_t k = 0; s != heir->from && same_name(s, heir->from) && k < h->count; k++) {
            if (strcmp(h->names[k].name, n->name) == 0) {
                h->names[k].inherited_ns += n->ns + n->inherited_ns;
                return;
            }
        }
    }
}

static void bequeath_kind(struct service_counters *c, const struct service *from, uint32_t kind)
{
    const struct heavy_names *h = &from->kinds[kind];
    struct heir heir = { c, from, kind };

    for (size_t i = 0; i < h->count; i++)
        bequeath_name(&heir, &h->names[i]);
    for (size_t i = 0; i < c->count; i++) {
        struct service *s = c->services[i];

        if (s != from && same_name(s, from)) {
            s->kinds[kind].inherited_other_ns += h->other_ns + h->inherited_other_ns;
            return;
        }
    }
}

static void service_remove(struct service_counters *c, size_t at)
{
    for (uint32_t kind = 0; kind < SERVICE_COUNTER_KINDS; kind++)
        bequeath_kind(c, c->services[at], kind);
    service_free(c->services[at]);
    memmove(&c->services[at], &c->services[at + 1], (--c->count - at) * sizeof(struct service *));
}

static void service_insert(struct service_counters *c, const struct minute_service *m)
{
    size_t at = service_at(c, m);
    struct service *s = service_new(m);

    if (!s)
        return;
    s->recent_ns = minute_service_weight(m);
    memmove(&c->services[at + 1], &c->services[at], (c->count++ - at) * sizeof(struct service *));
    c->services[at] = s;
}

/* Removes services that are idle for too long, and updates the mean of the others. */
static void age_services(struct service_counters *c, const struct minute *m)
{
    for (size_t i = c->count; i > 0; i--) {
        struct service *s = c->services[i - 1];
        const struct minute_service *now =
            minute_service_find(m, s->name, s->pod_namespace, s->owner);

        s->recent_ns = heavy_recent(s->recent_ns, now ? minute_service_weight(now) : 0);
        s->idle = now && (now->cpu_ns || now->lock_ns) ? 0 : s->idle + 1;
        if (s->idle > HEAVY_IDLE_MINUTES)
            service_remove(c, i - 1);
    }
}

static size_t count_of(const struct service_counters *c, uint64_t payer)
{
    size_t n = 0;

    for (size_t i = 0; i < c->count; i++)
        n += c->services[i]->payer == payer;
    return n;
}

/* Returns the index of the lightest service of the payer with the most services. *ret_count: the
 * number of that payer's services. */
static size_t find_place(const struct service_counters *c, size_t *ret_count)
{
    size_t at = 0, most = 0;

    for (size_t i = 0; i < c->count; i++) {
        size_t n = count_of(c, c->services[i]->payer);

        if (n > most || (n == most && c->services[i]->recent_ns < c->services[at]->recent_ns))
            at = i;
        most = MAX(n, most);
    }
    *ret_count = most;
    return at;
}

/* Returns whether a new service replaces the service at @at. For a payer with fewer services, its
 * weight does not matter. */
static bool takes_place(const struct service_counters *c, const struct minute_service *new,
                        size_t at, size_t most)
{
    return count_of(c, new->payer) + 1 < most ||
           minute_service_weight(new) > HEAVY_FACTOR * c->services[at]->recent_ns;
}

/* Adds the heaviest new services. Without room, one new service per minute replaces the lightest
 * service of the payer with the most services. */
static void admit_services(struct service_counters *c, const struct minute *m)
{
    size_t at = 0, most = 0;

    for (size_t i = 0; i < m->service_count; i++) {
        const struct minute_service *new = m->by_weight[i];

        if (!(new->cpu_ns || new->lock_ns) || service_find(c, new) ||
            span_eq_str(new->name, SERVICE_COUNTERS_OTHERS))
            continue;
        if (c->count < SERVICE_COUNTERS_MAX) {
            service_insert(c, new);
            continue;
        }
        if (!most)
            at = find_place(c, &most);
        if (!takes_place(c, new, at, most))
            continue;
        service_remove(c, at);
        service_insert(c, new);
        return;
    }
}

/* ---- a minute ---- */

/* Adds the weights of @s, number @number in @m, of the minute at @start_ns. */
static void add_names(struct service_counters *c, struct service *s, struct minute *m,
                      uint32_t number, uint64_t start_ns)
{
    for (uint32_t kind = 0; kind < SERVICE_COUNTER_KINDS; kind++) {
        struct heir heir = { c, s, kind };
        struct heavy_limits limits = { .heaviest =
                                           kind == SERVICE_COUNTER_CALLS ? 0 : c->o.heaviest,
                                       .chosen = SERVICE_COUNTERS_CHOSEN,
                                       .gone = bequeath_name,
                                       .cookie = &heir };
        struct heavy_names *h = &s->kinds[kind];
        uint64_t other_ns = h->other_ns;
        struct heavy_weight *weights;
        size_t count = minute_weights(m, number, kind, &weights);

        c->left_out += heavy_names_add(h, m->strings, weights, count, start_ns, &limits);
        h->other_ns += minute_other(m, number, kind);
        if (h->other_ns > other_ns)
            h->newest_other = (struct heavy_minute){ start_ns, h->other_ns - other_ns };
    }
}

/* Numbers the services of the minute; 0: all services without their own counters. */
static void number_services(const struct service_counters *c, struct minute *m)
{
    for (size_t i = 0; i < m->service_count; i++) {
        size_t at = service_at(c, &m->services[i]);
        bool found = at < c->count && service_cmp(c->services[at], &m->services[i]) == 0;

        m->services[i].number = found ? (uint32_t)at + 1 : 0;
    }
}

void service_counters_add(struct service_counters *c, uint64_t start_ns,
                          struct profile *const *slices, size_t count)
{
    _cleanup_(minute_deinit) struct minute m = { 0 };
    int r = minute_init(&m, c->o.chosen);

    for (size_t i = 0; r == 0 && i < count; i++)
        r = minute_note(&m, slices[i]);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = minute_weigh(&m, slices[i]);
    if (r == 0)
        r = minute_sort(&m);
    pthread_mutex_lock(&c->lock);
    if (r == 0) {
        age_services(c, &m);
        admit_services(c, &m);
        number_services(c, &m);
    }
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = minute_count(&m, slices[i]);
    if (r == 0)
        r = minute_group(&m);
    pthread_mutex_lock(&c->lock);
    if (r == 0) {
        add_names(c, c->others, &m, 0, start_ns);
        for (size_t i = 0; i < c->count; i++)
            add_names(c, c->services[i], &m, (uint32_t)i + 1, start_ns);
    }
    c->left_out += m.left_out + (r < 0);
    pthread_mutex_unlock(&c->lock);
}

/* ---- reporting ---- */

#define LINES_MAX (SERVICE_COUNTERS_CHOSEN + SERVICE_COUNTERS_HEAVIEST)

/* Services of one name and namespace, which are reported as one. */
struct run {
    struct service *const *services;
    size_t count;
    bool whole; /* the time inherited from removed services is visible, too */
};

ORDER_FUNCTION(by_name, struct heavy_name *const, strcmp((*x)->name, (*y)->name))

static struct service_counter_line line_of(const struct run *run, const char *name)
{
    return (struct service_counter_line){ .service = run->services[0]->name,
                                          .pod_namespace = run->services[0]->pod_namespace,
                                          .name = name };
}

/* Adds @m to @sum. If both are of different minutes, keeps the newer one. */
static void add_newest(struct heavy_minute *sum, const struct heavy_minute *m)
{
    if (m->start_ns > sum->start_ns)
        *sum = *m;
    else if (m->start_ns == sum->start_ns)
        sum->ns += m->ns;
}

static void report_other(const struct service_counters_query *q, const struct run *run)
{
    struct service_counter_line line = line_of(run, HEAVY_OTHER);

    for (size_t i = 0; i < run->count; i++) {
        const struct heavy_names *h = &run->services[i]->kinds[q->kind];

        line.ns += h->other_ns + (run->whole ? h->inherited_other_ns : 0);
        add_newest(&line.newest, &h->newest_other);
    }

    if (q->kind != SERVICE_COUNTER_CALLS)
        q->line(q->cookie, &line);
}

static void report_names(const struct service_counters_query *q, const struct run *run,
                         const struct heavy_name **names, size_t count)
{
    for (size_t i = 0; i < count;) {
        struct service_counter_line line = line_of(run, names[i]->name);

        for (; i < count && strcmp(names[i]->name, line.name) == 0; i++) {
            line.ns += names[i]->ns + (run->whole ? names[i]->inherited_ns : 0);
            add_newest(&line.newest, &names[i]->newest);
        }
        q->line(q->cookie, &line);
    }
}

/* Reports the sum of the services of @run. Without memory, reports no names. */
static void report_run(const struct service_counters_query *q, const struct run *run)
{
    _cleanup_free_ const struct heavy_name **names = calloc(run->count * LINES_MAX, sizeof(*names));
    size_t n = 0;

    for (size_t i = 0; names && i < run->count; i++) {
        const struct heavy_names *h = &run->services[i]->kinds[q->kind];

        for (size_t k = 0; k < h->count; k++)
            names[n++] = &h->names[k];
    }
    if (!names)
        return;
    if (run->count > 1)
        qsort(names, n, sizeof(*names), by_name);
    report_names(q, run, names, n);
    report_other(q, run);
}

void service_counters_each(struct service_counters *c, const struct service_counters_query *q)
{
    struct service *seen[SERVICE_COUNTERS_MAX + 1];
    size_t count = 0;

    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i <= c->count; i++) {
        struct service *s = i < c->count ? c->services[i] : c->others;

        if (q->sees(q->cookie, s->owner, s->pod_namespace))
            seen[count++] = s;
    }
    for (size_t i = 0; i < count;) {
        struct run run = { .services = &seen[i],
                           .whole = q->sees(q->cookie, 0, seen[i]->pod_namespace) };

        for (; i < count && same_name(seen[i], run.services[0]); i++)
            run.count++;
        report_run(q, &run);
    }
    pthread_mutex_unlock(&c->lock);
}

uint64_t service_counters_left_out(struct service_counters *c)
{
    uint64_t n;

    pthread_mutex_lock(&c->lock);
    n = c->left_out;
    pthread_mutex_unlock(&c->lock);
    return n;
}

int service_counters_new(const struct service_counters_opts *o, struct service_counters **ret)
{
    static const struct minute_service OTHERS = { .name = { SERVICE_COUNTERS_OTHERS,
                                                            sizeof(SERVICE_COUNTERS_OTHERS) - 1 } };
    struct service_counters *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->others = service_new(&OTHERS);
    if (!c->others) {
        free(c);
        return -ENOMEM;
    }
    c->o = *o;
    c->o.heaviest = MIN(c->o.heaviest, (size_t)SERVICE_COUNTERS_HEAVIEST);
    pthread_mutex_init(&c->lock, NULL);
    *ret = c;
    return 0;
}

struct service_counters *service_counters_free(struct service_counters *c)
{
    if (!c)
        return NULL;
    while (c->count)
        service_free(c->services[--c->count]);
    service_free(c->others);
    match_free(c->o.chosen);
    pthread_mutex_destroy(&c->lock);
    free(c);
    return NULL;
}
