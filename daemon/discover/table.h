/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of discover/: the table of process images, shared by its files and by nobody else.
 *
 *   table.c       entries, their way in and out          recent_forks.c  forks of a moment ago
 *   events.c      what side-band records do to entries   sweep.c         reading /proc in slices
 *   proc_facts.c  one process out of /proc               usage.c         what it costs now
 *   jvm.c         is it a JVM, and which                 args.c          its main class, arguments
 *   jvm_scan.c    the mapping that tells it              jvm_schedule.c  when to look for one
 *   container.c, pod.c, pod_cache.c  names around it     ticks.c         clocks of start times
 *   image_lookup.c  which image a sample is of           scrape_times.c  the next scrape
 *   counters.c    what JVMs count                        residence.c     pages in memory
 *   memory_history.c  the same over time                 discover.c      the door
 *   published.c   what its tracer says of it     process_context.c, tracer_info.c  how it is
 * written
 *
 * Images of one pid stand in one chain, the newest first. An image holds from begin_ns to end_ns.
 * All stand in one list too: to walk a few dozen must not take a look at thousands of chains.
 */
#pragma once

#include "base/budget.h"
#include "discover/discover.h"
#include "discover/pod_cache.h"
#include "discover/recent_forks.h"
#include "discover/scrape_times.h"
#include "discover/sideband.h"

#include <dirent.h>
#include <sched.h>

#define DISCOVER_BUCKETS 4096 /* a power of two */
#define DISCOVER_KEEP_NS (2 * NSEC_PER_SEC)
#define DISCOVER_COMMAND_MAX 256
#define DISCOVER_CGROUP_MAX 1024
#define DISCOVER_NS_PER_TICK UINT64_C(10000000) /* USER_HZ is 100 wherever Linux runs a JVM */
/* A JVM is looked for that long after an exec; in between whenever a sample comes, at twice the
 * age. */
#define DISCOVER_FIRST_LOOK_NS (20 * NSEC_PER_MSEC)
#define DISCOVER_SECOND_LOOK_NS (1 * NSEC_PER_SEC)
#define DISCOVER_THIRD_LOOK_NS (3 * NSEC_PER_SEC) /* a busy node's JVM loads libjvm late */
#define DISCOVER_LAST_LOOK_NS (10 * NSEC_PER_SEC)
#define DISCOVER_QUARANTINED_LOOK_NS (5 * NSEC_PER_SEC) /* whether it is still quarantined */
/* From then on only when it has grown by so much: libjvm alone is larger. */
#define DISCOVER_GROWN_BYTES ((uint64_t)8 << 20)

struct cpu_point {
    uint64_t time_ns, ticks;
};

#define JVM_LIBRARIES_MAX 8 /* libjvm.so of a process that are looked into */

/* Where libjvm.so are mapped from their beginning. A process may have several; one of them runs. */
struct jvm_libraries {
    uint64_t bases[JVM_LIBRARIES_MAX];
    size_t count;
};

struct image {
    struct process p;                  /* first: what callers hold */
    struct image *next;                /* of its chain */
    struct image *all_next, *all_prev; /* of all entries */
    uint64_t begin_ns, end_ns;         /* CLOCK_MONOTONIC; 0 and UINT64_MAX where open */
    uint64_t first_sample_ns;
    uint64_t revive_ns;    /* not before that is an exited or revived one looked at again */
    bool revived;          /* its first thread has ended; no record tells of its end */
    uint32_t unseen_execs; /* told by samples, the records are still to come */
    bool told;             /* opts.dropped() was called for it, */
    unsigned told_pins;    /* and that many pins were left */
    bool handed;           /* code outside may hold it */
    bool facts;            /* read from /proc */
    bool quarantined;      /* at the last look */
    uint64_t facts_ns;     /* when that reading began */
    uint64_t look_ns;      /* with a sample from then on: look for a JVM; UINT64_MAX never */
    uint64_t timer_ns;     /* without a sample: look then; UINT64_MAX never */
    uint64_t looked_ns, looked_vsize_bytes,
        vsize_bytes;                   /* the last look; size then, and as last read */
    uint64_t vm_since_ns, vm_retry_ns; /* JVM_STARTING: since when, and when again */
    unsigned service_tries;      /* to read what its environment says of its service, in vain */
    bool words_missing;          /* these words are to be read again */
    struct buf published;        /* what its tracer says of it: published_read() */
    struct jvm_libraries libjvm; /* JVM_STARTING: one of them may run */
    uint64_t counters_next_ns;   /* its counters are not read before */
    uint64_t residence_next_ns;  /* its pages are not counted before, unasked */
    struct residence_job *residence_job; /* under way; owned; NULL: none */
    uint32_t sweep;                      /* number of the last sweep that saw it */
    struct cpu_point older, newer;
    uint64_t cpu_limit, cpu_limit_ns; /* thousandths of a CPU, 0: none; when that was read */
};

