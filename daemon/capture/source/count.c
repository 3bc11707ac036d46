/* SPDX-License-Identifier: Apache-2.0 */
/* Events that the kernel counts on each processor: CPU time, kernel counters, and pages. */
#include "capture/capture_impl.h"

#include <unistd.h>

#define VMSTAT_BYTES_MAX ((size_t)64 << 10) /* most bytes of /proc/vmstat, which has some 4 KiB */

const struct event_source event_source_count = { .empty = { "the target had none", EMPTY_ONE_IN } };

/* ---- CPU time ---- */

static void timer_warn(const struct capture_event *e)
{
    capture_warn_dropped(e->capture, e->sets[0].period);
}

const struct event_source event_source_timer = {
    .warn = timer_warn, .empty = { "the target used no CPU time", EMPTY_IDLE }
};

/* ---- pages ---- */

struct pages {
    uint64_t huge_before; /* huge pages of the node when the capture began */
};

/* Returns the huge pages that came into use since the node started; 0: not known. */
static uint64_t huge_pages(const struct captures *captures)
{
    static const char NAME[] = "\nthp_fault_alloc ";
    _cleanup_buf_ struct buf text = BUF_UPTO(VMSTAT_BYTES_MAX);
    const char *at;
    uint64_t n = 0;
    struct span s;

    if (buf_read_at(&text, captures->opts.proc_fd, "vmstat") < 0)
        return 0;
    s = buf_span(&text);
    at = memmem(s.p, s.n, NAME, sizeof(NAME) - 1);
    if (!at)
        return 0;
    s = span_from(s, (size_t)(at - s.p) + sizeof(NAME) - 1);
    return span_take_dec(&s, &n) ? n : 0;
}

static void pages_run(struct capture_event *e)
{
    struct pages *p = e->state;

    p->huge_before = huge_pages(e->capture->captures);
}

/* Warns of huge pages. A huge page takes one fault, and the kernel does not report which faults
 * were for huge pages. */
static void pages_warn(const struct capture_event *e)
{
    struct capture *c = e->capture;
    const struct pages *p = e->state;
    uint64_t huge = huge_pages(c->captures);

    if (huge > p->huge_before)
        record_warn(c->record,
                    "%llu huge pages came into use on this node during the capture. Each one of "
                    "the target counts here as a page of only %ld bytes",
                    (unsigned long long)(huge - p->huge_before), sysconf(_SC_PAGESIZE));
}

const struct event_source event_source_pages = { .state_bytes = sizeof(struct pages),
                                                 .run = pages_run,
                                                 .warn = pages_warn,
                                                 .empty = { "the target touched no new memory",
                                                            EMPTY_NO_PAGE } };
