/* SPDX-License-Identifier: Apache-2.0 */
#include "push/fold.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/id_table.h"
#include "profile/import_frames.h"

#define FOLD_ROWS_MAX 4000000u
#define FOLD_STRING_BYTES_MAX ((size_t)64 << 20)
#define FOLD_GROUP_BYTES ((size_t)8192)
#define FOLD_FLAGS (PROFILE_SAMPLE_UNKNOWN | PROFILE_SAMPLE_TRUNCATED)
#define NO_GROUP UINT32_MAX
#define SAMPLED (UINT32_MAX - 1) /* a process with samples, before its group is looked up */

struct fold_key { /* hashed by its bytes, so it has no padding */
    uint32_t group, event, stack, flags;
};

struct folder {
    struct fold *f;
    struct series *series;
    uint64_t now_ns;
    struct intern *names; /* names of the groups */
    uint32_t *of_process; /* the group of each process */
    struct id_table keys;
    struct fold_row *sums; /* [sums_cap]: by id in keys */
    size_t sums_cap;
};

/* ---- groups ---- */

/* Copies the attributes that stay the same when a service restarts: no pod, container or instance.
 */
static void lasting_attributes(struct span lines, struct buf *out)
{
    struct span line;

    while (span_take_line(&lines, &line)) {
        if (span_starts_with(line, "service.namespace=") ||
            span_starts_with(line, "deployment.environment.name=") ||
            span_starts_with(line, "vcs.")) {
            buf_add_span(out, line);
            buf_add_char(out, '\n');
        }
    }
}

static int append_group(struct fold *f, const struct profile_process *group, char *attributes)
{
    size_t n = f->group_count;
    struct profile_process *groups = reallocarray(f->groups, n + 1, sizeof(*groups));
    char **all = groups ? reallocarray(f->attributes, n + 1, sizeof(*all)) : NULL;

    if (groups)
        f->groups = groups;
    if (all)
        f->attributes = all;
    if (!all || !attributes) {
        free(attributes);
        return -ENOMEM;
    }
    groups[n] = *group;
    all[n] = attributes;
    f->group_count++;
    return 0;
}

/* Adds the group for all services that have no place in the series. */
static int add_other_services(struct folder *x, uint32_t *ret)
{
    static const struct profile_process NAMELESS;
    struct fold *f = x->f;
    int r = 0;

    if (f->other_services == FOLD_OTHER) {
        r = append_group(f, &NAMELESS, strdup(""));
        f->other_services = r == 0 ? (uint32_t)(f->group_count - 1) : FOLD_OTHER;
    }
    *ret = f->other_services;
    return r;
}

/* Returns whether the service of @q has a place in the series. The name of the place consists of
 * texts, because other profiles have other ids. */
static bool has_place(const struct folder *x, const struct profile_process *q, struct span more)
{
    const struct intern *strings = x->f->p->strings;
    struct span texts[] = { intern_get(strings, q->service), intern_get(strings, q->version),
                            intern_get(strings, q->pod_namespace), more };
    _cleanup_buf_ struct buf name = BUF_UPTO(FOLD_GROUP_BYTES);

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        buf_add_span(&name, texts[i]);
        buf_add_char(&name, '\0');
    }
    return !name.error && series_admit(x->series, q->payer, buf_span(&name), x->now_ns);
}

/* Returns the group of the name @id, which counts from 1. The group [other services] has no name.
 */
static uint32_t group_of_name(const struct fold *f, uint32_t id)
{
    return id - 1 < f->other_services ? id - 1 : id;
}

static int add_group(struct folder *x, const struct profile_process *q, uint32_t *ret)
{
    const struct profile *p = x->f->p;
    const struct profile_process group = { .service = q->service,
                                           .version = q->version,
                                           .pod_namespace = q->pod_namespace };
    _cleanup_buf_ struct buf attributes = BUF_UPTO(FOLD_GROUP_BYTES),
                             name = BUF_UPTO(FOLD_GROUP_BYTES);
    uint32_t id;

    buf_add_str(&attributes, "");
    lasting_attributes(intern_get(p->strings, q->attributes), &attributes);
    buf_printf(&name, "%u %u %u ", q->service, q->version, q->pod_namespace);
    buf_add_span(&name, buf_span(&attributes));
    if (attributes.error || name.error)
        return -ENOMEM;
    if (intern_find(x->names, buf_span(&name), &id)) {
        *ret = group_of_name(x->f, id);
        return 0;
    }
    if (!has_place(x, q, buf_span(&attributes)))
        return add_other_services(x, ret);
    if (intern_add(x->names, buf_span(&name), &id) < 0)
        return -ENOMEM;
    *ret = group_of_name(x->f, id);
    return append_group(x->f, &group, buf_take(&attributes, NULL));
}

