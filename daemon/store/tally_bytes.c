/* SPDX-License-Identifier: Apache-2.0 */
/* The stored form of a tally. */
#include "base/cleanup.h"
#include "profile/category.h"
#include "store/blob.h"
#include "store/history_tally.h"

#define TALLY_VERSION 1
#define TALLY_VERSION_REQUESTS 2 /* the form with requests and a column of requests */

/* ---- writing ---- */

static bool has_requests(const struct tally *t)
{
    return t->requests.count > 1; /* request 0 is the empty request */
}

static void encode_requests(const struct tally *t, struct buf *out)
{
    blob_add_number(out, t->requests.count);
    for (uint32_t i = 0; i < t->requests.count; i++) {
        const struct tally_request *request = id_table_get(&t->requests, i);

        blob_add_number(out, request->state);
        blob_add_number(out, request->operation);
    }
}

static void encode_events(const struct tally *t, struct buf *out)
{
    blob_add_number(out, has_requests(t) ? TALLY_VERSION_REQUESTS : TALLY_VERSION);
    blob_add_number(out, t->dropped);
    blob_add_number(out, t->event_count);
    for (uint32_t i = 0; i < t->event_count; i++) {
        blob_add_text(out, span_of(t->events[i].name));
        blob_add_text(out, span_of(t->events[i].unit));
        blob_add_number(out, t->events[i].period);
        blob_add_number(out, t->events[i].valued);
    }
}

static void encode_who(const struct tally *t, struct buf *out)
{
    blob_add_number(out, t->processes.count);
    for (uint32_t i = 0; i < t->processes.count; i++)
        process_encode(id_table_get(&t->processes, i), out);
    blob_add_number(out, t->threads.count);
    for (uint32_t i = 0; i < t->threads.count; i++) {
        const struct tally_thread *thread = id_table_get(&t->threads, i);

        blob_add_number(out, thread->process);
        blob_add_number(out, thread->name);
    }
}

struct sorted_row {
    struct tally_key key;
    struct tally_value value;
};

ORDER_FUNCTION(by_node, struct sorted_row,
               COMPARE(x->key.event, y->key.event) ?:
                   COMPARE(x->key.node, y->key.node) ?:
                   COMPARE(x->key.thread, y->key.thread) ?:
                   COMPARE(x->key.request, y->key.request))

/* Writes rows as columns: similar values are then adjacent, and compress well. */
static void encode_rows(const struct tally *t, const struct sorted_row *rows, struct buf *out)
{
    uint32_t n = t->rows.count, node = 0, event = 0;

    blob_add_number(out, n);
    for (uint32_t i = 0; i < n; i++)
        blob_add_number(out, rows[i].key.event);
    for (uint32_t i = 0; i < n; i++) { /* nodes ascend within an event */
        if (rows[i].key.event != event)
            node = 0;
        event = rows[i].key.event;
        blob_add_number(out, rows[i].key.node - node);
        node = rows[i].key.node;
    }
    for (uint32_t i = 0; i < n; i++)
        blob_add_number(out, rows[i].key.thread);
    for (uint32_t i = 0; i < n; i++)
        blob_add_number(out, (uint32_t)rows[i].key.flags << 1 | (rows[i].key.mode & 1));
    for (uint32_t i = 0; i < n; i++)
        blob_add_number(out, rows[i].value.count);
    for (uint32_t i = 0; i < n && has_requests(t); i++)
        blob_add_number(out, rows[i].key.request);
    for (uint32_t i = 0; i < n; i++) {
        if (t->events[rows[i].key.event].valued)
            blob_add_number(out, rows[i].value.value);
    }
}

void tally_encode(struct tally *t, struct buf *out)
{
    _cleanup_free_ struct sorted_row *rows = calloc((size_t)t->rows.count + 1, sizeof(*rows));

    if (!rows) {
        out->error = -ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < t->rows.count; i++) {
        rows[i].key = *(const struct tally_key *)id_table_get(&t->rows, i);
        rows[i].value = t->values[i];
    }
    qsort(rows, t->rows.count, sizeof(*rows), by_node);
    encode_events(t, out);
    encode_who(t, out);
    if (has_requests(t))
        encode_requests(t, out);
    encode_rows(t, rows, out);
}

