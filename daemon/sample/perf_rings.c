/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/perf_rings.h"

#include "base/array.h"
#include "unwind/unwind.h"

#include <sys/mman.h>
#include <unistd.h>

#define RECORD_MAX ((size_t)UINT16_MAX + 1)
#define SET_MASK 7u
#define TIME_AT (sizeof(struct perf_event_header) + 8) /* in a sample, behind PERF_SAMPLE_TID */
#define TURN_MAX 8 /* records of a ring before the next ring's turn */

struct perf_ring {
    struct perf_event_mmap_page *page; /* mapped, with the data behind it */
    const char *data;
};

struct perf_rings {
    struct perf_ring *rings;
    size_t count, cap, page_bytes, bytes; /* bytes: data size of each ring */
    size_t turn;                          /* the ring that is drained next */
    uint64_t lost, malformed;
    char record[RECORD_MAX]; /* copy of a record that wraps around a ring's end */
    struct perf_sample sample;
};

/* ---- a sample ---- */

/* Parses the call chain, the kernel's frames. */
static bool parse_chain(struct span *body, struct perf_sample *ret)
{
    uint64_t count, word;

    if (!span_take_u64(body, &count) || count > body->n / sizeof(word))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        span_take_u64(body, &word);
        if (word >= (uint64_t)PERF_CONTEXT_MAX) /* a marker of the context, not a frame */
            continue;
        if (ret->rec.kernel_count == SAMPLE_KERNEL_MAX) {
            ret->rec.flags |= SAMPLE_KERNEL_CUT;
            continue;
        }
        ret->frames[ret->rec.kernel_count++] = word;
    }
    return true;
}

static bool parse_registers(struct span *body, struct perf_sample *ret)
{
    uint64_t abi, from[PERF_HOME_REGISTER_COUNT];
    uint64_t *to = ret->frames + ret->rec.kernel_count;

    if (!span_take_u64(body, &abi))
        return false;
    if (abi == PERF_SAMPLE_REGS_ABI_NONE) /* a thread of the kernel, or an ending one */
        return true;
    for (size_t i = 0; i < PERF_HOME_REGISTER_COUNT; i++) {
        if (!span_take_u64(body, &from[i]))
            return false;
    }
    if (abi != PERF_SAMPLE_REGS_ABI_64) {
        ret->rec.user_end = UNWIND_END_NO_RULE;
        return true;
    }
    ret->rec.flags |= SAMPLE_REGISTERS;
    ret->rec.user_count = SAMPLE_REGISTER_COUNT;
    to[SAMPLE_REGISTER_RUNS] = 0;
    to[SAMPLE_REGISTER_PC] = from[PERF_HOME_PC];
    to[SAMPLE_REGISTER_SP] = from[PERF_HOME_SP];
    to[SAMPLE_REGISTER_FP] = from[PERF_HOME_FP];
    to[SAMPLE_REGISTER_LINK] = from[PERF_HOME_LINK];
    to[SAMPLE_REGISTER_METHOD] = from[PERF_HOME_METHOD];
    to[SAMPLE_REGISTER_BCP] = from[PERF_HOME_BCP];
    to[SAMPLE_REGISTER_THREAD] = from[PERF_HOME_THREAD];
    return true;
}

/* Parses the copy of the stack, which has the requested size; the number of filled bytes follows
 * it. */
static bool parse_stack(struct span *body, struct perf_sample *ret)
{
    uint64_t size, filled;

    if (!span_take_u64(body, &size))
        return false;
    if (!size)
        return true;
    if (size > body->n || !span_take_bytes(body, (size_t)size, &ret->stack) ||
        !span_take_u64(body, &filled) || filled > size)
        return false;
    ret->stack.n = (size_t)filled;
    return true;
}

bool perf_sample_parse(struct span body, uint16_t misc, struct perf_sample *ret)
{
    struct sample_record *rec = &ret->rec;
    uint64_t period;

    *rec = (struct sample_record){ .weight = 1, .user_end = UNWIND_END_ROOT };
    ret->stack = SPAN_NULL;
    if (!span_take_u32(&body, &rec->host_pid) || !span_take_u32(&body, &rec->host_tid) ||
        !span_take_u64(&body, &rec->time_ns) || !span_take_u64(&body, &period))
        return false;
    rec->set = (uint8_t)(period & SET_MASK);
    if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
        rec->flags |= SAMPLE_IN_KERNEL;
    return parse_chain(&body, ret) && parse_registers(&body, ret) && parse_stack(&body, ret);
}

/* ---- the rings ---- */

struct perf_rings *perf_rings_new(void)
{
    struct perf_rings *r = calloc(1, sizeof(*r));

    if (r)
        r->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    return r;
}

struct perf_rings *perf_rings_free(struct perf_rings *r)
{
    if (!r)
        return NULL;
    for (size_t i = 0; i < r->count; i++)
        munmap(r->rings[i].page, r->page_bytes + r->bytes);
    free(r->rings);
    free(r);
    return NULL;
}

