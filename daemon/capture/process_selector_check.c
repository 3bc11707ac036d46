/* SPDX-License-Identifier: Apache-2.0 */
/* Names a selector, and checks whether it matches a process now. If not, writes the sentence for
 * users. */
#include "base/text.h"
#include "capture/nearest.h"
#include "capture/process_selector_impl.h"

#include "discover/service.h"

#define TARGET_IDS_MAX 5 /* container ids that are listed for a prefix */

static void append(char *buf, size_t size, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void append(char *buf, size_t size, const char *fmt, ...)
{
    size_t n = strlen(buf);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buf + n, size - n, fmt, ap);
    va_end(ap);
}

static void append_matchers(const struct target *t, char *buf, size_t size, const char *sep)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(size);

    matchers_write(matcher_set_list(t->matchers), &text);
    append(buf, size, "%s%s", sep, text.error ? "{...}" : text.p);
}

void target_viewer_name(const struct viewer *v, char *buf, size_t size)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(size);

    buf[0] = '\0';
    if (!v || !v->seen) {
        append(buf, size, "user %u", v ? v->uid : 0);
        return;
    }
    matchers_write(v->seen, &text);
    append(buf, size, "who sees %s", text.error ? "{...}" : text.p);
}

static void describe(const struct target *t, struct discover *d, char *buf, size_t size)
{
    const char *sep = "";
    char who[160];

    buf[0] = '\0';
    if (target_is_node(t)) {
        append(buf, size, "the whole node");
        return;
    }
    if (target_is_open(t)) {
        target_viewer_name(&t->viewer, who, sizeof(who));
        append(buf, size, "all processes of %s", who);
        return;
    }
    if (t->pid_count) {
        append(buf, size, "pid ");
        for (size_t i = 0; i < t->pid_count; i++) {
            struct process *p = discover_find(d, t->pids[i]);

            append(buf, size, "%s%d", i ? ", " : "", t->pids[i]);
            if (p)
                append(buf, size, " (%.120s)", process_title(p));
        }
        sep = ", ";
    }
    if (t->container) {
        append(buf, size, "%scontainer %s", sep, t->container);
        sep = ", ";
    }
    if (t->ns_pid)
        append(buf, size, " pid %d inside", t->ns_pid);
    if (t->pod) {
        append(buf, size, "%spod %s", sep, t->pod);
        sep = ", ";
    }
    if (t->pod_namespace) {
        append(buf, size, "%snamespace %s", sep, t->pod_namespace);
        sep = ", ";
    }
    if (t->jvm) {
        append(buf, size, "%sjvm %s", sep, t->jvm);
        sep = ", ";
    }
    if (t->service) {
        append(buf, size, "%sservice %s", sep, t->service);
        sep = ", ";
    }
    if (t->matchers)
        append_matchers(t, buf, size, sep);
}

void target_describe(const struct target *t, struct discover *d, char *buf, size_t size)
{
    describe(t, d, buf, size);
    text_clean_into(span_of(buf), buf, size); /* a name may be cut inside a character */
}

/* ---- the sentence if nothing matches ---- */

enum nearest_kind {
    NEAREST_JVM,
    NEAREST_CONTAINER,
    NEAREST_POD,
    NEAREST_NAMESPACE,
    NEAREST_SERVICE
};

struct nearest_walk {
    const struct target *t;
    enum nearest_kind what;
    struct nearest n;
};

static int nearest_add(void *cookie, struct process *p)
{
    const struct container *c = &p->container;
    struct nearest_walk *w = cookie;
    char service[SERVICE_NAME_BYTES];
    const char *main;
    char text[128];

    if (p->exited || !target_sees(w->t, p))
        return 0;
    switch (w->what) {
    case NEAREST_CONTAINER:
        snprintf(text, sizeof(text), "%.12s%s%.100s", c->id, c->id[0] && c->name[0] ? " " : "",
                 c->name);
        if (text[0])
            nearest_keep(&w->n, text, c->id, c->name);
        return 0;
    case NEAREST_POD:
        snprintf(text, sizeof(text), "%.120s", c->pod_name[0] ? c->pod_name : c->pod_uid);
        if (text[0])
            nearest_keep(&w->n, text, c->pod_name, c->pod_uid);
        return 0;
    case NEAREST_NAMESPACE:
        snprintf(text, sizeof(text), "%.120s", c->pod_namespace);
        if (text[0])
            nearest_keep(&w->n, text, text, "");
        return 0;
    case NEAREST_SERVICE:
        if (!process_runs_java(p))
            return 0;
        service_name_of_process(p, service);
        snprintf(text, sizeof(text), "%.120s", service);
        if (text[0])
            nearest_keep(&w->n, text, text, "");
        return 0;
    case NEAREST_JVM:
        if (!process_runs_java(p))
            return 0;
        main = target_main_of(p);
        main = main[0] ? main : process_title(p);
        snprintf(service, sizeof(service), "%d", p->id.host_pid);
        snprintf(text, sizeof(text), "%d (%.80s)", p->id.host_pid, main);
        nearest_keep(&w->n, text, w->t->jvm ? main : service, "");
    }
    return 0;
}

