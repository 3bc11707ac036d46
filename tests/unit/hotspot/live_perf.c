/* SPDX-License-Identifier: Apache-2.0 */
#include "live_perf.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define RING_PAGES 1024
#ifdef __x86_64__
#define STACK_POINTER 7 /* PERF_REG_X86_SP */
#else
#define STACK_POINTER 31 /* PERF_REG_ARM64_SP */
#endif

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int live_perf_open(pid_t tid, unsigned hz, struct live_perf *ret)
{
    struct perf_event_attr a = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(a),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = NSEC_PER_SEC / hz,
        .sample_type =
            PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .exclude_kernel = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .sample_regs_user = 1ULL << STACK_POINTER,
        .sample_stack_user = LIVE_STACK_WORDS * 8,
    };

    ret->fd = (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (ret->fd < 0)
        return -errno;
    ret->ring =
        mmap(NULL, (RING_PAGES + 1) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, 0);
    if (ret->ring == MAP_FAILED) {
        int r = -errno;

        close(ret->fd);
        return r;
    }
    return 0;
}

void live_perf_drain(struct live_perf *p, live_sample_fn fn, void *cookie)
{
    struct perf_event_mmap_page *m = p->ring;
    const uint8_t *data = (const uint8_t *)p->ring + page_size();
    size_t size = RING_PAGES * page_size();
    uint64_t head = __atomic_load_n(&m->data_head, __ATOMIC_ACQUIRE), tail = m->data_tail;

    while (tail < head) {
        uint64_t record[16 + LIVE_STACK_WORDS];
        struct perf_event_header h;
        struct live_sample s = { 0 };

        for (size_t i = 0; i < sizeof(h); i++)
            ((uint8_t *)&h)[i] = data[(tail + i) % size];
        if (h.type == PERF_RECORD_SAMPLE && h.size <= sizeof(record)) {
            for (size_t i = 0; i < h.size; i++)
                ((uint8_t *)record)[i] = data[(tail + i) % size];
            /* header, ip, time, abi, sp, stack size, stack, dynamic size */
            s.pc = record[1];
            s.time_ns = record[2];
            if (record[3] != 0 && record[5] == sizeof(s.stack)) {
                memcpy(s.stack, &record[6], sizeof(s.stack));
                s.words = (size_t)(record[6 + LIVE_STACK_WORDS] / 8);
            }
            fn(cookie, &s);
        }
        tail += h.size;
    }
    __atomic_store_n(&m->data_tail, tail, __ATOMIC_RELEASE);
}

void live_perf_close(struct live_perf *p)
{
    munmap(p->ring, (RING_PAGES + 1) * page_size());
    close(p->fd);
}
