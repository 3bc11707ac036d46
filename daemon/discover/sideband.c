/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/sideband.h"

#include "base/cleanup.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#define SIDEBAND_ID_BYTES 16 /* struct { u32 pid, tid; u64 time; } at the end of each record */

/* Reads the time stamp at the end of a record's body. */
static bool parse_time(struct span body, uint64_t *ret)
{
    struct span id;

    if (body.n < SIDEBAND_ID_BYTES)
        return false;
    id = span_from(body, body.n - sizeof(uint64_t));
    return span_take_u64(&id, ret);
}

/* FORK and EXIT: u32 pid, ppid, tid, ptid; u64 time. */
static bool parse_task(struct span body, bool fork, struct sideband_record *r)
{
    uint32_t pid, ppid, tid, ptid;

    if (!span_take_u32(&body, &pid) || !span_take_u32(&body, &ppid) ||
        !span_take_u32(&body, &tid) || !span_take_u32(&body, &ptid))
        return false;
    if (pid != tid || (fork && pid == ppid) || (int32_t)pid <= 0)
        return true; /* it is a thread, or outside our pid namespace */
    r->kind = fork ? SIDEBAND_FORK : SIDEBAND_EXIT;
    r->host_pid = (int32_t)pid;
    r->parent_pid = (int32_t)ppid;
    return true;
}

/* COMM: u32 pid, tid; char comm[], padded to 8 bytes. */
static bool parse_comm(struct span body, struct sideband_record *r)
{
    struct span comm;
    uint32_t pid, tid;

    if (!span_take_u32(&body, &pid) || !span_take_u32(&body, &tid) || body.n < SIDEBAND_ID_BYTES)
        return false;
    if (pid != tid || (int32_t)pid <= 0)
        return true;
    comm = (struct span){ body.p, body.n - SIDEBAND_ID_BYTES };
    comm.n = span_find(comm, '\0');
    span_copy(comm, r->comm, sizeof(r->comm));
    r->kind = SIDEBAND_EXEC;
    r->host_pid = (int32_t)pid;
    return true;
}

bool sideband_parse(struct span *data, struct sideband_record *ret)
{
    struct sideband_record r = { .kind = SIDEBAND_OTHER };
    struct span rest = *data, body;
    uint32_t type;
    uint16_t misc, size;
    uint64_t id;
    bool ok = true;

    if (!span_take_u32(&rest, &type) || !span_take_u16(&rest, &misc) ||
        !span_take_u16(&rest, &size) || size < sizeof(struct perf_event_header) ||
        size % sizeof(uint64_t) ||
        !span_take_bytes(&rest, size - sizeof(struct perf_event_header), &body))
        return false;
    switch (type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        ok = parse_task(body, type == PERF_RECORD_FORK, &r);
        break;
    case PERF_RECORD_COMM:
        if (misc & PERF_RECORD_MISC_COMM_EXEC)
            ok = parse_comm(body, &r);
        break;
    case PERF_RECORD_LOST:
        ok = span_take_u64(&body, &id) && span_take_u64(&body, &r.lost);
        r.kind = SIDEBAND_LOST;
        break;
    default:
        break;
    }
    if (!ok || (!parse_time(body, &r.time_ns) && r.kind != SIDEBAND_OTHER))
        return false;
    *data = rest;
    *ret = r;
    return true;
}

/* One CPU's ring: a page of counters, then the data. */
struct cpu_ring {
    struct perf_event_mmap_page *page; /* mapped, with the data behind it */
    const char *data;
    uint64_t head, tail; /* last data_head read; end of the bytes read */
    struct sideband_record next;
    bool has_next; /* `next` is read, and waits for older records of other CPUs */
};

struct sideband {
    size_t count, page_bytes, data_bytes;
    uint64_t malformed;
    bool fills;
    struct cpu_ring rings[];
};

#define FILLS_PART 8 /* a ring with more than 1/FILLS_PART unread must be read again soon */
/* Longest record of interest; longer ones are skipped. */
#define SIDEBAND_RECORD_MAX 256

