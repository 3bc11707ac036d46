/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the JVMs, kept for scrapers. An answer must not wait for the memory of thousands of
 * JVMs, or for a JVM that does not answer. So discover_poll() reads counters again and again for a
 * minute after the last request. A scraper with a regular interval gets values read just before its
 * request.
 */
#include "discover/table.h"

#include "base/clock.h"
#include "discover/memory_history.h"
#include "hotspot/counters.h"

#define COUNTERS_FRESH_NS (5 * NSEC_PER_SEC) /* shortest time between two readings of a JVM */
#define COUNTERS_REST_NS (15 * NSEC_PER_SEC) /* longest time, while no scrape is near */
#define COUNTERS_WANTED_NS (60 * NSEC_PER_SEC)
#define COUNTERS_LEFT_NS (60 * NSEC_PER_SEC) /* pause for a JVM that did not answer */
#define COUNTERS_PASS_EVERY_NS (250 * NSEC_PER_MSEC)
#define COUNTERS_PASS_NS (2 * NSEC_PER_MSEC)   /* time of a pass over all JVMs */
#define COUNTERS_EACH_NS (NSEC_PER_SEC / 5000) /* part of that time for one JVM */
#define COUNTERS_FIRST_NS (20 * NSEC_PER_MSEC) /* time of a pass while a request waits */
/* Steps of slow readings for the recorder, which reads counters once a second without a request. */
#define UNASKED_RSS_NS (5 * NSEC_PER_SEC)
#define UNASKED_THREADS_NS (30 * NSEC_PER_SEC)

/* Adds a point to the history. RSS is read for kept points only; other points have the RSS of the
 * last reading. */
static void note(struct discover *d, struct image *im, uint64_t now_ns, bool asked)
{
    struct memory_history *h = im->p.history;
    struct memory_point point = memory_point_of(im->p.counters, now_ns, h->last.rss_bytes);

    if (memory_history_due(h, now_ns) &&
        (asked || !h->rss_ns || now_ns - h->rss_ns >= UNASKED_RSS_NS)) {
        h->rss_ns = now_ns;
        proc_read_rss(d->opts.proc_fd, im->p.id.host_pid, &point.rss_bytes);
    }
    memory_history_add(h, &point);
}

static void keep(struct discover *d, struct image *im, const struct counters *c, uint64_t now_ns,
                 bool asked)
{
    struct process *p = &im->p;

    if (!p->counters)
        p->counters = malloc(sizeof(*p->counters));
    if (!p->counters)
        return;
    *p->counters = *c;
    p->counters_ns = now_ns;
    if (!p->history)
        p->history = calloc(1, sizeof(*p->history));
    if (p->history)
        note(d, im, now_ns, asked);
}

int discover_counters(struct discover *d, struct process *p, bool asked)
{
    struct image *im = image_of(p);
    uint64_t now_ns = clock_monotonic_ns();
    struct counters c;
    int r;

    if (!p->vm)
        return -ENOENT;
    if (im->quarantined)
        return -ETIMEDOUT;
    r = hotspot_vm_counters(p->vm, asked ? 0 : UNASKED_THREADS_NS, &c);
    im->counters_next_ns = now_ns + (r == 0            ? COUNTERS_REST_NS
                                     : r == -ETIMEDOUT ? COUNTERS_LEFT_NS
                                                       : COUNTERS_FRESH_NS);
    p->counters_off = r == -ENOENT;
    if (r == 0)
        keep(d, im, &c, now_ns, asked);
    return r == 0 && !p->counters ? -ENOMEM : r;
}

/* Returns true if the next scrape is so near that a reading made now is still fresh then, or that
 * reading all JVMs takes as long. */
static bool scrape_near(const struct discover *d, uint64_t now_ns)
{
    uint64_t all_ns =
        d->counters.jvms * COUNTERS_EACH_NS / COUNTERS_PASS_NS * COUNTERS_PASS_EVERY_NS;

    return scrape_is_near(&d->counters.scrapes, MAX(all_ns, COUNTERS_FRESH_NS), now_ns);
}

/* Returns whether the counters of @im are due. @near: a scrape is near. */
static bool is_due(const struct image *im, uint64_t now_ns, bool near)
{
    return im->counters_next_ns <= now_ns ||
           (near && im->p.counters &&
            im->counters_next_ns <= im->p.counters_ns + COUNTERS_REST_NS &&
            now_ns - im->p.counters_ns >= COUNTERS_FRESH_NS);
}

static void read_due(struct discover *d, uint64_t now_ns, uint64_t budget_ns, bool near)
{
    uint64_t deadline_ns = now_ns + budget_ns;
    size_t jvms = 0;

    d->counters.pass_ns = now_ns + COUNTERS_PASS_EVERY_NS;
    d->in_each++;
    for (struct image *im = d->all; im; im = im->all_next) {
        if (im->p.jvm != JVM_READY || !image_is_live(im) || im->quarantined)
            continue;
        jvms++;
        if (is_due(im, now_ns, near) && clock_monotonic_ns() < deadline_ns)
            discover_counters(d, &im->p, /* asked= */ true);
    }
    d->in_each--;
    d->counters.jvms = jvms;
}

void discover_want_counters(struct discover *d)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool unexpected = now_ns >= d->counters.until_ns || !scrape_near(d, now_ns);

    scrape_times_add(&d->counters.scrapes, now_ns);
    d->counters.until_ns = now_ns + COUNTERS_WANTED_NS;
    if (unexpected)
        read_due(d, now_ns, COUNTERS_FIRST_NS, /* near= */ true);
}

void counters_poll(struct discover *d, uint64_t now_ns)
{
    if (now_ns < d->counters.until_ns && now_ns >= d->counters.pass_ns)
        read_due(d, now_ns, COUNTERS_PASS_NS, scrape_near(d, now_ns));
}