/* Finds the groups of JVMs with samples, so that other JVMs use no place. */
static int find_groups(struct folder *x)
{
    const struct profile *p = x->f->p;
    int r = 0;

    memset(x->of_process, 0xff, p->process_count * sizeof(*x->of_process)); /* NO_GROUP */
    for (size_t i = 0; i < p->sample_count; i++)
        x->of_process[p->threads[p->samples[i].thread].process] = SAMPLED;
    for (size_t i = 0; r == 0 && i < p->process_count; i++) {
        bool sampled = x->of_process[i] == SAMPLED;

        x->of_process[i] = NO_GROUP;
        if (sampled && intern_get(p->strings, p->processes[i].service).n)
            r = add_group(x, &p->processes[i], &x->of_process[i]);
    }
    return r;
}

/* ---- rows ---- */

static int add_samples(struct folder *x)
{
    const struct profile *p = x->f->p;

    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];
        struct fold_key key = { x->of_process[p->threads[s->thread].process], s->event, s->stack,
                                s->flags & FOLD_FLAGS };
        uint32_t id;

        if (key.group == NO_GROUP)
            continue;
        if (id_table_add(&x->keys, &key, &id) < 0 ||
            !array_extend(&x->sums, &x->sums_cap, x->keys.cap))
            return -ENOMEM;
        x->sums[id].samples += s->count;
        x->sums[id].value += s->value;
    }
    return 0;
}

ORDER_FUNCTION(by_value, struct fold_row,
               COMPARE(x->group, y->group) ?:
                   COMPARE(x->event, y->event) ?:
                   COMPARE(y->value, x->value) ?:
                   COMPARE(x->stack, y->stack))

/* Keeps @budget rows of each group and event. One more row has the sum of the rest. Counts these
 * samples, and those of [other services]. */
static void keep_budget(struct fold *f, size_t budget)
{
    size_t to = 0, kept = 0;

    for (size_t i = 0; i < f->count; i++) {
        struct fold_row row = f->rows[i], *last = to ? &f->rows[to - 1] : NULL;

        if (row.group == f->other_services)
            f->other_samples += row.samples;
        if (!last || last->group != row.group || last->event != row.event)
            kept = 0;
        if (kept < budget) {
            f->rows[to++] = row;
            kept++;
            continue;
        }
        f->other_samples += row.group == f->other_services ? 0 : row.samples;
        if (last->stack == FOLD_OTHER) {
            last->samples += row.samples;
            last->value += row.value;
            last->flags |= row.flags;
            continue;
        }
        row.stack = FOLD_OTHER;
        f->rows[to++] = row;
    }
    f->count = to;
}

static int make_rows(struct folder *x, size_t budget)
{
    struct fold *f = x->f;

    f->rows = calloc((size_t)x->keys.count + 1, sizeof(*f->rows));
    if (!f->rows)
        return -ENOMEM;
    for (uint32_t i = 0; i < x->keys.count; i++) {
        const struct fold_key *key = id_table_get(&x->keys, i);

        f->rows[f->count++] = (struct fold_row){ key->group, key->event,         key->stack,
                                                 key->flags, x->sums[i].samples, x->sums[i].value };
    }
    qsort(f->rows, f->count, sizeof(*f->rows), by_value);
    keep_budget(f, budget);
    return 0;
}

static void folder_deinit(struct folder *x)
{
    intern_free(x->names);
    id_table_deinit(&x->keys);
    free(x->of_process);
    free(x->sums);
}

int fold_new(struct profile *p, size_t budget, struct series *series, uint64_t now_ns,
             struct fold **ret)
{
    _cleanup_(fold_freep) struct fold *f = calloc(1, sizeof(*f));
    _cleanup_(folder_deinit) struct folder x = { .f = f, .series = series, .now_ns = now_ns };
    int r;

    if (!f)
        return -ENOMEM;
    f->p = profile_ref(p);
    f->other_services = FOLD_OTHER;
    id_table_init(&x.keys, sizeof(struct fold_key), FOLD_ROWS_MAX);
    x.of_process = calloc(p->process_count + 1, sizeof(*x.of_process));
    r = x.of_process ? intern_new(FOLD_STRING_BYTES_MAX, &x.names) : -ENOMEM;
    if (r == 0)
        r = find_groups(&x);
    if (r == 0)
        r = add_samples(&x);
    if (r == 0)
        r = make_rows(&x, budget);
    if (r == 0)
        *ret = TAKE_PTR(f);
    return r;
}

struct fold *fold_free(struct fold *f)
{
    if (!f)
        return NULL;
    profile_unref(f->p);
    for (size_t i = 0; i < f->group_count; i++)
        free(f->attributes[i]);
    free(f->attributes);
    free(f->groups);
    free(f->rows);
    free(f);
    return NULL;
}

struct span fold_service(const struct fold *f, uint32_t group)
{
    return group == f->other_services ? SPAN("[other services]")
                                      : intern_get(f->p->strings, f->groups[group].service);
}

/* ---- profiles of rows ---- */

struct unfolder {
    const struct fold *f;
    struct frame_table *table;
    struct record *record;
    struct frame_importer names;
    uint32_t *threads; /* thread ids in the record, one for each group; NO_GROUP: none yet */
    uint32_t *stack;   /* [deepest + 1] */
    uint32_t other;    /* the frame [other] in the frame table */
};

