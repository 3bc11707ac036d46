/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request for side-band events: records of forks, execs and exits.
 */
#include "base/cleanup.h"
#include "base/macros.h"
#include "broker/server.h"
#include "sample/sampler_events.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OPENS_MAX 16 /* events of a processor */

int sideband_open(int cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .task = 1,
        .comm = 1,
        .comm_exec = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    long fd = syscall(SYS_perf_event_open, &attr, /* pid= */ -1, cpu, /* group_fd= */ -1,
                      PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

int sideband_problem(int r, struct error *err)
{
    error_code(err, r, "cannot open the kernel's side-band events of processes");
    if (r == -EACCES || r == -EPERM)
        sampler_denied(err);
    else if (r == -EMFILE)
        error_remedy(err, "raise flamed-broker's limit of open files (LimitNOFILE)");
    else if (r == -ENOSYS || r == -ENOENT)
        error_remedy(err,
                     "the kernel needs CONFIG_PERF_EVENTS, and a container a seccomp profile that "
                     "allows perf_event_open");
    return r;
}

struct giving {
    struct server *s;
    struct reply *rep;
    bool online[BROKER_CPUS_MAX];
};

/* Adds the event of @cpu to the reply: a new one until the limit, then the last one. */
static int add_sideband(int cpu, void *cookie)
{
    struct giving *g = cookie;
    struct server_sideband *own = &g->s->sampling.sideband[cpu];
    int fd;

    if (own->opens < OPENS_MAX) {
        fd = sideband_open(cpu);
        if (fd == -ENODEV) /* the CPU went offline since the list was read */
            return 0;
        if (fd < 0)
            return fd;
        if (own->fd > 0)
            close_fd(own->fd);
        own->fd = fd;
        own->opens++;
    }
    g->online[cpu] = true;
    fd = fcntl(own->fd, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -errno : reply_fd(g->rep, fd);
}

/*
 * sideband. Safe: one fixed event that counts nothing. Its records show forks, execs (with the
 * name) and exits on the node, as /proc does. flamed cannot re-program it: ioctl is closed to it.
 * A request opens events again, because the kernel has ended that of a processor that was offline,
 * if only for a moment that nobody saw. But the kernel passes each fork to all events of its
 * processor, so that thousands would slow the machine down. So there are at most OPENS_MAX of a
 * processor, unless it is seen offline, where all of them have ended.
 */
int request_sideband(struct server *s, const struct no_fields *q, struct reply *rep)
{
    struct giving g = { s, rep, { false } };
    int r = cpus_each(add_sideband, &g);

    (void)q;
    if (r < 0)
        return sideband_problem(r, &rep->err);
    for (size_t i = 0; i < ARRAY_SIZE(s->sampling.sideband); i++) {
        if (!g.online[i])
            sideband_forget(&s->sampling.sideband[i]);
    }
    return rep->fd_count ? 0 : error_set(&rep->err, -ENODEV, "no processor is online");
}
