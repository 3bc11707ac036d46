/* SPDX-License-Identifier: Apache-2.0 */
/* How an answer's question gets to the engine's thread. */
#include "api/api_impl.h"
#include "base/clock.h"

#include <unistd.h>

/* A slow machine's verifier took 14 s. */
#define START_WAIT_NS (20 * NSEC_PER_SEC)
#define START_AGAIN_US_MIN 4000 /* the kernel needs some ms, */
#define START_AGAIN_US_MAX 50000

struct api_call {
    struct api *api;
    int (*fn)(struct api *api, void *arg);
    void *arg;
};

static int run_call(void *arg)
{
    struct api_call *call = arg;

    return call->fn(call->api, call->arg);
}

int api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg, struct error *err)
{
    struct api_call call = { api, fn, arg };

    return mailbox_ask(api->engine.mailbox, run_call, &call, err);
}

int api_ask_start(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                  struct error *err)
{
    uint64_t until_ns = clock_monotonic_ns() + START_WAIT_NS;
    useconds_t again_us = START_AGAIN_US_MIN;
    int r;

    while ((r = api_ask(api, fn, arg, err)) == -EINPROGRESS && clock_monotonic_ns() < until_ns &&
           !atomic_load(&api->ending)) {
        usleep(again_us);
        again_us = MIN(again_us * 2, (useconds_t)START_AGAIN_US_MAX); /* or many */
    }
    if (r != -EINPROGRESS)
        return r;
    if (err)
        err->retry_s = 1;
    return BACKEND_UNAVAILABLE;
}

void api_end_starts(struct api *api)
{
    atomic_store(&api->ending, true);
}