void tally_sums(const struct tally *t, struct buf *out)
{
    uint64_t values[CATEGORY_COUNT] = { 0 }, least = 0;

    for (uint32_t i = 0; i < t->rows.count; i++) {
        const struct tally_key *key = id_table_get(&t->rows, i);
        const struct profile_event *e = &t->events[key->event];
        uint64_t period = MAX(e->period, UINT64_C(1));

        if (strcmp(e->name, events_default()->name) != 0)
            continue;
        least = least ? MIN(least, period) : period;
        values[MIN(PROFILE_SAMPLE_CATEGORY(key->flags), CATEGORY_COUNT - 1)] +=
            t->values[i].count * period;
    }
    blob_add_number(out, least);
    for (size_t i = 0; i < CATEGORY_COUNT; i++)
        blob_add_number(out, least ? (values[i] + least / 2) / least : 0);
}

/* ---- reading ---- */

#define EVENT_SKIPPED UINT32_MAX

struct tally_decoder {
    struct tally *t;
    uint32_t events[PROFILE_EVENTS_MAX]; /* [index in blob]: index in t, or EVENT_SKIPPED */
    bool valued[PROFILE_EVENTS_MAX];
    uint32_t event_count, owner, exec_no;
    uint32_t *processes, *threads, *requests; /* as events: ids in t by index in the blob */
    uint32_t process_count, thread_count, request_count;
    bool has_requests;
};

static int decode_events(struct tally_decoder *d, struct span *s)
{
    uint64_t version, dropped, valued;

    if (!blob_take_number(s, &version) ||
        (version != TALLY_VERSION && version != TALLY_VERSION_REQUESTS) ||
        !blob_take_number(s, &dropped) || !blob_take_u32(s, &d->event_count) ||
        d->event_count > PROFILE_EVENTS_MAX)
        return -EBADMSG;
    d->t->dropped += dropped;
    d->has_requests = version == TALLY_VERSION_REQUESTS;
    for (uint32_t i = 0; i < d->event_count; i++) {
        struct profile_event e = { 0 };
        struct span name, unit;

        if (!blob_take_text(s, &name) || !blob_take_text(s, &unit) || !name.n ||
            name.n >= sizeof(e.name) || unit.n >= sizeof(e.unit) ||
            !blob_take_number(s, &e.period) || !blob_take_number(s, &valued) || valued > 1)
            return -EBADMSG;
        span_copy(name, e.name, sizeof(e.name));
        span_copy(unit, e.unit, sizeof(e.unit));
        d->valued[i] = e.valued = valued;
        d->events[i] = EVENT_SKIPPED;
        if (d->t->wants_event && !d->t->wants_event(d->t->cookie, e.name))
            continue;
        d->events[i] = tally_event(d->t, &e);
        if (d->events[i] == PROFILE_EVENTS_MAX)
            return -ENOSPC;
    }
    return 0;
}

static bool take_count(struct span *s, uint32_t max, uint32_t *ret)
{
    return blob_take_u32(s, ret) && *ret <= max && *ret <= s->n;
}

static int decode_processes(struct tally_decoder *d, struct span *s)
{
    int r = 0;

    if (!take_count(s, TALLY_WHO_MAX, &d->process_count))
        return -EBADMSG;
    d->processes = calloc((size_t)d->process_count + 1, sizeof(*d->processes));
    if (!d->processes)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->process_count && r == 0; i++) {
        struct profile_process p = { .owner = d->owner };

        if (!process_decode(s, /* services= */ true, &p))
            return -EBADMSG;
        p.exec_no = d->exec_no;
        r = MIN(id_table_add(&d->t->processes, &p, &d->processes[i]), 0);
    }
    return r;
}

