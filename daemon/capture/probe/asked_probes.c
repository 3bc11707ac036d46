/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probe/asked_probes.h"

#include "base/clock.h"

#define AGAIN_NS (100 * NSEC_PER_MSEC) /* interval while symbols are read, or a JVM starts */
#define COMING_NS (5 * NSEC_PER_MSEC)  /* interval while the kernel installs probes */
#define FAILED_NS (10 * NSEC_PER_SEC)

bool asked_probes_want(struct asked_probes *a)
{
    a->wanted = true;
    return a->there;
}

int asked_probes_coming(const struct asked_probes *a, struct broker *b, int32_t host_pid,
                        struct error *err)
{
    bool coming =
        a->reason.code == -EINPROGRESS && broker_probes_begun(b, host_pid, err) == -EINPROGRESS;

    return coming ? -EINPROGRESS : 0;
}

void asked_probes_note(struct asked_probes *a, int r, const struct error *reason)
{
    uint64_t now_ns = clock_monotonic_ns();

    a->there = r == 0;
    a->reason = *reason;
    a->reason.code = r;
    a->again_ns = now_ns + (r == -EINPROGRESS                           ? COMING_NS
                            : r == -EAGAIN || r == ASKED_PROBES_READING ? AGAIN_NS
                                                                        : FAILED_NS);
}

int asked_probes_answer(const struct asked_probes *a, uint64_t until_ns, struct error *err)
{
    int r = a->reason.code;

    if (r == ASKED_PROBES_READING && clock_monotonic_ns() < until_ns)
        return error_set(err, -EINPROGRESS, "its symbols are still being read");
    if (r && r != -EAGAIN && r != ASKED_PROBES_READING && err)
        *err = a->reason;
    return r == ASKED_PROBES_READING ? -EAGAIN : r;
}
