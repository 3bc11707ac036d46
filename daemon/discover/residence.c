/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts a JVM's pages by area. Each count is a job with its own descriptors, as a reader that
 * hangs keeps its job.
 */
#include "discover/residence.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "discover/heap_pages.h"
#include "discover/table.h"
#include "hotspot/counters.h"
#include "proc/pagemap.h"
#include "proc/stall_readers.h"

#include <fcntl.h>
#include <unistd.h>

/* Time between two counts while a JVM's counters are read, by the recorder or for /metrics; also
 * after a failure. */
#define RESIDENCE_EVERY_NS (60 * NSEC_PER_SEC)
#define RESIDENCE_WANTED_NS (60 * NSEC_PER_SEC) /* its counters must be younger */
/* For the recorder: time between two counts of a JVM, between two slices, and length of a slice. */
#define RESIDENCE_UNASKED_NS (300 * NSEC_PER_SEC)
#define RESIDENCE_UNASKED_EVERY_NS (2 * NSEC_PER_SEC)
#define RESIDENCE_UNASKED_POLL_NS (NSEC_PER_MSEC / 2)
#define RESIDENCE_POINT_NS (5 * NSEC_PER_SEC)         /* time between two kept points */
#define RESIDENCE_SLICE_NS (4 * NSEC_PER_MSEC)        /* of a slice, while a request waits */
#define RESIDENCE_POLL_NS (2 * NSEC_PER_MSEC)         /* the same while no request waits */
#define RESIDENCE_POLL_EVERY_NS (250 * NSEC_PER_MSEC) /* between passes while pages are counted */
#define RESIDENCE_IDLE_EVERY_NS NSEC_PER_SEC
#define RESIDENCE_CPU_NS (500 * NSEC_PER_MSEC) /* processor time of one count: more than 100 GB */
#define RESIDENCE_SHARE 50    /* 1/RESIDENCE_SHARE of one processor's time for a JVM */
#define RESIDENCE_JOBS_MAX 16 /* jobs at a time */
#define RESIDENCE_MAPS_NS (50 * NSEC_PER_MSEC)
#define RESIDENCE_PATH_BYTES ((size_t)1 << 20)
#define RESIDENCE_MAPPINGS_MAX 16384
#define BITE_PAGES (READERS_BYTES_MAX / sizeof(uint64_t)) /* pages of one read */
#define PROBE_PAUSE 64 /* segments between two looks at the clock */

struct residence_job {
    struct reading base; /* first */
    struct proc_id id;
    int maps_fd, pagemap_fd, mem_fd; /* owned by the job; the first slice takes maps_fd */
    uint64_t page_bytes;
    uint64_t slice_ns; /* processor time of the next slice */
    uint64_t cpu_ns;   /* processor time spent so far */
    uint64_t began_ns; /* CLOCK_MONOTONIC */
    struct vm_areas vm;
    struct memory_pieces pieces;
    bool mapped, done;
    size_t *jobs; /* the engine's number of running jobs, this one included */
    size_t next;  /* piece */
    /* The current segment, of one piece and one area. */
    uint64_t at, end;
    enum memory_area area;
    struct page_counts counts[MEMORY_AREA_COUNT];
    uint64_t mapped_bytes[MEMORY_AREA_COUNT];
    bool samples_heap; /* the pages of the heap with */
    struct heap_pages heap;
    uint64_t entries[BITE_PAGES];
};

static void drop_job(struct reading *r)
{
    struct residence_job *j = (struct residence_job *)r;

    memory_pieces_deinit(&j->pieces);
    close_fd(j->maps_fd);
    close_fd(j->pagemap_fd);
    close_fd(j->mem_fd);
    free(j);
}

/* ---- in a reader ---- */

