/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a function on the engine's thread for an answer, and waits for it. */
#include "api/api_impl.h"

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
