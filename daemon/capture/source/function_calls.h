/* SPDX-License-Identifier: Apache-2.0 */
/* Events whose samples are calls of functions (capture/probe/calls.h), as functions of struct
 * event_source. Thread: the engine's. */
#pragma once

#include "capture/source/source.h"

/* Has the calls counted in the one process of the capture, as prepare of struct event_source. */
int function_calls_prepare(struct capture_event *e, struct process *p, struct error *err);
/* Marks the probes as wanted, as hold of struct event_source. */
void function_calls_hold(const struct capture_event *e, const struct proc_id *p);
/* Has the calls counted in @p, as want of struct event_source. */
void function_calls_want(struct capture_event *e, struct process *p, uint64_t now_ns);
/* Warns of what the probes of @functions, those of malloc, cost each process, and of what they do
 * not see. */
void function_calls_warn_mallocs(const struct capture_event *e, const char *functions);
