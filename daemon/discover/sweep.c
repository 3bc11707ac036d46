/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads all of /proc, a slice per call, so that samples are drained in between. A sweep finds
 * processes that are older than flamed or had their records lost. It ends the images of processes
 * that are gone.
 */
#include "discover/table.h"

#include "base/clock.h"
#include "base/dir.h"
#include "proc/stall_readers.h"

#define SWEEP_EVERY_NS (60 * NSEC_PER_SEC)
#define SWEEP_BLIND_NS (5 * NSEC_PER_SEC) /* time between sweeps without side-band records */
#define SWEEP_AGAIN_NS (2 * NSEC_PER_SEC) /* least time between sweeps after lost records */

/* Sets d->problem from the state of /proc and of side-band events. Process 1 exists in every pid
 * namespace. */
void sweep_check_problem(struct discover *d)
{
    char self[32] = "";
    ssize_t n = readlinkat(d->opts.proc_fd, "self", self, sizeof(self) - 1);
    uint64_t pid;

    d->proc_problem[0] = '\0';
    if (n <= 0 || !span_parse_dec((struct span){ self, (size_t)n }, &pid) ||
        pid != (uint64_t)getpid())
        snprintf(d->proc_problem, sizeof(d->proc_problem),
                 "the /proc that flamed sees belongs to another pid namespace: pids "
                 "name other processes; mount a new proc, or share the host's pid "
                 "namespace (hostPID: true)");
    else if (faccessat(d->opts.proc_fd, "1/stat", R_OK, AT_EACCESS) < 0)
        snprintf(d->proc_problem, sizeof(d->proc_problem),
                 "/proc is mounted with hidepid: other users' processes are out of "
                 "sight; remount it with hidepid=0, or with gid= a group of flamed's");
    snprintf(d->problem, sizeof(d->problem), "%s%s%s", d->proc_problem,
             d->proc_problem[0] && d->sideband_problem[0] ? "; " : "", d->sideband_problem);
}

static void begin(struct discover *d)
{
    d->sweep.dir = dir_open(d->opts.proc_fd, ".");
    if (!d->sweep.dir)
        return;
    d->sweep.number++;
    d->sweep.under_way_after_loss = d->sweep.after_loss;
    d->sweep.wanted = d->sweep.after_loss = false;
}

/* Updates the image of a process in the table, or ends the image if another process has the pid. */
static void visit_known(struct discover *d, struct image *im)
{
    struct proc_stat st;
    int r = readers_stat(d->opts.proc_fd, &im->p.id, &st);
    bool grown;

    if (r < 0)
        return;
    if (r == PROC_GONE || st.start_ticks != im->p.id.start_ticks || proc_stat_is_dead(&st)) {
        image_end(d, im, clock_monotonic_ns(), /* replaced= */ false);
        return;
    }
    im->sweep = d->sweep.number;
    im->look.vsize_bytes = st.vsize_bytes;
    usage_note(im, &st, clock_monotonic_ns());
    image_note_start(im);
    if (!im->facts || d->sweep.under_way_after_loss)
        facts_read(d, im);
    grown = st.vsize_bytes > im->look.last_vsize_bytes + DISCOVER_GROWN_BYTES;
    if (image_is_live(im) && (grown || !im->look.last_ns || d->sweep.under_way_after_loss))
        jvm_look(d, im);
}

static void visit(struct discover *d, int32_t host_pid)
{
    struct image *im = table_newest(d, host_pid);

    if (im && image_is_live(im))
        visit_known(d, im);
    im = table_newest(d, host_pid);
    if (im && (image_is_live(im) || im->p.zombie))
        return;
    im = facts_discover(d, host_pid, /* kernel_threads= */ false);
    if (im && im->p.zombie)
        image_end(d, im, clock_monotonic_ns(), /* replaced= */ false);
    else if (im)
        jvm_look(d, im);
}

/* Ends the sweep, and checks each image for which it met no process. */
static void finish(struct discover *d, uint64_t now_ns)
{
    uint64_t pause_ns = d->sideband ? SWEEP_EVERY_NS : SWEEP_BLIND_NS;

    closedir(d->sweep.dir);
    d->sweep.dir = NULL;
    d->in_each++; /* no image may be freed during the walk */
    for (struct image *im = d->all; im; im = im->all_next) {
        if (image_is_live(im) && im->sweep != d->sweep.number)
            visit_known(d, im);
    }
    d->in_each--;
    sweep_check_problem(d);
    d->stats.sweeps++;
    d->sweep.last_ns = now_ns;
    d->sweep.next_ns = now_ns + pause_ns;
}

void sweep_run(struct discover *d, uint64_t now_ns, uint64_t deadline_ns)
{
    struct dirent *e;
    uint64_t pid;

    if (!d->sweep.dir) {
        if (d->sweep.wanted)
            d->sweep.next_ns = MIN(d->sweep.next_ns, d->sweep.last_ns + SWEEP_AGAIN_NS);
        if (now_ns < d->sweep.next_ns)
            return;
        begin(d);
        if (!d->sweep.dir) {
            d->sweep.next_ns = now_ns + SWEEP_AGAIN_NS;
            return;
        }
    }
    while ((e = readdir(d->sweep.dir))) {
        if (span_parse_dec(span_of(e->d_name), &pid) && pid > 0 && pid <= INT32_MAX)
            visit(d, (int32_t)pid);
        if (clock_monotonic_ns() >= deadline_ns)
            break;
    }
    if (!e)
        finish(d, now_ns);
}

void sweep_free(struct discover *d)
{
    if (d->sweep.dir)
        closedir(d->sweep.dir);
}
