/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/threads.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/u64_cache.h"
#include "sample/sample_abi.h"

#define THREADS_MAX (1u << 16)
#define THREADS_MISSED 2
#define THREADS_MISSED_MAX (THREADS_MISSED + 4)
#define THREADS_STEADY 10 /* after 10 equal lookups a name is trusted longer */
#define THREADS_REST 20   /* after a reading of t ns at least 20 t pass before the next */
/* Names that may be read one by one between two readings of the list: this many, plus one in
 * THREADS_SINGLES_SHARE of the list. For more names, reading the list is cheaper. */
#define THREADS_SINGLES 4
#define THREADS_SINGLES_SHARE 16

struct thread_entry {
    uint64_t until_ns;  /* time of the next lookup, unless comm changes before */
    uint64_t missed_ns; /* read_ns of the list at the last lookup */
    uint32_t name;
    uint8_t missed;      /* successive lists without the thread, with this comm; at most
                          * THREADS_MISSED_MAX */
    uint8_t steady;      /* successive lookups that gave the same name */
    bool agreed;         /* its name once matched the kernel's, so a new comm means a new name */
    uint64_t changed_ns; /* last change of the kernel's name */
    char comm[SAMPLE_COMM_BYTES];
};

/* A thread of the VM's list. */
struct listed_name {
    uint64_t java_thread;
    uint64_t read_ns; /* when its name was read */
    uint32_t name;
};

struct thread_names {
    struct frame_table *frames;
    struct u64_cache by_ns_tid; /* -> listed: the VM's list as last read */
    struct listed_name *listed; /* owned */
    size_t listed_count, listed_cap;
    size_t singles;         /* names that were read one by one since that reading */
    struct u64_cache index; /* host tid -> entries */
    struct thread_entry *entries;
    size_t count, cap;
    uint64_t list_ns; /* earliest time of the next reading of the list */
    uint64_t read_ns; /* last reading of the list; 0: never */
};

int thread_names_new(struct frame_table *frames, struct thread_names **ret)
{
    struct thread_names *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->frames = frames;
    u64_cache_init(&t->by_ns_tid, THREADS_MAX);
    u64_cache_init(&t->index, THREADS_MAX);
    *ret = t;
    return 0;
}

struct thread_names *thread_names_free(struct thread_names *t)
{
    if (!t)
        return NULL;
    u64_cache_deinit(&t->by_ns_tid);
    u64_cache_deinit(&t->index);
    free(t->entries);
    free(t->listed);
    free(t);
    return NULL;
}

/* Returns the clean name of @thread, interned; 0: no name, or no room. */
static uint32_t clean_name(const struct thread_names *t, const struct hotspot_thread *thread)
{
    _cleanup_buf_ struct buf clean = BUF_UPTO(TEXT_NAME_MAX);
    uint32_t id = 0;

    if (!thread->name.n)
        return 0;
    text_clean(thread->name, TEXT_MODIFIED_UTF8, TEXT_NAME_MAX, &clean);
    frame_table_string(t->frames, buf_span(&clean), &id);
    return id;
}

static void add_listed(void *cookie, const struct hotspot_thread *thread)
{
    struct thread_names *t = cookie;
    uint32_t id = clean_name(t, thread);

    if (!id || t->listed_count == THREADS_MAX ||
        !array_grow(&t->listed, &t->listed_cap, t->listed_count + 1, 64))
        return;
    u64_cache_put(&t->by_ns_tid, (uint64_t)thread->ns_tid, (uint32_t)t->listed_count);
    t->listed[t->listed_count++] = (struct listed_name){ .java_thread = thread->java_thread,
                                                         .read_ns = t->read_ns,
                                                         .name = id };
}

/* Reads the VM's list. If that fails, the list before stays, as a list that was not read lacks no
 * thread. */
