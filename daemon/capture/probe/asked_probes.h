/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the probes that flamed asks the broker for in a process: of event alloc, of calls,
 * or of moments. A thread of the broker installs them; flamed polls until they are in. Thread: the
 * engine's.
 */
#pragma once

#include "broker_client/broker.h"

#include <stdbool.h>

#define ASKED_PROBES_READING                                                                       \
    (-EALREADY) /* a result: symbols that say where they go are being read */

struct asked_probes {
    bool there;          /* they are in */
    bool wanted;         /* by a capture, at the last reconciliation */
    uint64_t again_ns;   /* when the broker is asked again */
    struct error reason; /* why they are not there; code 0: not known yet */
};

/* Marks them as wanted. Returns whether they are in. */
bool asked_probes_want(struct asked_probes *a);
/* Returns -EINPROGRESS with @err while the kernel installs what was asked for in process @host_pid.
 * 0: the broker is to be asked for the probes (once more). */
int asked_probes_coming(const struct asked_probes *a, struct broker *b, int32_t host_pid,
                        struct error *err);
/* Stores @r and @reason as the result of asking the broker, and when to ask again. */
void asked_probes_note(struct asked_probes *a, int r, const struct error *reason);
/* Returns the last result: 0; -EAGAIN: ask again; -EINPROGRESS or -errno with @err. While symbols
 * are read it is -EINPROGRESS until CLOCK_MONOTONIC @until_ns, then -EAGAIN. */
int asked_probes_answer(const struct asked_probes *a, uint64_t until_ns, struct error *err);
/* Returns whether the kernel has them, or is installing them. */
static inline bool asked_probes_stand(const struct asked_probes *a)
{
    return a->there || a->reason.code == -EINPROGRESS;
}
/* Returns whether the last try has failed, so that the next may, too. */
static inline bool asked_probes_failed(const struct asked_probes *a)
{
    int r = a->reason.code;

    return r < 0 && r != -EAGAIN && r != -EINPROGRESS && r != ASKED_PROBES_READING;
}
