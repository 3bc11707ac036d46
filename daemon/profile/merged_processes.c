/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/merged_processes.h"

#include "base/array.h"

struct merged_image { /* no padding: it is a key */
    uint64_t start_ticks;
    int32_t host_pid;
    uint32_t exec_no;
};
_Static_assert(sizeof(struct merged_image) == 16, "merged_image must have no padding");

struct merged_facts {
    struct profile_process process;
    uint64_t known_ns; /* time of the newest profile with the image; 0: not in the record yet */
    uint32_t id;       /* in the record */
};

void merged_processes_init(struct merged_processes *m)
{
    *m = (struct merged_processes){ .facts = NULL };
    id_table_init(&m->images, sizeof(struct merged_image), UINT32_MAX);
}

void merged_processes_deinit(struct merged_processes *m)
{
    id_table_deinit(&m->images);
    free(m->facts);
    m->facts = NULL;
}

/* Returns @newer, with strings of @older where its own are empty. */
static struct profile_process joined(const struct profile_process *newer,
                                     const struct profile_process *older)
{
    struct profile_process p = *newer;

    p.name = p.name ? p.name : older->name;
    p.container = p.container ? p.container : older->container;
    p.pod = p.pod ? p.pod : older->pod;
    p.pod_namespace = p.pod_namespace ? p.pod_namespace : older->pod_namespace;
    p.service = p.service ? p.service : older->service;
    p.version = p.version ? p.version : older->version;
    p.attributes = p.attributes ? p.attributes : older->attributes;
    p.payer = p.payer ? p.payer : older->payer;
    return p;
}

static int add_first(struct merged_facts *of, struct record *r,
                     const struct profile_process *process, uint64_t known_ns)
{
    int k = record_process(r, process, &of->id);

    of->process = *process;
    of->known_ns = k == 0 ? known_ns : 0;
    return k;
}

static void add_again(struct merged_facts *of, struct record *r,
                      const struct profile_process *process, uint64_t known_ns)
{
    bool newer = known_ns >= of->known_ns;

    of->process = newer ? joined(process, &of->process) : joined(&of->process, process);
    of->known_ns = MAX(of->known_ns, known_ns);
    record_revise_process(r, of->id, &of->process);
}

int merged_process_add(struct merged_processes *m, struct record *r,
                       const struct profile_process *process, uint64_t known_ns, uint32_t *ret)
{
    const struct merged_image image = { process->start_ticks, process->host_pid, process->exec_no };
    uint32_t at;
    int k;

    if (process->host_pid <= 0)
        return record_process(r, process, ret);
    k = id_table_add(&m->images, &image, &at);
    if (k < 0)
        return k;
    if (!array_extend(&m->facts, &m->facts_cap, m->images.cap))
        return -ENOMEM;
    known_ns = MAX(known_ns, UINT64_C(1));
    k = 0;
    if (m->facts[at].known_ns)
        add_again(&m->facts[at], r, process, known_ns);
    else
        k = add_first(&m->facts[at], r, process, known_ns);
    if (k == 0)
        *ret = m->facts[at].id;
    return k;
}
