/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a process's current use of CPU time (between two readings), memory and threads, and its CPU
 * limit. */
#include "discover/table.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/stall_readers.h"

#define USAGE_SPAN_NS NSEC_PER_SEC         /* shortest span of a percentage */
#define USAGE_LIMIT_NS (10 * NSEC_PER_SEC) /* how long a CPU limit is trusted */
#define USAGE_MILLI 1000.0

void usage_note(struct image *im, const struct proc_stat *st, uint64_t now_ns)
{
    struct cpu_point point = { now_ns, st->utime_ticks + st->stime_ticks };

    if (im->newer.time_ns && now_ns - im->newer.time_ns < USAGE_SPAN_NS)
        return;
    im->older = im->newer;
    im->newer = point;
}

static double percent(uint64_t ticks, uint64_t span_ns)
{
    return span_ns ? (double)ticks * (double)DISCOVER_NS_PER_TICK * 100.0 / (double)span_ns : 0.0;
}

/* Returns the CPU limit. The broker reads the cgroups, which flamed may not see. A budget bounds
 * repeated readings, so that a list of many JVMs need not wait for all of them. */
static double cpu_limit(struct discover *d, struct image *im, uint64_t now_ns)
{
    bool stale = !im->cpu_limit_ns || (now_ns - im->cpu_limit_ns >= USAGE_LIMIT_NS &&
                                       budget_has(&d->limit_budget, now_ns));
    _cleanup_close_ int fd = -1;
    int r;

    if (d->source->cgroup && stale) {
        r = d->source->cgroup(d->ctx, &im->p.id, &fd, &im->cpu_limit, NULL);
        if (r != 0 && r != -ETIMEDOUT) /* of a quarantined owner, the last limit counts */
            im->cpu_limit = 0;
        im->cpu_limit_ns = clock_monotonic_ns();
        budget_spend(&d->limit_budget, im->cpu_limit_ns - now_ns);
    }
    return (double)im->cpu_limit / USAGE_MILLI;
}

/* Reads the current stat and status. Returns 0, PROC_GONE or -errno. */
static int read_now(struct discover *d, struct image *im, struct proc_stat *st,
                    struct proc_status *status)
{
    int r;

    if (im->p.exited)
        return PROC_GONE;
    r = readers_stat(d->opts.proc_fd, &im->p.id, st);
    if (r == 0 && st->start_ticks != im->p.id.start_ticks)
        r = PROC_GONE;
    return r ? r : proc_read_status(d->opts.proc_fd, im->p.id.host_pid, status);
}

int usage_memory(struct discover *d, struct image *im, uint64_t *ret_rss_bytes,
                 uint32_t *ret_threads)
{
    struct proc_status status;
    struct proc_stat st;
    int r = read_now(d, im, &st, &status);

    if (r)
        return r;
    *ret_rss_bytes = status.rss_bytes;
    *ret_threads = status.threads;
    return 0;
}

int discover_usage(struct discover *d, struct process *p, struct process_usage *ret)
{
    struct image *im = image_of(p);
    struct process_usage u = { 0 };
    struct proc_status status;
    struct cpu_point base;
    struct proc_stat st;
    uint64_t now_ns, ticks;
    int r = read_now(d, im, &st, &status);

    if (r)
        return r;
    now_ns = clock_monotonic_ns();
    ticks = st.utime_ticks + st.stime_ticks;
    usage_note(im, &st, now_ns);
    base = im->newer.time_ns && now_ns - im->newer.time_ns >= USAGE_SPAN_NS ? im->newer : im->older;
    if (!base.time_ns) /* at the first reading, count since the start */
        base = (struct cpu_point){ monotonic_of_ticks(d, st.start_ticks), 0 };
    if (now_ns > base.time_ns && ticks >= base.ticks)
        u.cpu_percent = percent(ticks - base.ticks, now_ns - base.time_ns);
    u.rss_bytes = status.rss_bytes;
    u.threads = status.threads;
    u.cpu_limit = cpu_limit(d, im, now_ns);
    *ret = u;
    return 0;
}
