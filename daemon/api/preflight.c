/* SPDX-License-Identifier: Apache-2.0 */
/* What an attach to a JVM would meet, as the JSON of the API. */
#include "api/api_impl.h"
#include "attach/preflight_facts.h"

struct ask {
    const struct viewer *viewer;
    int32_t host_pid;
    json_t **ret;
    struct error *err;
};

static int call_preflight(struct api *api, void *arg)
{
    struct ask *a = arg;
    struct preflight f;
    struct process *p;
    json_t *steps;
    int r = jvm_find(api, a->viewer, a->host_pid, &p, a->err);

    if (r)
        return r;
    preflight_process(api->engine.attaching, a->viewer, p, &f);
    steps = json_array();
    for (size_t i = 0; i < f.count; i++)
        json_array_append_new(steps, json_pack("{s:s, s:b, s:s, s:s}", "step", f.steps[i].name,
                                               "ok", (int)f.steps[i].ok, "reason",
                                               f.steps[i].reason, "remedy", f.steps[i].remedy));
    *a->ret = json_pack("{s:i, s:o, s:{s:b, s:b, s:b}, s:s}", "pid", (int)a->host_pid, "steps",
                        steps, "symbols", "agent", (int)f.agent, "memory", (int)f.memory, "perfmap",
                        (int)f.perfmap, "auto", f.auto_reason);
    return *a->ret ? 0 : -ENOMEM;
}

int backend_preflight(void *ctx, const struct viewer *v, int32_t host_pid, json_t **ret,
                      struct error *err)
{
    struct ask a = { .viewer = v, .host_pid = host_pid, .ret = ret, .err = err };

    return api_ask(ctx, call_preflight, &a, err);
}
