/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events with samples at calls of functions (capture/probe/calls.h), as functions of struct
 * event_source. Thread: the engine's.
 */
#pragma once

#include "capture/source/source.h"

/* Probes the calls in the one process of the capture, as event_source.prepare. */
int function_calls_prepare(struct capture_event *e, struct process *p, struct error *err);
/* Marks the probes as wanted, as event_source.hold. */
void function_calls_hold(const struct capture_event *e, const struct proc_id *p);
/* Probes the calls in @p, as event_source.want. */
void function_calls_want(struct capture_event *e, struct process *p, uint64_t now_ns);
/* Warns of the cost of malloc's probes (@functions) for each process, and of calls that these
 * probes miss. */
void function_calls_warn_mallocs(const struct capture_event *e, const char *functions);