struct discover {
    struct discover_opts opts;
    const struct discover_source *source;
    void *ctx;
    struct image *buckets[DISCOVER_BUCKETS];
    struct image *all, *all_last; /* as they were added */
    size_t count;
    size_t evict_bucket;
    unsigned in_each; /* chains are being walked: nothing may be freed */
    bool in_poll;     /* poll reads records: what was never handed out has no holder */
    struct recent recent;
    struct sideband *sideband;
    cpu_set_t cpus;          /* that were online when its rings were opened */
    uint64_t cpus_ns;        /* when they are looked at again */
    uint64_t last_record_ns; /* time of the newest record */
    uint64_t told_until_ns;  /* records up to then came by the rings before these */
    struct pod_cache *pods;
    struct discover_stats stats;
    uint64_t jvms_found;         /* looks since the start that found one */
    int64_t timens_ns;           /* CLOCK_BOOTTIME here minus the initial namespace's */
    struct budget facts_budget;  /* for reading processes at their first sample */
    struct budget limit_budget;  /* for reading CPU limits again */
    uint64_t scan_ns;            /* when poll looks at all entries again */
    uint64_t counters_until_ns;  /* counters are wanted until then */
    uint64_t counters_pass_ns;   /* when they are looked at again */
    struct scrape_times scrapes; /* when they were wanted */
    size_t counters_jvms;        /* that have some, at the last look */
    uint64_t residence_pass_ns;  /* the same of pages */
    size_t residence_jobs;       /* under way */
    DIR *sweep_dir;              /* a sweep is under way */
    uint32_t sweep;
    bool sweep_wanted, sweep_after_loss, sweeping_after_loss;
    uint64_t sweep_next_ns, sweep_last_ns;
    uint64_t swept_ns; /* when a request had it read last */
    char sideband_problem[704], proc_problem[320];
    char problem[1032];
};

extern const struct discover_source DISCOVER_SOURCE_BROKER;

/* Returns the image that @p is the public part of. */
static inline struct image *image_of(struct process *p)
{
    return (struct image *)p;
}

/* Returns whether it has not ended. */
static inline bool image_is_live(const struct image *im)
{
    return im->end_ns == UINT64_MAX;
}

/* ---- table.c ---- */

/* Returns the newest image of @host_pid, or NULL; image_older() leads to those before it. */
struct image *table_newest(const struct discover *d, int32_t host_pid);
struct image *image_older(const struct image *im);
/* Adds an image, newest of its pid unless @older_than is given; it is live, has no facts and comm
 * as its command. NULL: no room (counted) or no memory. */
struct image *table_add(struct discover *d, const struct proc_id *id, struct image *older_than,
                        struct span comm);
/* Frees @im. */
void table_drop(struct discover *d, struct image *im);
void image_end(struct image *im, uint64_t time_ns, bool replaced);
/* Ends @im if it was revived by a sample and its last thread has ended since: once a second. */
void image_look_if_revived(struct discover *d, struct image *im, uint64_t now_ns);
/* Raw bytes into p->comm; and into p->command while nothing better is known. */
void image_set_comm(struct image *im, struct span comm);
/* Clean text into an owned string of the image; on lack of memory what was there stays. */
void image_set_text(char **field, struct span raw, size_t max);
/* Puts the image after an exec at @time_ns in the place of @im. Return: it, or NULL (no room). */
struct image *image_replace(struct discover *d, struct image *im, uint64_t time_ns,
                            struct span comm);
/* Frees what is gone for long enough, and more of it when the table is nearly full. */
void table_expire(struct discover *d, uint64_t now_ns);

/* ---- events.c ---- */

/* Reads the side-band rings as far as they are written. */
void events_drain(struct discover *d);
/* Opens and maps the rings of the processors that are online. 0; a positive outcome of the source;
 * -errno with @err. */
