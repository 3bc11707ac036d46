/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/asked_probes.h"

#include "base/clock.h"
#include "capture/sample_sets.h"

#define AGAIN_NS (100 * NSEC_PER_MSEC) /* while symbols are read, or a JVM starts */
#define COMING_NS (5 * NSEC_PER_MSEC)  /* while the kernel puts them */
#define FAILED_NS (10 * NSEC_PER_SEC)

bool asked_probes_want(struct asked_probes *a)
{
    a->wanted = true;
    if (a->held_until_ns)
        a->held_until_ns = clock_monotonic_ns() + SAMPLE_SETS_HOLD_NS;
    return a->there && !a->held_until_ns;
}

int asked_probes_coming(const struct asked_probes *a, struct broker *b, int32_t host_pid,
                        struct error *err)
{
    bool coming =
        a->reason.code == -EINPROGRESS && broker_probes_begun(b, host_pid, err) == -EINPROGRESS;

    return coming ? -EINPROGRESS : 0;
}

void asked_probes_note(struct asked_probes *a, int r, const struct error *reason, bool begins)
{
    uint64_t now_ns = clock_monotonic_ns();

    a->there = r == 0;
    a->reason = *reason;
    a->reason.code = r;
    if (r == -EINPROGRESS && begins)
        a->held_until_ns = now_ns + SAMPLE_SETS_HOLD_NS;
    a->again_ns = now_ns + (r == -EINPROGRESS ? COMING_NS : r == -EAGAIN ? AGAIN_NS : FAILED_NS);
}

int asked_probes_answer(const struct asked_probes *a, struct error *err)
{
    if (a->reason.code && a->reason.code != -EAGAIN && err)
        *err = a->reason;
    return a->reason.code;
}
