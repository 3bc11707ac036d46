/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts hooks (sample/hook.h) and takes them out, one after the other, on a thread of its own, so
 * that the broker can answer. Thread of every function: the broker's main one, unless it says
 * other.
 */
#pragma once

#include "base/error.h"
#include "sample/hook.h"

struct hooker;

/* Starts the thread, as confined_thread_start(). 0 or -errno with @err. */
int hooker_start(int (*confine)(struct error *err), struct hooker **ret, struct error *err);
/* Returns the worker that it is. It is valid as long as @h. */
struct hook_worker hooker_worker(struct hooker *h);
/* Waits for the hook that it is busy with, and begins with no other: before the broker ends. @h may
 * be NULL. Where probes are not pinned (sample/uprobe.h), the kernel leaves a breakpoint in the
 * target if a thread is killed in the middle of that. It takes out the others with the process. */
void hooker_end(struct hooker *h);
