/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/preflight_facts.h"

#include "attach/backoff.h"
#include "discover/age.h"
#include "helper/job.h"

static enum preflight_flag flag_of(const struct process *p, const char *name)
{
    uint64_t value;

    if (!p->vm || hotspot_vm_flag(p->vm, name, &value) != 0)
        return PREFLIGHT_UNKNOWN;
    return value ? PREFLIGHT_TRUE : PREFLIGHT_FALSE;
}

/* Returns what the mounts of the JVM show. If they cannot be read, `known` is false. */
static struct attach_places places_of(struct attaching *at, int32_t host_pid)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(MOUNTINFO_MAX_BYTES);
    char path[32];

    snprintf(path, sizeof(path), "%d/mountinfo", host_pid);
    if (buf_read_at(&text, at->proc_fd, path) < 0)
        return (struct attach_places){ .known = false };
    return attach_places_read(buf_span(&text));
}

void preflight_process(struct attaching *at, const struct viewer *v, struct process *p,
                       struct preflight *ret)
{
    struct error state = ERROR_NULL;
    uint64_t now = clock_monotonic_ns(), wait_ns;
    unsigned failures = 0;
    char back_off[96] = "";
    struct preflight_facts f = {
        .injection_allowed = at->allow_injection,
        .mounts_allowed = at->allow_mounts,
        .rootless = v && !v->whole && v->uid != 0 && p->rootless,
        .places = places_of(at, p->id.host_pid),
        .vm_known = p->jvm == JVM_READY,
        .vm_starting = p->jvm == JVM_STARTING,
        .vm_problem = p->reason,
        .jdk = p->jdk,
        .java_version = p->java_version,
        .vm_name = p->vm_name,
        .age_ns = p->exec_time_ns ? now - p->exec_time_ns : process_age_ns(p),
        .attach_disabled =
            p->attach_disabled ? PREFLIGHT_TRUE : flag_of(p, "DisableAttachMechanism"),
        .reduced_signals = flag_of(p, "ReduceSignalUsage"),
        .dynamic_agents = flag_of(p, "EnableDynamicAgentLoading"),
        .crash = backoff_crash(&at->backoff, p),
    };

    wait_ns = backoff_wait_ns(&at->backoff, &p->id, now, &failures);
    if (wait_ns)
        snprintf(back_off, sizeof(back_off), "%u attaches have failed: the next may be in %ju s",
                 failures, (uintmax_t)(wait_ns / NSEC_PER_SEC + 1));
    f.backing_off = back_off;
    f.state_result = broker_attach_check(at->broker, &p->id, &state);
    f.state_problem = state.msg;
    f.state_remedy = state.remedy;
    preflight_run(&f, ret);
}

const struct preflight_step *preflight_obstacle(const struct preflight *f, uint32_t mode)
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

bool preflight_passes(const struct process *p, const struct preflight *f)
{
    for (size_t i = 0; i < f->count; i++) {
        if (!f->steps[i].ok && f->steps[i].passes)
            return true;
    }
    return p->jvm == JVM_STARTING;
}
