/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts hooks (sample/hook.h) in and takes them out, one after the other, on a thread of its own, so
 * that the broker can answer requests. Thread of every function: the broker's main one, unless its
 * comment says otherwise.
 */
#pragma once

#include "base/error.h"
#include "sample/hook.h"

struct hooker;

/* Starts the thread by confined_thread_start(). 0 or -errno with @err. */
int hooker_start(int (*confine)(struct error *err), struct hooker **ret, struct error *err);
/* Returns @h as a worker for hook_new(). It is valid as long as @h. */
struct hook_worker hooker_worker(struct hooker *h);
/* Waits until work on the present hook is done, and begins no other hook. The broker calls this
 * before it ends. @h may be NULL. Without pins (sample/uprobe.h), the kernel leaves a breakpoint in
 * the target if a thread is killed while it removes a probe. The kernel removes all other probes
 * when the process ends. */
void hooker_end(struct hooker *h);
