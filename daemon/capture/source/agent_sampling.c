/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/source/agent_sampling.h"

#include "attach/attachment.h"
#include "attach/preflight_facts.h"
#include "capture/capture_impl.h"

#define AGENT_JDK_MIN 11                    /* SampledObjectAlloc */
#define AGENT_LATE_NS (100 * NSEC_PER_MSEC) /* a shorter delay needs no warning */
#define AGENT_COARSER 1.5                   /* a smaller factor of the interval needs no warning */
#define REMEDY_PROBE                                                                               \
    "take event=alloc with source=probe, which loads nothing into the JVM and shows what is "      \
    "allocated"

const struct empty_reason AGENT_SAMPLING_EMPTY = {
    "the JVM picked none of the objects that it allocated", EMPTY_DRAWN
};

static int refuse(int32_t pid, const char *why, const char *remedy, struct error *err)
{
    error_set(err, -EOPNOTSUPP, "no agent can sample what process %d allocates: %s", pid, why);
    error_remedy(err, "%s", remedy);
    return BACKEND_CONFLICT;
}

/* Writes the JVMs of @c to @ret. Returns their number; 0 with @err: there are none, or too many. */
static size_t selected_jvms(const struct capture *c, struct process *ret[AGENT_JVMS_MAX],
                            const char *what, const char *parameter, struct error *err)
{
    size_t count = target_jvms(c->target, c->captures->discover, ret, AGENT_JVMS_MAX);

    if (count > 0 && count <= AGENT_JVMS_MAX)
        return count;
    if (count)
        error_parameter(err, parameter, -EINVAL, "%s is for %d JVMs at most, and %zu are selected",
                        what, AGENT_JVMS_MAX, count);
    else
        error_parameter(err, parameter, -EINVAL, "%s is for JVMs, and what is selected is no JVM",
                        what);
    error_remedy(err, "choose them by pid=, or " REMEDY_PROBE);
    return 0;
}

/* Plans to load the agent into @p. */
static int plan(struct capture_event *e, struct process *p, struct error *err)
{
    struct captures *captures = e->capture->captures;
    struct agent_sampling *a = e->state;
    struct agent_jvm *j = &a->jvms[a->count];
    const struct preflight_step *obstacle;
    struct preflight f;

    discover_refresh(captures->discover, p);
    preflight_process(captures->attaching, target_viewer(e->capture->target), p, &f);
    obstacle = preflight_obstacle(&f, ATTACH_LOAD);
    if (obstacle && !preflight_passes(p, &f)) {
        err->step = obstacle->name;
        return refuse(p->id.host_pid, obstacle->reason, obstacle->remedy, err);
    }
    if (p->jvm == JVM_READY && p->jdk < AGENT_JDK_MIN)
        return refuse(p->id.host_pid, "JDK 11 is the first that samples for agents",
                      "use JDK 11 or later", err);
    j->id = p->id;
    j->attachment = attachment_take_sampling(captures->attaching, p, e->period);
    if (!j->attachment)
        return -ENOMEM;
    a->count++;
    return 0;
}

int agent_sampling_begin(struct capture_event *e, const char *what, const char *parameter,
                         struct error *err)
{
    struct capture *c = e->capture;
    struct process *jvms[AGENT_JVMS_MAX];
    size_t count = selected_jvms(c, jvms, what, parameter, err);

    if (!count)
        return BACKEND_CONFLICT;
    for (size_t i = 0; i < count; i++) {
        int r = plan(e, jvms[i], err);

        if (r != 0)
            return r;
    }
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
    for (size_t i = 0; i < a->count; i++)
        probe_table_want(&e->capture->captures->agents, &a->jvms[i].id, PROBE_NO_SET);
}

/* Puts the probe into the agent of @j, which is loaded. Returns 0, or an outcome with @err. */
static int put_probe(struct agent_jvm *j, struct captures *captures, uint64_t now_ns,
                     struct error *err)
{
    struct process *p = discover_find(captures->discover, j->id.host_pid);
    const struct probe_env env = captures_probe_env(captures);
    struct error why = ERROR_NULL;
    int r;

    if (!p || p->exited || !proc_id_equal(&p->id, &j->id))
        return 0; /* keep its samples so far */
    if (!j->since_ns)
        unwinding_again(captures->unwinding, p, now_ns); /* the agent is mapped now */
    r = probe_table_put(&captures->agents, &env, p, PROBE_NO_SET, /* what= */ NULL,
                        /* until_ns= */ 0, &why);
    if (r < 0 && r != -EAGAIN && r != -EINPROGRESS && r != -ESRCH)
        return refuse(p->id.host_pid, why.msg, why.remedy[0] ? why.remedy : REMEDY_PROBE, err);
    if (r == 0 && !j->since_ns)
        j->since_ns = clock_monotonic_ns();
    return 0;
}

