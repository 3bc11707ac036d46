/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/service_minute.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "profile/frame_name.h"

#define MINUTE_IMAGES_MAX 65536u
#define NO_SERVICE UINT32_MAX
#define OTHER_SERVICE (UINT32_MAX - 1) /* number of a service that found no room */
#define NO_KIND SERVICE_COUNTER_KINDS
#define CHOSEN_STEP 4096    /* number of names by which the array is_chosen grows */
#define CALLS_CHOSEN_MAX 64 /* limit of chosen functions of one stack */
#define NUMBERS (SERVICE_COUNTERS_MAX + 1)

struct image_key { /* no padding: it is a key */
    uint64_t start_ticks;
    int32_t host_pid;
    uint32_t exec_no;
};
struct service_key { /* no padding: it is a key */
    uint32_t name, pod_namespace, owner;
};
struct weight_key { /* no padding: it is a key */
    uint32_t number, kind, name;
};

int minute_init(struct minute *m, struct match *chosen)
{
    m->chosen = chosen;
    id_table_init(&m->images, sizeof(struct image_key), MINUTE_IMAGES_MAX);
    id_table_init(&m->keys, sizeof(struct service_key), MINUTE_SERVICES_MAX);
    id_table_init(&m->weight_keys, sizeof(struct weight_key), MINUTE_WEIGHTS_MAX);
    match_begin(chosen);
    return intern_new(MINUTE_STRINGS_MAX, &m->strings);
}

void minute_deinit(struct minute *m)
{
    intern_free(m->strings);
    id_table_deinit(&m->images);
    free(m->services_of);
    id_table_deinit(&m->keys);
    id_table_deinit(&m->weight_keys);
    free(m->is_chosen);
    free(m->services);
    free(m->by_weight);
    free(m->ns);
    free(m->weights);
    free(m->firsts);
}

/* ---- services ---- */

/* Adds @text, cut to the length of a name. */
static int add_text(struct minute *m, struct span text, uint32_t *ret)
{
    _cleanup_buf_ struct buf cut = BUF_NULL;

    if (text.n < HEAVY_NAME_BYTES)
        return intern_add(m->strings, text, ret);
    buf_init(&cut, HEAVY_NAME_BYTES);
    text_clean(text, TEXT_UTF8, HEAVY_NAME_BYTES - 1, &cut);
    return cut.error ? cut.error : intern_add(m->strings, buf_span(&cut), ret);
}

/* Finds or adds the service of @process, a JVM. -ENOSPC: no room. */
static int add_service(struct minute *m, const struct profile *p,
                       const struct profile_process *process, uint32_t *ret)
{
    struct service_key key = { .owner = process->owner };
    int r = add_text(m, intern_get(p->strings, process->service), &key.name) ?:
            add_text(m, intern_get(p->strings, process->pod_namespace), &key.pod_namespace) ?:
            id_table_add(&m->keys, &key, ret);

    if (r <= 0)
        return r;
    if (!array_grow(&m->services, &m->services_cap, m->keys.count, 64))
        return -ENOMEM;
    m->services[m->service_count++] =
        (struct minute_service){ .name = intern_get(m->strings, key.name),
                                 .pod_namespace = intern_get(m->strings, key.pod_namespace),
                                 .owner = key.owner,
                                 .payer = process->payer };
    return 0;
}

static struct image_key image_of(const struct profile_process *process)
{
    return (struct image_key){ process->start_ticks, process->host_pid, process->exec_no };
}

int minute_note(struct minute *m, const struct profile *p)
{
    for (size_t i = 0; i < p->process_count; i++) {
        const struct image_key key = image_of(&p->processes[i]);
        uint32_t id, service;
        int r = p->processes[i].service ? add_service(m, p, &p->processes[i], &service) : -ENOSPC;

        if (r == 0)
            r = id_table_add(&m->images, &key, &id);
        if (r >= 0 && !array_extend(&m->services_of, &m->services_of_cap, m->images.cap))
            r = -ENOMEM;
        if (r >= 0)
            m->services_of[id] = service;
        if (r == -ENOMEM)
            return r;
        m->left_out += r == -ENOSPC && p->processes[i].service;
    }
    return 0;
}

/* Finds the index of the service of each process of @p: the service may have become known only
 * after a JVM's first samples. */
static int find_services(struct minute *m, const struct profile *p, uint32_t **ret)
{
    uint32_t *of = *ret = calloc(p->process_count + 1, sizeof(*of)), id;

    if (!of)
        return -ENOMEM;
    for (size_t i = 0; i < p->process_count; i++) {
        const struct image_key key = image_of(&p->processes[i]);

        of[i] = !p->processes[i].service               ? NO_SERVICE
                : id_table_find(&m->images, &key, &id) ? m->services_of[id]
                                                       : OTHER_SERVICE;
    }
    return 0;
}

