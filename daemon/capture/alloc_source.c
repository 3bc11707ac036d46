/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What samples allocation for a capture: probes in libjvm.so (capture/probes.h), or an agent in its
 * one JVM, if that is asked for by name, or for event live. Says what each cannot see.
 */
#include "attach/attachment.h"
#include "attach/preflight_facts.h"
#include "capture/capture_impl.h"

#define AGENT_JDK_MIN 11                    /* SampledObjectAlloc */
#define AGENT_LATE_NS (100 * NSEC_PER_MSEC) /* less is not worth a word */
#define AGENT_COARSER 1.5                   /* so many times larger intervals are */
#define REMEDY_PROBE                                                                               \
    "take event=alloc with source=probe, which loads nothing into the JVM and shows what is "      \
    "allocated"

static int refuse(int32_t pid, const char *why, const char *remedy, struct error *err)
{
    error_set(err, -EOPNOTSUPP, "no agent can sample what process %d allocates: %s", pid, why);
    error_remedy(err, "%s", remedy);
    return BACKEND_CONFLICT;
}

/* The one JVM of @c. NULL with @err: it has none, or several. */
static struct process *single_jvm(struct captures *captures, const struct capture *c,
                                  struct error *err)
{
    const char *what = capture_has(c, EVENT_OBJECTS) ? "event=live" : "source=agent",
               *parameter = capture_has(c, EVENT_OBJECTS) ? "event" : "source";
    struct process *p;
    size_t count = target_jvms(c->target, captures->discover, &p);

    if (p)
        return p;
    if (count)
        error_parameter(err, parameter, -EINVAL, "%s is for one JVM, and %zu are selected here",
                        what, count);
    else
        error_parameter(err, parameter, -EINVAL,
                        "%s is for one JVM, and what is selected is no JVM", what);
    error_remedy(err, "choose one by pid=, or " REMEDY_PROBE);
    return NULL;
}

int capture_choose_agent(struct captures *captures, struct capture *c, struct error *err)
{
    const struct preflight_step *obstacle;
    struct preflight f;
    struct process *p;
    uint64_t interval = UINT64_MAX;

    if (!capture_wants_agent(c))
        return 0;
    p = single_jvm(captures, c, err);
    if (!p)
        return BACKEND_CONFLICT;
    discover_refresh(captures->discover, p);
    preflight_process(captures->attaching, target_viewer(c->target), p, &f);
    obstacle = preflight_obstacle(&f, ATTACH_LOAD);
    if (obstacle && !preflight_passes(p, &f))
        return refuse(p->id.host_pid, obstacle->reason, obstacle->remedy, err);
    if (p->jvm == JVM_READY && p->jdk < AGENT_JDK_MIN)
        return refuse(p->id.host_pid, "JDK 11 is the first that samples for agents",
                      "use JDK 11 or later", err);
    for (size_t i = 0; i < c->event_count; i++) {
        uint32_t flags = c->events[i].info->flags;

        if (flags & EVENT_OBJECTS || (flags & EVENT_HEAP && capture_by_agent(c)))
            interval = MIN(interval, c->events[i].period);
    }
    c->agent_id = p->id;
    c->agent = attachment_take_sampling(captures->attaching, p, interval);
    if (!c->agent)
        return -ENOMEM;
    if (c->symbols != SYMBOLS_NONE && !c->later)
        snprintf(c->meta.symbols, sizeof(c->meta.symbols),
                 "memory: names are read from the JVM's own memory, the agent samples alone");
    record_warn(
        c->record,
        "allocations are sampled by an agent in the JVM (JVMTI SampledObjectAlloc), each "
        "byte with the same chance; JDK 17 and earlier weigh objects wrongly that are larger "
        "than 1/64 of a thread's buffer (TLAB)");
    return 0;
}

/* Has the probe put into the agent of @c, which has begun. 0, or an outcome with @err. */
static int put_probe(struct captures *captures, struct capture *c, uint64_t now_ns,
                     struct error *err)
{
    struct process *p = discover_find(captures->discover, c->agent_id.host_pid);
    const struct probe_env env = captures_probe_env(captures);
    struct error why = ERROR_NULL;
    int r;

    if (!p || p->exited || !proc_id_equal(&p->id, &c->agent_id))
        return 0; /* what it allocated until then is there */
    if (!c->agent_ns)
        unwinding_again(captures->unwinding, p, now_ns); /* the agent is mapped now */
    r = probe_table_put(&captures->agents, &env, p, PROBE_NO_SET, /* what= */ NULL,
                        /* until_ns= */ 0, &why);
    if (r < 0 && r != -EAGAIN && r != -EINPROGRESS && r != -ESRCH)
        return refuse(p->id.host_pid, why.msg, why.remedy[0] ? why.remedy : REMEDY_PROBE, err);
    if (r == 0 && !c->agent_ns)
        c->agent_ns = clock_monotonic_ns();
    return 0;
}

int capture_poll_agent(struct captures *captures, struct capture *c, uint64_t now_ns,
                       struct error *err)
{
    const struct error *problem;

    if (!c->agent)
        return 0;
    switch (attachment_state(c->agent)) {
    case ATTACHMENT_READY:
        return put_probe(captures, c, now_ns, err);
    case ATTACHMENT_FAILED:
        problem = attachment_problem(c->agent);
        if (c->agent_ns)
            return 0; /* the JVM ended it; said at the end */
        return refuse(c->agent_id.host_pid, problem->msg, problem->remedy, err);
    default:
        return 0;
    }
}

void capture_tell_agent(struct capture *c)
{
    const struct error *problem = c->agent ? attachment_problem(c->agent) : NULL;
    uint64_t now, asked;

    if (!c->agent)
        return;
    if (!c->agent_ns)
        record_warn(c->record, "the agent was not there when the capture ended: the JVM had not "
                               "answered; nothing that it allocated is in this profile");
    else if (c->agent_ns - MIN(c->agent_ns, c->start_ns) > AGENT_LATE_NS)
        record_warn(c->record,
                    "the agent was there %.1f s after the capture began: what was allocated before "
                    "is not in this profile",
                    (double)(c->agent_ns - c->start_ns) / NSEC_PER_SEC);
    if (c->agent_ns && problem->msg[0])
        record_warn(c->record, "the agent ended before the capture: %s", problem->msg);
    attachment_interval(c->agent, &asked, &now);
    if ((double)now > AGENT_COARSER * (double)asked)
        record_warn(
            c->record,
            "at the end objects were drawn every %llu KiB and not every %llu KiB, so that there "
            "are at most 1,000 samples a second; the sum of bytes is not changed by that",
            (unsigned long long)(now >> 10), (unsigned long long)(asked >> 10));
}

void capture_drop_agent(struct captures *captures, struct capture *c)
{
    if (c->agent && c->live)
        attachment_leave_live(c->agent);
    c->agent = attachment_release(captures->attaching, c->agent);
}
