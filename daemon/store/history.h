/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history: what the flight recorder spills, kept for a day and more in a file of its own beside
 * the captures. Finished minutes are merged by process, thread pool, event, state and stack, with
 * counts and values. Parts of 10 minutes and of an hour are made of them:
 *
 *   tier 0   1 min    each JVM a row, all other processes of a user one row
 *   tier 1   10 min   sums of tier 0
 *   tier 2   1 h      sums of tier 1
 *
 * A transaction makes a part of the next tier and marks its sources as rolled. So a reader counts
 * each sample once, whatever was rolled by then. Knows profiles, nothing of sampling or HTTP.
 * Thread: any; calls block for disk and are serialised inside. Times are CLOCK_REALTIME
 * nanoseconds.
 */
#pragma once

#include "base/error.h"
#include "profile/category.h"
#include "profile/profile.h"

#define HISTORY_TIERS 3
#define HISTORY_MINUTE_NS (60 * NSEC_PER_SEC)
#define HISTORY_IMAGES_MAX 100000u /* rows that are read for one answer */
#define HISTORY_SLICES_MAX 64      /* of one minute */

struct history;

struct history_opts {
    int dir_fd;         /* the folder; borrowed */
    const char *dir;    /* its path, borrowed */
    uint64_t max_bytes; /* of the file: the oldest parts of the tier that has most go first */
    uint64_t max_age_s; /* above 0 */
};

/* Opens or makes the history. As store_open(): a file that cannot be used is a problem, no error.
 * Return: 0, -ENOMEM and the like. */
int history_open(const struct history_opts *o, struct history **ret, struct error *err);
struct history *history_close(struct history *h);
/* Copies "", or a sentence with the remedy, to @buf. */
void history_problem(struct history *h, char *buf, size_t size);

/* A JVM image as the history knows it. Strings are borrowed, "" where not known. */
struct history_image {
    int64_t n;        /* its row; of what is put: not looked at */
    int32_t host_pid; /* 0: this stands for all processes of `owner` that run no Java code */
    uint32_t exec_no;
    uint64_t start_ticks;
    uint32_t owner; /* the user that may look into it, 0: root alone */
    const char *name, *container, *pod, *pod_namespace, *service;
    const char *version, *environment, *java;
    const char *attributes;     /* as struct profile_process has them */
    uint64_t flags;             /* hash of the JVM's options; 0: not known */
    uint64_t started_ns;        /* 0: not known */
    uint64_t first_ns, last_ns; /* minutes in which it was there; of what is put: not looked at */
    uint64_t ended_ns;          /* of what is put: last_ns, exactly; 0: it runs, or is not known */
};

/* What was recorded in a minute. */
struct history_minute {
    uint64_t start_ns, end_ns;
    struct profile *const *slices; /* with times of any clock: which ones makes no difference */
    size_t slice_count;
    const struct history_image *images; /* JVMs that run; those with samples need not be here */
    size_t image_count;
    uint64_t lost;           /* samples that the recorder dropped */
    uint64_t names_left_out; /* of images: there was no room */
    int64_t jump_ns;         /* how far the wall clock was set during it; 0: it was not */
};
/* Returns the minute of the wall clock that most of [@start_ns, @end_ns) lies in. What was recorded
 * then is of its part. */
static inline uint64_t history_minute_of(uint64_t start_ns, uint64_t end_ns)
{
    uint64_t middle_ns = start_ns + (end_ns - start_ns) / 2;

    return middle_ns - middle_ns % HISTORY_MINUTE_NS;
}
/* Writes a minute whole, or nothing. When this returns 0, it survives a kill -9. */
int history_put(struct history *h, const struct history_minute *m, struct error *err);
/* Makes parts of the next tiers of what is complete at @now_ns, and drops what is too old or too
 * much. @now_ns 0: the wall clock cannot be trusted, and nothing is too old. 0 or -errno. */
int history_roll(struct history *h, uint64_t now_ns, struct error *err);

/* ---- asking ---- */

