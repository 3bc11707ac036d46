/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of a capture on what flamed could not read of its processes. */
#include "capture/capture_impl.h"
#include "symbolize/resolver.h"

#define GENERATED_SHARE 20               /* 1 sample in this many; fewer need no warning */
#define UNANSWERED_NS (2 * NSEC_PER_SEC) /* the file is read again once a second */

/* Calls @warn for each process of @c. */
static void warn_each(struct captures *captures, struct capture *c,
                      void (*warn)(struct captures *captures, struct capture *c,
                                   const struct proc_id *id))
{
    const struct proc_id *id;

    for (uint32_t i = 0; (id = capture_next_process(c, &i));)
        warn(captures, c, id);
}

static void warn_unanswered(struct captures *captures, struct capture *c, const struct proc_id *id)
{
    uint64_t when_ns = symbolizer_gaps(captures->symbolizer, id)->unanswered_ns;

    if (when_ns && when_ns + UNANSWERED_NS >= c->start_ns)
        record_warn_process(
            c->record,
            "a file that process %d maps lies on a file system that does not answer "
            "(FUSE, NFS): its functions are shown by their address",
            id->host_pid);
}

static void warn_left_out(struct captures *captures, struct capture *c, const struct proc_id *id)
{
    if (symbolizer_gaps(captures->symbolizer, id)->left_out_ns >= c->start_ns)
        record_warn_process(
            c->record,
            "symbols of a file of process %d are left out: the files of its user or container "
            "would take more memory than its share. Their functions are shown by their "
            "address; profile fewer of them at a time, or strip what is too large",
            id->host_pid);
}

static void warn_long_maps(struct captures *captures, struct capture *c, const struct proc_id *id)
{
    if (symbolizer_gaps(captures->symbolizer, id)->long_map_ns >= c->start_ns)
        record_warn_process(
            c->record,
            "the perf map of process %d is longer than flamed reads (64 MiB, or 1,048,576 "
            "entries): code that it names after that has no name here. Once the process is "
            "restarted, it writes a new one",
            id->host_pid);
}

static void warn_generated(struct capture *c)
{
    const struct proc_id *s;

    for (uint32_t i = 0; (s = capture_next_process(c, &i));) {
        const struct seen_verdict *v = &c->members.verdicts[i - 1];

        if (v->generated && v->generated >= v->samples / GENERATED_SHARE)
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

static void warn_no_room(struct captures *captures, struct capture *c, const struct proc_id *id)
{
    if (unwinding_has_no_room(captures->unwinding, id))
        record_warn_process(
            c->record,
            "stacks of process %d may be cut: its user or container runs more code than its "
            "share of the unwinder's tables holds; profile it while fewer of its programs run",
            id->host_pid);
}

static void warn_put_off(struct captures *captures, struct capture *c)
{
    const struct proc_id *s;
    uint32_t count = 0;
    int32_t first = 0;

    for (uint32_t i = 0; (s = capture_next_process(c, &i));) {
        if (symbolizer_gaps(captures->symbolizer, s)->put_off_ns >= c->start_ns && count++ == 0)
            first = s->host_pid;
    }
    if (count)
        record_warn(c->record,
                    "the maps of %u process%s (one is %d) were not read in time. They are long, or "
                    "its user or container has many. Code that it mapped last has no names; a "
                    "later capture may have them",
                    count, count == 1 ? "" : "es", first);
}

static void warn_unread(struct captures *captures, struct capture *c, const struct proc_id *id)
{
    if (symbolizer_gaps(captures->symbolizer, id)->unread_ns >= c->start_ns)
        record_warn_process(
            c->record,
            "some Java code of process %d has no names, lines or inlined methods: to read its "
            "memory took longer than "
            "the share of time that flamed has for its user or container, or a page of it did "
            "not come. Take fewer samples a second (hz), or profile fewer of its JVMs at a "
            "time",
            id->host_pid);
}

static void warn_mappings(struct captures *captures, struct capture *c, const struct proc_id *id)
{
    size_t left_out = unwinding_left_out(captures->unwinding, id->host_pid);

    if (left_out)
        record_warn_process(
            c->record,
            "process %d has %zu executable mappings more than the %d that flamed keeps for a "
            "process. Code in them has no names, and stacks are cut there. A later capture "
            "knows those that this one sampled. Load fewer, larger libraries",
            id->host_pid, left_out, MAPS_EXEC_MAX);
}

void capture_note_end(struct capture *c, struct seen_verdict *v, const struct process *p)
{
    if (c->state == CAPTURE_RUNNING && target_has_pids(c->target) && !p->replaced &&
        p->exited_ns >= c->start_ns && p->exited_ns < c->end_ns)
        v->ended_ns = p->exited_ns;
}

/* Warns of processes that ended. One that a later sample revived had only lost its first thread. */
static void warn_ended(struct captures *captures, struct capture *c)
{
    const struct proc_id *s;

    for (uint32_t i = 0; (s = capture_next_process(c, &i));) {
        const struct seen_verdict *v = &c->members.verdicts[i - 1];

        if (v->ended_ns && !discover_known(captures->discover, s))
            record_warn_process(
                c->record,
                "process %d ended %.1f s after this profile began, so the rest has no samples of "
                "it",
                s->host_pid, (double)(v->ended_ns - c->start_ns) / NSEC_PER_SEC);
    }
}

void capture_warn_processes(struct captures *captures, struct capture *c)
{
    warn_each(captures, c, warn_unanswered);
    warn_each(captures, c, warn_left_out);
    warn_each(captures, c, warn_long_maps);
    warn_generated(c);
    warn_each(captures, c, warn_no_room);
    warn_put_off(captures, c);
    warn_each(captures, c, warn_unread);
    warn_each(captures, c, warn_mappings);
    warn_ended(captures, c);
}