static uint64_t thread_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int map_pieces(struct residence_job *j)
{
    const struct maps_limits limits = { .entries = RESIDENCE_MAPPINGS_MAX,
                                        .path_bytes = RESIDENCE_PATH_BYTES,
                                        .ns = RESIDENCE_MAPS_NS,
                                        .every = true };
    struct maps maps = { 0 };
    int fd = j->maps_fd, r;

    j->maps_fd = -1;
    r = maps_read_exec(&j->id, fd, &limits, &maps);
    if (r < 0)
        return r;
    if (maps.count == 0)
        r = -ESRCH;
    if (r == 0)
        r = memory_pieces_of(&maps, &j->vm, &j->pieces);
    j->pieces.truncated |= maps.truncated;
    maps_deinit(&maps);
    j->mapped = r == 0;
    return r;
}

/* Reads the entries of @pages pages from @at on. Returns their number, 0: the process has ended, or
 * -errno. */
static ssize_t read_entries(struct residence_job *j, uint64_t at, size_t pages)
{
    ssize_t n = readers_pread(&j->id, j->pagemap_fd, at / j->page_bytes * sizeof(*j->entries),
                              j->entries, pages * sizeof(*j->entries));

    return n < 0 ? n : n / (ssize_t)sizeof(*j->entries);
}

/* Returns the bytes of malloc's block or arena at @at; 0: none. Does not read a page that is not in
 * memory: reading would map one. */
static uint64_t probe(struct residence_job *j, uint64_t at, uint64_t end)
{
    uint64_t words[MEMORY_PROBE_WORDS];
    struct page_counts first = { 0 };

    if (read_entries(j, at, 1) != 1)
        return 0;
    pagemap_count(j->entries, 1, &first);
    if (!first.resident ||
        readers_pread(&j->id, j->mem_fd, at, words, sizeof(words)) != (ssize_t)sizeof(words))
        return 0;
    return memory_malloc_bytes(at, end, words);
}

/* Begins the next segment. Returns false if none is left. */
static bool next_segment(struct residence_job *j)
{
    const struct memory_piece *p;
    uint64_t bytes;

    if (j->next == j->pieces.count)
        return false;
    p = &j->pieces.list[j->next];
    j->at = MAX(j->end, p->start);
    j->end = p->end;
    j->area = p->area;
    bytes = p->probe ? probe(j, j->at, p->end) : 0;
    if (bytes) {
        j->area = MEMORY_MALLOC;
        j->end = j->at + bytes;
    }
    if (j->end == p->end)
        j->next++;
    j->mapped_bytes[j->area] += j->end - j->at;
    return true;
}

/* Counts some pages of the segment. Return: 0; -ESRCH: the process has ended; -errno. */
static int count_bite(struct residence_job *j)
{
    size_t pages = (size_t)MIN((j->end - j->at + j->page_bytes - 1) / j->page_bytes, BITE_PAGES);
    ssize_t n = read_entries(j, j->at, pages);

    if (n <= 0)
        return n < 0 ? (int)n : -ESRCH;
    pagemap_count(j->entries, (size_t)n, &j->counts[j->area]);
    if (j->samples_heap && j->area == MEMORY_HEAP)
        heap_pages_add(&j->heap, j->at, j->page_bytes, j->entries, (size_t)n);
    j->at = MIN(j->end, j->at + (uint64_t)n * j->page_bytes);
    return 0;
}

static int run_job(struct reading *reading)
{
    struct residence_job *j = (struct residence_job *)reading;
    uint64_t began_ns = thread_ns();
    unsigned segments = 0;
    int r = 0;

    if (!j->mapped)
        r = map_pieces(j);
    while (r == 0 && !j->done) {
        uint64_t took_ns;

        if (j->at == j->end) {
            j->done = !next_segment(j);
            if (++segments % PROBE_PAUSE)
                continue;
        } else {
            r = count_bite(j);
        }
        took_ns = thread_ns() - began_ns;
        if (took_ns >= j->slice_ns)
            break;
        j->done |= j->cpu_ns + took_ns >= RESIDENCE_CPU_NS;
    }
    j->cpu_ns += thread_ns() - began_ns;
    return r;
}

