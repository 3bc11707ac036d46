/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which processes of profiles a request about the past selects. Facts of a process change:
 * a JVM gets its service's name some seconds after its first samples. The latest facts decide.
 */
#include "api/past_impl.h"
#include "base/array.h"
#include "base/fnv1a.h"
#include "base/id_table.h"
#include "profile/match.h"

/* Facts that a request may select by. Strings are borrowed from the profile; "": not known. */
struct past_facts {
    const char *name, *container, *pod, *pod_namespace, *service, *attributes;
    uint64_t payer;
    uint32_t owner;
};

struct past_image { /* a key, so it has no padding */
    uint64_t start_ticks;
    int32_t host_pid;
    uint32_t exec_no;
};
_Static_assert(sizeof(struct past_image) == 16, "past_image must have no padding");

struct past_images {
    struct id_table images;   /* struct past_image */
    struct past_facts *facts; /* [facts_cap]: by id in images */
    size_t facts_cap;
};

/* ---- the latest facts ---- */

static const char *text_of(const struct profile *p, uint32_t id)
{
    return intern_get(p->strings, id).p;
}

static struct past_facts facts_of_row(const struct profile *p,
                                      const struct profile_process *process)
{
    return (struct past_facts){ .name = text_of(p, process->name),
                                .container = text_of(p, process->container),
                                .pod = text_of(p, process->pod),
                                .pod_namespace = text_of(p, process->pod_namespace),
                                .service = text_of(p, process->service),
                                .attributes = text_of(p, process->attributes),
                                .payer = process->payer,
                                .owner = process->owner };
}

static struct past_image image_of(const struct profile_process *process)
{
    return (struct past_image){ process->start_ticks, process->host_pid, process->exec_no };
}

static void keep_newer(const char **text, const char *newer)
{
    if (!*text || newer[0])
        *text = newer;
}

static int images_add(struct past_images *m, const struct profile *p,
                      const struct profile_process *process)
{
    const struct past_image image = image_of(process);
    const struct past_facts newer = facts_of_row(p, process);
    uint32_t at;
    int r = id_table_add(&m->images, &image, &at);

    if (r < 0)
        return r;
    if (!array_extend(&m->facts, &m->facts_cap, m->images.cap))
        return -ENOMEM;
    keep_newer(&m->facts[at].name, newer.name);
    keep_newer(&m->facts[at].container, newer.container);
    keep_newer(&m->facts[at].pod, newer.pod);
    keep_newer(&m->facts[at].pod_namespace, newer.pod_namespace);
    keep_newer(&m->facts[at].service, newer.service);
    keep_newer(&m->facts[at].attributes, newer.attributes);
    m->facts[at].payer = newer.payer ?: m->facts[at].payer;
    m->facts[at].owner = newer.owner;
    return 0;
}

struct past_images *past_images_free(struct past_images *m)
{
    if (!m)
        return NULL;
    id_table_deinit(&m->images);
    free(m->facts);
    free(m);
    return NULL;
}

struct past_images *past_images_new(void)
{
    struct past_images *m = calloc(1, sizeof(*m));

    if (m)
        id_table_init(&m->images, sizeof(struct past_image), UINT32_MAX);
    return m;
}

int past_images_note(struct past_images *m, struct profile *const *parts, size_t count)
{
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++) {
        for (size_t k = 0; k < parts[i]->process_count && r == 0; k++)
            r = images_add(m, parts[i], &parts[i]->processes[k]);
    }
    return r;
}

bool past_needs_images(const struct past_filter *f)
{
    const struct target_selector *t = f->t;

    return f->seen || f->asked || f->jvm || t->container || t->pod || t->pod_namespace ||
           t->service;
}

static struct past_facts facts_of(const struct past_filter *f, const struct profile *p,
                                  const struct profile_process *process)
{
    const struct past_image image = image_of(process);
    uint32_t at;

    if (process->host_pid > 0 && f->images && id_table_find(&f->images->images, &image, &at))
        return f->images->facts[at];
    return facts_of_row(p, process);
}

/* ---- selecting ---- */

/* Matches @facts against @set. Profiles have only the id of a container, so its name matches
 * nothing here. */
