/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for sampling: the events of the node, the sets and their processes, the depth of stacks.
 */
#include "broker_client/client.h"

#include "event/event_form.h"
#include "event/events.h"

int broker_sideband(struct broker *b, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                    struct error *err)
{
    struct broker_request q = { .kind = BROKER_SIDEBAND };
    struct broker_answer a;

    return client_call(b, &q, &a, ret_fds, BROKER_CPUS_MAX, ret_count, err);
}

int broker_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err)
{
    struct broker_request q = { .kind = BROKER_RING };
    struct broker_answer a;
    int r = client_call_file(b, &q, &a, ret_fd, err);

    if (r == 0)
        *ret_bytes = (size_t)a.body.ring.bytes;
    return r;
}

int broker_perf_rings(struct broker *b, uint32_t first, int ret_fds[BROKER_CPUS_MAX],
                      size_t *ret_count, size_t *ret_bytes, struct error *err)
{
    struct broker_request q = { .kind = BROKER_PERF_RINGS };
    struct broker_answer a;
    int r;

    q.fields.perf_rings.first = first;
    r = client_call(b, &q, &a, ret_fds, BROKER_CPUS_MAX, ret_count, err);
    if (r == 0)
        *ret_bytes = (size_t)a.body.perf_rings.bytes;
    return r;
}

/* Puts the event @name into @ret: its kind, and its text if the kind alone is not enough. */
static int put_event(const char *name, struct event_fields *ret, struct error *err)
{
    struct event_form form;
    size_t count;
    const struct event_info *rows = events_table(&count);
    int r = event_form_parse(span_of(name), &form, err);

    if (r == -ENOENT)
        return error_set(err, r, "there is no event %s", name);
    if (r < 0)
        return r;
    ret->kind = form.kind;
    if (form.kind < count && strcmp(rows[form.kind].name, name) == 0)
        return 0;
    return client_put_name(ret->text, sizeof(ret->text), span_of(name), err);
}

static int start_set(struct broker *b, const char *event, bool yields, uint64_t period,
                     uint32_t *ret_set, struct error *err)
{
    struct broker_request q = { .kind = BROKER_SAMPLE_START };
    struct broker_answer a;
    int r = put_event(event, &q.fields.sample_start.event, err);

    q.fields.sample_start.event.yields = yields;
    q.fields.sample_start.period = period;
    if (r == 0)
        r = client_call_plain(b, &q, &a, err);
    if (r == 0)
        *ret_set = a.body.sample_start.set;
    return r;
}

int broker_sample_start(struct broker *b, const char *event, uint64_t period, uint32_t *ret_set,
                        struct error *err)
{
    return start_set(b, event, /* yields= */ false, period, ret_set, err);
}

int broker_sample_yields(struct broker *b, const char *event, uint64_t period, uint32_t *ret_set,
                         struct error *err)
{
    return start_set(b, event, /* yields= */ true, period, ret_set, err);
}

int broker_sample_check(struct broker *b, const char *event, struct error *err)
{
    struct broker_request q = { .kind = BROKER_SAMPLE_CHECK };
    int r = put_event(event, &q.fields.sample_check, err);

    return r < 0 ? r : client_do(b, q, err);
}

int broker_sample_checks(struct broker *b, int *ret_fd, struct error *err)
{
    return client_open(b, (struct broker_request){ .kind = BROKER_SAMPLE_CHECKS }, ret_fd, err);
}

/* ---- about a set ---- */

static struct broker_request request_of_set(enum broker_request_kind kind, uint32_t set)
{
    return (struct broker_request){ .kind = kind, .fields.sample_stop.set = set };
}

int broker_sample_begun(struct broker *b, uint32_t set, struct error *err)
{
    return client_do(b, request_of_set(BROKER_SAMPLE_BEGUN, set), err);
}

int broker_sample_flush(struct broker *b, uint32_t set, uint32_t *ret_no, uint32_t *ret_late,
                        struct error *err)
{
    struct broker_request q = request_of_set(BROKER_SAMPLE_FLUSH, set);
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, err);

    if (r == 0) {
        *ret_no = a.body.sample_flush.no;
        *ret_late = a.body.sample_flush.late;
    }
    return r;
}

int broker_sample_lates(struct broker *b, uint32_t set, struct error *err)
{
    return client_do(b, request_of_set(BROKER_SAMPLE_LATES, set), err);
}

int broker_sample_agents(struct broker *b, uint32_t set, struct error *err)
{
    return client_do(b, request_of_set(BROKER_SAMPLE_AGENTS, set), err);
}

