/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/process_selector_impl.h"

#include "discover/service.h"

static int dup_or_null(const char *s, char **ret)
{
    *ret = s ? strdup(s) : NULL;
    return s && !*ret ? -ENOMEM : 0;
}

int target_new(const struct target_selector *s, struct target **ret, struct error *err)
{
    _cleanup_(target_freep) struct target *t = calloc(1, sizeof(*t));
    int r;

    if (!t)
        return -ENOMEM;
    memcpy(t->pids, s->pids, sizeof(t->pids));
    t->pid_count = MIN(s->pid_count, (size_t)BACKEND_PIDS_MAX);
    t->ns_pid = s->ns_pid;
    if (s->viewer)
        t->viewer = *s->viewer;
    r = dup_or_null(s->container, &t->container);
    if (r == 0 && t->viewer.seen)
        r = matcher_set_new(t->viewer.seen, &t->seen, err);
    if (r == 0 && t->seen)
        t->viewer.seen = matcher_set_list(t->seen); /* the rule may be freed */
    if (r == 0)
        r = dup_or_null(s->pod, &t->pod) ?: dup_or_null(s->pod_namespace, &t->pod_namespace) ?:
            dup_or_null(s->jvm, &t->jvm) ?: dup_or_null(s->service, &t->service);
    if (r == 0 && t->jvm)
        r = match_new((const char *const *)&t->jvm, 1, "jvm", &t->jvm_match, err);
    if (t->jvm_match)
        match_begin_long(t->jvm_match);
    if (r == 0 && s->matchers)
        r = matcher_set_new(s->matchers, &t->matchers, err);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(t);
    return 0;
}

struct target *target_free(struct target *t)
{
    if (!t)
        return NULL;
    free(t->container);
    free(t->pod);
    free(t->pod_namespace);
    free(t->jvm);
    free(t->service);
    match_free(t->jvm_match);
    matcher_set_free(t->matchers);
    matcher_set_free(t->seen);
    free(t);
    return NULL;
}

bool target_is_id_prefix(const char *s)
{
    size_t n = strspn(s, "0123456789abcdef");

    return n >= 6 && n <= 64 && s[n] == '\0';
}

static bool container_matches(const char *wanted, const struct container *c)
{
    if (!c->id[0] && !c->name[0])
        return false;
    if (strcmp(wanted, c->name) == 0)
        return true;
    return c->id[0] &&
           (strcmp(wanted, c->id) == 0 ||
            (target_is_id_prefix(wanted) && strncmp(wanted, c->id, strlen(wanted)) == 0));
}

const char *target_main_of(const struct process *p)
{
    const char *name = p->jvm != JVM_NO ? p->main : process_runs_java(p) ? p->command : NULL;

    return name ? name : "";
}

static bool jvm_matches(const struct target *t, const struct process *p)
{
    const char *name = target_main_of(p);

    return name[0] &&
           match_name(t->jvm_match, match_owner(&p->payer, p->container.id), span_of(name)) > 0;
}

int target_refuse_spent(const struct target *t, struct error *err)
{
    return match_refuse_spent(t->jvm_match, err) ?: matcher_set_refuse_spent(t->matchers, err) ?:
        matcher_set_refuse_spent(t->seen, err);
}

const char *target_slow_text(const struct target *t, char buf[TARGET_SLOW_BYTES])
{
    size_t names = match_slow_names(t->jvm_match), others;

    buf[0] = '\0';
    others = names ? 0 : matcher_set_slow_names(t->matchers) + matcher_set_slow_names(t->seen);
    if (others)
        snprintf(buf, TARGET_SLOW_BYTES,
                 "regular expressions of match take too many steps on %zu name%s here, and "
                 "processes with such names are left out%s; write them without nested repetitions "
                 "such as (a+)+",
                 others, others == 1 ? "" : "s",
                 matcher_set_share_is_spent(t->matchers) || matcher_set_share_is_spent(t->seen)
                     ? ", as are longer names of their owners"
                     : "");
    else if (names)
        snprintf(buf, TARGET_SLOW_BYTES,
                 "the regular expression '%.80s' takes too many steps on %zu main class%s here, "
                 "which count as not matching%s; write it without nested repetitions such as (a+)+",
                 t->jvm, names, names == 1 ? "" : "es",
                 names >= MATCH_SLOW_NAMES_MAX ? ". From then on only names with few steps matched"
                 : match_share_is_spent(t->jvm_match)
                     ? ". Of owners with many of them, only names with few steps matched"
                     : "");
    return buf;
}