static void read_list(struct thread_names *t, struct hotspot_vm *vm, uint64_t now_ns)
{
    uint64_t began_ns = clock_monotonic_ns(), took_ns;
    struct thread_names before = *t;

    u64_cache_init(&t->by_ns_tid, THREADS_MAX);
    t->listed = NULL;
    t->listed_count = t->listed_cap = t->singles = 0;
    t->read_ns = now_ns;
    if (hotspot_vm_threads(vm, HOTSPOT_THREAD_NAME, add_listed, t) < 0) {
        struct thread_names failed = *t;

        *t = before;
        before = failed;
    }
    u64_cache_deinit(&before.by_ns_tid);
    free(before.listed);
    took_ns = clock_monotonic_ns() - began_ns;
    t->list_ns = now_ns + MAX(THREADS_LIST_MIN_NS, took_ns * THREADS_REST);
}

static struct listed_name *find_listed(const struct thread_names *t, int32_t ns_tid)
{
    uint32_t at;

    return ns_tid > 0 && u64_cache_get(&t->by_ns_tid, (uint64_t)ns_tid, &at) ? &t->listed[at]
                                                                             : NULL;
}

/* The result of reading a single thread again. */
struct single {
    const struct thread_names *t;
    int32_t ns_tid;
    uint32_t name; /* 0: another thread, or no name */
};

static void take_single(void *cookie, const struct hotspot_thread *thread)
{
    struct single *s = cookie;

    if (thread->ns_tid == s->ns_tid)
        s->name = clean_name(s->t, thread);
}

/* Reads the name of one thread, which the list contains. Returns false if the whole list has to be
 * read. */
static bool read_single(struct thread_names *t, struct hotspot_vm *vm, int32_t ns_tid,
                        uint64_t now_ns)
{
    struct listed_name *l = find_listed(t, ns_tid);
    struct single one = { .t = t, .ns_tid = ns_tid };

    if (!l || t->singles >= THREADS_SINGLES + t->listed_count / THREADS_SINGLES_SHARE)
        return false;
    t->singles++;
    if (hotspot_vm_thread(vm, l->java_thread, HOTSPOT_THREAD_NAME | HOTSPOT_THREAD_LISTED,
                          take_single, &one) <= 0 ||
        !one.name)
        return false;
    l->name = one.name;
    l->read_ns = now_ns;
    return true;
}

static struct thread_entry *entry_for(struct thread_names *t, int32_t host_tid)
{
    uint32_t at;

    if (u64_cache_get(&t->index, (uint64_t)host_tid, &at))
        return &t->entries[at];
    if (t->count >= THREADS_MAX) {
        u64_cache_clear(&t->index);
        t->count = 0;
    }
    if (!array_grow(&t->entries, &t->cap, t->count + 1, 64))
        return NULL;
    at = (uint32_t)t->count++;
    u64_cache_put(&t->index, (uint64_t)host_tid, at);
    t->entries[at] = (struct thread_entry){ 0 };
    return &t->entries[at];
}

/* Returns how long @name, the name of @e in the list, is trusted. That depends on whether it agrees
 * with the kernel's name @comm. */
static uint64_t trust_ns(const struct thread_names *t, const struct thread_entry *e, uint32_t name,
                         const char *comm)
{
    struct span text = frame_table_get_string(t->frames, name);

    if (!comm[0] || !span_starts_with(text, comm))
        return THREADS_TRUST_NS;
    if (text.n == strlen(comm))
        return THREADS_AGREED_NS;
    return MIN((uint64_t)THREADS_CUT_NS << (MAX(e->steady, THREADS_STEADY) - THREADS_STEADY),
               (uint64_t)THREADS_AGREED_NS);
}

static bool agrees(const struct thread_names *t, uint32_t name, const char *comm)
{
    return comm[0] && span_starts_with(frame_table_get_string(t->frames, name), comm);
}

/* Finds the name of a thread in a list that was read for another thread. The name counts if it
 * agrees with the kernel's name, or if the kernel has only the program's name (JDK 8, and the main
 * thread). */
