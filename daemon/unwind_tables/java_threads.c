/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind_tables/java_threads.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/list.h"
#include "base/places.h"
#include "base/span.h"
#include "broker_client/tables.h"
#include "hotspot/hotspot.h"
#include "proc/proc.h"

#define ANCHORS_PROCESSES_MAX 256
#define ANCHORS_LIST_NS NSEC_PER_SEC /* least time between two readings of a VM's list */
#define ANCHORS_REST 20              /* pause after a reading: at least 20 times its duration */
/* How long a thread of the list is put into the table without another reading. A later thread with
 * the same id is hardly possible so soon. */
#define ANCHORS_TRUST_NS (60 * NSEC_PER_SEC)
#define ANCHORS_AGAIN_NS NSEC_PER_SEC /* least time until a thread is put again */

struct java_thread {
    int32_t ns_tid;
    uint64_t address;
    int32_t told_tid; /* host thread id put into the unwinder's table; 0: none. The table drops the
                       * longest unused threads if it is full. */
    uint64_t told_ns; /* when it was last put, or that failed */
};

/* A JVM with threads that walks or lock samples needed. */
struct anchored {
    struct proc_id id;
    uint64_t owner;              /* proc_owner() */
    struct java_thread *threads; /* owned, sorted by ns_tid */
    size_t count, cap;
    struct java_thread *before; /* owned: the previous reading */
    size_t before_count;
    uint64_t read_ns; /* last reading; 0: none */
    uint64_t next_ns; /* earliest time of the next reading */
};

struct anchors {
    struct broker *broker;
    int proc_fd;
    struct anchored processes[ANCHORS_PROCESSES_MAX];
    size_t count;
    struct places places; /* owners' shares of `processes` */
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
    for (size_t i = 0; i < a->count; i++) {
        free(a->processes[i].threads);
        free(a->processes[i].before);
    }
    free(a);
    return NULL;
}

static struct anchored *find(struct anchors *a, const struct proc_id *id)
{
    return FIRST_OF(i, a->processes, a->count, proc_id_equal(&a->processes[i].id, id));
}

static void add_thread(void *cookie, const struct hotspot_thread *t)
{
    struct anchored *p = cookie;

    if (array_grow(&p->threads, &p->cap, p->count + 1, 64))
        p->threads[p->count++] = (struct java_thread){ t->ns_tid, t->java_thread, 0, 0 };
}

ORDER_FUNCTION(compare, struct java_thread, COMPARE(x->ns_tid, y->ns_tid))

static struct java_thread *find_thread(struct java_thread *threads, size_t count, int32_t ns_tid)
{
    struct java_thread key = { .ns_tid = ns_tid };

    return count ? bsearch(&key, threads, count, sizeof(key), compare) : NULL;
}

static void read_list(struct anchored *p, struct hotspot_vm *vm, uint64_t now_ns)
{
    uint64_t began_ns = clock_monotonic_ns(), took_ns;

    free(p->before);
    p->before = p->threads;
    p->before_count = p->count;
    p->threads = NULL;
    p->count = p->cap = 0;
    hotspot_vm_threads(vm, /* what= */ 0, add_thread, p);
    if (p->count)
        qsort(p->threads, p->count, sizeof(*p->threads), compare);
    for (size_t i = 0; i < p->count; i++) { /* threads that are in the table already need not be put
                                             * again */
        struct java_thread *t = &p->threads[i],
                           *old = find_thread(p->before, p->before_count, t->ns_tid);

        if (old && old->address == t->address) {
            t->told_tid = old->told_tid;
            t->told_ns = old->told_ns;
        }
    }
    took_ns = clock_monotonic_ns() - began_ns;
    p->read_ns = now_ns;
    p->next_ns = now_ns + MAX(ANCHORS_LIST_NS, took_ns * ANCHORS_REST);
}

static void drop(struct anchors *a, struct anchored *known)
{
    places_give(&a->places, known->owner);
    free(known->threads);
    free(known->before);
    *known = a->processes[--a->count];
}

static uint64_t owner_of(const void *table, size_t i)
{
    const struct anchors *a = table;

    return a->processes[i].owner;
}

static bool has_room(struct anchors *a, struct process *p)
{
    size_t i;

    if (a->count < ANCHORS_PROCESSES_MAX)
        return true;
    i = places_find(&a->places, process_payer(p), a->count, owner_of, a);
    if (i == a->count)
        return false;
    drop(a, &a->processes[i]);
    return true;
}

