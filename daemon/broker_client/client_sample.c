/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling: the events of the node, the sets, whom they sample, how deep. */
#include "broker_client/client.h"

#include "event/event_form.h"
#include "event/events.h"

int broker_sideband(struct broker *b, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                    struct error *err)
{
    struct broker_request q = client_request(BROKER_SIDEBAND);
    struct broker_answer a;

    return client_call(b, &q, &a, ret_fds, BROKER_CPUS_MAX, ret_count, err);
}

static int get_ring(struct broker *b, enum broker_request_kind kind, int *ret_fd, size_t *ret_bytes,
                    struct error *err)
{
    struct broker_request q = client_request(kind);
    uint64_t bytes;
    int r = client_call_file_value(b, &q, ret_fd, &bytes, err);

    if (r == 0)
        *ret_bytes = (size_t)bytes;
    return r;
}

int broker_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err)
{
    return get_ring(b, BROKER_RING, ret_fd, ret_bytes, err);
}

/* Puts the event @name into @q: its kind, and its text where that says more. */
static int put_event(struct broker_request *q, const char *name, struct error *err)
{
    struct event_form form;
    size_t count;
    const struct event_info *rows = events_table(&count);
    int r = event_form_parse(span_of(name), &form, err);

    if (r == -ENOENT)
        return error_set(err, r, "there is no event %s", name);
    if (r < 0)
        return r;
    q->set = form.kind;
    if (form.kind < count && strcmp(rows[form.kind].name, name) == 0)
        return 0;
    q->name_n = (uint32_t)strlen(name);
    memcpy(q->name, name, q->name_n);
    return 0;
}

int broker_sample_start(struct broker *b, const char *event, uint64_t period, uint32_t *ret_set,
                        struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_START);
    struct broker_answer a;
    int r = put_event(&q, event, err);

    q.period = period;
    if (r == 0)
        r = client_call_plain(b, &q, &a, err);
    if (r == 0)
        *ret_set = (uint32_t)a.value;
    return r;
}

int broker_sample_begun(struct broker *b, uint32_t set, struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_BEGUN);
    struct broker_answer a;

    q.set = set;
    return client_call_plain(b, &q, &a, err);
}

int broker_sample_check(struct broker *b, const char *event, struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_CHECK);
    struct broker_answer a;
    int r = put_event(&q, event, err);

    return r < 0 ? r : client_call_plain(b, &q, &a, err);
}

int broker_sample_checks(struct broker *b, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_CHECKS);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_sample_flush(struct broker *b, uint32_t set, uint32_t *ret_no, uint32_t *ret_late,
                        struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_FLUSH);
    struct broker_answer a;
    int r;

    q.set = set;
    r = client_call_plain(b, &q, &a, err);
    if (r == 0) {
        *ret_no = (uint32_t)(a.value >> 32);
        *ret_late = (uint32_t)a.value;
    }
    return r;
}

int broker_sample_lates(struct broker *b, uint32_t set, struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_LATES);
    struct broker_answer a;

    q.set = set;
    return client_call_plain(b, &q, &a, err);
}

int broker_probe(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                 const struct broker_probes *probes, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_PROBE, id);
    struct broker_answer a;

    _Static_assert(sizeof(*probes) <= BROKER_NAME_MAX, "probes must fit into a request");
    q.start = start;
    q.end = end;
    q.name_n = sizeof(*probes);
    memcpy(q.name, probes, sizeof(*probes));
    return client_call_plain(b, &q, &a, err);
}

int broker_unprobe(struct broker *b, int32_t host_pid, enum broker_probed where, struct error *err)
{
    struct broker_request q = client_request(BROKER_UNPROBE);
    struct broker_answer a;

    q.host_pid = host_pid;
    q.set = where;
    return client_call_plain(b, &q, &a, err);
}

int broker_agent_probe(struct broker *b, const struct proc_id *id, uint32_t class_klass,
                       uint64_t collections, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_AGENT_PROBE, id);
    struct broker_answer a;

    q.set = class_klass;
    q.start = collections;
    return client_call_plain(b, &q, &a, err);
}

