/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks: kernel objects that call a BPF program, such as a link to a tracepoint, or probes in user
 * space. The kernel waits for every processor to leave old code (RCU) when it puts one in or takes
 * it out. That takes some ms, and seconds on a busy machine. So a worker does both, in the order of
 * the requests, while the broker answers others. Inside flamed-broker only.
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
    /* Queues @h: calls hook_work() for it, behind all earlier hooks, until that returns false.
     * NULL: the work is done at once. Thread: any. */
    void (*give)(void *ctx, struct hook *h);
    /* Drops @h from the queue, unless its work has begun. Without that, a slow kernel would let the
     * queue grow without bound. Returns true if it was dropped. NULL: never. Thread: @h's owner. */
    bool (*take_back)(void *ctx, struct hook *h);
    void *ctx; /* borrowed */
};

/* Makes a hook that @by puts in. Takes @arg. 0 and *ret, for hook_drop(), or -ENOMEM. */
int hook_new(const struct hook_worker *by, const struct hook_type *type, void *arg,
             struct hook **ret);
/* Returns 0 if @h is in. -EINPROGRESS: not yet. -errno: it failed. Each but the first with @err.
 * Thread: @h's owner. */
int hook_state(const struct hook *h, struct error *err);
/* Returns the joint state of two results of hook_state(), @a and @b; each may be -ENOENT for none.
 * A failure counts most, then -EINPROGRESS. @err, which is of @a, becomes @why_b if @b counts
 * more. */
int hook_and(int a, int b, const struct error *why_b, struct error *err);
/* Returns the argument that @h was made with. It stays @h's; only parts that the worker does not
 * change may be read. */
const void *hook_arg(const struct hook *h);
/* Drops @h, which may be NULL: takes it out if it is in, and frees it. Returns NULL. */
struct hook *hook_drop(struct hook *h);

/* Does the pending work of @h. Returns true if work is left; else @h may be freed. Thread: the
 * worker's. */
bool hook_work(struct hook *h);

/* Makes a hook of the program with fd @program at the kernel's tracepoint that its BTF names
 * (tp_btf). Otherwise the same as hook_new(). */
int hook_tracepoint(const struct hook_worker *by, int program, struct hook **ret);
