/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/agents.h"

static size_t find(const struct agents_probed *all, const struct proc_id *id)
{
    size_t i = 0;

    while (i < all->count && !proc_id_equal(&all->all[i], id))
        i++;
    return i;
}

int agents_put(struct agents_probed *all, struct broker *b, struct process *p, struct error *err)
{
    size_t at = find(all, &p->id);
    uint32_t class_klass;
    int r;

    if (at < all->count)
        return 0;
    if (all->count == AGENTS_MAX)
        return error_set(err, -E2BIG, "the agents of %d JVMs have probes already", AGENTS_MAX);
    if (p->jvm != JVM_READY || hotspot_class_klass(p->vm, &class_klass) < 0)
        return error_set(err, -EOPNOTSUPP, "its tables do not tell the class of an object");
    r = broker_agent_probe(b, &p->id, class_klass, err);
    if (r == 0) {
        all->wanted[at] = true;
        all->all[all->count++] = p->id;
    }
    return r;
}

void agents_look(struct agents_probed *all)
{
    memset(all->wanted, 0, sizeof(all->wanted));
}

void agents_want(struct agents_probed *all, const struct proc_id *id)
{
    size_t at = find(all, id);

    if (at < all->count)
        all->wanted[at] = true;
}

void agents_looked(struct agents_probed *all, struct broker *b)
{
    for (size_t i = all->count; i-- > 0;) {
        if (all->wanted[i])
            continue;
        broker_unprobe(b, all->all[i].host_pid, BROKER_PROBED_AGENT, NULL);
        all->count--;
        all->all[i] = all->all[all->count];
        all->wanted[i] = all->wanted[all->count];
    }
}

void agents_forget(struct agents_probed *all)
{
    all->count = 0;
}