static bool past_holds(const struct matcher_set *set, const struct past_facts *facts)
{
    const struct matcher_values v = {
        .main = facts->name,
        .pod = facts->pod,
        .pod_uid = "",
        .pod_namespace = facts->pod_namespace,
        .container = "",
        .container_id = facts->container,
        .service = facts->service,
        .payer = facts->payer,
    };

    return matcher_set_holds(set, &v);
}

/* Returns true if the viewer may see a process. The user is that of the profile's row, because the
 * latest facts may be of another user. */
static bool past_seen(const struct past_filter *f, const struct profile_process *process,
                      const struct past_facts *facts)
{
    return f->owned || viewer_sees_user(f->t->viewer, process->owner) ||
           (f->seen && past_holds(f->seen, facts));
}

static bool is_of_place(const struct history_place *place, const struct past_facts *facts)
{
    return history_same_place(place, &(struct history_place){ .owner = facts->owner,
                                                              .container = facts->container,
                                                              .pod = facts->pod,
                                                              .pod_namespace = facts->pod_namespace,
                                                              .attributes = facts->attributes,
                                                              .payer = facts->payer });
}

static bool is_selected(const struct past_filter *f, const struct past_facts *facts)
{
    const struct target_selector *t = f->t;

    if (f->asked && !past_holds(f->asked, facts))
        return false;
    if (!selector_has_container(t, facts->container, facts->attributes))
        return false;
    if (t->pod && strcmp(facts->pod, t->pod) != 0)
        return false;
    if (t->pod_namespace && strcmp(facts->pod_namespace, t->pod_namespace) != 0)
        return false;
    if ((t->service && strcmp(facts->service, t->service) != 0) ||
        (t->place && !is_of_place(t->place, facts)))
        return false;
    return !f->jvm ||
           (facts->service[0] && match_name(f->jvm, match_owner(&facts->payer, facts->container),
                                            span_of(facts->name)) > 0);
}

static uint64_t program_of(const struct past_program *image)
{
    uint64_t name = fnv1a(FNV1A_START, image->name, strlen(image->name) + 1);

    return fnv1a(name, image->service, strlen(image->service));
}

void past_pin(struct past_filter *f, const struct past_program *image)
{
    f->pid = image->host_pid;
    f->start_ticks = image->start_ticks;
    f->exec_no = image->exec_no;
    f->program = program_of(image);
    f->runs_java = image->service[0];
}

bool past_is_pinned(const struct past_filter *f, const struct past_program *image)
{
    /* Another flamed may have stored the capture, and may have counted the JVM's launcher so. */
    bool same_no =
        image->exec_no == f->exec_no && (!f->stored || (image->service[0] != '\0') == f->runs_java);

    return !f->pid ||
           (image->start_ticks == f->start_ticks && (same_no || program_of(image) == f->program));
}

static struct past_program image_with(const struct profile_process *process,
                                      const struct past_facts *facts)
{
    return (struct past_program){ .host_pid = process->host_pid,
                                  .start_ticks = process->start_ticks,
                                  .exec_no = process->exec_no,
                                  .name = facts->name,
                                  .service = facts->service };
}

bool past_wants(void *cookie, const struct profile *p, const struct profile_process *process)
{
    const struct past_filter *f = cookie;
    const struct target_selector *t = f->t;
    const struct past_facts facts = facts_of(f, p, process);
    const struct past_program image = image_with(process, &facts);
    bool pid_found = t->pid_count == 0;

    for (size_t i = 0; i < t->pid_count && !pid_found; i++)
        pid_found = t->pids[i] == process->host_pid;
    if (!pid_found || !past_is_pinned(f, &image))
        return false;
    return past_seen(f, process, &facts) && is_selected(f, &facts);
}

void past_pin_image(struct past_filter *f, const struct profile *p, uint64_t from_ns,
                    uint64_t to_ns)
{
    if (f->t->pid_count != 1 || f->pid)
        return;
    for (size_t i = p->sample_count; i > 0; i--) {
        const struct profile_sample *s = &p->samples[i - 1];
        const struct profile_process *process = &p->processes[p->threads[s->thread].process];
        struct past_program image;
        struct past_facts facts;

        if (process->host_pid != f->t->pids[0] || s->time_ns < from_ns || s->time_ns >= to_ns)
            continue;
        facts = facts_of(f, p, process);
        if (!past_seen(f, process, &facts))
            continue;
        image = image_with(process, &facts);
        past_pin(f, &image);
        return;
    }
}