static struct anchored *find_or_add(struct anchors *a, struct process *p)
{
    struct anchored *known;

    if (p->jvm != JVM_READY || !p->vm || p->exited)
        return NULL;
    known = find(a, &p->id);
    if (known || !has_room(a, p))
        return known;
    places_take(&a->places, process_payer(p));
    known = &a->processes[a->count++];
    *known = (struct anchored){ .id = p->id, .owner = p->payer };
    return known;
}

/* Returns the id of thread @host_tid in the VM's list; 0: unknown. Reads /proc in a container. */
static int32_t ns_tid_of(const struct anchors *a, const struct process *p, int32_t host_tid)
{
    return p->ns_depth > 1 ? proc_innermost_tid(a->proc_fd, p->id.host_pid, host_tid) : host_tid;
}

/* Puts the thread @host_tid into the unwinder's table, with @again also if it was put before.
 * @ns_tid: ns_tid_of() it. Returns false if it was not put. */
static bool tell(struct anchors *a, struct anchored *known, const struct process *p,
                 int32_t host_tid, int32_t ns_tid, bool again, uint64_t now_ns)
{
    struct java_thread *found =
        ns_tid > 0 ? find_thread(known->threads, known->count, ns_tid) : NULL;

    if (!found || (found->told_tid == host_tid && !again) ||
        (found->told_ns && now_ns - found->told_ns < ANCHORS_AGAIN_NS))
        return false;
    found->told_ns = now_ns;
    found->told_tid = 0;
    if (broker_put_thread(a->broker, p->id.host_pid, host_tid, found->address, NULL) == 0)
        found->told_tid = host_tid;
    return found->told_tid;
}

void anchors_see(struct anchors *a, struct process *p, const struct sample_record *rec,
                 uint64_t now_ns)
{
    struct anchored *known = find_or_add(a, p);
    int32_t tid = (int32_t)rec->host_tid, ns_tid;

    if (!known)
        return;
    ns_tid = ns_tid_of(a, p, tid);
    if (known->read_ns && now_ns - known->read_ns < ANCHORS_TRUST_NS &&
        tell(a, known, p, tid, ns_tid, /* again= */ false, now_ns))
        return;
    if (now_ns >= known->next_ns)
        read_list(known, p->vm, now_ns);
    /* If it was put before, the table had another address, or has dropped it. */
    tell(a, known, p, tid, ns_tid, /* again= */ true, now_ns);
}

/* Puts all threads of a container's process, where the VM's thread ids differ from the host's. */
static void tell_by_host(struct anchors *a, struct anchored *known, const struct process *p,
                         uint64_t now_ns)
{
    _cleanup_closedir_ DIR *d = NULL;
    char path[32];
    struct dirent *e;

    snprintf(path, sizeof(path), "%d/task", p->id.host_pid);
    d = dir_open(a->proc_fd, path);
    if (!d)
        return;
    for (size_t i = 0; i < HOTSPOT_THREADS_MAX && (e = readdir(d)); i++) {
        uint64_t tid;

        if (span_parse_dec(span_of(e->d_name), &tid) && tid > 0 && tid <= INT32_MAX)
            tell(a, known, p, (int32_t)tid, ns_tid_of(a, p, (int32_t)tid), /* again= */ false,
                 now_ns);
    }
}

static bool all_told(const struct anchored *known)
{
    return ALL_OF(i, known->count, known->threads[i].told_tid);
}

void anchors_all(struct anchors *a, struct process *p, uint64_t now_ns)
{
    struct anchored *known = find_or_add(a, p);

    if (!known || now_ns < known->next_ns)
        return;
    read_list(known, p->vm, now_ns);
    if (p->ns_depth > 1) {
        if (!all_told(known))
            tell_by_host(a, known, p, now_ns);
        return;
    }
    for (size_t i = 0; i < known->count; i++)
        tell(a, known, p, known->threads[i].ns_tid, known->threads[i].ns_tid, /* again= */ false,
             now_ns);
}

uint64_t anchors_thread(struct anchors *a, const struct process *p, int32_t host_tid,
                        int32_t *ret_ns_tid)
{
    const struct anchored *known = find(a, &p->id);

    for (size_t i = 0; known && i < known->count; i++) {
        if (known->threads[i].told_tid != host_tid)
            continue;
        *ret_ns_tid = known->threads[i].ns_tid;
        return known->threads[i].address;
    }
    return 0;
}

void anchors_forget(struct anchors *a, const struct process *p)
{
    struct anchored *known = find(a, &p->id);

    if (known)
        drop(a, known);
}