int broker_sample_stop(struct broker *b, uint32_t set, struct error *err)
{
    return client_do(b, request_of_set(BROKER_SAMPLE_STOP, set), err);
}

/* ---- probes ---- */

int broker_probe_put(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                     const struct broker_probes *probes, struct error *err)
{
    struct broker_request q = { .kind = BROKER_PROBE_PUT };

    q.fields.probe_put = (struct probe_put_fields){ client_mapping(id, start, end), *probes };
    return client_do(b, q, err);
}

int broker_probe_drop(struct broker *b, int32_t host_pid, enum broker_probed program,
                      uint32_t which, struct error *err)
{
    struct broker_request q = { .kind = BROKER_PROBE_DROP };

    q.fields.probe_drop =
        (struct probe_drop_fields){ .host_pid = host_pid, .program = program, .which = which };
    return client_do(b, q, err);
}

int broker_moments_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err)
{
    struct broker_request q = { .kind = BROKER_MOMENTS_RING };
    struct broker_answer a;
    int r = client_call_file(b, &q, &a, ret_fd, err);

    if (r == 0)
        *ret_bytes = (size_t)a.body.moments_ring.bytes;
    return r;
}

int broker_probes_begun(struct broker *b, int32_t host_pid, struct error *err)
{
    return client_do(b,
                     (struct broker_request){ .kind = BROKER_PROBES_BEGUN,
                                              .fields.probes_begun.host_pid = host_pid },
                     err);
}

int broker_mallocs(struct broker *b, int32_t host_pid, uint64_t *ret)
{
    struct broker_request q = { .kind = BROKER_MALLOCS, .fields.mallocs.host_pid = host_pid };
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, NULL);

    if (r == 0)
        *ret = a.body.mallocs.calls;
    return r;
}

int broker_heap_hits(struct broker *b, int32_t host_pid, uint64_t *ret)
{
    struct broker_request q = { .kind = BROKER_HEAP_HITS, .fields.heap_hits.host_pid = host_pid };
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, NULL);

    if (r == 0)
        *ret = a.body.heap_hits.calls;
    return r;
}

int broker_yields(struct broker *b, int32_t host_pid, struct yields_counts *ret)
{
    struct broker_request q = { .kind = BROKER_YIELDS_OF, .fields.yields.host_pid = host_pid };
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, NULL);

    if (r == 0)
        *ret = a.body.yields.counts;
    return r;
}

int broker_yields_waits(struct broker *b, int32_t host_pid, int *ret_fd, struct error *err)
{
    return client_open(b,
                       (struct broker_request){ .kind = BROKER_YIELDS_WAITS,
                                                .fields.yields_waits.host_pid = host_pid },
                       ret_fd, err);
}

/* ---- filters, counters ---- */

int broker_filter_process(struct broker *b, int32_t host_pid, uint32_t sets, struct error *err)
{
    struct broker_request q = { .kind = BROKER_FILTER_PROCESS };

    q.fields.filter_process = (struct filter_fields){ host_pid, sets };
    return client_do(b, q, err);
}

int broker_filter_all(struct broker *b, uint32_t sets, struct error *err)
{
    return client_do(
        b, (struct broker_request){ .kind = BROKER_FILTER_ALL, .fields.filter_all.sets = sets },
        err);
}

int broker_sample_stats(struct broker *b, struct sample_stats *ret, struct error *err)
{
    struct broker_request q = { .kind = BROKER_SAMPLE_STATS };
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, err);

    if (r == 0)
        *ret = a.body.sample_stats;
    return r;
}

int broker_take_losses(struct broker *b, int *ret_fd, struct error *err)
{
    return client_open(b, (struct broker_request){ .kind = BROKER_TAKE_LOSSES }, ret_fd, err);
}

int broker_unwind_limit(struct broker *b, uint32_t frames, struct error *err)
{
    return client_do(b,
                     (struct broker_request){ .kind = BROKER_UNWIND_LIMIT,
                                              .fields.unwind_limit.frames = frames },
                     err);
}

/* ---- looking at threads ---- */

int broker_look(struct broker *b, const struct looks_pass *pass, int *ret_fd, struct error *err)
{
    struct broker_request q = { .kind = BROKER_LOOK, .fields.look.pass = *pass };

    return client_open(b, q, ret_fd, err);
}

int broker_look_process(struct broker *b, int32_t host_pid, uint32_t epoch, struct error *err)
{
    struct broker_request q = { .kind = BROKER_LOOK_PROCESS };

    q.fields.look_process = (struct look_process_fields){ host_pid, epoch };
    return client_do(b, q, err);
}