static bool service_matches(const struct target *t, const struct process *p)
{
    char service[SERVICE_NAME_BYTES];

    if (!process_runs_java(p))
        return false;
    service_name_of_process(p, service);
    return strcmp(t->service, service) == 0;
}

static bool pid_matches(const struct target *t, int32_t host_pid)
{
    for (size_t i = 0; i < t->pid_count; i++) {
        if (t->pids[i] == host_pid)
            return true;
    }
    return t->pid_count == 0;
}

/* Returns whether @set matches @p. A process that is no JVM matches no matcher of a main class. */
static bool matchers_match(const struct matcher_set *set, const struct process *p)
{
    char service[SERVICE_NAME_BYTES] = "";
    const struct matcher_values v = {
        .service = service,
        .main = p->main ? p->main : "",
        .pod = p->container.pod_name,
        .pod_uid = p->container.pod_uid,
        .pod_namespace = p->container.pod_namespace,
        .container = p->container.name,
        .container_id = p->container.id,
        .payer = p->payer,
    };

    if (p->jvm == JVM_NO && matcher_set_uses(set, MATCHER_MAIN))
        return false;
    if (process_runs_java(p) && matcher_set_uses(set, MATCHER_SERVICE))
        service_name_of_process(p, service);
    return matcher_set_holds(set, &v);
}

bool target_rest_matches(const struct target *t, const struct process *p)
{
    if (t->container && !container_matches(t->container, &p->container))
        return false;
    if (t->pod && strcmp(t->pod, p->container.pod_name) != 0 &&
        strcmp(t->pod, p->container.pod_uid) != 0)
        return false;
    if (t->pod_namespace && strcmp(t->pod_namespace, p->container.pod_namespace) != 0)
        return false;
    if (t->ns_pid && (p->ns_depth == 0 || p->ns_pid[p->ns_depth - 1] != t->ns_pid))
        return false;
    if (t->matchers && !matchers_match(t->matchers, p))
        return false;
    if (t->service && !service_matches(t, p))
        return false;
    return !t->jvm || jvm_matches(t, p);
}

bool target_sees(const struct target *t, const struct process *p)
{
    return viewer_sees_user(&t->viewer, p->owner) || (t->seen && matchers_match(t->seen, p));
}

bool target_matches(const struct target *t, const struct process *p)
{
    return target_sees(t, p) && pid_matches(t, p->id.host_pid) && target_rest_matches(t, p);
}

bool target_is_node(const struct target *t)
{
    return t->viewer.whole && target_is_open(t);
}

const struct viewer *target_viewer(const struct target *t)
{
    return &t->viewer;
}

const char *target_scope(const struct target *t)
{
    return t->viewer.scope;
}

bool target_is_open(const struct target *t)
{
    return t->pid_count == 0 && !t->container && !t->pod && !t->pod_namespace && !t->jvm &&
           !t->service && !t->matchers;
}

void target_main_selector(const struct target *t, char ret[TARGET_MAIN_BYTES])
{
    ret[0] = '\0';
    if (t->jvm)
        snprintf(ret, TARGET_MAIN_BYTES, "jvm=%.80s", t->jvm);
    else if (t->matchers && matcher_set_uses(t->matchers, MATCHER_MAIN))
        snprintf(ret, TARGET_MAIN_BYTES, "the selector");
}

int32_t target_single_pid(const struct target *t)
{
    return t->pid_count == 1 ? t->pids[0] : 0;
}

bool target_has_pids(const struct target *t)
{
    return t->pid_count > 0;
}

struct jvm_list {
    const struct target *target;
    struct process **jvms;
    size_t max, count;
};

static int list_jvm(void *cookie, struct process *p)
{
    struct jvm_list *l = cookie;

    if (!p->exited && !p->zombie && p->jvm != JVM_NO && target_matches(l->target, p)) {
        if (l->count < l->max)
            l->jvms[l->count] = p;
        l->count++;
    }
    return 0;
}

size_t target_jvms(const struct target *t, struct discover *d, struct process **ret, size_t max)
{
    struct jvm_list l = { .target = t, .jvms = ret, .max = max };

    discover_each(d, list_jvm, &l);
    return l.count;
}
