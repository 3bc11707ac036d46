/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/idle_target.h"

#include "proc/stall_readers.h"

#define JVMS_MAX 256     /* JVMs whose ancestors are checked */
#define ANCESTORS_MAX 16 /* checked per JVM */

struct descent {
    struct discover *d;
    int proc_fd;
    const struct target *t;
    const struct process *of;
    struct process *found; /* the nearest descendant */
    unsigned distance, count, looked;
};

/* Returns the number of generations from @p up to its ancestor @host_pid; 0: no such ancestor. */
static unsigned distance_to(const struct descent *w, const struct process *p, int32_t host_pid)
{
    struct proc_id id = p->id;
    struct proc_stat stat;

    for (unsigned i = 1; i <= ANCESTORS_MAX; i++) {
        if (readers_stat(w->proc_fd, &id, &stat) != 0 || stat.ppid <= 1)
            return 0;
        if (stat.ppid == host_pid)
            return i;
        id = (struct proc_id){ .host_pid = stat.ppid };
    }
    return 0;
}

static int look_up(void *cookie, struct process *p)
{
    struct descent *w = cookie;
    unsigned distance;

    if (p->exited || p->jvm == JVM_NO || !target_sees(w->t, p))
        return 0;
    distance = distance_to(w, p, w->of->id.host_pid);
    if (distance) {
        w->count++;
        if (!w->found || distance < w->distance) {
            w->found = p;
            w->distance = distance;
        }
    }
    return ++w->looked >= JVMS_MAX;
}

bool idle_target_child(struct discover *d, int proc_fd, const struct target *t,
                       const struct process *p, char *buf, size_t size)
{
    struct descent w = { .d = d, .proc_fd = proc_fd, .t = t, .of = p };
    const struct process *jvm;
    char more[48] = "";

    discover_each(d, look_up, &w);
    jvm = w.found;
    if (!jvm)
        return false;
    if (w.count > 1)
        snprintf(more, sizeof(more), ", and %u more JVMs come from it", w.count - 1);
    snprintf(buf, size, "its %s %d is (%.80s)%s", w.distance == 1 ? "child" : "descendant",
             jvm->id.host_pid, process_title(jvm), more);
    return true;
}

/* Writes that the process is stopped, and its tracer. Returns false if it is not stopped. */
static bool stopped_text(int proc_fd, const struct process *p, char *buf, size_t size)
{
    struct proc_status status;
    char tracer[PROC_COMM_BYTES];
    int32_t pid = p->id.host_pid;

    if (proc_read_status(proc_fd, pid, &status) != 0 ||
        (status.state != 'T' && status.state != 't'))
        return false;
    if (status.state == 'T' && !status.tracer) {
        snprintf(buf, size,
                 "no samples: process %d (%.80s) is stopped, so nothing of it runs; kill -CONT %d "
                 "lets it go on",
                 pid, process_title(p), pid);
        return true;
    }
    proc_read_comm(proc_fd, status.tracer, status.tracer, tracer);
    snprintf(buf, size,
             "no samples: process %d (%.80s) is stopped by %d (%.16s), which traces it, so "
             "nothing of it runs; let it go on there, or detach the tracer",
             pid, process_title(p), status.tracer, tracer);
    return true;
}

bool idle_target_text(struct discover *d, struct broker *b, int proc_fd, const struct target *t,
                      struct process *p, char buf[IDLE_TARGET_BYTES])
{
    bool frozen = false;
    char child[200];

    if (stopped_text(proc_fd, p, buf, IDLE_TARGET_BYTES))
        return true;
    if (broker_is_frozen(b, &p->id, &frozen, NULL) == 0 && frozen) {
        snprintf(buf, IDLE_TARGET_BYTES,
                 "no samples: the cgroup of process %d (%.80s) is frozen, so nothing of it runs; "
                 "unpause its container",
                 p->id.host_pid, process_title(p));
        return true;
    }
    if (p->jvm != JVM_NO || !idle_target_child(d, proc_fd, t, p, child, sizeof(child)))
        return false;
    snprintf(buf, IDLE_TARGET_BYTES, "no samples: process %d (%.80s) is no JVM; %s", p->id.host_pid,
             process_title(p), child);
    return true;
}
