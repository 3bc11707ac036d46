/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the image of a sample and the live image of a pid, and does the periodic work of
 * discover/. */
#include "discover/table.h"

#include "base/clock.h"
#include "proc/stall_readers.h"

#define POLL_BUDGET_NS (5 * NSEC_PER_MSEC)  /* unless the options say otherwise */
#define SCAN_EVERY_NS (100 * NSEC_PER_MSEC) /* a look at every entry */
#define SCAN_STARTING_NS (50 * NSEC_PER_MSEC)
#define REFRESH_EVERY_NS (1 * NSEC_PER_SEC)
/* Budget for reading processes at their first sample. A reading takes some 0.1 ms. All readings may
 * take a twentieth of a CPU: 500 processes a second, and 500 at once. Other processes have their
 * comm as name until a later sample. */
#define FACTS_AT_ONCE_NS (50 * NSEC_PER_MSEC)
#define FACTS_SHARE 20
/* Limit of the engine's time for one request, as a fork storm makes many young processes. */
#define CATCH_UP_NS (30 * NSEC_PER_MSEC)
#define LIMIT_AT_ONCE_NS (20 * NSEC_PER_MSEC)
#define LIMIT_SHARE 50

int discover_new(struct broker *b, const struct discover_opts *opts, struct discover **ret,
                 struct error *err)
{
    _cleanup_buf_ struct buf offsets = BUF_UPTO(4096);
    struct discover *d = calloc(1, sizeof(*d));
    struct error why = ERROR_NULL;
    int r;

    if (!d)
        return error_set(err, -ENOMEM, "no memory for the table of processes");
    d->opts = *opts;
    if (!d->opts.poll_budget_ns)
        d->opts.poll_budget_ns = POLL_BUDGET_NS;
    d->source = opts->source ? opts->source : &DISCOVER_SOURCE_BROKER;
    d->ctx = opts->source ? opts->source_ctx : b;
    budget_init(&d->facts_budget, FACTS_SHARE, FACTS_AT_ONCE_NS, clock_monotonic_ns());
    budget_init(&d->limit_budget, LIMIT_SHARE, LIMIT_AT_ONCE_NS, clock_monotonic_ns());
    r = pod_cache_new(d->source, d->ctx, &d->pods);
    if (r < 0) {
        discover_free(d);
        return error_set(err, r, "no memory for the table of processes");
    }
    r = events_open(d, &d->sideband, &why);
    if (r != 0)
        snprintf(d->sideband_problem, sizeof(d->sideband_problem),
                 "new processes are noticed late: %s%s%s", why.msg, why.remedy[0] ? "; " : "",
                 why.remedy);
    if (buf_read_at(&offsets, opts->proc_fd, "self/timens_offsets") == 0)
        d->timens_ns = timens_boottime_ns(buf_span(&offsets));
    sweep_check_problem(d);
    *ret = d;
    return 0;
}

struct discover *discover_free(struct discover *d)
{
    if (!d)
        return NULL;
    while (d->all)
        table_drop(d, d->all);
    sweep_free(d);
    sideband_unmap(d->sideband);
    pod_cache_free(d->pods);
    free(d);
    return NULL;
}

/* Makes entries for processes that have lived for a second since their fork or exec. */
static void poll_recent(struct discover *d, uint64_t now_ns, uint64_t deadline_ns)
{
    int32_t host_pid;

    while (clock_monotonic_ns() < deadline_ns &&
           (host_pid = recent_take_due(&d->recent, now_ns)) != 0) {
        struct image *im = table_newest(d, host_pid);

        if (!im || !image_is_live(im))
            im = facts_discover(d, host_pid, /* kernel_threads= */ false);
        if (im && !im->look.last_ns)
            jvm_look(d, im);
    }
    if (d->recent.missed) {
        d->recent.missed = 0;
        d->sweep.wanted = true;
    }
}

