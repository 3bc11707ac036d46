/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When sampled processes are described. The first time is before sampling starts if the process is
 * known then, else at its first sample. It is described again when a walk met code that no table
 * covers (a library was loaded) and when it turned out to be a JVM. It is also described again 1 s
 * and 10 s after the first time, and 10 s after a file of it could not be read.
 */
#include "unwind_tables/unwinding.h"

#include "base/budget.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_budget.h"
#include "broker_client/tables.h"
#include "proc/stall_readers.h"
#include "unwind/unwind.h"
#include "unwind_tables/table_loader.h"

#define UNWINDING_RETRY_NS (100 * NSEC_PER_MSEC)
#define UNWINDING_RETRY_MAX_NS (5 * NSEC_PER_SEC)
#define UNWINDING_CALM_NS (10 * NSEC_PER_SEC)
/* A process that is no JVM and that no capture wants is described after this many samples of the
 * recorder (half a second of CPU time at 19 Hz). Otherwise a node that builds software would keep
 * one processor reading tables. */
#define UNWINDING_SAMPLES_MIN 10
/* Descriptions that no capture wants get one part in UNWINDING_SHARE of a processor, and at most
 * UNWINDING_AT_ONCE_NS at once, as after the start. */
#define UNWINDING_SHARE 400
#define UNWINDING_AT_ONCE_NS NSEC_PER_SEC
#define UNWINDING_WAIT_NS (200 * NSEC_PER_MSEC) /* longest wait for files before sampling */

#define UNWINDING_PATHS_MAX ((size_t)512 << 10)
#define UNWINDING_MAPS_NS (20 * NSEC_PER_MSEC)
/* How long one turn describes processes with new files. The next turn describes the others. */
#define UNWINDING_TURN_NS (10 * NSEC_PER_MSEC)

struct watched {
    struct watched *next;
    struct proc_id id;
    uint64_t begun_ns, read_ns; /* times of the first and last reading */
    uint64_t reads, samples;
    uint64_t wait_ns;  /* least time before the next reading: doubles while readings follow each
                        * other */
    uint64_t again_ns; /* when files are read again that could not be read; 0: none */
    bool jvm;          /* described as a JVM */
    bool frozen;       /* the layout of frozen frames is described, or never will be */
    bool pending;      /* some of its files are still being read */
    bool left_out;     /* some of its mappings found no room */
    bool more;         /* it has many files, and not all were looked at */
    uint32_t exec_id;
    struct maps_met *met; /* owned; NULL: no sample met a mapping without room */
    bool no_room;         /* the tables have no room for a further process of its owner */
};

#define WATCHED_BUCKETS 1024

struct unwinding {
    struct broker *broker;
    struct budget budget; /* time for descriptions that no capture wants */
    uint64_t charged_ns;  /* CPU time of reading files that was charged so far */
    struct feeder *feeder;
    struct watched *buckets[WATCHED_BUCKETS]; /* hash table by host_pid */
    size_t next, left; /* buckets: where the next turn of unwinding_poll() begins, and how many
                        * remain */
};

int unwinding_new(struct broker *b, int wake_fd, struct memory_budget *memory,
                  struct unwinding **ret)
{
    struct feeder_io io = { .ctx = b,
                            .rows_max = BROKER_ROWS_MAX,
                            .copies = &memory->copies,
                            .background = true,
                            .wake_fd = wake_fd,
                            .open_mapped = broker_mapped,
                            .put_rows = broker_put_rows,
                            .put_process = broker_put_process };
    struct unwinding *u = calloc(1, sizeof(*u));
    int r;

    if (!u)
        return -ENOMEM;
    u->broker = b;
    budget_init(&u->budget, UNWINDING_SHARE, UNWINDING_AT_ONCE_NS, clock_monotonic_ns());
    r = feeder_new(&io, &u->feeder);
    if (r < 0) {
        free(u);
        return r;
    }
    *ret = u;
    return 0;
}

