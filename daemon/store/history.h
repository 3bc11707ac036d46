/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history: minutes of the flight recorder, kept for a day and more in a file beside the
 * captures. Each finished minute is merged by process, thread pool, event, state and stack, with
 * counts and values. Parts of 10 minutes and of an hour are sums of shorter parts:
 *
 *   tier 0   1 min    each JVM a row, all other processes of a user one row
 *   tier 1   10 min   sums of tier 0
 *   tier 2   1 h      sums of tier 1
 *
 * One transaction makes a part of the next tier and marks its sources as rolled, so a reader counts
 * each sample once. Knows profiles, nothing of sampling or HTTP. Thread: any; calls block for disk
 * and are serialised inside. Times are CLOCK_REALTIME nanoseconds.
 */
#pragma once

#include "base/error.h"
#include "profile/category.h"
#include "profile/profile.h"

#define HISTORY_TIERS 3
#define HISTORY_MINUTE_NS (60 * NSEC_PER_SEC)
/* Starts of the line that names the container: outside of pods, and in one. */
#define HISTORY_CONTAINER_NAME "container.name="
#define HISTORY_POD_CONTAINER_NAME "k8s.container.name="
/* Start of the line for a version that the JVM does not name itself: that of its container's image,
 * or of its jar. Until a JVM names its own version, it may have such a one. So versions of
 * different sources do not show a release. */
#define HISTORY_VERSION_SOURCE "flamed.version.source="
/* Start of the line for the jar of the program: 16 digits that depend on its contents, a blank, and
 * its name. */
#define HISTORY_JAR "flamed.jar="
#define HISTORY_IMAGES_MAX 100000u /* image rows read for one answer */
#define HISTORY_MARKS_MAX 100000u  /* marks of one answer */
#define HISTORY_IMAGES_KEPT 32768u /* rows of JVMs in the file; a small file has fewer */
#define HISTORY_SLICES_MAX 64      /* slices of one minute */

struct history;

struct history_opts {
    int dir_fd;         /* the folder; borrowed */
    const char *dir;    /* its path, borrowed */
    uint64_t max_bytes; /* limit of the file: above it, the oldest parts are dropped */
    uint64_t max_age_s; /* above 0 */
};

/* Opens or makes the history. Like store_open(), a file that cannot be used is a problem, not an
 * error. Return: 0, -ENOMEM and the like. */
int history_open(const struct history_opts *o, struct history **ret, struct error *err);
struct history *history_close(struct history *h);
/* Copies the history's problem with its remedy to @buf, "" if there is none. */
void history_problem(struct history *h, char *buf, size_t size);

/* Pauses and throttling of a JVM in a minute. */
struct history_stopped {
    uint64_t pauses, pause_ns; /* number and time of the collector's pauses */
    uint64_t throttled_ns;     /* time that its cgroup was stopped by its CPU limit */
};

/* A JVM image in the history. Strings are borrowed, "" if unknown. */
struct history_image {
    int64_t n;        /* row number; ignored in writing */
    int32_t host_pid; /* 0: all processes of `owner` that run no Java code */
    uint32_t exec_no;
    uint64_t start_ticks;
    uint32_t owner; /* user ID that has access; 0: root alone */
    uint64_t payer; /* process_payer(); 0: not known */
    const char *name, *container, *pod, *pod_namespace, *service;
    const char *version, *environment, *java;
    const char *attributes;     /* formatted as in struct profile_process */
    uint64_t flags;             /* hash of the JVM's options; 0: unknown */
    const char *options;        /* only for writing: as in jvm_options.h; NULL: unknown */
    uint64_t started_ns;        /* 0: not known */
    uint64_t first_ns, last_ns; /* when it was seen, in whole minutes; ignored in writing */
    uint64_t ended_ns; /* only for writing: exact end, stored as last_ns; 0: running or unknown */
    bool running;      /* only for writing: certainly runs, so an end that is stored was false */
    struct history_stopped stopped; /* only for writing: pauses and throttling in that minute */
};

