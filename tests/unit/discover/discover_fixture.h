/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discover/ over a folder that looks like /proc, with a broker that knows fixtures only. For
 * test_discover_*.c.
 */
#pragma once

#include "suite.h"

#include "discover/age.h"
#include "discover/table.h"

#include "base/clock.h"

#include <fcntl.h>
#include <sys/mman.h>

#define ID "3f4e9f3a1c7b5d2e8a6f0b9c4d1e7f2a5b8c3d6e9f0a1b2c3d4e5f60718293a4"
#define TICK_NS DISCOVER_NS_PER_TICK

static int proc_fd = -1;
static unsigned maps_opened, configs_opened, dropped;
static uint64_t slow_maps_ns; /* how long the broker takes to open maps */

static inline int fake_maps(struct broker *ctx, const struct proc_id *id, int *ret_fd,
                            struct error *err)
{
    char path[64];

    (void)ctx;
    maps_opened++;
    if (slow_maps_ns)
        usleep((useconds_t)(slow_maps_ns / 1000));
    snprintf(path, sizeof(path), "%d/maps", id->host_pid);
    *ret_fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? error_errno(err, "maps") : 0;
}

static inline int fake_mem(struct broker *ctx, const struct proc_id *id, int *ret_fd,
                           struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    error_set(err, -EPERM, "flamed-broker lacks CAP_SYS_PTRACE");
    error_remedy(err, "give it back");
    return -EPERM;
}

static inline int absent(struct broker *ctx, const struct proc_id *id, int *ret_fd,
                         struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static inline int fake_config(struct broker *ctx, const char *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)err;
    configs_opened++;
    if (strcmp(id, ID) != 0)
        return BROKER_ABSENT;
    *ret_fd = open(FLAMED_TEST_DATA "/container/containerd-config.json", O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

static inline int no_logs(struct broker *ctx, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static inline int no_sideband(struct broker *ctx, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                              struct error *err)
{
    (void)ctx;
    (void)ret_fds;
    (void)ret_count;
    error_set(err, -EACCES, "perf events are refused");
    error_remedy(err, "set kernel.perf_event_paranoid to 2");
    return -EACCES;
}

static bool quarantined;
static uint64_t asked_ns; /* of the first call of fake_leaves_alone(), in the middle of a reading */

static inline bool fake_leaves_alone(const struct broker *ctx, const struct proc_id *id,
                                     bool *ret_jvm)
{
    (void)ctx;
    (void)id;
    asked_ns = asked_ns ? asked_ns : clock_monotonic_ns();
    if (quarantined && ret_jvm)
        *ret_jvm = true;
    return quarantined;
}

/* What root made of a process's cgroups, as the broker would say; NULL: what /proc has. */
static const char *made_by_root;

static uint64_t fake_cpu_limit; /* thousandths of a CPU */

static inline int fake_cgroup(struct broker *ctx, const struct proc_id *id, int *ret_fd,
                              uint64_t *ret_cpu_limit, struct error *err)
{
    char path[64], text[4096];
    int from;
    ssize_t n;

    (void)ctx;
    (void)err;
    if (quarantined)
        return -ETIMEDOUT;
    *ret_fd = memfd_create("cgroup", MFD_CLOEXEC);
    *ret_cpu_limit = fake_cpu_limit;
    snprintf(path, sizeof(path), "%d/cgroup", id->host_pid);
    from = made_by_root ? -1 : openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    n = made_by_root ? snprintf(text, sizeof(text), "%s", made_by_root)
                     : read(from, text, sizeof(text));
    close_fd(from);
    ck_assert_int_eq(write(*ret_fd, text, (size_t)n), n);
    ck_assert_int_eq(lseek(*ret_fd, 0, SEEK_SET), 0);
    return 0;
}

static const struct discover_source SOURCE = {
    .maps = fake_maps,
    .mem = fake_mem,
    .hsperfdata = absent,
    .container_config = fake_config,
    .container_logs = no_logs,
    .cgroup = fake_cgroup,
    .is_quarantined = fake_leaves_alone,
    .sideband = no_sideband,
};

static inline void count_dropped(void *cookie, struct process *p)
{
    (void)cookie;
    dropped++;
    if (p->pins && strcmp(p->comm, "cached") == 0)
        process_unpin(p);
}

static inline struct discover *make(const char *folder, bool show_arguments)
{
    struct discover_opts opts = { .show_arguments = show_arguments,
                                  .dropped = count_dropped,
                                  .poll_budget_ns = 60 * NSEC_PER_SEC,
                                  .source = &SOURCE };
    struct discover *d = NULL;
    struct error err = ERROR_NULL;

    proc_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(proc_fd, 0);
    opts.proc_fd = proc_fd;
    maps_opened = configs_opened = dropped = 0;
    asked_ns = 0;
    ck_assert_int_eq(discover_new(NULL, &opts, &d, &err), 0);
    /* However slow the machine is: what is asked for is read at once. */
    budget_init(&d->facts_budget, 1, 60 * NSEC_PER_SEC, clock_monotonic_ns());
    return d;
}

static inline void end(struct discover *d)
{
    discover_free(d);
    proc_fd = close_fd(proc_fd);
}

static inline void tell(struct discover *d, enum sideband_kind kind, int32_t pid, uint64_t time_ns,
                        const char *comm)
{
    struct sideband_record r = { .kind = kind, .host_pid = pid, .time_ns = time_ns, .lost = 3 };

    span_copy(span_of(comm), r.comm, sizeof(r.comm));
    d->in_poll = true; /* as when poll reads the rings */
    events_on_record(d, &r);
    d->in_poll = false;
}

#define NODE FLAMED_TEST_DATA "/proc/node"
