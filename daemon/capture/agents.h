/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVMs whose agent tells what they allocate, for captures of event alloc with source=agent. An
 * attachment (attach/attachment.h) brings the agent there; this file has the broker put a probe
 * into it, and take it out. Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "discover/discover.h"

#define AGENTS_MAX 64 /* JVMs at a time */

struct agents_probed {
    struct proc_id all[AGENTS_MAX];
    bool wanted[AGENTS_MAX]; /* by a capture, at the last look */
    size_t count;
};

/* Puts a probe into the agent of @p unless it has one. Return: 0, PROC_GONE, -errno with @err. */
int agents_put(struct agents_probed *all, struct broker *b, struct process *p, struct error *err);
/* Begins a look at all captures: agents_want() says which JVMs are wanted, */
void agents_look(struct agents_probed *all);
void agents_want(struct agents_probed *all, const struct proc_id *id);
/* and here the probes of others go. */
void agents_looked(struct agents_probed *all, struct broker *b);
/* Notes that the sets that they were for are gone, and the probes with them. */
void agents_forget(struct agents_probed *all);