static int map_ring(struct perf_rings *r, int fd, struct error *err)
{
    void *p;

    if (!array_grow(&r->rings, &r->cap, r->count + 1, 8))
        return error_set(err, -ENOMEM, "not enough memory for the rings of perf events");
    p = mmap(NULL, r->page_bytes + r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return error_errno(err, "cannot map a ring of perf events");
    r->rings[r->count++] = (struct perf_ring){ p, (const char *)p + r->page_bytes };
    return 0;
}

int perf_rings_add(struct perf_rings *r, const int *fds, size_t count, size_t bytes,
                   struct error *err)
{
    int k = 0;

    if (!bytes || (bytes & (bytes - 1)) || (r->bytes && bytes != r->bytes))
        k = error_set(err, -EPROTO, "rings of %zu bytes cannot be mapped", bytes);
    else
        r->bytes = bytes;
    for (size_t i = 0; i < count; i++) {
        if (k == 0)
            k = map_ring(r, fds[i], err);
        close(fds[i]); /* the mapping keeps the ring */
    }
    return k;
}

size_t perf_rings_count(const struct perf_rings *r)
{
    return r->count;
}

/* Counts the samples that the kernel reports as lost. */
static void take_lost(struct perf_rings *r, struct span body)
{
    uint64_t id, lost;

    if (span_take_u64(&body, &id) && span_take_u64(&body, &lost))
        r->lost += lost;
    else
        r->malformed++;
}

/* Returns the record of @size bytes at position @at of a ring, in one piece. */
static const char *record_at(struct perf_rings *r, const struct perf_ring *ring, uint64_t at,
                             size_t size)
{
    size_t from = (size_t)(at & (r->bytes - 1)), first = MIN(size, r->bytes - from);

    if (first == size)
        return ring->data + from;
    memcpy(r->record, ring->data + from, first);
    memcpy(r->record + first, ring->data, size - first);
    return r->record;
}

/* Passes at most @max samples of @ring to @fn. Returns their number. */
static size_t drain_ring(struct perf_rings *r, const struct perf_ring *ring, size_t max,
                         perf_sample_fn fn, void *cookie)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    struct perf_event_header h;
    size_t handed = 0;

    while (handed < max && tail != head) {
        uint64_t left = head - tail;
        struct span body;

        memcpy(&h, record_at(r, ring, tail, sizeof(h)), sizeof(h));
        if (left > r->bytes || h.size < sizeof(h) || h.size > left) {
            r->malformed++; /* the record's end is unknown, so nothing after it can be parsed */
            tail = head;
            break;
        }
        body = (struct span){ record_at(r, ring, tail, h.size) + sizeof(h), h.size - sizeof(h) };
        if (h.type == PERF_RECORD_LOST) {
            take_lost(r, body);
        } else if (h.type == PERF_RECORD_THROTTLE) {
            r->lost++;
        } else if (h.type == PERF_RECORD_SAMPLE) {
            if (perf_sample_parse(body, h.misc, &r->sample)) {
                fn(cookie, &r->sample);
                handed++;
            } else {
                r->malformed++;
            }
        }
        tail += h.size;
        __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
    return handed;
}

size_t perf_rings_drain(struct perf_rings *r, size_t max, perf_sample_fn fn, void *cookie)
{
    size_t handed = 0, idle = 0;

    while (handed < max && idle < r->count) {
        const struct perf_ring *ring = &r->rings[r->turn++ % r->count];
        size_t n = drain_ring(r, ring, MIN(max - handed, (size_t)TURN_MAX), fn, cookie);

        idle = n ? 0 : idle + 1;
        handed += n;
    }
    return handed;
}

/* Returns the time of the next sample of @ring; UINT64_MAX: there is none. */
static uint64_t next_ns(struct perf_rings *r, const struct perf_ring *ring)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE), time_ns;
    struct perf_event_header h;

    for (uint64_t at = ring->page->data_tail; at != head; at += h.size) {
        memcpy(&h, record_at(r, ring, at, sizeof(h)), sizeof(h));
        if (head - at > r->bytes || h.size < sizeof(h) || h.size > head - at)
            break;
        if (h.type != PERF_RECORD_SAMPLE || h.size < TIME_AT + sizeof(time_ns))
            continue;
        memcpy(&time_ns, record_at(r, ring, at, TIME_AT + sizeof(time_ns)) + TIME_AT,
               sizeof(time_ns));
        return time_ns;
    }
    return UINT64_MAX;
}

uint64_t perf_rings_taken_ns(struct perf_rings *r)
{
    uint64_t first_ns = UINT64_MAX;

    for (size_t i = 0; i < r->count; i++)
        first_ns = MIN(first_ns, next_ns(r, &r->rings[i]));
    return first_ns;
}

uint64_t perf_rings_lost(const struct perf_rings *r)
{
    return r->lost;
}

uint64_t perf_rings_malformed(const struct perf_rings *r)
{
    return r->malformed;
}
