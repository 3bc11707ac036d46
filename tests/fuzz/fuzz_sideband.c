/* SPDX-License-Identifier: Apache-2.0 */
/* Records of perf's rings, and their effects on the table of processes. */
#include "discover/table.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int absent(struct broker *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int absent_config(struct broker *ctx, const char *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int absent_logs(struct broker *ctx, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int absent_sideband(struct broker *ctx, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                           struct error *err)
{
    (void)ctx;
    (void)ret_fds;
    (void)ret_count;
    (void)err;
    return BROKER_ABSENT;
}

static const struct discover_source SOURCE = {
    .maps = absent,
    .mem = absent,
    .hsperfdata = absent,
    .container_config = absent_config,
    .container_logs = absent_logs,
    .sideband = absent_sideband,
};

static void count_record(void *cookie, const struct sideband_record *r)
{
    uint64_t *n = cookie;

    if (r->kind == SIDEBAND_OTHER)
        abort();
    (*n)++;
}

/* Reads the same bytes from a ring in memory, across its end. */
static void through_a_ring(struct span s)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = sideband_data_bytes(page);
    size_t n = MIN(s.n, bytes), at = bytes - MIN(n / 2 & ~(size_t)7, bytes);
    int fd = memfd_create("ring", MFD_CLOEXEC);
    struct sideband *rings = NULL;
    struct perf_event_mmap_page *head;
    uint64_t seen = 0;
    char *p;

    if (fd < 0 || ftruncate(fd, (off_t)(page + bytes)) < 0)
        abort();
    p = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        abort();
    head = (struct perf_event_mmap_page *)(void *)p;
    for (size_t i = 0; i < n; i++)
        p[page + (at + i) % bytes] = s.p[i];
    head->data_tail = at;
    head->data_head = at + n;
    if (sideband_map(&fd, 1, &rings, NULL) < 0)
        abort();
    sideband_drain(rings, 1 << 20, count_record, &seen);
    if (head->data_tail != head->data_head || sideband_malformed(rings) > n)
        abort();
    sideband_unmap(rings);
    munmap(p, page + bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct discover_opts opts = { .source = &SOURCE, .proc_fd = -1 };
    struct span s = { (const char *)data, size };
    struct sideband_record r;
    struct discover *d = NULL;
    uint64_t last_ns = 0;

    through_a_ring(s);
    opts.proc_fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* no folder: there are no processes */
    if (discover_new(NULL, &opts, &d, NULL) < 0)
        abort();
    while (s.n) {
        size_t before = s.n;

        if (!sideband_parse(&s, &r)) {
            if (s.n != before)
                abort();
            break;
        }
        if (s.n >= before || strlen(r.comm) >= sizeof(r.comm) ||
            (r.kind != SIDEBAND_OTHER && r.kind != SIDEBAND_LOST && r.host_pid <= 0))
            abort();
        /* Looks up a sample of every second process, before and after. */
        if (r.kind == SIDEBAND_EXEC && (r.host_pid & 1))
            discover_get(d, r.host_pid, (uint64_t)r.comm[0] << 24, (uint32_t)r.comm[1], r.time_ns,
                         r.comm);
        d->in_poll = true;
        if (r.kind != SIDEBAND_OTHER)
            events_on_record(d, &r);
        d->in_poll = false;
        if (r.kind == SIDEBAND_FORK && (r.host_pid & 1))
            discover_get(d, r.host_pid, 0, (uint32_t)r.parent_pid, last_ns, "x");
        last_ns = r.time_ns;
        if (d->count > DISCOVER_PROCESSES_MAX)
            abort();
    }
    discover_poll(d, last_ns);
    discover_free(d);
    close_fd(opts.proc_fd);
    return 0;
}