static int decode_threads(struct tally_decoder *d, struct span *s)
{
    int r = 0;

    if (!take_count(s, TALLY_WHO_MAX, &d->thread_count))
        return -EBADMSG;
    d->threads = calloc((size_t)d->thread_count + 1, sizeof(*d->threads));
    if (!d->threads)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->thread_count && r == 0; i++) {
        struct tally_thread thread;

        if (!blob_take_u32(s, &thread.process) || thread.process >= d->process_count ||
            !blob_take_u32(s, &thread.name))
            return -EBADMSG;
        thread.process = d->processes[thread.process];
        r = MIN(id_table_add(&d->t->threads, &thread, &d->threads[i]), 0);
    }
    return r;
}

static int decode_requests(struct tally_decoder *d, struct span *s)
{
    int r = 0;

    if (!take_count(s, TALLY_REQUESTS_MAX, &d->request_count))
        return -EBADMSG;
    d->requests = calloc((size_t)d->request_count + 1, sizeof(*d->requests));
    if (!d->requests)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->request_count && r == 0; i++) {
        struct tally_request request;

        if (!blob_take_u32(s, &request.state) || request.state >= PROFILE_CONTEXT_STATES ||
            !blob_take_u32(s, &request.operation))
            return -EBADMSG;
        r = tally_add_request(d->t, &request, &d->requests[i]);
    }
    return r;
}

enum { COLUMN_EVENT, COLUMN_NODE, COLUMN_THREAD, COLUMN_FLAGS, COLUMN_COUNT, COLUMNS };

/* The position of the next row. */
struct row_reader {
    struct span columns[COLUMNS], values, requests;
    uint32_t node, event; /* node and event of the previous row */
};

static int decode_row(struct tally_decoder *d, struct row_reader *at, uint32_t slot)
{
    struct tally_key key = { .slot = slot };
    struct span *columns = at->columns;
    uint64_t count, value = 0;
    uint32_t event, delta, thread, flags, request = 0;

    if (!blob_take_u32(&columns[COLUMN_EVENT], &event) || event >= d->event_count ||
        !blob_take_u32(&columns[COLUMN_NODE], &delta) ||
        !blob_take_u32(&columns[COLUMN_THREAD], &thread) || thread >= d->thread_count ||
        !blob_take_u32(&columns[COLUMN_FLAGS], &flags) || flags > 0x1ffff ||
        !blob_take_number(&columns[COLUMN_COUNT], &count) || !count)
        return -EBADMSG;
    if (d->valued[event] && !blob_take_number(&at->values, &value))
        return -EBADMSG;
    if (d->has_requests && (!blob_take_u32(&at->requests, &request) || request >= d->request_count))
        return -EBADMSG;
    at->node = event == at->event ? at->node + delta : delta;
    at->event = event;
    if (d->events[event] == EVENT_SKIPPED)
        return 0;
    key.node = at->node;
    key.request = d->has_requests ? d->requests[request] : 0;
    key.thread = d->threads[thread];
    key.event = (uint8_t)d->events[event];
    key.mode = flags & 1;
    key.flags = (uint16_t)(flags >> 1);
    return tally_row(d->t, &key, count, value);
}

static int decode_rows(struct tally_decoder *d, struct span *s, uint32_t slot)
{
    struct row_reader at = { .node = 0 };
    uint32_t count;
    int r = 0;

    if (!take_count(s, TALLY_ROWS_MAX, &count))
        return -EBADMSG;
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!blob_take_column(s, count, &at.columns[i]))
            return -EBADMSG;
    }
    if (d->has_requests && !blob_take_column(s, count, &at.requests))
        return -EBADMSG;
    at.values = *s;
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = decode_row(d, &at, slot);
    return r == 0 && at.values.n ? -EBADMSG : r;
}

int tally_decode(struct tally *t, struct span blob, uint32_t slot, uint32_t owner, uint32_t exec_no)
{
    struct tally_decoder d = { .t = t, .owner = owner, .exec_no = exec_no };
    int r = decode_events(&d, &blob) ?: decode_processes(&d, &blob) ?: decode_threads(&d, &blob);

    if (r == 0 && d.has_requests)
        r = decode_requests(&d, &blob);
    if (r == 0)
        r = decode_rows(&d, &blob, slot);
    free(d.processes);
    free(d.threads);
    free(d.requests);
    return r;
}
