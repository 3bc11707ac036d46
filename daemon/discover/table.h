/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to discover/: the table of process images, which only files of this folder use.
 *
 *   table.c       adding and removing entries            recent_forks.c  recent forks
 *   events.c      effects of side-band records           sweep.c         reading /proc in slices
 *   proc_facts.c  one process from /proc                 usage.c         its present costs
 *   jvm.c         whether it is a JVM, and which         args.c          its main class, arguments
 *   jvm_scan.c    the mapping that shows it              jvm_schedule.c  when to look for a JVM
 *   container.c, pod.c, pod_cache.c  names around it     ticks.c         clocks of start times
 *   image_lookup.c  the image of a sample                scrape_times.c  the next scrape
 *   counters.c    counters of JVMs                       residence.c     pages in memory
 *   memory_history.c  memory over time                   discover.c      the entry
 *   published.c   its tracer's message   process_context.c, tracer_info.c  forms of that message
 *
 * Images of one pid form a chain, the newest first. An image is valid from begin_ns to end_ns. All
 * images are in one list, too: walking a few dozen must not visit thousands of chains.
 */
#pragma once

#include "base/budget.h"
#include "discover/discover.h"
#include "discover/jar.h"
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
/* When to look for a JVM after an exec. Between these times, a sample causes a look when the age
 * has doubled. */
#define DISCOVER_FIRST_LOOK_NS (20 * NSEC_PER_MSEC)
#define DISCOVER_SECOND_LOOK_NS (1 * NSEC_PER_SEC)
#define DISCOVER_THIRD_LOOK_NS (3 * NSEC_PER_SEC) /* a busy node's JVM loads libjvm late */
#define DISCOVER_LAST_LOOK_NS (10 * NSEC_PER_SEC)
#define DISCOVER_QUARANTINED_LOOK_NS (5 * NSEC_PER_SEC) /* to see if it is still quarantined */
/* After the last timed look, the process must grow by this much for another look: libjvm alone is
 * larger. */
#define DISCOVER_GROWN_BYTES ((uint64_t)8 << 20)

struct cpu_point {
    uint64_t time_ns, ticks;
};

#define JVM_LIBRARIES_MAX 8 /* mappings of libjvm.so that are examined in a process */

/* The addresses where files libjvm.so are mapped from their beginning. A process may have several;
 * one of them runs. */
struct jvm_libraries {
    uint64_t bases[JVM_LIBRARIES_MAX];
    size_t count;
};

/* When to look for a JVM in an image. */
struct image_look {
    uint64_t due_ns;                    /* a sample from then on causes a look; UINT64_MAX: never */
    uint64_t timer_ns;                  /* time of a look without a sample; UINT64_MAX: never */
    uint64_t last_ns, last_vsize_bytes; /* time and size at the last look */
    uint64_t vsize_bytes;               /* size as last read */
    uint64_t vm_since_ns, vm_retry_ns;  /* JVM_STARTING: since when, and the next try */
    bool flags_missing;                 /* JVM_READY: its flags have to be read again */
};

/* The words of a JVM's environment that name its service. */
struct image_words {
    unsigned tries; /* failed readings */
    bool missing;   /* they have to be read again */
};

/* The jar of a JVM's program. */
struct image_jar {
    char name[128]; /* without folders; "": it has none */
    unsigned tries; /* to read it */
    struct jar_facts facts;
};

struct image {
    struct process p;                  /* first: the part that callers hold */
    struct image *next;                /* next older image of the pid */
    struct image *all_next, *all_prev; /* neighbours in the list of all entries */
    uint64_t begin_ns, end_ns;         /* CLOCK_MONOTONIC; 0: unknown begin; UINT64_MAX: it runs */
    uint64_t first_sample_ns;
    uint64_t revive_ns;    /* earliest time to look again at an exited or revived image */
    bool revived;          /* its first thread has ended, and no record will report its end */
    uint32_t unseen_execs; /* execs known from samples, before their records */
    bool told;             /* opts.dropped() was called for it */
    unsigned told_pins;    /* number of pins left after that call */
    bool handed;           /* code outside of discover/ may hold it */
    bool facts;            /* the facts were read from /proc */
    uint64_t facts_ns;     /* when that reading began */
    bool quarantined;      /* at the last look */
    struct image_look look;
    struct image_words words;
    struct buf published;                /* what its tracer publishes: published_read() */
    struct image_jar jar;                /* of its program: program_jar.c */
    struct jvm_libraries libjvm;         /* JVM_STARTING: one of them may run */
    uint64_t counters_next_ns;           /* next reading of its counters */
    uint64_t residence_next_ns;          /* next count of its pages without a request */
    struct residence_job *residence_job; /* count under way; owned; NULL: none */
    bool residence_samples;              /* the next count of its pages samples the heap, too */
    uint32_t sweep;                      /* number of the last sweep that saw it */
    struct cpu_point older, newer;
    uint64_t cpu_limit, cpu_limit_ns; /* thousandths of a CPU, 0: no limit; time of that reading */
};

