/* SPDX-License-Identifier: Apache-2.0 */
/* broker_answer_check(): what flamed takes for an answer has ended strings and no more fds than
 * asked for. The input is the kind asked for, the number of fds beside the message, those before
 * it, and the message. */
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
        q.name_n = 3 * sizeof(uint64_t);
    fds = data[1];
    before = data[2] * 16u;
    if (broker_answer_check(data + 4, size - 4, fds, &q, before, &a) < 0)
        return 0;
    need(a.kind == q.kind && a.seq == q.seq && a.fd_count == fds && fds <= BROKER_FDS_MAX);
    need(fds == 0 || (a.result == 0 && before + fds <= broker_request_info(q.kind)->fds_max));
    need(!a.more || fds > 0);
    if (a.result < 0)
        need(strlen(a.failure.msg) < sizeof(a.failure.msg) &&
             strlen(a.failure.remedy) < sizeof(a.failure.remedy));
    else if (q.kind == BROKER_FACTS && a.result == 0)
        need(strlen(a.facts.bpf_problem) < sizeof(a.facts.bpf_problem));
    else if (q.kind == BROKER_ATTACH && a.result == 0)
        need(fds == BROKER_ATTACH_FDS);
    else if (q.kind == BROKER_SOCKET_HOLDERS && a.result == 0)
        need(a.holders.count <= BROKER_HOLDERS_ITEMS && a.holders.told <= 7 &&
             (!a.holders.count || a.holders.items[a.holders.count - 1] >> BROKER_HOLDER_BITS < 3));
    else if (q.kind == BROKER_ATTACH_ENDED && a.result == 0)
        need(a.value <= BROKER_WAIT_STATUS_MAX);
    else if (q.kind == BROKER_NAMESPACE_USER && a.result == 0)
        need(a.value > 0 && a.value < UINT32_MAX);
    return 0;
}
