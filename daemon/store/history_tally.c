/* SPDX-License-Identifier: Apache-2.0 */
#include "store/history_tally.h"

#include "base/array.h"
#include "base/ascii.h"

#define TALLY_POOL_BYTES 256

void tally_init(struct tally *t)
{
    *t = (struct tally){ 0 };
    id_table_init(&t->processes, sizeof(struct profile_process), TALLY_WHO_MAX);
    id_table_init(&t->threads, sizeof(struct tally_thread), TALLY_WHO_MAX);
    id_table_init(&t->requests, sizeof(struct tally_request), TALLY_REQUESTS_MAX);
    id_table_init(&t->rows, sizeof(struct tally_key), TALLY_ROWS_MAX);
}

void tally_deinit(struct tally *t)
{
    id_table_deinit(&t->processes);
    id_table_deinit(&t->threads);
    id_table_deinit(&t->requests);
    id_table_deinit(&t->rows);
    free(t->values);
    *t = (struct tally){ 0 };
}

uint32_t tally_event(struct tally *t, const struct profile_event *e)
{
    for (uint32_t i = 0; i < t->event_count; i++) {
        const struct profile_event *have = &t->events[i];

        if (strcmp(have->name, e->name) == 0 && strcmp(have->unit, e->unit) == 0 &&
            have->period == e->period && have->valued == e->valued)
            return i;
    }
    if (t->event_count == PROFILE_EVENTS_MAX)
        return PROFILE_EVENTS_MAX;
    t->events[t->event_count] = *e;
    return t->event_count++;
}

int tally_row(struct tally *t, const struct tally_key *key, uint64_t count, uint64_t value)
{
    uint32_t id;
    int r = id_table_add(&t->rows, key, &id);

    if (r < 0) {
        t->dropped += count;
        return r;
    }
    if (!array_extend(&t->values, &t->values_cap, t->rows.cap))
        return -ENOMEM;
    t->values[id].count += count;
    t->values[id].value += value;
    return 0;
}

int tally_add_request(struct tally *t, const struct tally_request *request, uint32_t *ret)
{
    const struct tally_request none = { 0 };
    int r = t->requests.count ? 0 : MIN(id_table_add(&t->requests, &none, ret), 0);

    return r < 0 ? r : MIN(id_table_add(&t->requests, request, ret), 0);
}

struct span tally_pool_name(struct span name, char *buf, size_t size)
{
    size_t n = name.n;

    while (n && ascii_is_digit(name.p[n - 1]))
        n--;
    if (n == name.n || n + 1 > size)
        return name;
    memcpy(buf, name.p, n);
    buf[n] = '*';
    return (struct span){ buf, n + 1 };
}

/* ---- of a slice ---- */

struct slice_adder {
    struct dictionary *e;
    const struct profile *p;
    uint32_t *nodes;                /* [p->stack_count] */
    struct tally **of;              /* [p->process_count]: tally of each; NULL: none */
    bool *merged;                   /* [p->process_count]: drop its pid and thread names */
    uint32_t *processes;            /* [p->process_count]: index in its tally */
    uint32_t *threads;              /* [p->thread_count]: index in its tally */
    struct tally_request *requests; /* [p->context_count] */
    uint32_t others;                /* string in place of operations without room in a tally */
};

static uint32_t slice_string(const struct slice_adder *a, uint32_t id)
{
    uint32_t there;

    dictionary_add_string(a->e, intern_get(a->p->strings, id), &there); /* "" if it is full */
    return there;
}

static int slice_process(struct slice_adder *a, uint32_t i)
{
    struct profile_process process = a->p->processes[i];

    if (a->merged[i]) {
        process.host_pid = 0;
        process.start_ticks = 0;
    }
    process.owner = 0; /* the row of the image has these facts, and the version */
    process.payer = 0;
    process.exec_no = 0;
    dictionary_add_process(a->e, a->p, &process);
    return MIN(id_table_add(&a->of[i]->processes, &process, &a->processes[i]), 0);
}

