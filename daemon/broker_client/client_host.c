/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked about the node: the broker's facts, the configuration, the kernel, containers. */
#include "base/clock.h"
#include "broker_client/client.h"

#include <time.h>

#define HOLDERS_TURN_NS (300 * NSEC_PER_MSEC) /* that a caller may be kept waiting */

int broker_facts(struct broker *b, struct broker_facts *ret, struct error *err)
{
    struct broker_request q = client_request(BROKER_FACTS);
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, err);

    if (r == 0)
        *ret = a.facts;
    return r;
}

int broker_config(struct broker *b, enum tls_file which, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request(BROKER_CONFIG);

    q.set = which;
    return client_call_file(b, &q, ret_fd, err);
}

int broker_audit_log(struct broker *b, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request(BROKER_AUDIT_LOG);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_kallsyms(struct broker *b, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request(BROKER_KALLSYMS);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_container_config(struct broker *b, const char *id, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request(BROKER_CONTAINER_CONFIG);
    int r = client_request_name(&q, id, strlen(id), err);

    return r < 0 ? r : client_call_file(b, &q, ret_fd, err);
}

int broker_container_logs(struct broker *b, int *ret_fd, struct error *err)
{
    struct broker_request q = client_request(BROKER_CONTAINER_LOGS);

    return client_call_file(b, &q, ret_fd, err);
}

int broker_socket_holders(struct broker *b, uint64_t inode, struct broker_holders *ret,
                          struct error *err)
{
    struct broker_request q = client_request(BROKER_SOCKET_HOLDERS);
    uint64_t until = clock_monotonic_ns() + HOLDERS_TURN_NS;
    struct timespec ts = { .tv_sec = (time_t)(until / NSEC_PER_SEC),
                           .tv_nsec = (long)(until % NSEC_PER_SEC) };
    struct broker_answer a;
    size_t count = 0;
    int r;

    q.start = inode;
    if (pthread_mutex_clocklock(&b->lock, CLOCK_MONOTONIC, &ts) != 0)
        return error_set(err, -ETIMEDOUT, "flamed-broker is busy");
    r = client_call_locked(b, &q, &a, NULL, 0, &count, err);
    pthread_mutex_unlock(&b->lock);
    if (r == 0)
        *ret = a.holders;
    return r;
}