int broker_sample_agents(struct broker *b, uint32_t set, struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_AGENTS);
    struct broker_answer a;

    q.set = set;
    return client_call_plain(b, &q, &a, err);
}

int broker_moments(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                   const struct broker_java_thread *thread, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_MOMENTS, id);
    struct broker_answer a;
    int r = client_request_name(&q, thread, sizeof(*thread), err);

    q.start = start;
    q.end = end;
    return r < 0 ? r : client_call_plain(b, &q, &a, err);
}

int broker_unmoments(struct broker *b, int32_t host_pid, uint32_t groups, struct error *err)
{
    struct broker_request q = client_request(BROKER_UNMOMENTS);
    struct broker_answer a;

    q.host_pid = host_pid;
    q.sets = groups;
    return client_call_plain(b, &q, &a, err);
}

int broker_moments_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err)
{
    return get_ring(b, BROKER_MOMENTS_RING, ret_fd, ret_bytes, err);
}

int broker_call(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                uint32_t set, uint64_t offset, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_CALL, id);
    struct broker_answer a;

    q.start = start;
    q.end = end;
    q.set = set;
    q.name_n = sizeof(offset);
    memcpy(q.name, &offset, sizeof(offset));
    return client_call_plain(b, &q, &a, err);
}

int broker_malloc(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                  uint32_t set, const struct broker_malloc *m, struct error *err)
{
    struct broker_request q = client_request_target(BROKER_MALLOC, id);
    struct broker_answer a;

    q.start = start;
    q.end = end;
    q.set = set;
    q.name_n = sizeof(*m);
    memcpy(q.name, m, sizeof(*m));
    return client_call_plain(b, &q, &a, err);
}

int broker_probes_begun(struct broker *b, int32_t host_pid, struct error *err)
{
    struct broker_request q = client_request(BROKER_PROBES_BEGUN);
    struct broker_answer a;

    q.host_pid = host_pid;
    return client_call_plain(b, &q, &a, err);
}

int broker_mallocs(struct broker *b, int32_t host_pid, uint64_t *ret)
{
    struct broker_request q = client_request(BROKER_MALLOCS);
    struct broker_answer a;
    int r;

    q.host_pid = host_pid;
    r = client_call_plain(b, &q, &a, NULL);
    if (r == 0)
        *ret = a.value;
    return r;
}

int broker_uncall(struct broker *b, int32_t host_pid, uint32_t set, struct error *err)
{
    struct broker_request q = client_request(BROKER_UNCALL);
    struct broker_answer a;

    q.host_pid = host_pid;
    q.set = set;
    return client_call_plain(b, &q, &a, err);
}

int broker_sample_stop(struct broker *b, uint32_t set, struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_STOP);
    struct broker_answer a;

    q.set = set;
    return client_call_plain(b, &q, &a, err);
}

int broker_filter_process(struct broker *b, int32_t host_pid, uint32_t sets, struct error *err)
{
    struct broker_request q = client_request(BROKER_FILTER_PROCESS);
    struct broker_answer a;

    q.host_pid = host_pid;
    q.sets = sets;
    return client_call_plain(b, &q, &a, err);
}

int broker_filter_all(struct broker *b, uint32_t sets, struct error *err)
{
    struct broker_request q = client_request(BROKER_FILTER_ALL);
    struct broker_answer a;

    q.sets = sets;
    return client_call_plain(b, &q, &a, err);
}

int broker_sample_stats(struct broker *b, struct broker_sample_stats *ret, struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_STATS);
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, err);

    if (r == 0)
        *ret = a.stats;
    return r;
}

int broker_take_losses(struct broker *b, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request(BROKER_TAKE_LOSSES);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_unwind_limit(struct broker *b, uint32_t frames, struct error *err)
{
    struct broker_request q = client_request(BROKER_UNWIND_LIMIT);
    struct broker_answer a;

    q.set = frames;
    return client_call_plain(b, &q, &a, err);
}