static void unfolder_deinit(struct unfolder *u)
{
    record_free(u->record);
    frame_table_free(u->table);
    frame_importer_deinit(&u->names);
    free(u->threads);
    free(u->stack);
}

static int thread_of(struct unfolder *u, uint32_t group)
{
    const struct profile_process *g = &u->f->groups[group];
    struct profile_process process = { .start_ticks = group + 1,
                                       .version = g->version,
                                       .pod_namespace = g->pod_namespace };
    struct profile_thread thread = { 0 };
    int r;

    if (u->threads[group] != NO_GROUP)
        return 0;
    r = frame_table_string(u->table, fold_service(u->f, group), &process.service) ?:
        frame_import_string(&u->names, &process.version) ?:
        frame_import_string(&u->names, &process.pod_namespace) ?:
        frame_table_string(u->table, span_of(u->f->attributes[group]), &process.attributes);
    process.name = process.service;
    if (r == 0)
        r = record_process(u->record, &process, &thread.process);
    return r == 0 ? record_thread(u->record, &thread, &u->threads[group]) : r;
}

static int other_frame(struct unfolder *u)
{
    struct function function = { 0 };
    struct frame frame = { .kind = FRAME_NATIVE };
    int r = frame_table_string(u->table, SPAN("[other]"), &function.name);

    if (r == 0)
        r = frame_table_function(u->table, &function, &frame.function);
    return r == 0 ? frame_table_frame(u->table, &frame, &u->other) : r;
}

static int begin(struct unfolder *u, size_t rows)
{
    const struct profile *p = u->f->p;
    uint32_t deepest = 1;
    int r;

    for (size_t i = 0; i < p->stack_count; i++)
        deepest = MAX(deepest, p->stacks[i].depth);
    u->threads = malloc((u->f->group_count + 1) * sizeof(*u->threads));
    u->stack = calloc((size_t)deepest + 1, sizeof(*u->stack));
    if (!u->threads || !u->stack)
        return -ENOMEM;
    memset(u->threads, 0xff, (u->f->group_count + 1) * sizeof(*u->threads));
    r = frame_table_new(FOLD_ROWS_MAX, FOLD_STRING_BYTES_MAX, &u->table) ?:
        frame_importer_init(&u->names, p, u->table) ?:
        other_frame(u);
    return r == 0 ? record_new(u->table, rows + 1, &u->record) : r;
}

/* Writes the frames of @row, leaf first. Copies frames that no earlier row has. Returns 0 and the
 * number of frames, or -errno. */
static int frames_of(struct unfolder *u, const struct fold_row *row, size_t *ret)
{
    const struct profile *p = u->f->p;
    int r = 0;

    *ret = 0;
    if (row->stack == FOLD_OTHER) {
        u->stack[(*ret)++] = u->other;
        return 0;
    }
    for (uint32_t at = row->stack; r == 0 && at; at = p->stacks[at].parent) {
        r = frame_import(&u->names, p->stacks[at].frame, &u->stack[*ret]);
        *ret += r == 0;
    }
    return r;
}

static int add_row(struct unfolder *u, const struct fold_row *row, uint32_t event)
{
    const struct profile *p = u->f->p;
    uint64_t left = row->samples;
    size_t n = 0;
    struct profile_sample s = { .time_ns = p->start_ns,
                                .value = p->events[row->event].valued ? row->value : 0,
                                .event = event < PROFILE_EVENTS_MAX ? 0 : (uint8_t)row->event,
                                .flags = (uint16_t)row->flags };
    int r = thread_of(u, row->group) ?: frames_of(u, row, &n);

    s.thread = u->threads[row->group];
    while (r == 0 && left) {
        s.count = (uint32_t)MIN(left, (uint64_t)UINT32_MAX);
        r = record_sample(u->record, &s, u->stack, n);
        s.value = 0;
        left -= s.count;
    }
    return r;
}

int fold_profile(const struct fold *f, size_t from, size_t to, uint32_t event, struct profile **ret)
{
    _cleanup_(unfolder_deinit) struct unfolder u = { .f = f };
    struct profile meta = { .start_ns = f->p->start_ns,
                            .end_ns = f->p->end_ns,
                            .start_realtime_ns = f->p->start_realtime_ns,
                            .event_count = f->p->event_count,
                            .lost = from == 0 ? f->p->lost : 0 };
    int r = begin(&u, to - from);

    memcpy(meta.events, f->p->events, sizeof(meta.events));
    if (event < PROFILE_EVENTS_MAX) {
        meta.events[0] = f->p->events[event];
        meta.event_count = 1;
    }
    memcpy(meta.target, f->p->target, sizeof(meta.target));
    memcpy(meta.symbols, f->p->symbols, sizeof(meta.symbols));
    for (size_t i = from; r == 0 && i < to; i++)
        r = add_row(&u, &f->rows[i], event);
    return r == 0         ? record_finish(u.record, &meta, ret)
           : r == -ENOSPC ? -EFBIG /* half of the rows have fewer names */
           : r < 0        ? -ENOMEM
                          : r;
}