/* Where a JVM runs, as the kernel and the runtime report it, not the JVM. Texts are borrowed. */
struct history_place {
    uint32_t owner;
    const char *container, *pod, *pod_namespace, *attributes; /* as in struct history_image */
    uint64_t payer;                                           /* as in struct history_image */
};

/* Returns the place of @image, with its texts. */
struct history_place history_place_of(const struct history_image *image);
/* Returns the name of the container in @attributes; empty: it is in a pod, or its name is not
 * known. */
struct span history_container_name(const char *attributes);
/* Returns the source of the version beside @attributes; empty: the JVM itself. */
struct span history_version_source(const char *attributes);
/* Returns whether two JVMs that claim to be one service can be one. They must have the same user,
 * and the same namespace, container name or container. */
bool history_same_place(const struct history_place *a, const struct history_place *b);

/* The recording of a minute. */
struct history_minute {
    uint64_t start_ns, end_ns;
    struct profile *const *slices; /* times of the slices are ignored */
    size_t slice_count;
    const struct history_image *images; /* running JVMs; a JVM with samples may be missing */
    size_t image_count;
    uint64_t lost;           /* samples that the recorder dropped */
    uint64_t names_left_out; /* strings of images omitted for lack of room */
    int64_t jump_ns;         /* by how much the wall clock was set in this minute; 0: not set */
};
/* Returns the minute of the wall clock that holds the middle of [@start_ns, @end_ns). The recording
 * of that time is stored in the part of that minute. */
static inline uint64_t history_minute_of(uint64_t start_ns, uint64_t end_ns)
{
    uint64_t middle_ns = start_ns + (end_ns - start_ns) / 2;

    return middle_ns - middle_ns % HISTORY_MINUTE_NS;
}
/* Writes a whole minute, or nothing. After it returns 0, the minute survives a kill -9. */
int history_put(struct history *h, const struct history_minute *m, struct error *err);
/* Makes parts of the next tiers from parts complete at @now_ns, and drops parts over the limits of
 * age and size. @now_ns 0: the wall clock cannot be trusted, and no part is too old. Returns 0 or
 * -errno. */
int history_roll(struct history *h, uint64_t now_ns, struct error *err);

/* ---- asking ---- */

struct history_query {
    uint64_t from_ns, to_ns;
    /* Selects the images to read; NULL: all. */
    bool (*wants)(void *cookie, const struct history_image *image);
    /* Selects the events of samples to read; NULL: all. */
    bool (*wants_event)(void *cookie, const char *name);
    void *cookie;
    uint64_t coarsest_ns; /* longer parts only where no shorter parts are kept; 0: any length */
    bool newest_first;    /* history_marks() begins with the last mark */
    bool summed;          /* history_read() adds up samples of different parts */
};

/* What an answer covers. */
struct history_reach {
    uint64_t from_ns, to_ns; /* span of the parts read; may exceed the query's */
    uint64_t covered_ns;     /* running time of the recorder within the query's span */
    uint64_t resolution_ns;  /* length of the longest part; 0: no part was found */
    uint64_t oldest_ns;      /* begin of the oldest part kept; 0: the history is empty */
    uint64_t newest_ns;      /* end of the last minute */
    uint64_t lost;           /* samples that the recorder dropped in the query's span */
    size_t parts, damaged;   /* parts read; parts that could not be read */
    size_t texts_left_out;   /* strings of images and processes omitted for lack of room */
};

/* Passes the samples of [from, to) to @fn as one or several finished profiles, which @fn borrows.
 * Their processes have owners. The time of a sample is the begin of its part, or with
 * history_query.summed the begin of the first part. @fn returns 0 to continue. wants() selects
 * images; @fn must filter the processes of an image that stands for several processes. Return: 0;
 * the result of @fn that stopped it; -errno with @err. */
typedef int (*history_profile_fn)(void *cookie, struct profile *p);
int history_read(struct history *h, const struct history_query *q, history_profile_fn fn,
                 void *cookie, struct history_reach *ret, struct error *err);