/* Passes over the counters of JVMs. */
struct counters_passes {
    uint64_t until_ns;           /* end of the time in which counters are wanted */
    uint64_t pass_ns;            /* next pass over the counters */
    struct scrape_times scrapes; /* times at which counters were wanted */
    size_t jvms;                 /* ready JVMs, at the last pass */
};

/* Counts of the pages of JVMs. */
struct residence_passes {
    uint64_t pass_ns; /* next pass over the JVMs */
    size_t jobs;      /* under way */
};

/* Sweeps of /proc. */
struct sweeps {
    DIR *dir;        /* NULL: none is under way */
    uint32_t number; /* number of the last sweep */
    bool wanted, after_loss, under_way_after_loss;
    uint64_t next_ns, last_ns;
};

struct entry_scans {
    uint64_t next_ns, expire_ns; /* next walk over all entries; next walk that frees entries */
    bool hurries;                /* a JVM starts, or the last walk did not do all that was due */
};

struct discover {
    struct discover_opts opts;
    const struct discover_source *source;
    void *ctx;
    struct image *buckets[DISCOVER_BUCKETS];
    struct image *all, *all_last; /* in the order in which they were added */
    size_t count;
    size_t evict_bucket;
    unsigned in_each; /* > 0: chains are being walked, so entries must not be freed */
    bool in_poll;     /* records are being read; an image that was not handed out has no holder */
    struct recent recent;
    struct sideband *sideband;
    cpu_set_t cpus;          /* processors online when the rings were opened */
    uint64_t cpus_ns;        /* next look at the online processors */
    uint64_t last_record_ns; /* time of the newest record */
    uint64_t told_until_ns;  /* records up to this time came from earlier rings */
    struct pod_cache *pods;
    struct discover_stats stats;
    uint64_t jvms_changed;      /* looks since the start that found a JVM, and ends of JVMs */
    int64_t timens_ns;          /* CLOCK_BOOTTIME here minus the initial namespace's */
    struct budget facts_budget; /* time for reading processes at their first sample */
    struct budget limit_budget; /* time for reading CPU limits again */
    struct entry_scans scans;
    struct counters_passes counters;
    struct residence_passes residence;
    struct sweeps sweep;
    uint64_t caught_up_ns; /* time of the last discover_catch_up() that read processes */
    char sideband_problem[704], proc_problem[320];
    char problem[1032];
};

extern const struct discover_source DISCOVER_SOURCE_BROKER;

/* Returns the image with the public part @p. */
static inline struct image *image_of(struct process *p)
{
    return (struct image *)p;
}

/* Returns true if the image has not ended. */
static inline bool image_is_live(const struct image *im)
{
    return im->end_ns == UINT64_MAX;
}

/* ---- table.c ---- */

/* Returns the newest image of @host_pid, or NULL; image_older() leads to earlier ones. */
struct image *table_newest(const struct discover *d, int32_t host_pid);
struct image *image_older(const struct image *im);
/* Adds a live image without facts, with @comm as its command. It is the newest of its pid unless
 * @older_than is given. NULL: no room (counted) or no memory. */
struct image *table_add(struct discover *d, const struct proc_id *id, struct image *older_than,
                        struct span comm);
/* Frees @im. */
void table_drop(struct discover *d, struct image *im);
void image_end(struct discover *d, struct image *im, uint64_t time_ns, bool replaced);
/* Checks once a second whether @im, which a sample revived, has ended, and then ends it. */
void image_look_if_revived(struct discover *d, struct image *im, uint64_t now_ns);
/* Copies raw bytes into p->comm, cleaned; also into p->command while no better name is known. */
void image_set_comm(struct image *im, struct span comm);
/* Copies @raw, cleaned, into an owned string of the image. Without memory the old text stays. */
void image_set_text(char **field, struct span raw, size_t max);
/* Replaces @im by the image after an exec at @time_ns. Returns the new image, or NULL (no room). */
struct image *image_replace(struct discover *d, struct image *im, uint64_t time_ns,
                            struct span comm);
/* Frees images that ended long enough ago, and more of them if the table is nearly full. */
void table_expire(struct discover *d, uint64_t now_ns);

/* ---- events.c ---- */

/* Reads all records that the side-band rings hold. */
void events_drain(struct discover *d);
/* Opens and maps the rings of the online processors. Returns 0, a positive outcome of the source or
 * -errno with @err. */
int events_open(struct discover *d, struct sideband **ret, struct error *err);
/* Opens the rings again if processors came or went; checks once a second at most. */
void events_follow_cpus(struct discover *d, uint64_t now_ns);
void events_on_record(void *cookie, const struct sideband_record *r);

/* ---- ticks.c ---- */

