/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/hook.h"

#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdatomic.h>

enum hook_phase {
    HOOK_WAITS, /* until HOOK_IN, the hook is queued or in work */
    HOOK_GOES_IN,
    HOOK_IN, /* as in HOOK_FAILED, the worker is done with the hook */
    HOOK_FAILED,
    HOOK_GOES_OUT, /* queued again, or in work */
};

struct hook {
    struct hook_worker by;
    const struct hook_type *type;
    void *arg; /* owned */
    _Atomic enum hook_phase phase;
    bool in;          /* the hook is in; used by the worker only */
    struct error err; /* reason of HOOK_FAILED */
};

static void give(struct hook *h)
{
    if (h->by.give) {
        h->by.give(h->by.ctx, h);
        return;
    }
    while (hook_work(h))
        ;
}

int hook_new(const struct hook_worker *by, const struct hook_type *type, void *arg,
             struct hook **ret)
{
    struct hook *h = calloc(1, sizeof(*h));

    if (!h) {
        type->free(arg);
        return -ENOMEM;
    }
    h->by = *by;
    h->type = type;
    h->arg = arg;
    give(h);
    *ret = h;
    return 0;
}

int hook_state(const struct hook *h, struct error *err)
{
    switch (atomic_load(&h->phase)) {
    case HOOK_IN:
        return 0;
    case HOOK_FAILED:
        if (err)
            *err = h->err;
        return h->err.code;
    default:
        error_set(err, -EINPROGRESS, "the kernel is still putting the BPF programs in place");
        error_remedy(err, "ask again in a second");
        return -EINPROGRESS;
    }
}

/* Ranks results of hook_state(): of two, the joint state is the one with the larger rank. */
static int rank(int state)
{
    return state == -ENOENT ? 0 : state == 0 ? 1 : state == -EINPROGRESS ? 2 : 3;
}

int hook_and(int a, int b, const struct error *why_b, struct error *err)
{
    if (rank(b) <= rank(a))
        return a;
    if (err)
        *err = *why_b;
    return b;
}

const void *hook_arg(const struct hook *h)
{
    return h->arg;
}

static void free_hook(struct hook *h)
{
    h->type->free(h->arg);
    free(h);
}

struct hook *hook_drop(struct hook *h)
{
    struct hook_worker by;
    enum hook_phase before;

    if (!h)
        return NULL;
    by = h->by; /* after the next line, the worker may free @h */
    before = atomic_exchange(&h->phase, HOOK_GOES_OUT);
    if (before == HOOK_IN || before == HOOK_FAILED)
        give(h);
    else if (before == HOOK_WAITS && by.take_back && by.take_back(by.ctx, h))
        free_hook(h);
    return NULL;
}

/* Puts the hook in. Returns true if the work is done; false if the hook was dropped during it. */
static bool put(struct hook *h)
{
    enum hook_phase phase = HOOK_GOES_IN;
    int r;

    r = h->type->put(h->arg, &h->err);
    if (r < 0)
        h->err.code = r;
    h->in = r == 0;
    return atomic_compare_exchange_strong(&h->phase, &phase, h->in ? HOOK_IN : HOOK_FAILED);
}

bool hook_work(struct hook *h)
{
    enum hook_phase phase = HOOK_WAITS;

    if (atomic_compare_exchange_strong(&h->phase, &phase, HOOK_GOES_IN) && put(h))
        return false;
    if (h->in && h->type->take_out(h->arg))
        return true;
    free_hook(h);
    return false;
}

/* ---- at a tracepoint of the kernel ---- */

struct link {
    int program, fd; /* owned */
};

static int put_link(void *arg, struct error *err)
{
    struct link *l = arg;

    l->fd = bpf_raw_tracepoint_open(/* name= */ NULL, l->program);
    return l->fd < 0 ? error_code(err, l->fd, "cannot attach to an event of the kernel") : 0;
}

static bool take_out_link(void *arg)
{
    struct link *l = arg;

    l->fd = close_fd(l->fd);
    return false;
}

static void free_link(void *arg)
{
    struct link *l = arg;

    close_fd(l->program);
    free(l);
}

static const struct hook_type LINK = { put_link, take_out_link, free_link };

int hook_tracepoint(const struct hook_worker *by, int program, struct hook **ret)
{
    struct link *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    *l = (struct link){ fcntl(program, F_DUPFD_CLOEXEC, 0), -1 };
    if (l->program >= 0)
        return hook_new(by, &LINK, l, ret);
    free(l);
    return -errno;
}