/* ---- the engine's thread ---- */

/* Returns true if lone pages belong to RSS. Pages shared after a fork do; the kernel's page of
 * zeros does not. */
static bool lone_count(const struct residence_job *j, uint64_t rss_pages)
{
    uint64_t own = 0, lone = 0;

    for (size_t i = 0; i < MEMORY_AREA_COUNT; i++) {
        own += j->counts[i].resident;
        lone += j->counts[i].lone;
    }
    return own < rss_pages - rss_pages / 50 && own + lone <= rss_pages + rss_pages / 50;
}

/* Moves bytes from the unknown area to metaspace if the JVM reports its size without its place (JDK
 * 8). The size is that of the last collection. */
static void set_metaspace(struct residence *ret, const struct counters *c)
{
    uint64_t *bytes = ret->now.bytes, known = bytes[MEMORY_CLASS_SPACE], left, classes;

    if (!c || c->metaspace.committed < 0 || bytes[MEMORY_METASPACE])
        return;
    left = MIN((uint64_t)c->metaspace.committed, bytes[MEMORY_OTHER] + known);
    if (!known && c->class_space.committed > 0) {
        classes = MIN(MIN((uint64_t)c->class_space.committed, left), bytes[MEMORY_OTHER]);
        bytes[MEMORY_CLASS_SPACE] = known = classes;
        bytes[MEMORY_OTHER] -= classes;
    }
    left -= MIN(left, known);
    left = MIN(left, bytes[MEMORY_OTHER]);
    bytes[MEMORY_METASPACE] = left;
    bytes[MEMORY_OTHER] -= left;
}

static void keep_point(struct residence *ret)
{
    const struct residence_point *last =
        &ret->points[(ret->point_next + RESIDENCE_POINTS_MAX - 1) % RESIDENCE_POINTS_MAX];

    if (ret->point_count && ret->now.time_ns - last->time_ns < RESIDENCE_POINT_NS)
        return;
    ret->points[ret->point_next] = ret->now;
    ret->point_next = (ret->point_next + 1) % RESIDENCE_POINTS_MAX;
    ret->point_count = MIN(ret->point_count + 1, (size_t)RESIDENCE_POINTS_MAX);
}

/* Reads which objects the chosen pages hold. If these are unknown, the earlier sample stays. */
static void sample_heap(struct process *p, const struct residence_job *j)
{
    struct residence *ret = p->residence;
    uint64_t began_ns = clock_monotonic_ns();

    if (j->heap.count && p->vm &&
        hotspot_vm_heap_sample(p->vm, j->heap.chosen, j->heap.count, (size_t)j->page_bytes,
                               &ret->heap) == 0)
        ret->heap_time_ns = clock_realtime_ns();
    ret->cpu_ns += clock_monotonic_ns() - began_ns;
}

static int keep_result(struct discover *d, struct image *im, const struct residence_job *j)
{
    struct process *p = &im->p;
    struct residence *ret = p->residence;
    uint64_t rss_bytes;
    uint32_t threads;
    int r = usage_memory(d, im, &rss_bytes, &threads);
    bool lone;

    if (r != 0)
        return r > 0 ? -ESRCH : r;
    if (!ret)
        ret = p->residence = calloc(1, sizeof(*ret));
    if (!ret)
        return -ENOMEM;
    ret->at_ns = ret->held_ns = clock_monotonic_ns();
    ret->cpu_ns = j->cpu_ns;
    ret->now.time_ns = clock_realtime_ns();
    ret->now.rss_bytes = rss_bytes;
    ret->threads = threads;
    ret->java_stacks = (uint32_t)(j->vm.stack_count + j->vm.left_out);
    ret->huge_bytes = j->pieces.huge_bytes;
    ret->truncated = j->pieces.truncated;
    ret->uncounted = j->end - j->at;
    for (size_t i = j->next; i < j->pieces.count; i++)
        ret->uncounted += j->pieces.list[i].end - MAX(j->pieces.list[i].start, j->end);
    lone = lone_count(j, rss_bytes / j->page_bytes);
    for (size_t i = 0; i < MEMORY_AREA_COUNT; i++) {
        const struct page_counts *c = &j->counts[i];

        ret->now.bytes[i] = (c->resident + (lone ? c->lone : 0)) * j->page_bytes;
        ret->swapped[i] = c->swapped * j->page_bytes;
        ret->mapped[i] = j->mapped_bytes[i];
    }
    set_metaspace(ret, p->counters);
    keep_point(ret);
    sample_heap(p, j);
    return 0;
}