/* Finds the counter of each event's samples. */
static void find_kinds(const struct profile *p, uint32_t ret[PROFILE_EVENTS_MAX])
{
    for (uint32_t i = 0; i < p->event_count; i++)
        ret[i] = strcmp(p->events[i].name, "cpu") == 0    ? SERVICE_COUNTER_CPU
                 : strcmp(p->events[i].name, "lock") == 0 ? SERVICE_COUNTER_LOCKS
                                                          : NO_KIND;
}

int minute_weigh(struct minute *m, const struct profile *p)
{
    _cleanup_free_ uint32_t *of = NULL;
    uint32_t kinds[PROFILE_EVENTS_MAX];
    int r = find_services(m, p, &of);

    find_kinds(p, kinds);
    for (size_t i = 0; r == 0 && i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        uint32_t service = of[p->threads[s->thread].process];

        if (service < OTHER_SERVICE && kinds[s->event] == SERVICE_COUNTER_CPU)
            m->services[service].cpu_ns += s->value;
        else if (service < OTHER_SERVICE && kinds[s->event] == SERVICE_COUNTER_LOCKS)
            m->services[service].lock_ns += s->value;
    }
    return r;
}

ORDER_FUNCTION(heavier_first, struct minute_service *const,
               COMPARE(minute_service_weight(*y), minute_service_weight(*x)) ?: COMPARE(*x, *y))

int minute_sort(struct minute *m)
{
    m->by_weight = calloc(m->service_count + 1, sizeof(struct minute_service *));
    if (!m->by_weight)
        return -ENOMEM;
    for (size_t i = 0; i < m->service_count; i++)
        m->by_weight[i] = &m->services[i];
    qsort(m->by_weight, m->service_count, sizeof(struct minute_service *), heavier_first);
    return 0;
}

const struct minute_service *minute_service_find(const struct minute *m, const char *name,
                                                 const char *pod_namespace, uint32_t owner)
{
    struct service_key key = { .owner = owner };
    uint32_t id;

    return intern_find(m->strings, span_of(name), &key.name) &&
                   intern_find(m->strings, span_of(pod_namespace), &key.pod_namespace) &&
                   id_table_find(&m->keys, &key, &id)
               ? &m->services[id]
               : NULL;
}

/* ---- names ---- */

struct counting {
    struct minute *m;
    const struct profile *p;
    uint32_t *names; /* by frame: string + 1; 0: not known yet */
};

/* Spells a frame. All kernel functions have one name, because not every viewer may see their
 * names. */
static void spell(const struct profile *p, const struct frame *f, struct buf *out)
{
    static const struct view_opts OPTS = { .names = VIEW_NAMES_MERGED };

    if (f->kind == FRAME_KERNEL)
        buf_add_str(out, "[kernel]");
    else
        frame_name_spell(p, &OPTS, f, out);
}

static int name_of(struct counting *c, uint32_t frame, uint32_t *ret)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    int r;

    if (!c->names[frame]) {
        buf_init(&text, (size_t)4 * TEXT_NAME_MAX);
        spell(c->p, &c->p->frames[frame], &text);
        r = text.error ? text.error : add_text(c->m, buf_span(&text), ret);
        if (r < 0)
            return r;
        c->names[frame] = *ret + 1;
    }
    *ret = c->names[frame] - 1;
    return 0;
}

/* Returns whether a pattern chooses @name. A pattern that takes too long does not choose the name,
 * and is counted. */
static bool is_chosen(struct minute *m, uint32_t name)
{
    size_t room = (intern_count(m->strings) / CHOSEN_STEP + 1) * CHOSEN_STEP;

    if (!m->chosen || !array_extend(&m->is_chosen, &m->is_chosen_cap, room))
        return false;
    if (!m->is_chosen[name]) {
        int r = match_any(m->chosen, intern_get(m->strings, name), NULL);

        m->is_chosen[name] = r > 0 ? 2 : 1;
        m->left_out += r < 0;
    }
    return m->is_chosen[name] == 2;
}

static int add_time(struct minute *m, const struct weight_key *key, uint64_t ns)
{
    uint32_t id;
    int r = id_table_add(&m->weight_keys, key, &id);

    if (r >= 0)
        r = array_extend(&m->ns, &m->ns_cap, m->weight_keys.cap) ? 0 : -ENOMEM;
    if (r == 0)
        m->ns[id] += ns;
    return r;
}