int events_open(struct discover *d, struct sideband **ret, struct error *err);
/* Opens them again, once a second at most, when processors came or went. */
void events_follow_cpus(struct discover *d, uint64_t now_ns);
void events_on_record(void *cookie, const struct sideband_record *r);

/* ---- ticks.c ---- */

/* Clock ticks after boot, as in /proc/PID/stat, of a CLOCK_MONOTONIC time. */
uint64_t ticks_of_monotonic(const struct discover *d, uint64_t time_ns);
/* And of the start time in a sample. */
uint64_t ticks_of_boottime(const struct discover *d, uint64_t boottime_ns);
/* When the process was started, in CLOCK_MONOTONIC; 0 where that is before it, or unknown. */
uint64_t monotonic_of_ticks(const struct discover *d, uint64_t ticks);

/* ---- proc_facts.c ---- */

/* Reads what /proc says about @im. Return: 0; PROC_GONE when it has ended or was replaced since;
 * -errno. */
int facts_read(struct discover *d, struct image *im);
/* /proc/PID/cmdline, as far as it can be read; @ret is initialised with @max. */
void facts_read_cmdline(struct discover *d, const struct proc_id *id, size_t max, struct buf *ret);
/* Returns the note on a process that has no entry, if it is about the one that started then. */
const struct recent_note *facts_note(const struct discover *d, int32_t host_pid,
                                     uint64_t start_ticks);
/* Makes the entry of a process that has none, out of /proc. NULL: there is none, it is a thread, or
 * no room. */
struct image *facts_discover(struct discover *d, int32_t host_pid, bool kernel_threads);

/* ---- image_lookup.c ---- */

/* Returns the image that a sample is of, made if need be. NULL: no room. */
struct image *which_image(struct discover *d, int32_t host_pid, uint64_t start_ticks,
                          uint32_t exec_id, uint64_t time_ns, struct span comm);

/* ---- jvm.c, jvm_scan.c, jvm_schedule.c ---- */

/* Looks whether @im is a JVM, and opens it. */
void jvm_look(struct discover *d, struct image *im);
/* Tries again to open a JVM that was not ready. */
void jvm_retry(struct discover *d, struct image *im);
/* Sets when to look, from the age of the image. */
void jvm_schedule(struct discover *d, struct image *im);

/* The mappings of a process as far as they tell a JVM. */
struct jvm_scan {
    struct jvm_libraries libjvm;
    bool openj9;
};
/* Returns whether the one at @base is among them. */
bool jvm_libraries_have(const struct jvm_libraries *all, uint64_t base);
/* Takes one of all mappings into @cookie, a struct jvm_scan (maps_fn). */
bool jvm_scan_mapping(const struct mapping *m, void *cookie);
/* Looks through maps file @fd of process @id, which is taken. 0; -ETIMEDOUT: it is not answered;
 * -errno when nothing could be read. */
int jvm_scan_fd(const struct proc_id *id, int fd, struct jvm_scan *ret);

/* ---- published.c ---- */

/* Reads what the tracer of @im publishes into im->published, as of process_context_attributes().
 * Returns whether that is news. What cannot be read leaves what was known before. */
bool published_read(struct discover *d, struct image *im);
/* Returns when to look again; 0: never. */
uint64_t published_next_ns(const struct discover *d, const struct image *im, uint64_t now_ns);

/* ---- sweep.c ---- */

/* Goes on with a sweep, or starts one that is due, until @deadline_ns (CLOCK_MONOTONIC). */
void sweep_run(struct discover *d, uint64_t now_ns, uint64_t deadline_ns);
void sweep_free(struct discover *d);
/* Sets d->problem. */
void sweep_check_problem(struct discover *d);

/* ---- counters.c ---- */

/* Reads the counters that are wanted and due, as far as its time goes. */
void counters_poll(struct discover *d, uint64_t now_ns);

/* ---- residence.c ---- */

/* Goes on counting pages, of JVMs that are wanted and due as of those that were begun. */
void residence_poll(struct discover *d, uint64_t now_ns);
/* Ends what is under way for @im, and forgets what was counted. */
void residence_forget(struct image *im);

/* ---- usage.c ---- */

/* Takes note of the CPU time used up to now. */
void usage_note(struct image *im, const struct proc_stat *st, uint64_t now_ns);
/* Reads how much of @im is in memory, and how many threads it has. 0, PROC_GONE or -errno. */
int usage_memory(struct discover *d, struct image *im, uint64_t *ret_rss_bytes,
                 uint32_t *ret_threads);