static void end_job(struct image *im)
{
    if (!im->residence_job)
        return;
    (*im->residence_job->jobs)--;
    drop_job(&TAKE_PTR(im->residence_job)->base);
}

void residence_forget(struct image *im)
{
    end_job(im);
    free(TAKE_PTR(im->p.residence));
    im->residence_next_ns = 0;
}

/* Returns a number that changes as classes are loaded and unloaded; 0: unknown. */
static uint64_t classes_seen(const struct counters *c)
{
    if (!c || c->classes_loaded < 0 || c->classes_unloaded < 0)
        return 0;
    return 1 + (uint64_t)c->classes_loaded + (uint64_t)MAX(c->shared_classes_loaded, 0) +
           (uint64_t)c->classes_unloaded + (uint64_t)MAX(c->shared_classes_unloaded, 0);
}

static int begin_job(struct discover *d, struct image *im, bool samples_heap, struct error *err)
{
    struct process *p = &im->p;
    struct residence_job *j;
    int r;

    if (!d->source->pagemap || !p->vm || p->mem_fd < 0) {
        error_set(err, -EOPNOTSUPP, "the memory of JVM %d cannot be read", p->id.host_pid);
        return -EOPNOTSUPP;
    }
    if (d->residence.jobs >= RESIDENCE_JOBS_MAX) {
        error_set(err, -EAGAIN, "the pages of %d JVMs are being counted already",
                  RESIDENCE_JOBS_MAX);
        return -EAGAIN;
    }
    j = calloc(1, sizeof(*j));
    if (!j)
        return -ENOMEM;
    *j = (struct residence_job){ .base = { run_job, drop_job, /* jvm= */ true },
                                 .id = p->id,
                                 .jobs = &d->residence.jobs,
                                 .maps_fd = -1,
                                 .pagemap_fd = -1,
                                 .mem_fd = fcntl(p->mem_fd, F_DUPFD_CLOEXEC, 0),
                                 .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
                                 .samples_heap = samples_heap,
                                 .heap.random = clock_monotonic_ns(),
                                 .began_ns = clock_monotonic_ns() };
    r = j->mem_fd < 0 ? -errno : hotspot_vm_areas(p->vm, classes_seen(p->counters), &j->vm);
    if (r > 0)
        r = -ESRCH;
    if (r == 0)
        r = d->source->maps(d->ctx, &p->id, &j->maps_fd, err);
    if (r == 0)
        r = d->source->pagemap(d->ctx, &p->id, &j->pagemap_fd, err);
    if (r != 0) {
        drop_job(&j->base);
        if (r > 0)
            return -ESRCH;
        error_code(err, r, "cannot look at the pages of JVM %d", p->id.host_pid);
        return r;
    }
    im->residence_job = j;
    im->residence_samples &= !samples_heap;
    d->residence.jobs++;
    return 0;
}

/* Runs a slice of the job. Returns 0 (done), -EINPROGRESS or -errno. The job ends unless
 * -EINPROGRESS. */
static int run_slice(struct discover *d, struct image *im, uint64_t slice_ns, struct error *err)
{
    struct residence_job *j = im->residence_job;
    struct reading *reading = &j->base;
    int r;

    j->slice_ns = slice_ns;
    r = readers_run(&im->p.id, &reading);
    if (!reading) { /* the reader keeps the job */
        im->residence_job = NULL;
        d->residence.jobs--;
        return error_set(err, -ETIMEDOUT, "the memory of JVM %d does not answer",
                         im->p.id.host_pid);
    }
    if (r == 0 && !j->done)
        return -EINPROGRESS;
    if (r == 0)
        r = keep_result(d, im, j);
    end_job(im);
    return r < 0 ? error_code(err, r, "cannot count the pages of JVM %d", im->p.id.host_pid) : r;
}

