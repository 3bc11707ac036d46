/* SPDX-License-Identifier: Apache-2.0 */
/* broker_answer_check(): an accepted answer has ended strings and no more fds than allowed. The
 * input is the requested kind, the number of fds with the message, the number before it, and the
 * message. */
#include "broker_client/requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool x)
{
    if (!x)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct broker_request q = { .version = BROKER_WIRE_VERSION, .seq = 7 };
    struct broker_answer a;
    size_t fds, before;

    if (size < 4)
        return 0;
    q.kind = data[0];
    if (q.kind == BROKER_SOCKET_HOLDERS)
        q.fields.socket_holders.count = 3;
    fds = data[1];
    before = data[2] * 16u;
    if (broker_answer_check(data + 4, size - 4, fds, &q, before, &a) < 0)
        return 0;
    need(a.kind == q.kind && a.seq == q.seq && a.fd_count == fds && fds <= BROKER_FDS_MAX);
    need(fds == 0 || (a.result == 0 && before + fds <= broker_request_info(q.kind)->fds_max));
    need(!a.more || fds > 0);
    if (a.result < 0)
        need(strlen(a.body.failure.msg) < sizeof(a.body.failure.msg) &&
             strlen(a.body.failure.remedy) < sizeof(a.body.failure.remedy));
    else if (q.kind == BROKER_FACTS && a.result == 0)
        need(strlen(a.body.facts.bpf_problem) < sizeof(a.body.facts.bpf_problem));
    else if (q.kind == BROKER_ATTACH && a.result == 0)
        need(fds == BROKER_ATTACH_FDS);
    else if (q.kind == BROKER_SOCKET_HOLDERS && a.result == 0)
        need(a.body.socket_holders.count <= BROKER_HOLDERS_ITEMS &&
             a.body.socket_holders.told <= 7 &&
             (!a.body.socket_holders.count ||
              a.body.socket_holders.items[a.body.socket_holders.count - 1] >> BROKER_HOLDER_SOCKET <
                  3));
    else if (q.kind == BROKER_WAIT_PEERS && a.result == 0)
        need(!a.body.wait_peers.threads[0].family || a.body.wait_peers.threads[0].host_tid);
    else if (q.kind == BROKER_ATTACH_ENDED && a.result == 0)
        need(a.body.attach_ended.status <= BROKER_WAIT_STATUS_MAX);
    else if (q.kind == BROKER_ZOMBIE_STATUS && a.result == 0)
        need(a.body.zombie_status.status <= BROKER_WAIT_STATUS_MAX);
    else if (q.kind == BROKER_NAMESPACE_USER && a.result == 0)
        need(a.body.namespace_user.uid > 0 && a.body.namespace_user.uid < UINT32_MAX);
    return 0;
}