static int slice_thread(struct slice_adder *a, uint32_t i)
{
    const struct profile_thread *thread = &a->p->threads[i];
    struct tally_thread pooled = { .process = a->processes[thread->process] };
    char pool[TALLY_POOL_BYTES];

    if (!a->merged[thread->process])
        dictionary_add_string(
            a->e, tally_pool_name(intern_get(a->p->strings, thread->name), pool, sizeof(pool)),
            &pooled.name);
    return MIN(id_table_add(&a->of[thread->process]->threads, &pooled, &a->threads[i]), 0);
}

static void slice_requests(struct slice_adder *a)
{
    dictionary_add_string(a->e, SPAN("[other operations]"), &a->others);
    for (size_t i = 1; i < a->p->context_count; i++)
        a->requests[i] =
            (struct tally_request){ .state = a->p->contexts[i].state,
                                    .operation = slice_string(a, a->p->contexts[i].operation) };
}

static int slice_request(const struct slice_adder *a, struct tally *t, uint32_t context,
                         uint32_t *ret)
{
    struct tally_request request = { 0 };

    if (context < a->p->context_count)
        request = a->requests[context];
    if (request.operation && t->requests.count > PROFILE_OPERATIONS_MAX &&
        !id_table_find(&t->requests, &request, ret))
        request.operation = a->others;
    return tally_add_request(t, &request, ret);
}

static int slice_sample(struct slice_adder *a, const struct profile_sample *s)
{
    struct tally *t = a->of[a->p->threads[s->thread].process];
    const struct profile_event *event = &a->p->events[s->event];
    struct tally_key key = { .node = a->nodes[s->stack],
                             .thread = a->threads[s->thread],
                             .flags = s->flags,
                             .mode = s->mode };
    uint32_t number = tally_event(t, event);
    int r;

    if (number == PROFILE_EVENTS_MAX) {
        t->dropped += s->count;
        return 0;
    }
    key.event = (uint8_t)number;
    r = slice_request(a, t, s->context, &key.request);
    return r < 0 ? r : tally_row(t, &key, s->count, event->valued ? s->value : 0);
}

static int slice_add(struct slice_adder *a)
{
    const struct profile *p = a->p;
    int r = dictionary_add_stacks(a->e, p, a->nodes);

    slice_requests(a);
    for (uint32_t i = 0; i < p->process_count && r == 0; i++) {
        if (a->of[i])
            r = slice_process(a, i);
    }
    for (uint32_t i = 0; i < p->thread_count && r == 0; i++) {
        if (a->of[p->threads[i].process])
            r = slice_thread(a, i);
    }
    for (size_t i = 0; i < p->sample_count && r == 0; i++) {
        if (a->of[p->threads[p->samples[i].thread].process])
            r = slice_sample(a, &p->samples[i]);
    }
    return r;
}

int tally_add_slice(struct dictionary *e, const struct profile *p, tally_pick_fn pick, void *cookie)
{
    struct slice_adder a = { .e = e,
                             .p = p,
                             .nodes = calloc(p->stack_count + 1, sizeof(uint32_t)),
                             .of = calloc(p->process_count + 1, sizeof(struct tally *)),
                             .merged = calloc(p->process_count + 1, sizeof(bool)),
                             .processes = calloc(p->process_count + 1, sizeof(uint32_t)),
                             .threads = calloc(p->thread_count + 1, sizeof(uint32_t)),
                             .requests =
                                 calloc(p->context_count + 1, sizeof(struct tally_request)) };
    int r = a.nodes && a.of && a.merged && a.processes && a.threads && a.requests ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < p->process_count && r == 0; i++)
        a.of[i] = pick(cookie, p, i, &a.merged[i]);
    if (r == 0)
        r = slice_add(&a);
    free(a.nodes);
    free(a.of);
    free(a.merged);
    free(a.processes);
    free(a.threads);
    free(a.requests);
    return r;
}
