/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flamed knows of probes in a process that it asks the broker for: of event alloc, of calls,
 * or of moments. The kernel puts them while flamed goes on, so that it asks again. Thread: the
 * engine's.
 */
#pragma once

#include "broker_client/broker.h"

#include <stdbool.h>

struct asked_probes {
    bool there;             /* they are in */
    bool wanted;            /* by a capture, at the last look */
    uint64_t again_ns;      /* when it is tried again */
    uint64_t held_until_ns; /* for a capture that cannot begin yet, and asks again; 0: not */
    struct error reason;    /* why they are not there; code 0: not known yet */
};

/* Says that they are wanted. Return: whether they are there for good: those that are held may go
 * with their set. */
bool asked_probes_want(struct asked_probes *a);
/* Returns -EINPROGRESS with @err while the kernel still puts what was asked for in process
 * @host_pid. 0: it is to be asked for, also if it is in: a set that is held may have ended, and its
 * probes with it. */
int asked_probes_coming(const struct asked_probes *a, struct broker *b, int32_t host_pid,
                        struct error *err);
/* Notes @r as what trying to put them gave, with @reason, and when to try again. They are held if
 * they are coming (-EINPROGRESS) and @begins: it is for a capture that is about to begin. */
void asked_probes_note(struct asked_probes *a, int r, const struct error *reason, bool begins);
/* Return: what the last try gave: 0; -EAGAIN: ask again; -EINPROGRESS or -errno with @err. */
int asked_probes_answer(const struct asked_probes *a, struct error *err);
/* Returns whether the kernel has them, or is putting them. */
static inline bool asked_probes_stand(const struct asked_probes *a)
{
    return a->there || a->reason.code == -EINPROGRESS;
}