static bool is_listed(const struct thread_names *t, const struct thread_entry *e, int32_t ns_tid,
                      const char *comm, uint64_t now_ns, uint32_t *ret)
{
    const struct listed_name *l = find_listed(t, ns_tid);

    if (!l || now_ns >= l->read_ns + trust_ns(t, e, l->name, comm) ||
        (!agrees(t, l->name, comm) && strcmp(comm, "java") != 0))
        return false;
    *ret = l->name;
    return true;
}

/* Returns how long after the last reading @e counts as no Java thread. That depends on the number
 * of lists without it: such a thread hardly ever becomes a Java thread. */
static uint64_t missed_trust_ns(const struct thread_entry *e)
{
    if (e->missed < THREADS_MISSED)
        return 0;
    return MIN((uint64_t)THREADS_TRUST_NS << (e->missed - THREADS_MISSED),
               (uint64_t)THREADS_AGREED_NS);
}

static bool is_missed(const struct thread_names *t, const struct thread_entry *e, uint64_t now_ns)
{
    return now_ns < t->read_ns + missed_trust_ns(e);
}

/* Stores the result of the last list for @e. @name 0: the list does not contain it. */
static void note_found(const struct thread_names *t, struct thread_entry *e,
                       const struct listed_name *l, uint32_t name, const char *comm,
                       uint64_t now_ns)
{
    if (name)
        e->missed = 0;
    else if (e->missed < THREADS_MISSED_MAX && (!e->missed || e->missed_ns != t->read_ns))
        e->missed++;
    e->missed_ns = t->read_ns;
    e->steady = name && name == e->name ? (uint8_t)MIN(e->steady + 1, THREADS_STEADY + 6) : 0;
    e->until_ns = now_ns + THREADS_LIST_MIN_NS;
    if (name)
        e->until_ns = MAX(e->until_ns, (l ? l->read_ns : t->read_ns) + trust_ns(t, e, name, comm));
    else
        e->until_ns = MAX(e->until_ns, t->read_ns + missed_trust_ns(e));
}

uint32_t thread_names_get(struct thread_names *t, struct hotspot_vm *vm, int proc_fd,
                          int32_t host_pid, size_t ns_depth, int32_t host_tid, const char *comm,
                          uint64_t now_ns)
{
    struct thread_entry *e = host_tid > 0 ? entry_for(t, host_tid) : NULL;
    const struct listed_name *l;
    int32_t ns_tid;
    uint32_t name = 0;
    bool same;

    if (!e)
        return 0;
    same = strncmp(e->comm, comm, sizeof(e->comm)) == 0;
    if (!vm || (e->until_ns > now_ns && same))
        return e->name;
    if (!same)
        e->missed = 0;
    ns_tid = ns_depth > 1 ? proc_innermost_tid(proc_fd, host_pid, host_tid) : host_tid;
    if (!is_listed(t, e, ns_tid, comm, now_ns, &name)) {
        if (now_ns >= t->list_ns && !is_missed(t, e, now_ns) && !read_single(t, vm, ns_tid, now_ns))
            read_list(t, vm, now_ns);
        l = find_listed(t, ns_tid);
        name = l ? l->name : 0;
    }
    if (!same)
        e->changed_ns = now_ns;
    if (name && e->agreed && !agrees(t, name, comm) && now_ns - e->changed_ns < THREADS_CUT_NS)
        name = 0; /* the thread was renamed just before or after the list was read */
    else if (name)
        e->agreed |= agrees(t, name, comm);
    note_found(t, e, find_listed(t, ns_tid), name, comm, now_ns);
    if (name || !e->name || !same)
        e->name = name; /* a thread that has just ended keeps its name for its last samples */
    memset(e->comm, 0, sizeof(e->comm));
    memcpy(e->comm, comm, strnlen(comm, sizeof(e->comm)));
    return e->name;
}
