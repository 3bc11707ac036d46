/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves parts of a selector that need running processes or the history, for requests about the
 * past: the host pids of a pid in a container, the name of the pod with a UID, the ids of
 * containers with a name, and whether a short container id is unique.
 */
#include "api/past_impl.h"
#include "capture/idle_target.h"
#include "capture/process_selector.h"

struct resolving {
    struct target *target;
    struct resolved *to;
    struct error *err;
};

static int take_process(void *cookie, struct process *p)
{
    struct resolving *a = cookie;
    struct target_selector *s = &a->to->selector;
    const struct container *c = &p->container;

    if (!target_sees(a->target, p))
        return 0;
    if (s->pod && strcmp(s->pod, c->pod_uid) == 0 && c->pod_name[0])
        snprintf(a->to->pod, sizeof(a->to->pod), "%s", c->pod_name);
    if (s->container && strcmp(s->container, c->name) == 0)
        container_ids_add(&a->to->ids, c->id);
    if (s->ns_pid && target_matches(a->target, p) && s->pid_count < BACKEND_PIDS_MAX)
        s->pids[s->pid_count++] = p->id.host_pid;
    return 0;
}

static int call_resolve(struct api *api, void *arg)
{
    struct resolving *a = arg;
    struct target_selector *s = &a->to->selector;
    struct error ignored = ERROR_NULL;
    int r;

    if (s->container) { /* a container may have ended, which is not an error */
        r = target_check(a->target, api->engine.discover, api->engine.opts->proc_fd, &ignored);
        if ((r != 0 && s->ns_pid) ||
            (r < 0 && ignored.parameter && strcmp(ignored.parameter, "container") == 0)) {
            *a->err = ignored;
            return r;
        }
    }
    if (s->ns_pid)
        s->pid_count = 0;
    discover_each(api->engine.discover, take_process, a);
    if (a->to->pod[0])
        s->pod = a->to->pod;
    s->ns_pid = 0;
    return 0;
}

int facts_check(struct api *api, const struct target_selector *t, struct error *err)
{
    _cleanup_(target_freep) struct target *target = NULL;
    int r = target_new(t, &target, err);

    return r < 0 ? r : target_check(target, api->engine.discover, api->engine.opts->proc_fd, err);
}

static int refuse_containers(const struct target_selector *t, struct error *err)
{
    error_remedy(err, "give the id of one, or a pod");
    return error_parameter(err, "container", -E2BIG,
                           "more containers than flamed compares had the name '%.64s'",
                           t->container);
}

int selector_resolve(struct api *api, const struct target_selector *t, struct resolved *ret,
                     struct error *err)
{
    _cleanup_(target_freep) struct target *target = NULL;
    struct resolving a = { .to = ret, .err = err };
    int r;

    ret->selector = *t;
    ret->pod[0] = '\0';
    buf_init(&ret->ids, CONTAINER_IDS_MAX_BYTES);
    if (!t->container && !t->pod && !t->ns_pid)
        return 0;
    r = target_new(t, &target, err);
    a.target = target;
    if (r == 0)
        r = api_ask(api, call_resolve, &a, err);
    if (r == 0 && t->container)
        past_known_containers(api, t, &ret->ids);
    if (r == 0 && ret->ids.error == -EFBIG)
        return refuse_containers(t, err);
    if (r == 0 && ret->ids.error)
        r = ret->ids.error;
    if (r == 0 && ret->ids.n)
        ret->selector.container_ids = ret->ids.p;
    return r;
}

void resolved_deinit(struct resolved *r)
{
    buf_deinit(&r->ids);
}

int jvm_missing(struct api *api, const struct target *t, int32_t host_pid, const struct process *p,
                struct error *err)
{
    char child[120];

    if (p && idle_target_child(api->engine.discover, api->engine.opts->proc_fd, t, p, child,
                               sizeof(child)))
        error_parameter(err, "pid", -ESRCH, "process %d (%.16s) is no JVM; %s", host_pid, p->comm,
                        child);
    else
        error_parameter(err, "pid", -ESRCH, "process %d is no JVM: it has no libjvm.so mapped",
                        host_pid);
    error_remedy(err, "GET /api/v1/jvms lists the JVMs; /profile takes any process");
    return BACKEND_NOT_FOUND;
}

int jvm_find(struct api *api, const struct viewer *v, int32_t host_pid, struct process **ret,
             struct error *err)
{
    struct target_selector s = { .pids = { host_pid }, .pid_count = 1, .viewer = v };
    _cleanup_(target_freep) struct target *t = NULL;
    int r = target_new(&s, &t, err)
                ?: target_check(t, api->engine.discover, api->engine.opts->proc_fd, err);

    if (r != 0)
        return r;
    *ret = discover_find(api->engine.discover, host_pid);
    if (!*ret || (*ret)->jvm == JVM_NO)
        return jvm_missing(api, t, host_pid, *ret, err);
    discover_refresh(api->engine.discover, *ret);
    return 0;
}

int jvm_find_readable(struct api *api, const struct viewer *v, int32_t host_pid,
                      struct process **ret, struct error *err)
{
    int r = jvm_find(api, v, host_pid, ret, err);

    if (r != 0 || (*ret)->vm)
        return r;
    error_set(err, -EOPNOTSUPP, "the memory of JVM %d cannot be read: %.200s", host_pid,
              (*ret)->reason);
    error_remedy(err, "GET /api/v1/jvms/%d/preflight says what can be used", host_pid);
    return BACKEND_CONFLICT;
}