/* Converts a CLOCK_MONOTONIC time to clock ticks since boot, as in /proc/PID/stat. */
uint64_t ticks_of_monotonic(const struct discover *d, uint64_t time_ns);
/* Converts the start time of a sample to clock ticks since boot. */
uint64_t ticks_of_boottime(const struct discover *d, uint64_t boottime_ns);
/* Converts clock ticks since boot to CLOCK_MONOTONIC; 0: unknown, or before the zero of that
 * clock. */
uint64_t monotonic_of_ticks(const struct discover *d, uint64_t ticks);
/* Sets the wall clock of the start of @im at its first reading, and when the clock was set. */
void image_note_start(struct image *im);

/* ---- proc_facts.c ---- */

/* Reads the facts of @im from /proc. Return: 0; PROC_GONE: it has ended or was replaced; -errno. */
int facts_read(struct discover *d, struct image *im);
/* Reads /proc/PID/cmdline, up to @max bytes. @ret is initialised, and empty if it cannot be
 * read. */
void facts_read_cmdline(struct discover *d, const struct proc_id *id, size_t max, struct buf *ret);
/* Returns the note on the process @host_pid that started at @start_ticks; NULL: none. */
const struct recent_note *facts_note(const struct discover *d, int32_t host_pid,
                                     uint64_t start_ticks);
/* Makes the entry of a process from /proc. NULL: there is no such process, it is a thread, or the
 * table has no room. */
struct image *facts_discover(struct discover *d, int32_t host_pid, bool kernel_threads);

/* ---- image_lookup.c ---- */

/* Returns the image of a sample, and makes it if it is new. NULL: no room. */
struct image *which_image(struct discover *d, int32_t host_pid, uint64_t start_ticks,
                          uint32_t exec_id, uint64_t time_ns, struct span comm);

/* ---- jvm.c, jvm_scan.c, jvm_schedule.c ---- */

/* Checks whether @im is a JVM, and opens it. */
void jvm_look(struct discover *d, struct image *im);
/* Tries again to open a JVM that was not ready. */
void jvm_retry(struct discover *d, struct image *im);
/* Sets the time of the first look, from the age of the image. */
void jvm_schedule(struct discover *d, struct image *im);

/* Signs of a JVM in the mappings of a process. */
struct jvm_scan {
    struct jvm_libraries libjvm;
    bool openj9;
};
/* Returns true if @all has the library at @base. */
bool jvm_libraries_have(const struct jvm_libraries *all, uint64_t base);
/* Checks one mapping (a maps_fn). @cookie: a struct jvm_scan. */
bool jvm_scan_mapping(const struct mapping *m, void *cookie);
/* Scans the maps file @fd of process @id; closes @fd. Return: 0; -ETIMEDOUT: no answer; -errno: it
 * cannot be read. */
int jvm_scan_fd(const struct proc_id *id, int fd, struct jvm_scan *ret);

/* ---- published.c ---- */

/* Reads what the tracer of @im publishes into im->published, in the form of
 * process_context_attributes(). Returns true if it changed. If it cannot be read, the old text
 * stays. */
bool published_read(struct discover *d, struct image *im);

/* ---- program_jar.c ---- */

/* Finds the name of the jar of @im in its arguments. */
void program_jar_name(struct image *im, struct span cmdline);
/* Returns whether the jar of @im is still to be read. */
bool program_jar_wanted(const struct image *im);
/* Reads the jar of @im for its service, if the JVM has opened its jar by now. */
void program_jar_read(struct discover *d, struct image *im);
/* Copies what is known of the jar to the service of @im. */
void program_jar_use(const struct image *im);
/* Returns when to read again what the tracer of @im publishes; 0: never. */
uint64_t published_next_ns(const struct discover *d, const struct image *im, uint64_t now_ns);

/* ---- sweep.c ---- */

/* Continues a sweep, or starts one that is due, until @deadline_ns (CLOCK_MONOTONIC). */
void sweep_run(struct discover *d, uint64_t now_ns, uint64_t deadline_ns);
void sweep_free(struct discover *d);
/* Sets d->problem. */
void sweep_check_problem(struct discover *d);

/* ---- counters.c ---- */

/* Reads the counters that are wanted and due, within the time of a pass. */
void counters_poll(struct discover *d, uint64_t now_ns);

/* ---- residence.c ---- */

/* Counts pages of JVMs: continues begun counts, and begins those that are due and wanted. */
void residence_poll(struct discover *d, uint64_t now_ns);
/* Ends a running count of @im, and frees the last result. */
void residence_forget(struct image *im);

/* ---- usage.c ---- */

/* Stores the CPU time that @im has used up to now. */
void usage_note(struct image *im, const struct proc_stat *st, uint64_t now_ns);
/* Reads the resident bytes and the number of threads of @im. Returns 0, PROC_GONE or -errno. */
int usage_memory(struct discover *d, struct image *im, uint64_t *ret_rss_bytes,
                 uint32_t *ret_threads);
