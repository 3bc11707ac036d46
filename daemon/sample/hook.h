/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks: kernel objects that call a BPF program, such as a link to a tracepoint, or probes in user
 * space. When the kernel puts a hook in or takes it out, it waits for every processor to leave old
 * code (RCU). That takes some ms, and seconds on a busy machine. So a worker thread does both, in
 * the order of the requests, and the broker is not blocked. Inside flamed-broker only.
 */
#pragma once

#include "base/error.h"

struct hook;

/* A type of hook. Thread of all three functions: the worker's. */
struct hook_type {
    /* Puts the hook in, which may take long. 0, or -errno with @err. */
    int (*put)(void *arg, struct error *err);
    /* Takes out the hook, or a part of it, which may take long. Returns true if a part is left. */
    bool (*take_out)(void *arg);
    /* Frees @arg, when no part of the hook is in. */
    void (*free)(void *arg);
};

/* The worker that puts hooks in and takes them out. */
struct hook_worker {
    /* Queues @h: calls hook_work() for it, behind all earlier hooks, until hook_work() returns
     * false. NULL: the caller does the work at once. Thread: any. */
    void (*give)(void *ctx, struct hook *h);
    /* Drops @h from the queue, unless its work has begun. Without this, the queue could grow
     * without bound if the kernel is slow. Returns true if @h was dropped. NULL: the worker drops
     * none. Thread: @h's owner. */
    bool (*take_back)(void *ctx, struct hook *h);
    void *ctx; /* borrowed */
};

/* Makes a hook that @by puts in. Takes @arg. 0 and *ret, for hook_drop(), or -ENOMEM. */
int hook_new(const struct hook_worker *by, const struct hook_type *type, void *arg,
             struct hook **ret);
/* Returns 0 if @h is in. -EINPROGRESS: not yet. Other -errno: it failed. @err is set unless 0.
 * Thread: @h's owner. */
int hook_state(const struct hook *h, struct error *err);
/* Returns the joint state of two results of hook_state(), @a and @b; each may be -ENOENT for no
 * hook. A failure takes precedence, then -EINPROGRESS. @err holds the error of @a; it becomes
 * @why_b if @b takes precedence. */
int hook_and(int a, int b, const struct error *why_b, struct error *err);
/* Returns the argument that @h was made with. The argument stays owned by @h. Only members that the
 * worker does not change may be read. */
const void *hook_arg(const struct hook *h);
/* Drops @h, which may be NULL: takes it out if it is in, and frees it. Returns NULL. */
struct hook *hook_drop(struct hook *h);

/* Does the pending work of @h. Returns true if work is left; else @h may be freed. Thread: the
 * worker's. */
bool hook_work(struct hook *h);

/* Makes a hook that attaches the program with fd @program (tp_btf) to its kernel tracepoint.
 * Otherwise the same as hook_new(). */
int hook_tracepoint(const struct hook_worker *by, int program, struct hook **ret);
