/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes and threads of a capture: its verdict on each process image, its list of threads.
 */
#include "base/array.h"
#include "capture/capture_impl.h"
#include "capture/profile_process.h"

#define THREAD_NAMES_MAX 64 /* per thread and capture */
#define RECHECK_NS (100 * NSEC_PER_MSEC)

static int capture_add_process(struct captures *captures, struct capture *c,
                               const struct process *p, struct seen_verdict *v)
{
    struct profile_process pp;

    profile_process_of(captures->frames, p, &pp);
    return record_process(c->record, &pp, &v->process);
}

/* Warns if flamed does not know @p's release of Java. */
static void warn_release(struct capture *c, const struct process *p)
{
    if (p->jvm == JVM_READY && p->reason[0])
        record_warn_process(c->record, "%d (%s): %s", p->id.host_pid, process_title(p), p->reason);
}

struct seen_verdict *capture_verdict(struct captures *captures, struct capture *c,
                                     const struct process *p, uint64_t now_ns)
{
    struct seen_verdict *v;
    uint32_t id;

    if (id_table_add(&c->members.processes, &p->id, &id) < 0 ||
        !array_extend(&c->members.verdicts, &c->members.verdicts_cap, c->members.processes.cap))
        return NULL;
    v = &c->members.verdicts[id];
    if (!v->wanted && (v->checked_ns == 0 || now_ns - v->checked_ns >= RECHECK_NS)) {
        v->checked_ns = now_ns;
        if (target_matches(c->target, p) && capture_add_process(captures, c, p, v) == 0) {
            v->wanted = true;
            warn_release(c, p);
        }
    }
    return v;
}

/* Returns whether @in has a new name of its thread. A cut form of the name @before, or the first
 * full name after the kernel's, is none: at times only the kernel's name is known, which is cut or
 * the program's. */
static bool is_renamed(const struct incoming *in, uint32_t before)
{
    const struct frame_table *t = in->naming->frames;
    struct span was = frame_table_get_string(t, before),
                now = frame_table_get_string(t, in->thread_name);
    struct span comm = { in->rec->comm, strnlen(in->rec->comm, sizeof(in->rec->comm)) };
    bool cut = span_eq(now, comm) && was.n > now.n && memcmp(was.p, now.p, now.n) == 0;

    return was.n && now.n && !cut && !span_eq(was, comm);
}

/* Gives the known thread @id its name at this sample, as a row of its own. Beyond THREAD_NAMES_MAX,
 * the last row stays. */
static int rename_thread(struct capture *c, const struct profile_thread *t, uint32_t id,
                         const struct incoming *in)
{
    struct seen_run *run = &c->members.runs[id];
    uint32_t before = record_thread_name(c->record, c->members.thread_ids[id]);

    if (before == t->name)
        return 0;
    if (!is_renamed(in, before)) {
        record_rename_thread(c->record, c->members.thread_ids[id], t->name);
        return 0;
    }
    c->members.renamed += run->renamed == 0;
    c->members.too_often += run->renamed == THREAD_NAMES_MAX;
    run->renamed = MIN(run->renamed + 1, (uint32_t)THREAD_NAMES_MAX + 1);
    if (run->renamed > THREAD_NAMES_MAX)
        return 0;
    return record_thread(c->record, t, &c->members.thread_ids[id]);
}

void capture_warn_renamed(struct capture *c)
{
    char more[120] = "";

    if (!c->members.renamed)
        return;
    if (c->members.too_often)
        snprintf(more, sizeof(more),
                 ". %u had more than %d names: the rest stands under the last of these",
                 c->members.too_often, THREAD_NAMES_MAX);
    record_warn(c->record,
                "%u thread%s renamed during the capture. Each sample stands under the name that "
                "was read up "
                "to a second before or after it%s",
                c->members.renamed, c->members.renamed == 1 ? " was" : "s were", more);
}

int capture_thread(struct capture *c, uint32_t process, const struct incoming *in, uint32_t *ret,
                   struct seen_run **ret_run)
{
    struct seen_thread key = { .process = process, .host_tid = in->rec->host_tid };
    struct profile_thread t = { .host_tid = (int32_t)in->rec->host_tid,
                                .name = in->thread_name,
                                .process = process };
    uint32_t id;
    int fresh = id_table_add(&c->members.threads, &key, &id), r;

    if (fresh < 0)
        return fresh;
    r = array_extend(&c->members.thread_ids, &c->members.thread_ids_cap, c->members.threads.cap) &&
                array_extend(&c->members.runs, &c->members.runs_cap, c->members.threads.cap)
            ? 0
            : -ENOMEM;
    if (r == 0 && fresh) {
        c->members.runs[id] = (struct seen_run){ 0 };
        r = record_thread(c->record, &t, &c->members.thread_ids[id]);
    } else if (r == 0) {
        r = rename_thread(c, &t, id, in);
    }
    if (r < 0)
        return r;
    *ret = c->members.thread_ids[id];
    *ret_run = &c->members.runs[id];
    return 0;
}

void capture_forget_members(struct capture *c)
{
    id_table_deinit(&c->members.processes);
    id_table_deinit(&c->members.threads);
    free(TAKE_PTR(c->members.verdicts));
    free(TAKE_PTR(c->members.thread_ids));
    free(TAKE_PTR(c->members.runs));
    c->members.verdicts_cap = c->members.thread_ids_cap = c->members.runs_cap = 0;
}

const struct proc_id *capture_next_process(const struct capture *c, uint32_t *i)
{
    while (*i < c->members.processes.count) {
        if (c->members.verdicts[(*i)++].wanted)
            return id_table_get(&c->members.processes, *i - 1);
    }
    return NULL;
}

bool capture_has_several_processes(const struct capture *c)
{
    const struct proc_id *s;
    int32_t first = 0;

    for (uint32_t i = 0; (s = capture_next_process(c, &i));) {
        if (first && first != s->host_pid)
            return true;
        first = s->host_pid;
    }
    return false;
}