struct unwinding *unwinding_free(struct unwinding *u)
{
    if (!u)
        return NULL;
    for (size_t i = 0; i < WATCHED_BUCKETS; i++) {
        while (u->buckets[i]) {
            struct watched *w = u->buckets[i];

            u->buckets[i] = w->next;
            free(w->met);
            free(w);
        }
    }
    feeder_free(u->feeder);
    free(u);
    return NULL;
}

static struct watched **watched_at(struct unwinding *u, int32_t host_pid)
{
    struct watched **at = &u->buckets[(uint32_t)host_pid % WATCHED_BUCKETS];

    while (*at && (*at)->id.host_pid != host_pid)
        at = &(*at)->next;
    return at;
}

/* Returns the entry of the image of @p; reuses that of an earlier image. */
static struct watched *watched_get(struct unwinding *u, const struct process *p, uint64_t now_ns)
{
    struct watched **at = watched_at(u, p->id.host_pid), *w = *at;

    if (w && proc_id_equal(&w->id, &p->id))
        return w;
    if (!w) {
        w = calloc(1, sizeof(*w));
        if (!w)
            return NULL;
        *at = w;
    } else {
        free(w->met);
        *w = (struct watched){ .next = w->next };
    }
    w->id = p->id;
    w->begun_ns = now_ns;
    return w;
}

static void describe(struct unwinding *u, struct watched *w, struct process *p, uint32_t exec_id,
                     uint64_t now_ns)
{
    struct feeder_process what = { .id = p->id, .exec_id = exec_id };
    const struct maps_limits limits = { .entries = MAPS_EXEC_MAX,
                                        .path_bytes = UNWINDING_PATHS_MAX,
                                        .ns = UNWINDING_MAPS_NS,
                                        .met = w->met };
    uint64_t began_ns = clock_monotonic_ns();
    struct error err = ERROR_NULL;
    struct maps maps = { 0 };
    struct unwind_vm vm;
    int fd = -1, r;

    if (w->reads == 0 || now_ns - w->read_ns >= UNWINDING_CALM_NS)
        w->wait_ns = UNWINDING_RETRY_NS;
    else
        w->wait_ns = MIN(w->wait_ns * 2, UNWINDING_RETRY_MAX_NS);
    w->read_ns = now_ns;
    w->reads++;
    w->exec_id = exec_id;
    if (!readers_afford(&p->id))
        return;
    r = broker_maps(u->broker, &p->id, &fd, &err) ?: maps_read_exec(&p->id, fd, &limits, &maps);
    readers_spend(&p->id, clock_monotonic_ns() - began_ns);
    if (r == 0) {
        what.maps = &maps;
        what.met = w->met;
        if (p->jvm == JVM_READY && p->vm && hotspot_vm_unwinding(p->vm, &vm) == 0) {
            what.vm = &vm;
            w->jvm = hotspot_vm_locks(p->vm, &vm.locks) != -EAGAIN;
            w->jvm &= hotspot_vm_zgc(p->vm, &vm.zgc) != -EAGAIN;
            w->jvm &= hotspot_vm_unload_places(p->vm, &what.unloads) != -EAGAIN;
            w->frozen = hotspot_vm_frozen(p->vm, &vm.frozen) != -EAGAIN;
        }
        r = feeder_update(u->feeder, &what, &err);
        w->pending = r == FEEDER_PENDING;
        w->more = w->pending && feeder_has_more(u->feeder);
        w->no_room = r == -ENOSPC;
        w->again_ns = feeder_again_ns(u->feeder, p->id.host_pid);
        w->left_out = maps.truncated || feeder_left_out(u->feeder, p->id.host_pid);
    }
    maps_deinit(&maps);
    if (r < 0)
        log_debug("host_pid=%d cannot be described to the unwinder: %s", p->id.host_pid, err.msg);
}

/* Returns whether the budget has room, after it has paid for files that were read since. */
static bool affordable(struct unwinding *u, uint64_t now_ns)
{
    struct feeder_stats stats;

    feeder_stats(u->feeder, &stats);
    budget_spend(&u->budget, stats.read_ns - u->charged_ns);
    u->charged_ns = stats.read_ns;
    return budget_has(&u->budget, now_ns);
}

