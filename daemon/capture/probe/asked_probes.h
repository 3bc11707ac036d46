/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of probes that flamed requests from the broker for a process: of event alloc, of calls,
 * or of moments. A thread of the broker installs them; flamed polls until they are installed.
 * Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"

#include <stdbool.h>

#define ASKED_PROBES_READING (-EALREADY) /* a result: the symbols of the probes are being read */

struct asked_probes {
    bool there;          /* installed */
    bool wanted;         /* by a capture, at the last reconciliation */
    uint64_t again_ns;   /* CLOCK_MONOTONIC of the next request */
    struct error reason; /* why the probes are not installed; code 0: not known yet */
};

/* Marks the probes as wanted. Returns whether they are installed. */
bool asked_probes_want(struct asked_probes *a);
/* Returns -EINPROGRESS with @err while the kernel installs the requested probes in process
 * @host_pid. Returns 0 if the caller must request them (again). */
int asked_probes_coming(const struct asked_probes *a, struct broker *b, int32_t host_pid,
                        struct error *err);
/* Stores @r and @reason as the result of a request, and schedules the next one. */
void asked_probes_note(struct asked_probes *a, int r, const struct error *reason);
/* Returns the last result: 0; -EAGAIN: call again; -EINPROGRESS or -errno with @err. While symbols
 * are read, the result is -EINPROGRESS until CLOCK_MONOTONIC @until_ns, then -EAGAIN. */
int asked_probes_answer(const struct asked_probes *a, uint64_t until_ns, struct error *err);
/* Returns whether the kernel has installed the probes, or is installing them. */
static inline bool asked_probes_stand(const struct asked_probes *a)
{
    return a->there || a->reason.code == -EINPROGRESS;
}
/* Returns whether the last request failed. The next one may then fail, too. */
static inline bool asked_probes_failed(const struct asked_probes *a)
{
    int r = a->reason.code;

    return r < 0 && r != -EAGAIN && r != -EINPROGRESS && r != ASKED_PROBES_READING;
}
