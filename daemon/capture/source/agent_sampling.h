/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents that sample the allocations of a capture's JVMs, one agent in each JVM. Events alloc
 * (source=agent) and live use these functions in their struct event_source. The state of such an
 * event begins with a struct agent_sampling. If no agent is planned, the functions do nothing.
 * Thread: the engine's.
 */
#pragma once

#include "capture/source/source.h"

#define AGENT_JVMS_MAX 8 /* JVMs of one capture */

struct agent_jvm {
    struct attachment *attachment;
    struct proc_id id;
    uint64_t since_ns; /* CLOCK_MONOTONIC since when the agent samples; 0: not yet */
    bool left_out;     /* no agent can be loaded, and the profile has the warning */
};

struct agent_sampling {
    struct agent_jvm jvms[AGENT_JVMS_MAX];
    size_t count; /* 0: no agent is planned */
};

/* Why event alloc may have no sample by an agent. */
extern const struct empty_reason AGENT_SAMPLING_EMPTY;

/* Plans to load the agent into each JVM that is selected now. @what: the part of the request that
 * needs an agent, as text; @parameter: the name of its parameter. Return: 0; BACKEND_CONFLICT or
 * -errno with @err. */
int agent_sampling_begin(struct capture_event *e, const char *what, const char *parameter,
                         struct error *err);
/* Waits for the agents. If a JVM takes long to load one, the event begins without that JVM, and
 * samples it later. Returns 0, -EINPROGRESS or BACKEND_CONFLICT with @err. */
int agent_sampling_prepare(struct capture_event *e, struct process *p, struct error *err);
/* Marks the probes in the agents as wanted. */
void agent_sampling_hold(const struct capture_event *e, const struct proc_id *p);
/* Puts the probe into each agent once it is loaded. A JVM that refuses its agent is left out, with
 * a warning. Return: 0; BACKEND_CONFLICT with @err: all have refused. */
int agent_sampling_poll(struct capture_event *e, uint64_t now_ns, struct error *err);
/* Writes "process 42: " for a sentence about @j, or "" if the capture has no other JVM. Returns
 * @buf. */
#define AGENT_JVM_BYTES 32
const char *agent_jvm_prefix(const struct agent_sampling *a, const struct agent_jvm *j,
                             char buf[AGENT_JVM_BYTES]);
/* Adds warnings, at the end, about allocations that the agents did not sample. */
void agent_sampling_settle(struct capture_event *e, uint64_t end_ns);
/* Releases the agents. */
void agent_sampling_release(struct capture_event *e);
