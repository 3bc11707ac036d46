/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the broker, byte by byte. */
#pragma once

#include "broker_fixture.h"

#include "base/tls_paths.h"

#include <poll.h>

static inline struct broker_request request_of(uint32_t kind)
{
    return (struct broker_request){ .version = BROKER_WIRE_VERSION, .kind = kind, .seq = 7 };
}

/* Sends @n bytes and takes one answer; its fds are closed and counted. */
static inline struct broker_answer ask(const void *p, size_t n, size_t *ret_fds)
{
    struct pollfd pfd = { .fd = fx.fd, .events = POLLIN };
    int fds[BROKER_FDS_MAX];
    struct broker_answer a;
    size_t count = 0;

    ck_assert_int_eq(wire_send(fx.fd, p, n, NULL, 0), 0);
    ck_assert_int_eq(poll(&pfd, 1, 5000), 1);
    ck_assert_int_eq(wire_receive(fx.fd, &a, sizeof(a), fds, BROKER_FDS_MAX, &count), sizeof(a));
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    if (ret_fds)
        *ret_fds = count;
    return a;
}

/* Fills @q with fields that its kind accepts. All other fields must be zero. */
static inline void fill(struct broker_request *q)
{
    union broker_fields *f = &q->fields;

    if (broker_request_info(q->kind) && broker_request_info(q->kind)->of_target) {
        f->mapping.target.host_pid = 1;
        f->mapping.target.start_ticks = 5;
    }
    switch (q->kind) {
    case BROKER_PROBE_PUT:
        f->probe_put.probes = (struct broker_probes){ .count = 1, .about.heap.reference_bytes = 4 };
        break;
    case BROKER_DEBUG:
        f->debug.n = 20;
        break;
    case BROKER_DEBUGLINK:
        f->debuglink.name[0] = 'x';
        break;
    case BROKER_DEBUG_SHARED:
        memcpy(f->debug_shared.name, "x/y", 3);
        break;
    case BROKER_PROGRAM_JAR:
        memcpy(f->program_jar.name, "x.jar", 5);
        break;
    case BROKER_CONTAINER_CONFIG:
        memset(f->container_config.id, 'a', BROKER_CONTAINER_ID_BYTES);
        break;
    case BROKER_SAMPLE_START:
        f->sample_start.period = 10000000;
        break;
    case BROKER_FILTER_PROCESS:
    case BROKER_PUT_PROCESS:
    case BROKER_FORGET_CONTEXT:
    case BROKER_FORGET_PROCESS:
    case BROKER_PROBE_DROP:
    case BROKER_MALLOCS:
    case BROKER_HEAP_HITS:
    case BROKER_YIELDS_OF:
    case BROKER_YIELDS_WAITS:
    case BROKER_PROBES_BEGUN:
    case BROKER_LOOK_PROCESS:
        f->put_process.host_pid = 1;
        break;
    case BROKER_PUT_ROWS:
        f->put_rows.end = 1;
        break;
    case BROKER_PUT_THREAD:
        f->put_thread = (struct thread_fields){ 1, 2, 4096 };
        break;
    case BROKER_LOOK:
        f->look.pass.parts = 2;
        break;
    case BROKER_UNWIND_LIMIT:
        f->unwind_limit.frames = BROKER_FRAMES_MAX;
        break;
    case BROKER_WAIT_PEERS:
        f->wait_peers.count = 1;
        f->wait_peers.threads[0] = (struct peers_wanted){ 1, -1 };
        break;
    case BROKER_SOCKET_HOLDERS:
        f->socket_holders.count = 1;
        f->socket_holders.keys[0] = 1;
        break;
    default:
        break;
    }
    if (q->kind == BROKER_MAPPED || q->kind == BROKER_DEBUGLINK || q->kind == BROKER_PROBE_PUT) {
        f->mapping.start = 4096;
        f->mapping.end = 8192;
    }
}

#define AT(member)                                                                                 \
    offsetof(struct broker_request, member), sizeof(((struct broker_request *)NULL)->member)
#define NOTHING 0, 0
#define PROBES fields.probe_put.probes
#define PLACE(offset, kind) ((uint64_t)(kind) << 56 | (offset))

/* Values put into a message that is otherwise valid, and the result. */