int discover_residence(struct discover *d, struct process *p, uint64_t max_age_ns,
                       struct error *err)
{
    struct image *im = image_of(p);
    uint64_t now_ns = clock_monotonic_ns();
    int r;

    if (p->residence)
        max_age_ns = MAX(max_age_ns, p->residence->cpu_ns * RESIDENCE_SHARE);
    if (!im->residence_job && p->residence && now_ns - p->residence->at_ns <= max_age_ns)
        return 0;
    if (im->residence_job && !im->residence_job->samples_heap)
        im->residence_samples = true;
    r = im->residence_job ? 0 : begin_job(d, im, /* samples_heap= */ true, err);
    if (r == 0)
        r = run_slice(d, im, RESIDENCE_SLICE_NS, err);
    if (r != -EINPROGRESS)
        im->residence_next_ns = now_ns + RESIDENCE_EVERY_NS;
    return r;
}

static bool still_holds(struct discover *d, struct image *im, uint64_t now_ns)
{
    struct residence *last = im->p.residence;
    uint64_t rss_bytes;
    uint32_t threads;

    if (!last || usage_memory(d, im, &rss_bytes, &threads) != 0 ||
        !residence_holds(last, rss_bytes, now_ns))
        return false;
    last->held_ns = now_ns;
    return true;
}

/* Returns true if a count of @im is due and its counters are being read, by a scraper or the
 * recorder. */
static bool is_wanted(const struct discover *d, const struct image *im, uint64_t now_ns)
{
    const struct residence *last = im->p.residence;
    bool scraped = now_ns < d->counters.until_ns;

    return now_ns >= im->residence_next_ns && im->p.counters &&
           now_ns - im->p.counters_ns < RESIDENCE_WANTED_NS &&
           (scraped || !last || now_ns - last->at_ns >= RESIDENCE_UNASKED_NS);
}

/* Runs a slice of the count of @im, if it is due. */
static void poll_one(struct discover *d, struct image *im, uint64_t now_ns, uint64_t slice_ns)
{
    int r;

    if (!im->residence_job && !is_wanted(d, im, now_ns))
        return;
    if (!im->residence_job && still_holds(d, im, now_ns)) {
        im->residence_next_ns = now_ns + RESIDENCE_EVERY_NS;
        return;
    }
    r = im->residence_job ? 0 : begin_job(d, im, im->residence_samples, NULL);
    if (r == 0)
        r = run_slice(d, im, slice_ns, NULL);
    if (r != -EINPROGRESS)
        im->residence_next_ns = now_ns + RESIDENCE_EVERY_NS;
}

void residence_poll(struct discover *d, uint64_t now_ns)
{
    bool scraped = now_ns < d->counters.until_ns;
    uint64_t slice_ns = scraped ? RESIDENCE_POLL_NS : RESIDENCE_UNASKED_POLL_NS;
    uint64_t deadline_ns = now_ns + slice_ns;

    if (now_ns < d->residence.pass_ns)
        return;
    d->residence.pass_ns = now_ns + (!scraped            ? RESIDENCE_UNASKED_EVERY_NS
                                     : d->residence.jobs ? RESIDENCE_POLL_EVERY_NS
                                                         : RESIDENCE_IDLE_EVERY_NS);
    d->in_each++;
    for (struct image *im = d->all; im && clock_monotonic_ns() < deadline_ns; im = im->all_next) {
        if (im->p.jvm == JVM_READY && image_is_live(im) && !im->quarantined)
            poll_one(d, im, now_ns, slice_ns);
    }
    d->in_each--;
}
