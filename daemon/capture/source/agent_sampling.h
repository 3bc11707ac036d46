/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent that samples what the one JVM of a capture allocates. Events alloc (source=agent) and
 * live use its functions in their struct event_source. The state of such an event begins with a
 * struct agent_sampling. While no agent is planned the functions do nothing. Thread: the engine's.
 */
#pragma once

#include "capture/source/source.h"

struct agent_sampling {
    struct attachment *attachment; /* NULL: none is planned */
    struct proc_id id;             /* the JVM's */
    uint64_t since_ns;             /* since when it samples; 0: not yet */
};

/* Why event alloc may have no sample then. */
extern const struct empty_reason AGENT_SAMPLING_EMPTY;

/* Plans to load the agent into the one JVM of the capture. @what, @parameter: the part of the
 * request that wants it, as text, and its parameter. 0; BACKEND_CONFLICT or -errno with @err. */
int agent_sampling_begin(struct capture_event *e, const char *what, const char *parameter,
                         struct error *err);
/* Waits for the agent. If a JVM takes long to load one, the event begins without it, and is sampled
 * from when it is there. 0, -EINPROGRESS or BACKEND_CONFLICT with @err. */
int agent_sampling_prepare(struct capture_event *e, struct process *p, struct error *err);
/* Marks the probe in the agent as wanted. */
void agent_sampling_hold(const struct capture_event *e, const struct proc_id *p);
/* Puts the probe into the agent once that is loaded. 0; BACKEND_CONFLICT with @err: no agent can be
 * loaded. */
int agent_sampling_poll(struct capture_event *e, uint64_t now_ns, struct error *err);
/* Warns at the end of what the agent did not sample. */
void agent_sampling_settle(struct capture_event *e, uint64_t end_ns);
/* Releases the agent. */
void agent_sampling_release(struct capture_event *e);