static int poll_jvm(struct agent_jvm *j, struct captures *captures, uint64_t now_ns,
                    struct error *err)
{
    const struct error *problem;

    switch (attachment_state(j->attachment)) {
    case ATTACHMENT_READY:
        return put_probe(j, captures, now_ns, err);
    case ATTACHMENT_FAILED:
        problem = attachment_problem(j->attachment);
        if (j->since_ns)
            return 0; /* the JVM ended the agent; settle_jvm() warns */
        return refuse(j->id.host_pid, problem->msg, problem->remedy, err);
    default:
        return 0;
    }
}

int agent_sampling_poll(struct capture_event *e, uint64_t now_ns, struct error *err)
{
    struct agent_sampling *a = e->state;
    size_t left = 0;

    for (size_t i = 0; i < a->count; i++)
        left += !a->jvms[i].left_out;
    for (size_t i = 0; i < a->count; i++) {
        struct agent_jvm *j = &a->jvms[i];
        struct error why = ERROR_NULL;
        int r = j->left_out ? 0 : poll_jvm(j, e->capture->captures, now_ns, &why);

        if (r != 0 && left == 1) {
            *err = why;
            return r;
        }
        if (r != 0) {
            j->left_out = true;
            left--;
            record_warn(e->capture->record, "%s; it is not in this profile", why.msg);
        }
    }
    return 0;
}

int agent_sampling_prepare(struct capture_event *e, struct process *p, struct error *err)
{
    const struct agent_sampling *a = e->state;
    uint64_t now_ns = clock_monotonic_ns();
    int r = agent_sampling_poll(e, now_ns, err);
    bool all = true;

    (void)p;
    for (size_t i = 0; i < a->count; i++)
        all = all && (a->jvms[i].since_ns || a->jvms[i].left_out);
    if (r != 0 || all || now_ns - e->capture->asked_ns >= CAPTURE_PREPARE_NS)
        return r;
    return error_set(err, -EINPROGRESS, "the JVM is still loading the agent");
}

const char *agent_jvm_prefix(const struct agent_sampling *a, const struct agent_jvm *j,
                             char buf[AGENT_JVM_BYTES])
{
    buf[0] = 0;
    if (a->count > 1)
        snprintf(buf, AGENT_JVM_BYTES, "process %d: ", j->id.host_pid);
    return buf;
}

static void settle_jvm(struct capture *c, const struct agent_jvm *j, const char *whose)
{
    const struct error *problem = attachment_problem(j->attachment);
    uint64_t now, asked;

    if (!j->since_ns)
        record_warn(c->record,
                    "%sthe JVM had not answered the attach when the capture ended: nothing that it "
                    "allocated is in this profile",
                    whose);
    else if (j->since_ns - MIN(j->since_ns, c->start_ns) > AGENT_LATE_NS)
        record_warn(c->record,
                    "%sthe agent was loaded %.1f s after the capture began: what was allocated "
                    "before is not in this profile",
                    whose, (double)(j->since_ns - c->start_ns) / NSEC_PER_SEC);
    if (j->since_ns && problem->msg[0])
        record_warn(c->record, "%sthe agent ended before the capture: %s", whose, problem->msg);
    attachment_interval(j->attachment, &asked, &now);
    if ((double)now > AGENT_COARSER * (double)asked)
        record_warn(c->record,
                    "%sat the end the interval was %llu KiB in place of %llu KiB, to keep below "
                    "1,000 samples a second; the sum of bytes stays right",
                    whose, (unsigned long long)(now >> 10), (unsigned long long)(asked >> 10));
}

void agent_sampling_settle(struct capture_event *e, uint64_t end_ns)
{
    const struct agent_sampling *a = e->state;
    char prefix[AGENT_JVM_BYTES];

    (void)end_ns;
    for (size_t i = 0; i < a->count; i++) {
        const struct agent_jvm *j = &a->jvms[i];

        if (!j->left_out)
            settle_jvm(e->capture, j, agent_jvm_prefix(a, j, prefix));
    }
}

void agent_sampling_release(struct capture_event *e)
{
    struct agent_sampling *a = e->state;

    for (size_t i = 0; i < a->count; i++)
        a->jvms[i].attachment =
            attachment_release(e->capture->captures->attaching, a->jvms[i].attachment);
}