/* Describes @p and charges the budget. The broker spends about half as much time on it again. */
static void describe_paid(struct unwinding *u, struct watched *w, struct process *p,
                          uint32_t exec_id, uint64_t now_ns)
{
    uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

    describe(u, w, p, exec_id, now_ns);
    budget_spend(&u->budget, (clock_ns(CLOCK_THREAD_CPUTIME_ID) - before) * 3 / 2);
}

static void describe_whole(struct unwinding *u, struct watched *w, struct process *p,
                           uint64_t now_ns)
{
    uint64_t until_ns = now_ns + UNWINDING_WAIT_NS;

    describe(u, w, p, p->exec_id, now_ns);
    while (w->pending &&
           ((w->more && clock_monotonic_ns() < until_ns) || feeder_wait(u->feeder, until_ns))) {
        feeder_poll(u->feeder);
        describe(u, w, p, p->exec_id, now_ns);
    }
}

/* Returns the entry of @p; NULL: @p is not to be described. *ret_new: it must be described now. */
static struct watched *watched_of(struct unwinding *u, const struct process *p, uint64_t now_ns,
                                  bool *ret_new)
{
    struct watched *w = p->exited || p->kernel_thread ? NULL : watched_get(u, p, now_ns);

    *ret_new = w && (!w->reads || (p->jvm == JVM_READY && !w->jvm));
    return w;
}

void unwinding_prepare(struct unwinding *u, struct process *p, uint64_t now_ns)
{
    bool new;
    struct watched *w = watched_of(u, p, now_ns, &new);

    if (new)
        describe_whole(u, w, p, now_ns);
}

bool unwinding_begin(struct unwinding *u, struct process *p, uint64_t now_ns)
{
    bool new;
    struct watched *w = watched_of(u, p, now_ns, &new);

    if (new)
        describe(u, w, p, p->exec_id, now_ns);
    return w && w->pending;
}

bool unwinding_frozen(struct unwinding *u, struct process *p, uint64_t now_ns)
{
    struct watched *w = p->exited || p->kernel_thread ? NULL : watched_get(u, p, now_ns);

    if (w && p->jvm == JVM_READY && !w->frozen && (!w->reads || now_ns - w->read_ns >= w->wait_ns))
        describe(u, w, p, p->exec_id, now_ns);
    return w && w->frozen;
}

void unwinding_again(struct unwinding *u, struct process *p, uint64_t now_ns)
{
    struct watched *w = p->exited || p->kernel_thread ? NULL : watched_get(u, p, now_ns);

    if (w)
        describe_whole(u, w, p, now_ns);
}

static void describe_pending(struct unwinding *u, struct discover *d, struct watched *w,
                             uint64_t now_ns)
{
    struct process *p = w->pending ? discover_find(d, w->id.host_pid) : NULL;

    if (p && proc_id_equal(&p->id, &w->id))
        describe(u, w, p, w->exec_id, now_ns);
    else
        w->pending = false;
}

void unwinding_poll(struct unwinding *u, struct discover *d, uint64_t now_ns)
{
    uint64_t until_ns = clock_monotonic_ns() + UNWINDING_TURN_NS;

    if (feeder_poll(u->feeder))
        u->left = WATCHED_BUCKETS;
    for (; u->left && clock_monotonic_ns() < until_ns; u->left--) {
        for (struct watched *w = u->buckets[u->next]; w; w = w->next)
            describe_pending(u, d, w, now_ns);
        u->next = (u->next + 1) % WATCHED_BUCKETS;
    }
}

/* Remembers code that walks met in mappings without room or rows yet: at their end, or before
 * skipped frames. Returns whether any of it is new. */
static bool meet(struct watched *w, const struct sample_record *rec, const uint64_t *frames)
{
    const uint64_t skipped = UNWIND_MARK_SKIPPED | (uint64_t)UNWIND_MARK << UNWIND_KIND_SHIFT;
    const uint64_t *words = frames + rec->kernel_count;
    bool met = false;

    for (uint32_t i = 0; (w->left_out || w->more) && i < rec->user_count; i++) {
        bool last = i + 1 == rec->user_count;

        if (words[i] >> UNWIND_KIND_SHIFT == UNWIND_NATIVE &&
            (last ? rec->user_end != UNWIND_END_ROOT && rec->user_end != UNWIND_END_COPY &&
                        rec->user_end != UNWIND_END_LIMIT
                  : words[i + 1] == skipped))
            met |= maps_meet(&w->met, words[i] & UNWIND_PC_MASK);
    }
    return met;
}