struct history_query {
    uint64_t from_ns, to_ns;
    /* Which images are read; NULL: all. */
    bool (*wants)(void *cookie, const struct history_image *image);
    /* Which events of samples are read; NULL: all. */
    bool (*wants_event)(void *cookie, const char *name);
    void *cookie;
    uint64_t coarsest_ns; /* parts longer than this only where there are no others; 0: any */
    bool newest_first;    /* marks are handed out from the last one on */
};

/* What an answer is made of. */
struct history_reach {
    uint64_t from_ns, to_ns; /* of the parts that were read: at least what was asked for */
    uint64_t covered_ns;     /* of the time asked for, when the recorder ran */
    uint64_t resolution_ns;  /* of the longest part; 0: none was read */
    uint64_t oldest_ns;      /* of all that is kept; 0: nothing is */
    uint64_t newest_ns;      /* where the last minute ends */
    uint64_t lost;           /* samples that the recorder dropped in that time */
    size_t parts, damaged;   /* read; left out because the file is damaged there */
    size_t texts_left_out;   /* of images and of their processes: there was no room */
};

/* Hands the samples of [from, to) to @fn, as one or several finished profiles. Their processes have
 * their owners, their samples the time where their part begins. @fn borrows; it returns 0 to go on.
 * Images are asked for as wants() says. Of images that stand for several processes @fn filters.
 * 0; what @fn returned; -errno with @err. */
typedef int (*history_profile_fn)(void *cookie, struct profile *p);
int history_read(struct history *h, const struct history_query *q, history_profile_fn fn,
                 void *cookie, struct history_reach *ret, struct error *err);

/* Sums of a part, without its stacks. */
struct history_sums {
    uint64_t start_ns, end_ns;
    const struct history_image *image;
    uint64_t samples[CATEGORY_COUNT]; /* of CPU time */
    uint64_t period_ns;               /* between two samples */
};
typedef void (*history_sums_fn)(void *cookie, const struct history_sums *s);
/* Hands out the sums of [from, to), by time. */
int history_sums(struct history *h, const struct history_query *q, history_sums_fn fn, void *cookie,
                 struct history_reach *ret, struct error *err);

/* Hands out the images that were there in [from, to), the one that it met last first. */
typedef void (*history_image_fn)(void *cookie, const struct history_image *image);
int history_images(struct history *h, const struct history_query *q, history_image_fn fn,
                   void *cookie, struct error *err);

/* What a timeline shows besides samples. Values are part of the file. */
enum history_mark_kind {
    HISTORY_MARK_DEPLOY, /* a JVM of a service differs from the last one in version, JDK or flags */
    HISTORY_MARK_CLOCK,  /* the wall clock was set */
    HISTORY_MARK_CHANGE, /* what a release has changed, once that is known */
    HISTORY_MARK_KINDS,
};
struct history_mark {
    uint64_t time_ns;
    enum history_mark_kind kind;
    const struct history_image *image; /* NULL: of the node */
    const char *text;                  /* a sentence */
    double value;                      /* HISTORY_MARK_CHANGE: percent, NAN: not known; else 0 */
};
typedef void (*history_mark_fn)(void *cookie, const struct history_mark *m);
/* Hands out at most 10,000 marks of [from, to), by time: those of images that are wanted, and of
 * the node. */
int history_marks(struct history *h, const struct history_query *q, history_mark_fn fn,
                  void *cookie, struct error *err);
/* Adds the mark @m of an image. 0; -ENOENT: the history does not have that image; -errno. */
int history_mark_put(struct history *h, const struct history_mark *m, struct error *err);
/* Returns "deploy", "clock" or "change". Static. */
const char *history_mark_name(enum history_mark_kind kind);

struct history_stats {
    uint64_t bytes, max_bytes;
    uint64_t tier_bytes[HISTORY_TIERS], tier_oldest_ns[HISTORY_TIERS];
    uint64_t minutes, failures;               /* written, not written */
    uint64_t dropped_by_age, dropped_by_size; /* parts */
    uint64_t names_bytes;                     /* memory of dictionaries */
    uint64_t names_left_out;                  /* written as "": there was no room for them */
    uint64_t newest_ns;
};
/* Gives its counters and sizes, as of the last write. Never waits for the disk. */
void history_stats(struct history *h, struct history_stats *ret);