static int not_found(const struct target *t, struct discover *d, struct error *err)
{
    char list[200], all[256] = "", pid[16];
    struct nearest_walk w = { .t = t };
    struct nearest *n = &w.n;
    const char *parameter, *none;
    char who[160];

    target_viewer_name(&t->viewer, who, sizeof(who));
    if (t->container) {
        w.what = NEAREST_CONTAINER;
        n->wanted = t->container;
        parameter = "container";
        none = "no container runs here";
    } else if (t->pod) {
        w.what = NEAREST_POD;
        n->wanted = t->pod;
        parameter = "pod";
        none = "no pod runs here";
    } else if (t->pod_namespace) {
        w.what = NEAREST_NAMESPACE;
        n->wanted = t->pod_namespace;
        parameter = "namespace";
        none = "no pod runs here";
    } else if (t->service) {
        w.what = NEAREST_SERVICE;
        n->wanted = t->service;
        parameter = "service";
        none = "no JVM runs here";
    } else {
        w.what = NEAREST_JVM;
        snprintf(pid, sizeof(pid), "%d", t->pids[0]);
        n->wanted = t->jvm ? t->jvm : t->pid_count ? pid : NULL;
        parameter = t->matchers ? "match" : t->jvm ? "jvm" : "pid";
        none = "no JVM runs here";
    }
    discover_each(d, nearest_add, &w);
    nearest_text(n, list, sizeof(list));
    if (t->container && t->ns_pid && n->found)
        error_parameter(err, "nspid", -ESRCH,
                        "no process of container '%.80s' has pid %d inside it", t->container,
                        t->ns_pid);
    else if (t->container)
        error_parameter(err, parameter, -ESRCH, "no process runs in a container '%.80s'",
                        t->container);
    else if (t->pod)
        error_parameter(err, parameter, -ESRCH, "no process runs in a pod '%.80s'", t->pod);
    else if (t->pod_namespace)
        error_parameter(err, parameter, -ESRCH, "no process runs in namespace '%.80s'",
                        t->pod_namespace);
    else if (t->service)
        error_parameter(err, parameter, -ESRCH, "no JVM belongs to a service '%.80s'", t->service);
    else if (t->matchers) {
        append_matchers(t, all, sizeof(all), "");
        error_parameter(err, parameter, -ESRCH, "no process matches %s", all);
    } else if (t->jvm)
        error_parameter(err, parameter, -ESRCH,
                        match_slow_names(t->jvm_match)
                            ? "no JVM's main class or jar matches '%.80s', which takes too many "
                              "steps on some"
                            : "no JVM's main class or jar matches '%.80s'",
                        t->jvm);
    else if (t->pid_count == 0)
        error_parameter(err, parameter, -ESRCH, "%s has no process that can be profiled here", who);
    else
        error_parameter(err, parameter, -ESRCH,
                        t->viewer.whole ? "there is no process %d"
                                        : "there is no process %d of yours",
                        t->pids[0]);
    if (!t->viewer.whole && !n->found && t->seen)
        error_remedy(err, "no running process belongs to %s: GET /api/v1/jvms lists those that do",
                     who);
    else if (!t->viewer.whole && !n->found)
        error_remedy(err,
                     "%s sees only its own processes outside of containers; root and members of "
                     "group flamed see all",
                     who);
    else if (n->found)
        error_remedy(err, "%s here: %s", w.what == NEAREST_JVM ? "JVMs" : "nearest", list);
    else
        error_remedy(err, "%s; GET /api/v1/jvms lists the JVMs", none);
    return BACKEND_NOT_FOUND;
}

/* Sets @err: the viewer sees no process @pid, whatever else is asked for. */
static int no_process(const struct target *t, struct discover *d, int32_t pid, struct error *err)
{
    struct target only = { .pids = { pid }, .pid_count = 1, .viewer = t->viewer, .seen = t->seen };

    return not_found(&only, d, err);
}

