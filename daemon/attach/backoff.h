/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of earlier attaches to a JVM. After a failure the next attach is put off, longer each
 * time. A JVM that is like one which crashed with our agent in it is never attached to again.
 * Thread: the engine's.
 */
#pragma once

#include "attach/delivery.h"
#include "discover/discover.h"

/* An attach to @p begins. */
void history_begin(const struct process *p);
/* It was answered, or it failed. */
void history_note(const struct proc_id *id, bool failed);
/* In which way it worked; and the one to begin with. @mode: ATTACH_LOAD or ATTACH_PERFMAP. */
void history_set_way(const struct proc_id *id, const struct attach_way *way);
struct attach_way history_way(const struct proc_id *id, uint32_t mode);
/* Our agent has the order to end. */
void history_end(const struct proc_id *id);
/* @p is gone: judges whether it crashed with our agent in it, or soon after; where the kernel still
 * clears it away, history_poll() does. */
void history_gone(struct broker *b, const struct process *p);
/* Judges those, at any rate before the broker forgets how they ended. To be called at each tick. */
void history_poll(struct broker *b, uint64_t now_ns);

/* Whether one that is like @p (its program, its JDK, where it runs) crashed so. Points into the
 * history: which signal ended it, and how long after; NULL: none did. */
const char *history_crash(const struct process *p);
/* How long the next attach is put off, 0: not at all; *ret_failures: how many failed. */
uint64_t history_wait_ns(const struct proc_id *id, uint64_t now_ns, unsigned *ret_failures);
