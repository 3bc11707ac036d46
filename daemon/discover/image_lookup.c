/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the image of a sample. Samples and side-band records come through different buffers, so
 * either may be the first to show an exec. The exec number in a sample decides, then its time.
 */
#include "discover/table.h"

#include "proc/stall_readers.h"

#define REVIVE_EVERY_NS (100 * NSEC_PER_MSEC)
#define REVIVE_AFTER_NS (10 * NSEC_PER_MSEC)
#define REVIVED_LOOK_NS NSEC_PER_SEC
/* The kernel raises the exec number at most this long after its record; until then samples have the
 * old number. */
#define EXEC_SETTLES_NS (50 * NSEC_PER_USEC)

/* Revives an exited image if a later sample of its process shows that only its first thread
 * ended. */
static void revive(struct discover *d, struct image *im, uint64_t time_ns)
{
    struct proc_stat st;

    if (im->p.replaced || time_ns < im->end_ns + REVIVE_AFTER_NS || time_ns < im->revive_ns)
        return;
    im->revive_ns = time_ns + REVIVE_EVERY_NS;
    if (readers_stat(d->opts.proc_fd, &im->p.id, &st) != 0 ||
        st.start_ticks != im->p.id.start_ticks || st.threads < 2)
        return;
    im->end_ns = UINT64_MAX;
    im->p.exited = false;
    im->p.exited_ns = 0;
    im->told = false;
    im->p.zombie = proc_stat_is_dead(&st);
    im->revived = true;
}

void image_look_if_revived(struct discover *d, struct image *im, uint64_t now_ns)
{
    struct proc_stat st;
    int r;

    if (!im->revived || !image_is_live(im) || now_ns < im->revive_ns + REVIVED_LOOK_NS)
        return;
    im->revive_ns = now_ns;
    r = readers_stat(d->opts.proc_fd, &im->p.id, &st);
    if (r == PROC_GONE || r == -ENOENT ||
        (r == 0 && (st.start_ticks != im->p.id.start_ticks || proc_stat_is_dead(&st))))
        image_end(d, im, now_ns, /* replaced= */ false);
}

static bool image_holds(const struct image *im, uint64_t time_ns)
{
    return im->begin_ns <= time_ns && time_ns <= im->end_ns;
}

/* Returns the image of the chain with @exec_id, else the image that lived at @time_ns. */
static struct image *match(struct image *im, uint64_t start_ticks, uint32_t exec_id,
                           uint64_t time_ns)
{
    uint64_t before_ns = exec_id ? time_ns - MIN(time_ns, EXEC_SETTLES_NS) : time_ns;
    struct image *by_time = NULL, *settling = NULL, *oldest = NULL;

    for (; im; im = image_older(im)) {
        if (start_ticks && im->p.id.start_ticks && im->p.id.start_ticks != start_ticks)
            continue;
        if (exec_id && im->p.exec_id == exec_id)
            return im;
        if (exec_id && im->p.exec_id)
            continue;
        oldest = im;
        if (!by_time && image_holds(im, before_ns))
            by_time = im;
        if (!settling && image_holds(im, time_ns))
            settling = im;
    }
    if (!by_time)
        by_time = settling;
    return by_time || exec_id ? by_time : oldest;
}

/* Returns the newest image, or with @oldest the oldest, of the process that started at
 * @start_ticks. */
static struct image *of_start(struct image *im, uint64_t start_ticks, bool oldest)
{
    struct image *found = NULL;

    for (; im; im = image_older(im)) {
        if (start_ticks && im->p.id.start_ticks && im->p.id.start_ticks != start_ticks)
            continue;
        found = im;
        if (!oldest)
            break;
    }
    return found;
}

/* Adds the image of a sample after an exec. The record of that exec has not come yet. */
static struct image *add_newer(struct discover *d, struct image *newest, uint32_t exec_id,
                               uint64_t time_ns, struct span comm)
{
    uint32_t execs =
        newest->p.exec_id && exec_id > newest->p.exec_id ? exec_id - newest->p.exec_id : 1;
    struct image *im = image_replace(d, newest, time_ns, comm);

    if (!im)
        return NULL;
    im->p.exec_time_ns = 0; /* not known yet */
    im->begin_ns = 0;
    im->unseen_execs = execs;
    im->first_sample_ns = time_ns;
    return im;
}

/* Adds the image of a sample that ended before flamed knew it, so that /proc has no facts of it. */
static struct image *add_ended(struct discover *d, const struct proc_id *id, struct image *before,
                               uint64_t end_ns, bool replaced, struct span comm)
{
    struct image *im = table_add(d, id, before, comm);

    if (im)
        image_end(d, im, end_ns, replaced);
    return im;
}

/* Adds the image for the first sample of a process, or of one of its images. */
static struct image *add_sampled(struct discover *d, int32_t host_pid, uint64_t start_ticks,
                                 uint32_t exec_id, uint64_t time_ns, struct span comm)
{
    struct proc_id id = { .host_pid = host_pid, .start_ticks = start_ticks };
    struct image *newest = table_newest(d, host_pid), *same = of_start(newest, start_ticks, false);
    const struct recent_note *note = facts_note(d, host_pid, start_ticks);
    struct image *im;

    if (same && (!same->p.exec_id || exec_id > same->p.exec_id) && time_ns >= same->begin_ns)
        return add_newer(d, same, exec_id, time_ns, comm);
    if (same) {
        same = of_start(newest, start_ticks, /* oldest= */ true);
        id.exec_no = same->p.id.exec_no ? same->p.id.exec_no - 1
                                        : of_start(newest, start_ticks, false)->p.id.exec_no + 1;
        return add_ended(d, &id, same, same->begin_ns ? same->begin_ns : time_ns,
                         /* replaced= */ true, comm);
    }
    if (newest && start_ticks && newest->p.id.start_ticks > start_ticks) /* the pid was reused */
        return add_ended(d, &id, newest, time_ns, /* replaced= */ false, comm);
    if (newest)
        image_end(d, newest, time_ns, /* replaced= */ false);
    if (note && note->exec_ns > time_ns) { /* the sample is older than the last exec */
        id.exec_no = note->execs - 1;
        return add_ended(d, &id, NULL, note->exec_ns, /* replaced= */ true, comm);
    }
    id.exec_no = note ? note->execs : 0;
    im = table_add(d, &id, NULL, comm);
    if (!im)
        return NULL;
    if (note)
        im->begin_ns = im->p.exec_time_ns = note->exec_ns;
    jvm_schedule(d, im);
    return im;
}

struct image *which_image(struct discover *d, int32_t host_pid, uint64_t start_ticks,
                          uint32_t exec_id, uint64_t time_ns, struct span comm)
{
    struct image *im = match(table_newest(d, host_pid), start_ticks, exec_id, time_ns);

    if (!im) {
        events_drain(d);
        im = match(table_newest(d, host_pid), start_ticks, exec_id, time_ns);
    }
    if (!im)
        im = add_sampled(d, host_pid, start_ticks, exec_id, time_ns, comm);
    if (!im)
        return NULL;
    if (exec_id && !im->p.exec_id)
        im->p.exec_id = exec_id;
    if (!image_is_live(im))
        revive(d, im, time_ns);
    return im;
}
