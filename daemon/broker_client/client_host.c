/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about the node: the broker's facts, the configuration, the kernel, containers. */
#include "base/clock.h"
#include "broker_client/client.h"

#define HOLDERS_TURN_NS NSEC_PER_SEC /* longest wait for other requests */

int broker_facts(struct broker *b, struct broker_facts *ret, struct error *err)
{
    struct broker_request q = { .kind = BROKER_FACTS };
    struct broker_answer a;
    int r = client_call_plain(b, &q, &a, err);

    if (r == 0)
        *ret = a.body.facts;
    return r;
}

int broker_config(struct broker *b, enum tls_file which, int *ret_fd, struct error *err)
{
    return client_open(
        b, (struct broker_request){ .kind = BROKER_CONFIG, .fields.config.file = which }, ret_fd,
        err);
}

int broker_pushed_file(struct broker *b, const char *path, int *ret_fd, struct error *err)
{
    struct broker_request q = { .kind = BROKER_CONFIG };

    q.fields.config =
        (struct config_fields){ .file = TLS_FILE_PUSHED, .path_hash = tls_path_hash(path) };
    return client_open(b, q, ret_fd, err);
}

int broker_audit_log(struct broker *b, int *ret_fd, struct error *err)
{
    return client_open(b, (struct broker_request){ .kind = BROKER_AUDIT_LOG }, ret_fd, err);
}

int broker_kallsyms(struct broker *b, int *ret_fd, struct error *err)
{
    return client_open(b, (struct broker_request){ .kind = BROKER_KALLSYMS }, ret_fd, err);
}

int broker_container_config(struct broker *b, const char *id, int *ret_fd, struct error *err)
{
    struct broker_request q = { .kind = BROKER_CONTAINER_CONFIG };
    struct container_fields *f = &q.fields.container_config;
    int r = client_put_name(f->id, sizeof(f->id), span_of(id), err);

    return r < 0 ? r : client_open(b, q, ret_fd, err);
}

int broker_container_logs(struct broker *b, int *ret_fd, struct error *err)
{
    return client_open(b, (struct broker_request){ .kind = BROKER_CONTAINER_LOGS }, ret_fd, err);
}

int broker_tracepoints(struct broker *b, int *ret_fd, struct error *err)
{
    return client_open(b, (struct broker_request){ .kind = BROKER_TRACEPOINTS }, ret_fd, err);
}

/* Unpacks an answer into one element of @ret for each of @n sockets. */
static void unpack_holders(const struct broker_holders *h, size_t n, struct socket_holding *ret)
{
    for (size_t i = 0; i < n; i++) {
        ret[i].told = h->told & UINT32_C(1) << i;
        ret[i].slow = h->slow;
        ret[i].count = h->many & UINT32_C(1) << i ? SOCKET_HOLDERS_MAX + 1 : 0;
    }
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t item = h->items[i];
        struct socket_holding *one = &ret[item >> BROKER_HOLDER_SOCKET];

        one->holders[one->count++] = (struct socket_holder){
            .pid = (int32_t)(item & ((1u << BROKER_HOLDER_BITS) - 1)),
            .flags = (item >> BROKER_HOLDER_BITS) & BROKER_HOLDER_FLAGS,
        };
    }
}

int broker_socket_holders(struct broker *b, const uint64_t *keys, size_t n, uint64_t net_ns,
                          struct socket_holding *ret, struct error *err)
{
    struct broker_request q = { .kind = BROKER_SOCKET_HOLDERS };
    struct broker_answer a;
    size_t count = 0;
    int r;

    if (n == 0 || n > SOCKETS_ASKED_MAX)
        return error_set(err, -EINVAL, "%zu sockets are not 1 to %d", n, SOCKETS_ASKED_MAX);
    q.fields.socket_holders.count = (uint32_t)n;
    q.fields.socket_holders.net_ns = net_ns;
    memcpy(q.fields.socket_holders.keys, keys, n * sizeof(*keys));
    if (!clock_lock(&b->lock, clock_monotonic_ns() + HOLDERS_TURN_NS))
        return error_set(err, -EBUSY, "flamed-broker is busy");
    r = client_call_locked(b, &q, &a, NULL, 0, &count, err);
    pthread_mutex_unlock(&b->lock);
    if (r == 0)
        unpack_holders(&a.body.socket_holders, n, ret);
    return r;
}
