/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies forks, execs and exits to the table. Nothing here reads /proc: a node may do thousands of
 * each in a second.
 */
#include "discover/table.h"

#include "base/cleanup.h"

#define EVENTS_MAX 65536 /* records per drain; more are left for the next */
#define CPUS_EVERY_NS NSEC_PER_SEC
#define CPUS_AGAIN_NS (60 * NSEC_PER_SEC) /* until the next try, if rings could not be opened */

static void told_fork(struct discover *d, const struct sideband_record *r)
{
    struct image *im = table_newest(d, r->host_pid);

    /* A sample of this process may have come before this record. The image then has the start time
     * of this fork. */
    if (im && im->p.id.start_ticks && im->p.id.start_ticks + 1 >= ticks_of_monotonic(d, r->time_ns))
        return;
    if (im) /* the exit of the earlier process was lost */
        image_end(d, im, r->time_ns, /* replaced= */ false);
    recent_fork(&d->recent, r->host_pid, r->time_ns, r->time_ns + DISCOVER_SECOND_LOOK_NS);
}

static void told_exec(struct discover *d, const struct sideband_record *r)
{
    struct image *im = table_newest(d, r->host_pid);
    const struct recent_note *note = recent_find(&d->recent, r->host_pid);

    if (im && note && note->fork_ns > im->begin_ns && !image_is_live(im) &&
        note->fork_ns >= im->end_ns)
        im = NULL; /* another process has the pid now */
    if (!im) {
        recent_exec(&d->recent, r->host_pid, r->time_ns, r->time_ns + DISCOVER_SECOND_LOOK_NS);
        return;
    }
    if (r->time_ns <= im->begin_ns)
        return;
    if (im->unseen_execs && r->time_ns <= im->first_sample_ns) {
        im->unseen_execs--; /* a sample has already shown this exec */
        im->begin_ns = im->p.exec_time_ns = r->time_ns;
        image_set_comm(im, span_of(r->comm));
        return;
    }
    if (im->facts && r->time_ns < im->facts_ns) {
        im->begin_ns = im->p.exec_time_ns =
            r->time_ns; /* the facts that were read are already those of the new image */
        return;
    }
    image_replace(d, im, r->time_ns, span_of(r->comm));
}

static void told_exit(struct discover *d, const struct sideband_record *r)
{
    struct image *im = table_newest(d, r->host_pid);
    const struct recent_note *note = recent_find(&d->recent, r->host_pid);

    if (note && note->fork_ns <= r->time_ns)
        recent_forget(&d->recent, r->host_pid);
    if (!im || !image_is_live(im) || im->p.id.start_ticks > ticks_of_monotonic(d, r->time_ns) + 1)
        return;
    image_end(d, im, r->time_ns, /* replaced= */ false);
    if (d->in_poll && !im->handed && !im->p.pins)
        table_drop(d, im);
}

void events_on_record(void *cookie, const struct sideband_record *r)
{
    struct discover *d = cookie;

    if (r->kind != SIDEBAND_LOST && r->time_ns <= d->told_until_ns)
        return;
    d->last_record_ns = MAX(d->last_record_ns, r->time_ns);
    d->stats.sideband_records++;
    switch (r->kind) {
    case SIDEBAND_FORK:
        told_fork(d, r);
        break;
    case SIDEBAND_EXEC:
        told_exec(d, r);
        break;
    case SIDEBAND_EXIT:
        told_exit(d, r);
        break;
    case SIDEBAND_LOST:
        d->stats.sideband_lost += r->lost;
        d->sweep.wanted = d->sweep.after_loss = true;
        break;
    case SIDEBAND_OTHER:
        break;
    }
}

void events_drain(struct discover *d)
{
    sideband_drain(d->sideband, EVENTS_MAX, events_on_record, d);
}

int events_open(struct discover *d, struct sideband **ret, struct error *err)
{
    _cleanup_free_ int *fds = calloc(BROKER_CPUS_MAX, sizeof(*fds));
    size_t n = 0;
    int r;

    if (!fds)
        return error_set(err, -ENOMEM, "no memory for the rings of process events");
    CPU_ZERO(&d->cpus);
    sched_getaffinity(0, sizeof(d->cpus), &d->cpus); /* the set may be too small */
    r = d->source->sideband(d->ctx, fds, &n, err);
    return r == 0 ? sideband_map(fds, n, ret, err) : r;
}

void events_follow_cpus(struct discover *d, uint64_t now_ns)
{
    struct sideband *fresh = NULL;
    cpu_set_t cpus, before = d->cpus;

    if (!d->sideband || now_ns < d->cpus_ns)
        return;
    d->cpus_ns = now_ns + CPUS_EVERY_NS;
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_EQUAL(&cpus, &before))
        return;
    if (events_open(d, &fresh, NULL) != 0) {
        d->cpus = before;
        d->cpus_ns = now_ns + CPUS_AGAIN_NS;
        return;
    }
    /* A record in both rings is reported once. A sweep finds earlier events of a new processor. */
    while (sideband_drain(d->sideband, EVENTS_MAX, events_on_record, d) == EVENTS_MAX)
        ;
    d->told_until_ns = d->last_record_ns;
    d->stats.sideband_malformed += sideband_malformed(d->sideband);
    sideband_unmap(d->sideband);
    d->sideband = fresh;
    d->sweep.wanted = d->sweep.after_loss = true;
}
