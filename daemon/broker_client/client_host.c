/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked about the node: the broker's facts, the configuration, the kernel, containers. */
#include "broker_client/client.h"

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

int broker_socket_holder(struct broker *b, uint64_t inode, int32_t *ret_pid, struct error *err)
{
    struct broker_request q = client_request(BROKER_SOCKET_HOLDER);
    struct broker_answer a;
    int r;

    q.start = inode;
    r = client_call_plain(b, &q, &a, err);
    if (r == 0)
        *ret_pid = (int32_t)a.value;
    return r;
}