/* Looks for JVMs, retries starting JVMs, and evicts entries, as far as these are due. */
static void poll_entries(struct discover *d, uint64_t now_ns, uint64_t deadline_ns)
{
    bool starting = false, late = false;

    if (now_ns < d->scans.next_ns)
        return;
    table_expire(d, now_ns);
    d->in_each++;
    for (struct image *im = d->all; im; im = im->all_next) {
        bool look = im->look.timer_ns <= now_ns,
             retry = im->look.vm_retry_ns && im->look.vm_retry_ns <= now_ns;

        image_look_if_revived(d, im, now_ns);
        starting |= im->look.vm_retry_ns && im->look.vm_retry_ns < now_ns + SCAN_EVERY_NS;
        if (!look && !retry)
            continue;
        if (clock_monotonic_ns() >= deadline_ns) {
            late = true;
            continue;
        }
        if (look && !im->facts)
            facts_read(d, im);
        if (look)
            jvm_look(d, im);
        else
            jvm_retry(d, im);
    }
    d->in_each--;
    d->scans.hurries = starting || late;
    d->scans.next_ns = now_ns + (d->scans.hurries ? SCAN_STARTING_NS : SCAN_EVERY_NS);
}

bool discover_hurries(const struct discover *d)
{
    return d->scans.hurries || sideband_fills(d->sideband);
}

void discover_poll(struct discover *d, uint64_t now_ns)
{
    uint64_t deadline_ns = clock_monotonic_ns() + d->opts.poll_budget_ns;

    d->in_poll = true;
    events_follow_cpus(d, now_ns);
    events_drain(d);
    d->in_poll = false;
    poll_recent(d, now_ns, deadline_ns);
    poll_entries(d, now_ns, deadline_ns);
    sweep_run(d, now_ns, deadline_ns);
    counters_poll(d, now_ns);
    residence_poll(d, now_ns);
}

void discover_drain(struct discover *d)
{
    events_drain(d);
}

void discover_sweep(struct discover *d)
{
    if (d->sweep.dir) /* a sweep is under way */
        sweep_run(d, clock_monotonic_ns(), UINT64_MAX);
    d->sweep.next_ns = 0;
    sweep_run(d, clock_monotonic_ns(), UINT64_MAX);
}

/* Reads processes that were not read since their exec, although they are not due yet. */
static void look_at_new(struct discover *d, uint64_t deadline_ns)
{
    d->in_each++;
    for (struct image *im = d->all; im; im = im->all_next) {
        if (im->look.last_ns || im->look.timer_ns == UINT64_MAX || !image_is_live(im))
            continue;
        if (clock_monotonic_ns() >= deadline_ns)
            break;
        if (!im->facts)
            facts_read(d, im);
        if (image_is_live(im))
            jvm_look(d, im);
    }
    d->in_each--;
}

void discover_catch_up(struct discover *d)
{
    uint64_t now_ns = clock_monotonic_ns();

    events_drain(d);
    if (d->caught_up_ns && now_ns - d->caught_up_ns < NSEC_PER_SEC)
        return;
    d->caught_up_ns = now_ns;
    if (!d->sideband || !d->stats.sweeps) {
        discover_sweep(d);
        return;
    }
    /* A process can make records get lost. What a sweep does not reach now, polls read later. */
    if (d->sweep.after_loss || (d->sweep.dir && d->sweep.under_way_after_loss)) {
        if (!d->sweep.dir)
            d->sweep.next_ns = 0;
        sweep_run(d, now_ns, now_ns + CATCH_UP_NS);
        return;
    }
    poll_recent(d, /* now_ns= */ UINT64_MAX, now_ns + CATCH_UP_NS);
    look_at_new(d, now_ns + CATCH_UP_NS);
    d->sweep.wanted = true; /* finds processes that became JVMs after they were read */
}

const char *discover_problem(const struct discover *d)
{
    return d->problem;
}

/* Reads a process for a sample, if the budget for such readings allows it. */
static void read_if_affordable(struct discover *d, struct image *im)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!budget_has(&d->facts_budget, now_ns)) {
        im->look.timer_ns = MIN(im->look.timer_ns, now_ns + DISCOVER_SECOND_LOOK_NS);
        return;
    }
    facts_read(d, im);
    budget_spend(&d->facts_budget, clock_monotonic_ns() - now_ns);
}

