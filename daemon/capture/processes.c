/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes and threads of a capture: its verdict on each process image, its list of threads.
 */
#include "base/array.h"
#include "capture/capture_impl.h"
#include "capture/profile_process.h"

#define THREAD_NAMES_MAX 64 /* per thread and capture */
#define RECHECK_NS (100 * NSEC_PER_MSEC)
#define GENERATED_SHARE 20               /* 1 sample in so many; fewer need no warning */
#define UNANSWERED_NS (2 * NSEC_PER_SEC) /* the file is read again once a second */

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

    if (run->name == t->name)
        return 0;
    if (!is_renamed(in, run->name)) {
        record_rename_thread(c->record, c->members.thread_ids[id], t->name);
        run->name = t->name;
        return 0;
    }
    c->members.renamed += run->renamed == 0;
    c->members.too_often += run->renamed == THREAD_NAMES_MAX;
    run->renamed = MIN(run->renamed + 1, (uint32_t)THREAD_NAMES_MAX + 1);
    if (run->renamed > THREAD_NAMES_MAX)
        return 0;
    run->name = t->name;
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
        c->members.runs[id] = (struct seen_run){ .name = t.name };
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

void capture_warn_unanswered(struct captures *captures, struct capture *c)
{
    for (uint32_t i = 0; i < c->members.processes.count; i++) {
        const struct proc_id *s = id_table_get(&c->members.processes, i);
        uint64_t when_ns =
            c->members.verdicts[i].wanted ? symbolizer_unanswered_ns(captures->symbolizer, s) : 0;

        if (when_ns && when_ns + UNANSWERED_NS >= c->start_ns)
            record_warn_process(
                c->record,
                "a file that process %d maps lies on a file system that does not answer "
                "(FUSE, NFS): its functions are shown by their address",
                s->host_pid);
    }
}

void capture_warn_left_out(struct captures *captures, struct capture *c)
{
    for (uint32_t i = 0; i < c->members.processes.count; i++) {
        const struct proc_id *s = id_table_get(&c->members.processes, i);

        if (c->members.verdicts[i].wanted &&
            symbolizer_left_out_ns(captures->symbolizer, s) >= c->start_ns)
            record_warn_process(
                c->record,
                "symbols of a file of process %d are left out: the files of its user or container "
                "would take more memory than its share. Their functions are shown by their "
                "address; profile fewer of them at a time, or strip what is too large",
                s->host_pid);
    }
}

void capture_warn_long_maps(struct captures *captures, struct capture *c)
{
    for (uint32_t i = 0; i < c->members.processes.count; i++) {
        const struct proc_id *s = id_table_get(&c->members.processes, i);

        if (c->members.verdicts[i].wanted &&
            symbolizer_long_map_ns(captures->symbolizer, s) >= c->start_ns)
            record_warn_process(
                c->record,
                "the perf map of process %d is longer than flamed reads (64 MiB, or 1,048,576 "
                "entries): code that it names after that has no name here. Once the process is "
                "restarted, it writes a new one",
                s->host_pid);
    }
}

void capture_warn_generated(struct capture *c)
{
    for (uint32_t i = 0; i < c->members.processes.count; i++) {
        const struct proc_id *s = id_table_get(&c->members.processes, i);
        const struct seen_verdict *v = &c->members.verdicts[i];

        if (v->wanted && v->generated && v->generated >= v->samples / GENERATED_SHARE)
            record_warn_process(
                c->record,
                "%.0f %% of the samples of process %d lead through code that lies in no file, and "
                "that no perf map names: a packed program (UPX), or code of a just-in-time "
                "compiler. It has no names, and stacks are cut where it keeps no frame pointers. "
                "Do not pack the program, or have its runtime write a perf map (node "
                "--perf-basic-prof, python -X perf). GraalVM keeps frame pointers with "
                "-H:+PreserveFramePointer",
                100.0 * (double)v->generated / (double)v->samples, s->host_pid);
    }
}

void capture_warn_put_off(struct captures *captures, struct capture *c)
{
    uint32_t count = 0;
    int32_t first = 0;

    for (uint32_t i = 0; i < c->members.processes.count; i++) {
        const struct proc_id *s = id_table_get(&c->members.processes, i);

        if (c->members.verdicts[i].wanted &&
            symbolizer_put_off_ns(captures->symbolizer, s) >= c->start_ns && count++ == 0)
            first = s->host_pid;
    }
    if (count)
        record_warn(c->record,
                    "the maps of %u process%s (one is %d) were not read in time. They are long, or "
                    "its user or container has many. Code that it mapped last has no names; a "
                    "later capture may have them",
                    count, count == 1 ? "" : "es", first);
}

void capture_warn_mappings(struct captures *captures, struct capture *c)
{
    for (uint32_t i = 0; i < c->members.processes.count; i++) {
        const struct proc_id *s = id_table_get(&c->members.processes, i);
        size_t left_out = c->members.verdicts[i].wanted
                              ? unwinding_left_out(captures->unwinding, s->host_pid)
                              : 0;

        if (left_out)
            record_warn_process(
                c->record,
                "process %d has %zu executable mappings more than the %d that flamed keeps for a "
                "process. Code in them has no names, and stacks are cut there. A later capture "
                "knows those that this one sampled. Load fewer, larger libraries",
                s->host_pid, left_out, MAPS_EXEC_MAX);
    }
}

void capture_warn_no_room(struct captures *captures, struct capture *c)
{
    for (uint32_t i = 0; i < c->members.processes.count; i++) {
        const struct proc_id *s = id_table_get(&c->members.processes, i);

        if (c->members.verdicts[i].wanted && unwinding_has_no_room(captures->unwinding, s))
            record_warn_process(
                c->record,
                "stacks of process %d may be cut: its user or container runs more code than its "
                "share of the unwinder's tables holds; profile it while fewer of its programs run",
                s->host_pid);
    }
}

bool capture_has_several_processes(const struct capture *c)
{
    int32_t first = 0;

    for (uint32_t i = 0; i < c->members.processes.count; i++) {
        const struct proc_id *s = id_table_get(&c->members.processes, i);

        if (!c->members.verdicts[i].wanted)
            continue;
        if (first && first != s->host_pid)
            return true;
        first = s->host_pid;
    }
    return false;
}
