/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind_tables/java_threads.h"

#include "base/clock.h"
#include "broker_client/tables.h"
#include "hotspot/hotspot.h"
#include "proc/proc.h"

#define ANCHORS_PROCESSES_MAX 256
#define ANCHORS_LIST_NS NSEC_PER_SEC /* between two readings of a VM's list */
#define ANCHORS_REST 20              /* and after one of t ns at least 20 t */

struct java_thread {
    int32_t ns_tid;
    uint64_t address;
    int32_t told_tid; /* host thread id in the unwinder's table */
};

/* A JVM some of whose threads were wanted. */
struct anchored {
    struct proc_id id;
    struct java_thread *threads; /* owned, sorted by ns_tid */
    size_t count, cap;
    uint64_t next_ns; /* when its list may be read again */
};

struct anchors {
    struct broker *broker;
    int proc_fd;
    struct anchored processes[ANCHORS_PROCESSES_MAX];
    size_t count;
};

int anchors_new(struct broker *b, int proc_fd, struct anchors **ret)
{
    struct anchors *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    a->broker = b;
    a->proc_fd = proc_fd;
    *ret = a;
    return 0;
}

struct anchors *anchors_free(struct anchors *a)
{
    if (!a)
        return NULL;
    for (size_t i = 0; i < a->count; i++)
        free(a->processes[i].threads);
    free(a);
    return NULL;
}

static struct anchored *find(struct anchors *a, const struct proc_id *id)
{
    for (size_t i = 0; i < a->count; i++) {
        if (proc_id_equal(&a->processes[i].id, id))
            return &a->processes[i];
    }
    return NULL;
}

static void add_thread(void *cookie, int32_t ns_tid, uint64_t java_thread, struct span name)
{
    struct anchored *p = cookie;

    (void)name;
    if (p->count == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 64;
        struct java_thread *threads = realloc(p->threads, cap * sizeof(*threads));

        if (!threads)
            return;
        p->threads = threads;
        p->cap = cap;
    }
    p->threads[p->count++] = (struct java_thread){ ns_tid, java_thread, 0 };
}

static int compare(const void *a, const void *b)
{
    const struct java_thread *x = a, *y = b;

    return (x->ns_tid > y->ns_tid) - (x->ns_tid < y->ns_tid);
}

static void read_list(struct anchored *p, struct hotspot_vm *vm, uint64_t now_ns)
{
    uint64_t began_ns = clock_monotonic_ns(), took_ns;

    p->count = 0;
    hotspot_vm_threads(vm, add_thread, p);
    if (p->count)
        qsort(p->threads, p->count, sizeof(*p->threads), compare);
    took_ns = clock_monotonic_ns() - began_ns;
    p->next_ns = now_ns + MAX(ANCHORS_LIST_NS, took_ns * ANCHORS_REST);
}

/* The thread's id in the JVM's own pid namespace; 0 when it is gone. */
static int32_t innermost_tid(const struct anchors *a, const struct process *p, int32_t host_tid)
{
    struct proc_status status;

    if (p->ns_depth <= 1)
        return host_tid;
    if (proc_read_status(a->proc_fd, host_tid, &status) != 0 || status.tgid != p->id.host_pid ||
        !status.ns_depth)
        return 0;
    return status.ns_pid[status.ns_depth - 1];
}

void anchors_see(struct anchors *a, struct process *p, const struct sample_record *rec,
                 uint64_t now_ns)
{
    struct java_thread key = { 0 }, *found = NULL;
    struct anchored *known;

    if (p->jvm != JVM_READY || !p->vm || p->exited)
        return;
    known = find(a, &p->id);
    if (!known) {
        if (a->count == ANCHORS_PROCESSES_MAX)
            return;
        known = &a->processes[a->count++];
        *known = (struct anchored){ .id = p->id };
    }
    if (now_ns >= known->next_ns)
        read_list(known, p->vm, now_ns);
    if (!known->count)
        return;
    key.ns_tid = innermost_tid(a, p, (int32_t)rec->host_tid);
    if (key.ns_tid > 0)
        found = bsearch(&key, known->threads, known->count, sizeof(key), compare);
    if (!found || found->told_tid == (int32_t)rec->host_tid)
        return;
    found->told_tid = (int32_t)rec->host_tid;
    broker_put_thread(a->broker, p->id.host_pid, (int32_t)rec->host_tid, found->address, NULL);
}

void anchors_forget(struct anchors *a, const struct process *p)
{
    struct anchored *known = find(a, &p->id);

    if (!known)
        return;
    free(known->threads);
    *known = a->processes[--a->count];
}
