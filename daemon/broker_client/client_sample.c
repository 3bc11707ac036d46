/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling: the events of the node, the sets, whom they sample, how deep. */
#include "broker_client/client.h"

int broker_sideband(struct broker *b, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                    struct error *err)
{
    struct broker_request q = client_request(BROKER_SIDEBAND);
    struct broker_answer a;

    return client_call(b, &q, &a, ret_fds, BROKER_CPUS_MAX, ret_count, err);
}

int broker_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err)
{
    struct broker_request q = client_request(BROKER_RING);
    struct broker_answer a;
    size_t count = 0;
    int fd = -1, r;

    r = client_call(b, &q, &a, &fd, 1, &count, err);
    if (r == 0) {
        *ret_fd = fd;
        *ret_bytes = (size_t)a.value;
    }
    return r;
}

int broker_sample_start(struct broker *b, enum event_kind kind, uint64_t period, uint32_t *ret_set,
                        struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_START);
    struct broker_answer a;
    int r;

    q.set = kind;
    q.period = period;
    r = client_call_plain(b, &q, &a, err);
    if (r == 0)
        *ret_set = (uint32_t)a.value;
    return r;
}

int broker_sample_check(struct broker *b, enum event_kind kind, struct error *err)
{
    struct broker_request q = client_request(BROKER_SAMPLE_CHECK);
    struct broker_answer a;

    q.set = kind;
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

int broker_unwind_limit(struct broker *b, uint32_t frames, struct error *err)
{
    struct broker_request q = client_request(BROKER_UNWIND_LIMIT);
    struct broker_answer a;

    q.set = frames;
    return client_call_plain(b, &q, &a, err);
}
