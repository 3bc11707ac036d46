/* SPDX-License-Identifier: Apache-2.0 */
/* The images of the history that a request wants: by who may see them, by name, place and time. */
#include "api/past_impl.h"

#include "base/shares.h"
#include "profile/match.h"

/* Writes the line of attributes that names a container; "": it has no name. */
static void write_name(struct span name, char ret[PAST_NAME_BYTES])
{
    ret[0] = '\0';
    if (name.n)
        snprintf(ret, PAST_NAME_BYTES, HISTORY_CONTAINER_NAME "%.*s\n", (int)name.n, name.p);
}

void past_place_keep(const struct history_image *image, struct past_place *ret)
{
    ret->payer = image->payer;
    ret->owner = image->owner;
    snprintf(ret->container, PAST_NAME_BYTES, "%s", image->container);
    snprintf(ret->pod, PAST_NAME_BYTES, "%s", image->pod);
    snprintf(ret->pod_namespace, PAST_NAME_BYTES, "%s", image->pod_namespace);
    write_name(history_container_name(image->attributes), ret->attributes);
}

struct history_place past_place(const struct past_place *p)
{
    return (struct history_place){ .owner = p->owner,
                                   .container = p->container,
                                   .pod = p->pod,
                                   .pod_namespace = p->pod_namespace,
                                   .attributes = p->attributes,
                                   .payer = p->payer };
}

size_t past_place_find(struct past_place *list, size_t *count, size_t max,
                       const struct history_image *image)
{
    const struct history_place wanted = history_place_of(image);
    size_t i;

    for (i = 0; i < *count; i++) {
        const struct history_place one = past_place(&list[i]);

        if (history_same_place(&one, &wanted))
            return i;
    }
    if (i < max)
        past_place_keep(image, &list[(*count)++]);
    return i;
}

struct history_place past_place_of(const struct process *p, char name[PAST_NAME_BYTES])
{
    const struct container *c = &p->container;

    write_name(span_of(c->pod_uid[0] ? "" : c->name), name);
    return (struct history_place){ .owner = p->owner,
                                   .pod_namespace = c->pod_namespace,
                                   .pod = container_pod(c),
                                   .container = c->id,
                                   .attributes = name,
                                   .payer = p->payer };
}

uint64_t past_payer(const struct history_image *image)
{
    return image->payer ?: OWNER_FOREIGN;
}

/* Returns the program of @image, with its texts. */
static struct past_program program_of(const struct history_image *image)
{
    return (struct past_program){ .host_pid = image->host_pid,
                                  .exec_no = image->exec_no,
                                  .start_ticks = image->start_ticks,
                                  .name = image->name,
                                  .service = image->service };
}

bool past_wants_image(const struct past_filter *f, const struct history_image *image)
{
    const struct target_selector *t = f->t;
    const struct history_place place = history_place_of(image);
    const struct past_program program = program_of(image);
    const struct matcher_values v = {
        .main = image->name,
        .pod = image->pod,
        .pod_uid = "",
        .pod_namespace = image->pod_namespace,
        .container = "",
        .container_id = image->container,
        .service = image->service,
        .payer = image->payer,
    };
    bool pid_found = t->pid_count == 0;

    if (!viewer_sees_user(t->viewer, image->owner) && !(f->seen && image->host_pid == 0) &&
        !(f->seen && matcher_set_holds(f->seen, &v)))
        return false;
    for (size_t i = 0; i < t->pid_count && !pid_found; i++)
        pid_found = t->pids[i] == image->host_pid;
    if (!pid_found)
        return false;
    if (image->host_pid == 0)
        return !t->service;
    if (f->asked && !matcher_set_holds(f->asked, &v))
        return false;
    if (!past_is_pinned(f, &program))
        return false;
    if (!selector_has_container(t, image->container, image->attributes))
        return false;
    if (t->pod && strcmp(image->pod, t->pod) != 0)
        return false;
    if (t->pod_namespace && strcmp(image->pod_namespace, t->pod_namespace) != 0)
        return false;
    if ((t->service && strcmp(image->service, t->service) != 0) ||
        (t->place && !history_same_place(t->place, &place)))
        return false;
    return !f->jvm ||
           (image->service[0] && match_name(f->jvm, match_owner(&image->payer, image->container),
                                            span_of(image->name)) > 0);
}

/* Returns true if @image may be selected. For an image of several processes, the profiles decide
 * later. */
bool past_wants_of(void *cookie, const struct history_image *image)
{
    return past_wants_image(cookie, image);
}

void past_see_last(void *cookie, const struct history_image *image)
{
    struct past_last_image *last = cookie;
    const struct past_program program = program_of(image);

    if (image->last_ns <= last->last_ns) /* of two that ended at the same time, the later one is
                                          * passed first */
        return;
    last->last_ns = image->last_ns;
    past_pin(last->filter, &program);
}

void past_see_range(void *cookie, const struct history_image *image)
{
    struct time_range *seen = cookie;

    seen->from_ns = seen->to_ns ? MIN(seen->from_ns, image->first_ns) : image->first_ns;
    seen->to_ns = MAX(seen->to_ns, image->last_ns);
}

void past_see_container(void *cookie, const struct history_image *image)
{
    container_ids_add(cookie, image->container);
}

bool past_wants_sums(void *cookie, const struct history_image *image)
{
    const struct past_filter *f = cookie;
    const struct target_selector *t = f->t;
    bool some =
        f->seen || f->asked || f->jvm || t->container || t->pod || t->pod_namespace || t->service;

    return (image->host_pid || !some) && past_wants_image(f, image);
}

int past_filter_init(const struct target_selector *t, struct past_filter *f, struct error *err)
{
    int r = 0;

    *f = (struct past_filter){ .t = t };
    if (t->jvm)
        r = match_new(&t->jvm, 1, "jvm", &f->jvm, err);
    if (f->jvm)
        match_begin_long(f->jvm);
    if (r == 0 && t->viewer && t->viewer->seen)
        r = matcher_set_new(t->viewer->seen, &f->seen, err);
    if (r == 0 && t->matchers)
        r = matcher_set_new(t->matchers, &f->asked, err);
    return r;
}

int past_filter_refuse(const struct past_filter *f, int r, struct error *err)
{
    if (r < 0)
        return r;
    return match_refuse_spent(f->jvm, err) ?: matcher_set_refuse_spent(f->asked, err) ?:
        matcher_set_refuse_spent(f->seen, err) ?: r;
}

void past_filter_deinit(struct past_filter *f)
{
    match_free(f->jvm);
    matcher_set_free(f->seen);
    matcher_set_free(f->asked);
}
