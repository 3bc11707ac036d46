/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/preflight_facts.h"

#include "attach/backoff.h"
#include "helper/job.h"

#define TICK_NS UINT64_C(10000000)

static enum preflight_flag flag_of(const struct process *p, const char *name)
{
    uint64_t value;

    if (!p->vm || hotspot_vm_flag(p->vm, name, &value) != 0)
        return PREFLIGHT_UNKNOWN;
    return value ? PREFLIGHT_TRUE : PREFLIGHT_FALSE;
}

/* Nothing known where its mounts cannot be read. */
static struct attach_places places_of(struct engine *e, int32_t host_pid)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    char path[32];

    snprintf(path, sizeof(path), "%d/mountinfo", host_pid);
    buf_init(&text, MOUNTINFO_MAX_BYTES);
    if (buf_read_at(&text, e->opts.proc_fd, path) < 0)
        return (struct attach_places){ .known = false };
    return attach_places_read(buf_span(&text));
}

void safety_check(struct engine *e, const struct viewer *v, struct process *p,
                  struct preflight *ret)
{
    struct error state = ERROR_NULL;
    uint64_t now = clock_monotonic_ns(), wait_ns;
    unsigned failures = 0;
    uint64_t up_ns = clock_ns(CLOCK_BOOTTIME), start_ns = p->id.start_ticks * TICK_NS;
    char back_off[96] = "";
    struct preflight_facts f = {
        .injection_allowed = e->opts.allow_injection,
        .mounts_allowed = e->opts.allow_mounts,
        .rootless = v && !v->whole && v->uid != 0 && p->rootless,
        .places = places_of(e, p->id.host_pid),
        .vm_known = p->jvm == JVM_READY,
        .vm_starting = p->jvm == JVM_STARTING,
        .vm_problem = p->jvm == JVM_STARTING ? "the JVM is still starting" : p->reason,
        .jdk = p->jdk,
        .java_version = p->java_version,
        .vm_name = p->vm_name,
        .age_ns = p->exec_time_ns    ? now - p->exec_time_ns
                  : up_ns > start_ns ? up_ns - start_ns
                                     : 0,
        .attach_disabled =
            p->attach_disabled ? PREFLIGHT_TRUE : flag_of(p, "DisableAttachMechanism"),
        .reduced_signals = flag_of(p, "ReduceSignalUsage"),
        .dynamic_agents = flag_of(p, "EnableDynamicAgentLoading"),
        .crash = history_crash(p),
    };

    wait_ns = history_wait_ns(&p->id, now, &failures);
    if (wait_ns)
        snprintf(back_off, sizeof(back_off), "%u attaches have failed: the next may be in %ju s",
                 failures, (uintmax_t)(wait_ns / NSEC_PER_SEC + 1));
    f.backing_off = back_off;
    f.state_result = broker_attach_check(e->broker, &p->id, &state);
    f.state_problem = state.msg;
    f.state_remedy = state.remedy;
    preflight_run(&f, ret);
}

int safety_find_jvm(struct engine *e, const struct viewer *v, int32_t host_pid,
                    struct process **ret, struct error *err)
{
    struct target_selector s = { .pids = { host_pid }, .pid_count = 1, .viewer = v };
    _cleanup_(target_freep) struct target *t = NULL;
    int r = target_new(&s, &t, err);

    if (r == 0)
        r = target_check(t, e->discover, e->opts.proc_fd, err);
    if (r != 0)
        return r;
    *ret = discover_find(e->discover, host_pid);
    if (!*ret || (*ret)->jvm == JVM_NO) {
        error_parameter(err, "pid", -ESRCH, "process %d is no JVM: it has no libjvm.so mapped",
                        host_pid);
        error_remedy(err, "GET /api/v1/jvms lists the JVMs");
        return BACKEND_NOT_FOUND;
    }
    discover_refresh(e->discover, *ret);
    return 0;
}

const struct preflight_step *safety_obstacle(const struct preflight *f, uint32_t mode)
{
    if (mode == ATTACH_LOAD ? f->agent : f->perfmap)
        return NULL;
    for (size_t i = 0; i < f->count; i++) {
        const struct preflight_step *s = &f->steps[i];

        if (!s->ok && !(mode == ATTACH_PERFMAP && s->agent_only) && strcmp(s->name, "memory") != 0)
            return s;
    }
    return NULL;
}

bool safety_passes(const struct process *p, const struct preflight *f)
{
    for (size_t i = 0; i < f->count; i++) {
        if (!f->steps[i].ok && f->steps[i].passes)
            return true;
    }
    return p->jvm == JVM_STARTING;
}

struct ask {
    const struct viewer *viewer;
    int32_t host_pid;
    json_t **ret;
    struct error *err;
};

static int call_preflight(struct engine *e, void *arg)
{
    struct ask *a = arg;
    struct preflight f;
    struct process *p;
    json_t *steps;
    int r = safety_find_jvm(e, a->viewer, a->host_pid, &p, a->err);

    if (r)
        return r;
    safety_check(e, a->viewer, p, &f);
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

    return engine_ask(ctx, call_preflight, &a, err);
}