/* Returns the process of @im, after the readings that a sample of it makes due. */
static struct process *hand_out(struct discover *d, struct image *im, uint64_t time_ns)
{
    im->handed = true;
    if (!im->first_sample_ns)
        im->first_sample_ns = time_ns;
    if (image_is_live(im) && !im->facts)
        read_if_affordable(d, im);
    if (image_is_live(im) && im->facts && im->look.due_ns <= time_ns)
        jvm_look(d, im);
    return &im->p;
}

struct process *discover_get(struct discover *d, int32_t host_pid, uint64_t start_boottime_ns,
                             uint32_t exec_id, uint64_t time_ns, const char *comm)
{
    uint64_t start_ticks = start_boottime_ns ? ticks_of_boottime(d, start_boottime_ns) : 0;
    struct image *im;

    if (host_pid <= 0)
        return NULL;
    im = which_image(d, host_pid, start_ticks, exec_id, time_ns, span_of(comm));
    return im ? hand_out(d, im, time_ns) : NULL;
}

/* Returns true if the process of @im still exists, or if its stat does not answer. */
static bool is_there(struct discover *d, const struct image *im)
{
    struct proc_stat st;
    int r = readers_stat(d->opts.proc_fd, &im->p.id, &st);

    return r == -ETIMEDOUT ||
           (r == 0 && (!im->p.id.start_ticks || st.start_ticks == im->p.id.start_ticks));
}

struct process *discover_find(struct discover *d, int32_t host_pid)
{
    struct image *im;

    if (host_pid <= 0)
        return NULL;
    events_drain(d);
    im = table_newest(d, host_pid);
    if (im && image_is_live(im) && !is_there(d, im))
        image_end(d, im, clock_monotonic_ns(), /* replaced= */ false);
    if (!im || !image_is_live(im))
        im = facts_discover(d, host_pid, /* kernel_threads= */ true);
    else if (!im->facts && facts_read(d, im) != 0)
        im = table_newest(d, host_pid);
    if (!im || !image_is_live(im))
        return NULL;
    im->handed = true;
    if (!im->look.last_ns)
        jvm_look(d, im);
    return &im->p;
}

struct process *discover_known(struct discover *d, const struct proc_id *id)
{
    struct image *im = table_newest(d, id->host_pid);

    if (!im || !image_is_live(im) || !proc_id_equal(&im->p.id, id))
        return NULL;
    im->handed = true;
    return &im->p;
}

int discover_each(struct discover *d, int (*fn)(void *cookie, struct process *p), void *cookie)
{
    int r = 0;

    d->in_each++;
    for (struct image *im = d->all; r == 0 && im; im = im->all_next)
        r = fn(cookie, &im->p);
    d->in_each--;
    return r;
}

void discover_refresh(struct discover *d, struct process *p)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct image *im = image_of(p);

    if (!image_is_live(im))
        return;
    if ((!im->facts || now_ns - im->facts_ns >= REFRESH_EVERY_NS) && facts_read(d, im) != 0)
        return;
    if (p->jvm == JVM_STARTING)
        jvm_retry(d, im);
    else if (p->jvm == JVM_NO &&
             (!im->look.last_ns || now_ns - im->look.last_ns >= REFRESH_EVERY_NS))
        jvm_look(d, im);
}

void process_pin(struct process *p)
{
    p->pins++;
}

void process_unpin(struct process *p)
{
    p->pins--;
}

uint64_t discover_jvms_changed(const struct discover *d)
{
    return d->jvms_changed;
}

void discover_stats(const struct discover *d, struct discover_stats *ret)
{
    *ret = d->stats;
    ret->sideband_malformed += sideband_malformed(d->sideband);
    ret->processes = ret->jvms = 0;
    for (const struct image *im = d->all; im; im = im->all_next) {
        ret->processes += image_is_live(im);
        ret->jvms += image_is_live(im) && im->p.jvm != JVM_NO;
    }
}