/* Sets @err if @pid cannot be a target. */
static int pid_check(const struct target *t, struct discover *d, int proc_fd, int32_t pid,
                     struct error *err)
{
    struct proc_status status; /* stat may wait for an exec that a file system holds */
    int r = proc_read_status(proc_fd, pid, &status);

    if (r != 0)
        return no_process(t, d, pid, err);
    if (status.tgid != pid) {
        error_parameter(err, "pid", -EINVAL, "%d is a thread of %d", pid, status.tgid);
        error_remedy(err, "use pid=%d; threads=1 splits it by thread", status.tgid);
        return -EINVAL;
    }
    if (proc_status_is_dead(&status)) {
        error_parameter(err, "pid", -EINVAL, "process %d is a zombie: it has exited", pid);
        error_remedy(err, "its parent is %d", status.ppid);
        return -EINVAL;
    }
    if (status.kernel_thread) {
        error_parameter(err, "pid", -EINVAL, "%d is a kernel thread", pid);
        error_remedy(err, "without a target the whole node is profiled, kernel threads included");
        return -EINVAL;
    }
    return 0;
}

/* Sets @err for a pid that another selector does not match. */
static int disagree(const struct target *t, const struct process *p, struct error *err)
{
    struct target rest = { .container = t->container,
                           .pod = t->pod,
                           .pod_namespace = t->pod_namespace,
                           .jvm = t->jvm,
                           .service = t->service,
                           .ns_pid = t->ns_pid,
                           .matchers = t->matchers };
    const struct container *c = &p->container;
    char wanted[160] = "";

    target_describe(&rest, NULL, wanted, sizeof(wanted));
    error_parameter(err, "pid", -EINVAL, "process %d (%.40s) is not of %s", p->id.host_pid,
                    process_title(p), wanted);
    error_remedy(err, "it runs in %s%.12s%s%.80s: give pid alone, or what it belongs to",
                 c->id[0] ? "container " : "no container", c->id, c->pod_uid[0] ? ", pod " : "",
                 c->pod_name[0] ? c->pod_name : c->pod_uid);
    return -EINVAL;
}

struct match_count {
    const struct target *t;
    size_t n;
    size_t containers; /* containers with the prefix */
    char ids[TARGET_IDS_MAX][65];
};

static void count_container(struct match_count *m, const struct container *c)
{
    const char *wanted = m->t->container;

    if (!wanted || !target_is_id_prefix(wanted) || !c->id[0] || strcmp(wanted, c->name) == 0)
        return;
    for (size_t i = 0; i < m->containers; i++) {
        if (strcmp(m->ids[i], c->id) == 0)
            return;
    }
    if (m->containers < ARRAY_SIZE(m->ids))
        snprintf(m->ids[m->containers++], sizeof(m->ids[0]), "%s", c->id);
}

static int ambiguous(const struct match_count *m, struct error *err)
{
    const char *wanted = m->t->container;
    int digits = (int)MAX((size_t)12, MIN(strlen(wanted) + 6, (size_t)64));
    char list[sizeof(m->ids) + 16] = "";

    for (size_t i = 0; i < m->containers; i++)
        append(list, sizeof(list), "%s%.*s", i ? ", " : "", digits, m->ids[i]);
    error_parameter(err, "container", -EINVAL, "'%.64s' is the beginning of several container ids",
                    wanted);
    error_remedy(err, "give more digits: %s", list);
    return -EINVAL;
}

static int count_match(void *cookie, struct process *p)
{
    struct match_count *m = cookie;

    if (p->exited || !target_matches(m->t, p))
        return 0;
    m->n++;
    count_container(m, &p->container);
    return 0;
}

int target_check(struct target *t, struct discover *d, int proc_fd, struct error *err)
{
    struct match_count m = { .t = t };
    int r;

    for (size_t i = 0; i < t->pid_count; i++) {
        struct process *p = t->viewer.whole ? NULL : discover_find(d, t->pids[i]);

        /* The answer must not reveal processes that the viewer does not see. */
        if (!t->viewer.whole && (!p || !target_sees(t, p)))
            return no_process(t, d, t->pids[i], err);
        r = pid_check(t, d, proc_fd, t->pids[i], err);
        if (r != 0)
            return r;
        p = discover_find(d, t->pids[i]);
        if (!p)
            return no_process(t, d, t->pids[i], err);
        discover_refresh(d, p);
        if (!target_rest_matches(t, p))
            return disagree(t, p, err);
    }
    if (t->pid_count || target_is_node(t))
        return 0;
    discover_each(d, count_match, &m);
    if (m.containers > 1)
        return ambiguous(&m, err);
    return m.n ? 0 : not_found(t, d, err);
}