/* The CPU samples of a part by category, without stacks. */
struct history_sums {
    uint64_t start_ns, end_ns;
    const struct history_image *image;
    uint64_t samples[CATEGORY_COUNT]; /* samples of CPU time */
    uint64_t period_ns;               /* time between two samples */
};
typedef void (*history_sums_fn)(void *cookie, const struct history_sums *s);
/* Passes the sums of [from, to) to @fn, by time, with the lock held. */
int history_sums(struct history *h, const struct history_query *q, history_sums_fn fn, void *cookie,
                 struct history_reach *ret, struct error *err);

/* Passes the JVM images seen in [from, to) to @fn, the most recently added first. */
typedef void (*history_image_fn)(void *cookie, const struct history_image *image);
int history_images(struct history *h, const struct history_query *q, history_image_fn fn,
                   void *cookie, struct error *err);

/* Passes the minutes of [from, to) in which a wanted image paused or was throttled to @fn, the
 * latest first, with the lock held. Minutes are kept as long as parts of ten minutes. Reads at most
 * @max minutes, of all images. Returns 0; 1: there are earlier ones; -errno. */
typedef void (*history_stop_fn)(void *cookie, int32_t host_pid, uint64_t start_ns,
                                const struct history_stopped *stopped);
int history_stops(struct history *h, const struct history_query *q, size_t max, history_stop_fn fn,
                  void *cookie, struct error *err);

/* The shortest gap; minutes do not follow each other to the nanosecond. */
#define HISTORY_GAP_NS (2 * NSEC_PER_SEC)
/* Passes the times of [from, to) without a minute to @fn, the earliest first, with the lock held.
 * The recorder did not run, or lost its minutes. The time before the oldest minute is no gap.
 * Minutes are kept as long as parts of ten minutes. Return: 0 or -errno with @err. */
typedef void (*history_gap_fn)(void *cookie, uint64_t from_ns, uint64_t to_ns);
int history_gaps(struct history *h, uint64_t from_ns, uint64_t to_ns, history_gap_fn fn,
                 void *cookie, struct error *err);

/* Kinds of marks in a timeline. The values are part of the file format. */
enum history_mark_kind {
    HISTORY_MARK_DEPLOY, /* a JVM differs from its service's last JVM in version, JDK or flags */
    HISTORY_MARK_CLOCK,  /* the wall clock was set */
    HISTORY_MARK_CHANGE, /* the effect of a release, once known */
    HISTORY_MARK_KINDS,
};
struct history_mark {
    uint64_t time_ns;
    enum history_mark_kind kind;
    const struct history_image *image; /* NULL: the mark is of the node */
    const char *text;                  /* a sentence */
    double value;                      /* HISTORY_MARK_CHANGE: percent, NAN: unknown; else 0 */
};
typedef void (*history_mark_fn)(void *cookie, const struct history_mark *m);
/* Passes the marks of wanted images and of the node in [from, to) to @fn, by time, at most
 * HISTORY_MARKS_MAX. *ret_left_out: how many more there are. Marks of other images do not count for
 * that limit. */
int history_marks(struct history *h, const struct history_query *q, history_mark_fn fn,
                  void *cookie, uint64_t *ret_left_out, struct error *err);
/* Adds the mark @m to the row of its image. Return: 0; -ENOENT: the history does not have that
 * image; -errno. */
int history_mark_put(struct history *h, const struct history_mark *m, struct error *err);
/* Returns "deploy", "clock" or "change". Static. */
const char *history_mark_name(enum history_mark_kind kind);

struct history_stats {
    uint64_t bytes, max_bytes;
    uint64_t tier_bytes[HISTORY_TIERS], tier_oldest_ns[HISTORY_TIERS];
    uint64_t minutes, failures;               /* minutes written; minutes that failed */
    uint64_t dropped_by_age, dropped_by_size; /* parts */
    uint64_t images_dropped;                  /* JVMs beyond HISTORY_IMAGES_KEPT */
    uint64_t names_bytes;                     /* memory of dictionaries, bytes */
    uint64_t names_left_out;                  /* strings written as "" for lack of room */
    uint64_t first_ns; /* begin of the oldest minute kept, as it was recorded; 0: none */
    uint64_t newest_ns;
};
/* Returns counters and sizes at the time of the last write. Never waits for the disk. */
void history_stats(struct history *h, struct history_stats *ret);
