/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks: what the kernel holds so that it calls a BPF program, such as a link to a tracepoint, or
 * probes in user space. The kernel puts one in, or takes it out, only when each processor has been
 * out of its old code (RCU). That takes some ms, and seconds on a busy machine. So a worker does
 * both, in the order in which they were asked for, and the broker answers others. Inside
 * flamed-broker only.
 */
#pragma once

#include "base/error.h"

struct hook;

/* What a hook is. Thread of all three: the worker's. */
struct hook_type {
    /* Puts it in, which may take long. 0, or -errno with @err. */
    int (*put)(void *arg, struct error *err);
    /* Takes it out, or part of it, which may take long. Returns whether some is left. */
    bool (*take_out)(void *arg);
    /* Frees @arg, when nothing is in. */
    void (*free)(void *arg);
};

/* Who does that. */
struct hook_worker {
    /* Has hook_work() called for @h, behind all that came before, until it returns false. NULL: it
     * is done at once. Thread: any. */
    void (*give)(void *ctx, struct hook *h);
    /* Forgets @h, unless it has begun with it: else what waits has no bound while the kernel is
     * slow. Returns whether it has forgotten it. NULL: never. Thread: that which has @h. */
    bool (*take_back)(void *ctx, struct hook *h);
    void *ctx; /* borrowed */
};

/* Has a hook put in by @by. Takes @arg. 0 and *ret, for hook_drop(), or -ENOMEM. */
int hook_new(const struct hook_worker *by, const struct hook_type *type, void *arg,
             struct hook **ret);
/* Returns 0 if @h is in. -EINPROGRESS: it is not yet. -errno: it could not be put. Each but the
 * first with @err. Thread: that which has @h. */
int hook_state(const struct hook *h, struct error *err);
/* Returns the state of several: @a and @b are results of hook_state(), or -ENOENT for none. One
 * that failed counts most, then one that is not in yet. @err, which is of @a, becomes @why_b if @b
 * is the one that counts. */
int hook_and(int a, int b, const struct error *why_b, struct error *err);
/* Returns what it was made with, which is @h's: what the worker does not change may be read. */
const void *hook_arg(const struct hook *h);
/* Has @h, which may be NULL, taken out if it is in, and freed. Returns NULL. */
struct hook *hook_drop(struct hook *h);

/* Does for @h what is to be done. Returns whether something is left to do; if not, @h may be gone.
 * Thread: the worker's. */
bool hook_work(struct hook *h);

/* Makes a hook of the program with fd @program at its tracepoint of the kernel, which its BTF names
 * (tp_btf). The same as hook_new() besides. */
int hook_tracepoint(const struct hook_worker *by, int program, struct hook **ret);