/* Adds @ns to each chosen function of @stack, once per function. */
static int add_calls(struct counting *c, uint32_t stack, uint32_t number, uint64_t ns)
{
    uint32_t seen[CALLS_CHOSEN_MAX];
    size_t count = 0, k;
    int r = 0;

    for (uint32_t at = stack; r == 0 && at; at = c->p->stacks[at].parent) {
        struct weight_key key = { .number = number, .kind = SERVICE_COUNTER_CALLS };

        r = name_of(c, c->p->stacks[at].frame, &key.name);
        if (r < 0 || !is_chosen(c->m, key.name))
            continue;
        for (k = 0; k < count && seen[k] != key.name; k++)
            ;
        if (k < count)
            continue;
        if (count == CALLS_CHOSEN_MAX)
            return -ENOSPC;
        seen[count++] = key.name;
        r = add_time(c->m, &key, ns);
    }
    return r;
}

/* Adds a sample of the counter @kind. */
static int add_sample(struct counting *c, const struct profile_sample *s, uint32_t number,
                      uint32_t kind)
{
    const struct profile *p = c->p;
    uint32_t at = profile_lock_owner(p, s) ? p->stacks[s->stack].parent : s->stack;
    struct weight_key key = { .number = number, .kind = kind };
    int r;

    if (kind == SERVICE_COUNTER_LOCKS && p->frames[p->stacks[at].frame].kind != FRAME_WAIT_LOCK)
        return 0;
    r = name_of(c, p->stacks[at].frame, &key.name) ?: add_time(c->m, &key, s->value);
    if (r == -ENOSPC || r == -EFBIG)
        c->m->other_ns[number][kind] += s->value;
    if (r == 0 && kind == SERVICE_COUNTER_CPU && c->m->chosen)
        r = add_calls(c, s->stack, number, s->value);
    return r;
}

int minute_count(struct minute *m, const struct profile *p)
{
    _cleanup_free_ uint32_t *of = NULL, *names = calloc(p->frame_count + 1, sizeof(*names));
    struct counting c = { m, p, names };
    uint32_t kinds[PROFILE_EVENTS_MAX];
    int r = names ? find_services(m, p, &of) : -ENOMEM;

    find_kinds(p, kinds);
    for (size_t i = 0; r == 0 && i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        uint32_t service = of[p->threads[s->thread].process];

        if (service == NO_SERVICE || kinds[s->event] == NO_KIND)
            continue;
        r = add_sample(&c, s, service == OTHER_SERVICE ? 0 : m->services[service].number,
                       kinds[s->event]);
        if (r == -ENOSPC || r == -EFBIG) {
            m->left_out++;
            r = 0;
        }
    }
    return r;
}

/* ---- by service ---- */

static size_t place_of(const struct weight_key *key)
{
    return (size_t)key->number * SERVICE_COUNTER_KINDS + key->kind;
}

/* Sorts the weights by number and kind (a counting sort). */
int minute_group(struct minute *m)
{
    const size_t places = (size_t)NUMBERS * SERVICE_COUNTER_KINDS;
    _cleanup_free_ uint32_t *next = calloc(places, sizeof(*next));

    m->firsts = calloc(places + 1, sizeof(*m->firsts));
    m->weights = calloc((size_t)m->weight_keys.count + 1, sizeof(*m->weights));
    if (!next || !m->firsts || !m->weights)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->weight_keys.count; i++)
        m->firsts[place_of(id_table_get(&m->weight_keys, i)) + 1]++;
    for (size_t i = 0; i < places; i++) {
        m->firsts[i + 1] += m->firsts[i];
        next[i] = m->firsts[i];
    }
    for (uint32_t i = 0; i < m->weight_keys.count; i++) {
        const struct weight_key *key = id_table_get(&m->weight_keys, i);

        m->weights[next[place_of(key)]++] = (struct heavy_weight){
            .name = key->name,
            .chosen = key->kind != SERVICE_COUNTER_LOCKS && is_chosen(m, key->name),
            .ns = m->ns[i],
        };
    }
    return 0;
}

size_t minute_weights(struct minute *m, uint32_t number, uint32_t kind, struct heavy_weight **ret)
{
    size_t place = place_of(&(struct weight_key){ .number = number, .kind = kind });

    *ret = &m->weights[m->firsts[place]];
    return m->firsts[place + 1] - m->firsts[place];
}

uint64_t minute_other(const struct minute *m, uint32_t number, uint32_t kind)
{
    return m->other_ns[number][kind];
}