/* Returns whether the walk met frozen frames of a layout that is not described. */
static bool meets_frozen(const struct watched *w, const struct sample_record *rec,
                         const uint64_t *frames)
{
    const uint64_t frozen = UNWIND_MARK_FROZEN | (uint64_t)UNWIND_MARK << UNWIND_KIND_SHIFT;
    const uint64_t *words = frames + rec->kernel_count;

    for (uint32_t i = 0; w->jvm && !w->frozen && i < rec->user_count; i++) {
        if (words[i] == frozen)
            return true;
    }
    return false;
}

void unwinding_see(struct unwinding *u, struct process *p, const struct sample_record *rec,
                   const uint64_t *frames, bool asked_for, uint64_t now_ns)
{
    bool wanting = rec->user_end == UNWIND_END_NO_PROCESS ||
                   rec->user_end == UNWIND_END_NO_MAPPING || rec->user_end == UNWIND_END_RETURN;
    struct watched *w;
    uint64_t age_ns;
    bool first;

    if (p->exited || p->kernel_thread || rec->flags & SAMPLE_KERNEL_THREAD)
        return;
    w = watched_get(u, p, now_ns);
    if (!w)
        return;
    if (++w->samples < UNWINDING_SAMPLES_MIN && !asked_for && p->jvm == JVM_NO)
        return;
    age_ns = now_ns - w->begun_ns;
    first = (p->jvm != JVM_NO && !w->reads) || (p->jvm == JVM_READY && !w->jvm && w->reads < 4);
    if (first || (p->jvm == JVM_READY && !w->jvm) || (w->reads < 2 && age_ns > NSEC_PER_SEC) ||
        (w->reads < 3 && age_ns > 10 * NSEC_PER_SEC))
        wanting = true;
    wanting |= meet(w, rec, frames) || meets_frozen(w, rec, frames) || w->pending ||
               (w->again_ns && now_ns >= w->again_ns);
    if (!wanting || (w->reads && now_ns - w->read_ns < w->wait_ns))
        return;
    if (asked_for || first) /* without a description no stack of a JVM can be walked */
        describe(u, w, p, rec->exec_id, now_ns);
    else if (affordable(u, now_ns))
        describe_paid(u, w, p, rec->exec_id, now_ns);
}

const struct unwind_process *unwinding_process(const struct unwinding *u, const struct process *p,
                                               const struct sample_record *rec)
{
    const struct unwind_process *known = feeder_known(u->feeder, p->id.host_pid);

    if (!known || (known->exec_id && known->exec_id != rec->exec_id) ||
        (known->start_boottime_ns && known->start_boottime_ns != rec->start_boottime_ns))
        return NULL;
    return known;
}

size_t unwinding_left_out(const struct unwinding *u, int32_t host_pid)
{
    return feeder_left_out(u->feeder, host_pid);
}

bool unwinding_has_no_room(struct unwinding *u, const struct proc_id *id)
{
    const struct watched *w = *watched_at(u, id->host_pid);

    return w && proc_id_equal(&w->id, id) &&
           (w->no_room || feeder_lacks_rows(u->feeder, id->host_pid));
}

uint64_t unwinding_refused(const struct unwinding *u)
{
    struct feeder_stats stats;

    feeder_stats(u->feeder, &stats);
    return stats.refused;
}

uint64_t unwinding_all_left_out(const struct unwinding *u)
{
    struct feeder_stats stats;

    feeder_stats(u->feeder, &stats);
    return stats.mappings_left_out;
}

void unwinding_forget(struct unwinding *u, const struct process *p)
{
    struct watched **at = watched_at(u, p->id.host_pid), *w = *at;

    if (!w || !proc_id_equal(&w->id, &p->id))
        return;
    *at = w->next;
    free(w->met);
    free(w);
    feeder_forget(u->feeder, p->id.host_pid);
}
