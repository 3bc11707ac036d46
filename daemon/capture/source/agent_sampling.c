/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/source/agent_sampling.h"

#include "attach/attachment.h"
#include "attach/preflight_facts.h"
#include "capture/capture_impl.h"

#define AGENT_JDK_MIN 11                    /* SampledObjectAlloc */
#define AGENT_LATE_NS (100 * NSEC_PER_MSEC) /* less is not worth a word */
#define AGENT_COARSER 1.5                   /* so many times larger intervals are */
#define REMEDY_PROBE                                                                               \
    "take event=alloc with source=probe, which loads nothing into the JVM and shows what is "      \
    "allocated"

const struct empty_reason AGENT_SAMPLING_EMPTY = {
    "the JVM drew none of the objects that it allocated", EMPTY_DRAWN
};

static int refuse(int32_t pid, const char *why, const char *remedy, struct error *err)
{
    error_set(err, -EOPNOTSUPP, "no agent can sample what process %d allocates: %s", pid, why);
    error_remedy(err, "%s", remedy);
    return BACKEND_CONFLICT;
}

/* Returns the one JVM of @c. NULL with @err: it has none, or several. */
static struct process *single_jvm(struct captures *captures, const struct capture *c,
                                  const char *what, const char *parameter, struct error *err)
{
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

int agent_sampling_begin(struct capture_event *e, const char *what, const char *parameter,
                         struct error *err)
{
    struct capture *c = e->capture;
    struct captures *captures = c->captures;
    struct agent_sampling *a = e->state;
    const struct preflight_step *obstacle;
    struct process *p = single_jvm(captures, c, what, parameter, err);
    struct preflight f;

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
    a->id = p->id;
    a->attachment = attachment_take_sampling(captures->attaching, p, e->period);
    if (!a->attachment)
        return -ENOMEM;
    if (c->names.symbols != SYMBOLS_NONE && !c->names.later)
        snprintf(c->meta.symbols, sizeof(c->meta.symbols),
                 "memory: names are read from the JVM's own memory, the agent samples alone");
    record_warn(
        c->record,
        "allocations are sampled by an agent in the JVM (JVMTI SampledObjectAlloc), each "
        "byte with the same chance; JDK 17 and earlier weigh objects wrongly that are larger "
        "than 1/64 of a thread's buffer (TLAB)");
    return 0;
}

void agent_sampling_hold(const struct capture_event *e, const struct proc_id *p)
{
    const struct agent_sampling *a = e->state;

    (void)p;
    probe_table_want(&e->capture->captures->agents, &a->id, PROBE_NO_SET);
}

/* Has the probe put into the agent, which has begun. 0, or an outcome with @err. */
static int put_probe(struct agent_sampling *a, struct captures *captures, uint64_t now_ns,
                     struct error *err)
{
    struct process *p = discover_find(captures->discover, a->id.host_pid);
    const struct probe_env env = captures_probe_env(captures);
    struct error why = ERROR_NULL;
    int r;

    if (!p || p->exited || !proc_id_equal(&p->id, &a->id))
        return 0; /* what it allocated until then is there */
    if (!a->since_ns)
        unwinding_again(captures->unwinding, p, now_ns); /* the agent is mapped now */
    r = probe_table_put(&captures->agents, &env, p, PROBE_NO_SET, /* what= */ NULL,
                        /* until_ns= */ 0, &why);
    if (r < 0 && r != -EAGAIN && r != -EINPROGRESS && r != -ESRCH)
        return refuse(p->id.host_pid, why.msg, why.remedy[0] ? why.remedy : REMEDY_PROBE, err);
    if (r == 0 && !a->since_ns)
        a->since_ns = clock_monotonic_ns();
    return 0;
}

int agent_sampling_poll(struct capture_event *e, uint64_t now_ns, struct error *err)
{
    struct agent_sampling *a = e->state;
    const struct error *problem;

    if (!a->attachment)
        return 0;
    switch (attachment_state(a->attachment)) {
    case ATTACHMENT_READY:
        return put_probe(a, e->capture->captures, now_ns, err);
    case ATTACHMENT_FAILED:
        problem = attachment_problem(a->attachment);
        if (a->since_ns)
            return 0; /* the JVM ended it; said at the end */
        return refuse(a->id.host_pid, problem->msg, problem->remedy, err);
    default:
        return 0;
    }
}

int agent_sampling_prepare(struct capture_event *e, struct process *p, struct error *err)
{
    const struct agent_sampling *a = e->state;
    uint64_t now_ns = clock_monotonic_ns();
    int r = agent_sampling_poll(e, now_ns, err);

    (void)p;
    if (r != 0 || a->since_ns || now_ns - e->capture->asked_ns >= CAPTURE_PREPARE_NS)
        return r;
    return error_set(err, -EINPROGRESS, "the JVM is still loading the agent");
}

void agent_sampling_settle(struct capture_event *e, uint64_t end_ns)
{
    const struct agent_sampling *a = e->state;
    struct capture *c = e->capture;
    const struct error *problem;
    uint64_t now, asked;

    (void)end_ns;
    if (!a->attachment)
        return;
    problem = attachment_problem(a->attachment);
    if (!a->since_ns)
        record_warn(c->record, "the agent was not there when the capture ended: the JVM had not "
                               "answered; nothing that it allocated is in this profile");
    else if (a->since_ns - MIN(a->since_ns, c->start_ns) > AGENT_LATE_NS)
        record_warn(c->record,
                    "the agent was there %.1f s after the capture began: what was allocated before "
                    "is not in this profile",
                    (double)(a->since_ns - c->start_ns) / NSEC_PER_SEC);
    if (a->since_ns && problem->msg[0])
        record_warn(c->record, "the agent ended before the capture: %s", problem->msg);
    attachment_interval(a->attachment, &asked, &now);
    if ((double)now > AGENT_COARSER * (double)asked)
        record_warn(
            c->record,
            "at the end objects were drawn every %llu KiB and not every %llu KiB, so that there "
            "are at most 1,000 samples a second; the sum of bytes is not changed by that",
            (unsigned long long)(now >> 10), (unsigned long long)(asked >> 10));
}

void agent_sampling_release(struct capture_event *e)
{
    struct agent_sampling *a = e->state;

    a->attachment = attachment_release(e->capture->captures->attaching, a->attachment);
}