/* Reads the ring's next record of interest into r->next. Returns the number of records passed. */
static size_t ring_advance(struct sideband *s, struct cpu_ring *r)
{
    size_t passed = 0;

    while (!r->has_next && r->tail != r->head) {
        uint64_t left = r->head - r->tail;
        char copy[SIDEBAND_RECORD_MAX];
        size_t n = (size_t)MIN(left, (uint64_t)sizeof(copy));
        size_t at = (size_t)(r->tail & (s->data_bytes - 1));
        size_t first = MIN(n, s->data_bytes - at);
        struct span data = { copy, n };
        struct perf_event_header h;

        if (left >= sizeof(h)) {
            memcpy(copy, r->data + at, first);
            memcpy(copy + first, r->data, n - first);
            memcpy(&h, copy, sizeof(h));
        }
        if (left < sizeof(h) || left > s->data_bytes || h.size < sizeof(h) || h.size > left) {
            s->malformed += left; /* the rest cannot be trusted: report missing records */
            r->tail = r->head;
            r->next = (struct sideband_record){ .kind = SIDEBAND_LOST, .lost = 1 };
            r->has_next = true;
        } else {
            r->tail += h.size;
            if (h.size <= sizeof(copy) && !sideband_parse(&data, &r->next))
                s->malformed += h.size;
            else
                r->has_next = h.size <= sizeof(copy) && r->next.kind != SIDEBAND_OTHER;
        }
        passed++;
    }
    return passed;
}

size_t sideband_drain(struct sideband *s, size_t max, sideband_fn fn, void *cookie)
{
    size_t handed = 0;

    if (!s)
        return 0;
    s->fills = false;
    for (size_t i = 0; i < s->count; i++) {
        struct cpu_ring *r = &s->rings[i];

        r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
        s->fills |= r->head - r->tail > s->data_bytes / FILLS_PART;
    }
    while (handed < max) {
        struct cpu_ring *oldest = NULL;

        for (size_t i = 0; i < s->count; i++) {
            struct cpu_ring *r = &s->rings[i];

            ring_advance(s, r);
            if (r->has_next && (!oldest || r->next.time_ns < oldest->next.time_ns))
                oldest = r;
        }
        if (!oldest)
            break;
        oldest->has_next = false;
        handed++;
        fn(cookie, &oldest->next);
    }
    for (size_t i = 0; i < s->count; i++)
        __atomic_store_n(&s->rings[i].page->data_tail, s->rings[i].tail, __ATOMIC_RELEASE);
    return handed;
}

bool sideband_fills(const struct sideband *s)
{
    return s && s->fills;
}

uint64_t sideband_malformed(const struct sideband *s)
{
    return s ? s->malformed : 0;
}

int sideband_map(const int *fds, size_t count, struct sideband **ret, struct error *err)
{
    struct sideband *s = calloc(1, sizeof(*s) + count * sizeof(s->rings[0]));
    int r = s ? 0 : -ENOMEM;

    if (s) {
        s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
        s->data_bytes = sideband_data_bytes(s->page_bytes);
    }
    for (size_t i = 0; i < count; i++) {
        void *p = MAP_FAILED;

        if (r == 0)
            p = mmap(NULL, s->page_bytes + s->data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                     fds[i], 0);
        if (p != MAP_FAILED) { /* the mapping keeps the event; the fd is no longer needed */
            s->rings[s->count].page = p;
            s->rings[s->count].tail = s->rings[s->count].page->data_tail;
            s->rings[s->count++].data = (const char *)p + s->page_bytes;
        } else if (r == 0) {
            r = error_errno(err, "cannot map the ring of process events of CPU %zu", i);
            error_remedy(err, "raise kernel.perf_event_mlock_kb above %zu",
                         (s->page_bytes + s->data_bytes) >> 10);
        }
        close(fds[i]);
    }
    if (r < 0) {
        sideband_unmap(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct sideband *sideband_unmap(struct sideband *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->count; i++)
        munmap(s->rings[i].page, s->page_bytes + s->data_bytes);
    free(s);
    return NULL;
}
