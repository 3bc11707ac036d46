/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions that an attach to a JVM would meet, as JSON. */
#include "api/api_impl.h"
#include "attach/preflight_facts.h"

int facts_preflight(struct api *api, const struct document_query *q, json_t **ret,
                    struct error *err)
{
    struct preflight f;
    struct process *p;
    json_t *steps;
    int r = jvm_find(api, q->viewer, q->host_pid, &p, err);

    if (r)
        return r;
    preflight_process(api->engine.attaching, q->viewer, p, &f);
    steps = json_array();
    for (size_t i = 0; i < f.count; i++)
        json_array_append_new(steps, json_pack("{s:s, s:b, s:s, s:s}", "step", f.steps[i].name,
                                               "ok", (int)f.steps[i].ok, "reason",
                                               f.steps[i].reason, "remedy", f.steps[i].remedy));
    *ret = json_pack("{s:i, s:o, s:{s:b, s:b, s:b}, s:s}", "pid", (int)q->host_pid, "steps", steps,
                     "symbols", "agent", (int)f.agent, "memory", (int)f.memory, "perfmap",
                     (int)f.perfmap, "auto", f.auto_reason);
    return *ret ? 0 : -ENOMEM;
}
