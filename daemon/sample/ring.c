/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed's end of the BPF ring buffer. It maps the map's fd by itself and makes no bpf() call,
 * which its seccomp filter forbids. The consumer's position is a writable page. The producer's
 * position and the data (mapped twice in a row, so that no record is split) are read-only. There
 * are no wake-ups: the engine polls.
 */
#include "sample/sample.h"

#include "unwind/context.h"

#include <linux/bpf.h>

#include <sys/mman.h>
#include <unistd.h>

#define RING_BYTES_MAX ((size_t)1 << 30)

struct ring {
    uint64_t *consumer; /* owned mapping of a page */
    uint8_t *producer;  /* owned mapping: a page with the position, then the data twice */
    const uint8_t *data;
    size_t page_bytes, bytes;
    uint64_t malformed;
};

int ring_open(int map_fd, size_t bytes, struct ring **ret, struct error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct ring *r;
    void *p;

    if (bytes < page || bytes > RING_BYTES_MAX || (bytes & (bytes - 1)))
        return error_set(err, -EINVAL, "a ring buffer of %zu bytes cannot be mapped", bytes);
    r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->page_bytes = page;
    r->bytes = bytes;
    p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
    if (p != MAP_FAILED) {
        r->consumer = p;
        p = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, map_fd, (off_t)page);
    }
    if (p == MAP_FAILED) {
        int saved = errno;

        ring_close(r);
        errno = saved;
        return error_errno(err, "cannot map the ring buffer");
    }
    r->producer = p;
    r->data = r->producer + page;
    *ret = r;
    return 0;
}

struct ring *ring_close(struct ring *r)
{
    if (!r)
        return NULL;
    if (r->consumer)
        munmap(r->consumer, r->page_bytes);
    if (r->producer)
        munmap(r->producer, r->page_bytes + 2 * r->bytes);
    free(r);
    return NULL;
}

/* Returns true if the @n bytes at @p are one whole record with exactly the frames that it
 * announces. */
static bool record_valid(const uint8_t *p, size_t n)
{
    struct sample_record rec;

    if (n < sizeof(rec))
        return false;
    memcpy(&rec, p, sizeof(rec));
    return rec.kernel_count <= SAMPLE_KERNEL_MAX && rec.user_count <= SAMPLE_USER_MAX &&
           rec.weight > 0 && (rec.context_count == 0 || rec.context_count == CONTEXT_WORDS) &&
           n == sizeof(rec) + ((size_t)rec.kernel_count + rec.user_count + rec.context_count) *
                                  sizeof(uint64_t);
}

/* Passes on the @n bytes at @p. Returns false if they are no record. */
typedef bool (*take_fn)(void *ctx, const uint8_t *p, size_t n);

static size_t drain(struct ring *r, size_t max, take_fn take, void *ctx)
{
    const uint64_t *producer_pos = (const uint64_t *)(const void *)r->producer;
    uint64_t mask = r->bytes - 1, end = __atomic_load_n(producer_pos, __ATOMIC_ACQUIRE);
    uint64_t pos = __atomic_load_n(r->consumer, __ATOMIC_RELAXED);
    size_t handed = 0;

    if (end - pos > r->bytes || (pos & 7)) { /* an impossible position: continue at the end */
        r->malformed++;
        pos = end & ~UINT64_C(7);
        __atomic_store_n(r->consumer, pos, __ATOMIC_RELEASE);
    }
    while (handed < max && end - pos >= BPF_RINGBUF_HDR_SZ) {
        const uint8_t *hdr = r->data + (pos & mask);
        uint32_t word = __atomic_load_n((const uint32_t *)(const void *)hdr, __ATOMIC_ACQUIRE);
        uint64_t len = word & ~(uint32_t)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        uint64_t step = (BPF_RINGBUF_HDR_SZ + len + 7) & ~UINT64_C(7);

        if (word & BPF_RINGBUF_BUSY_BIT) /* its writer has not finished */
            break;
        if (step > end - pos) { /* longer than what is written, so nothing after it can be parsed */
            r->malformed++;
            pos = end & ~UINT64_C(7);
        } else {
            const uint8_t *p = hdr + BPF_RINGBUF_HDR_SZ;

            if (word & BPF_RINGBUF_DISCARD_BIT) {
                /* discarded by its writer */
            } else if (!take(ctx, p, (size_t)len)) {
                r->malformed++;
            } else {
                handed++;
            }
            pos += step;
        }
        __atomic_store_n(r->consumer, pos, __ATOMIC_RELEASE);
    }
    return handed;
}

struct sample_taker {
    ring_sample_fn fn;
    void *cookie;
};

static bool take_sample(void *ctx, const uint8_t *p, size_t n)
{
    struct sample_taker *t = ctx;

    if (!record_valid(p, n))
        return false;
    t->fn(t->cookie, (const struct sample_record *)(const void *)p,
          (const uint64_t *)(const void *)(p + sizeof(struct sample_record)));
    return true;
}

size_t ring_drain(struct ring *r, size_t max, ring_sample_fn fn, void *cookie)
{
    struct sample_taker t = { fn, cookie };

    return drain(r, max, take_sample, &t);
}

struct moment_taker {
    ring_moment_fn fn;
    void *cookie;
};

static bool take_moment(void *ctx, const uint8_t *p, size_t n)
{
    struct moment_taker *t = ctx;
    struct moment_named m;
    bool named;

    if (n != sizeof(m.rec) && n != sizeof(m))
        return false;
    memcpy(&m, p, n);
    named = moment_has_names(m.rec.kind);
    if (m.rec.kind >= MOMENT_KINDS || !memchr(m.rec.name, 0, sizeof(m.rec.name)) ||
        n != (named ? sizeof(m) : sizeof(m.rec)))
        return false;
    t->fn(t->cookie, &m.rec, named ? &m.names : NULL);
    return true;
}

size_t ring_drain_moments(struct ring *r, size_t max, ring_moment_fn fn, void *cookie)
{
    struct moment_taker t = { fn, cookie };

    return drain(r, max, take_moment, &t);
}

uint64_t ring_malformed(const struct ring *r)
{
    return r->malformed;
}
