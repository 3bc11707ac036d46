/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a sample of perf events: two bytes of misc, then the record. Then the same body in a
 * ring of memory, behind a header, across the ring's end. */
#include "sample/perf_rings.h"
#include "unwind/unwind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RING_BYTES ((size_t)1 << 16)
#define BODY_MAX (RING_BYTES - 64)

static void check(const struct perf_sample *s)
{
    if (s->rec.kernel_count > SAMPLE_KERNEL_MAX || s->rec.user_count > SAMPLE_REGISTER_COUNT ||
        s->stack.n > PERF_HOME_STACK_BYTES * 2u)
        abort();
    if (!(s->rec.flags & SAMPLE_REGISTERS) != !s->rec.user_count)
        abort();
    for (size_t i = 0; i < s->stack.n;
         i += 64) /* the sanitizer checks that all bytes are readable */
        *(volatile const char *)(s->stack.p + i);
}

static void count_sample(void *cookie, const struct perf_sample *s)
{
    check(s);
    ++*(size_t *)cookie;
}

static void through_a_ring(struct span body, uint16_t misc)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), at = RING_BYTES - 8 - body.n / 2 / 8 * 8;
    struct perf_event_header h = { PERF_RECORD_SAMPLE, misc,
                                   (uint16_t)(sizeof(h) + ((body.n + 7) & ~(size_t)7)) };
    struct perf_rings *rings = perf_rings_new();
    int fd = memfd_create("ring", MFD_CLOEXEC), copy = dup(fd);
    struct perf_event_mmap_page *head;
    size_t seen = 0;
    char *p;

    if (!rings || fd < 0 || copy < 0 || ftruncate(fd, (off_t)(page + RING_BYTES)) < 0)
        abort();
    p = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED || perf_rings_add(rings, &copy, 1, RING_BYTES, NULL) < 0)
        abort();
    head = (struct perf_event_mmap_page *)(void *)p;
    for (size_t i = 0; i < sizeof(h) + body.n; i++)
        p[page + (at + i) % RING_BYTES] =
            i < sizeof(h) ? ((const char *)&h)[i] : body.p[i - sizeof(h)];
    head->data_tail = at;
    head->data_head = at + h.size;
    perf_rings_drain(rings, 8, count_sample, &seen);
    if (head->data_tail != head->data_head || seen + perf_rings_malformed(rings) != 1)
        abort();
    perf_rings_free(rings);
    munmap(p, page + RING_BYTES);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct perf_sample sample;
    uint16_t misc;
    struct span body;

    if (size < sizeof(misc))
        return 0;
    memcpy(&misc, data, sizeof(misc));
    body = (struct span){ (const char *)data + sizeof(misc), size - sizeof(misc) };
    if (perf_sample_parse(body, misc, &sample))
        check(&sample);
    if (body.n <= BODY_MAX)
        through_a_ring(body, misc);
    return 0;
}
