/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of store/: finished captures, kept in SQLite (WAL) in one folder. Facts and labels are
 * rows. Samples with their times are compressed blobs. Captures share strings and stacks. Old
 * captures are dropped by age and size. Knows profiles, but not sampling or HTTP. Thread: any;
 * calls block for disk (milliseconds) and are serialised inside. Times are CLOCK_REALTIME
 * nanoseconds.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#define STORE_ID_BYTES 33 /* 32 hex digits and a NUL */

struct store;

/* A file of the store, each with tables of its own. */
enum store_kind {
    STORE_CAPTURES,
    STORE_HISTORY, /* minutes of the flight recorder; its functions are in store/history.h */
};

struct store_opts {
    enum store_kind kind;
    int dir_fd;         /* the folder; borrowed */
    const char *dir;    /* path of the folder, by which SQLite opens the files */
    uint64_t max_bytes; /* limit of the file: above it, the oldest captures are dropped */
    uint64_t max_age_s; /* 0: no limit by age */
};

enum store_state { STORE_RUNNING, STORE_DONE, STORE_FAILED };

/* The facts of a capture in a list. Strings are valid during the callback only. */
struct store_capture {
    char id[STORE_ID_BYTES];
    enum store_state state;
    uint64_t start_ns, end_ns;
    const char *event;                                 /* names, separated by commas */
    const char *target, *symbols, *schedule, *failure; /* "" where not applicable */
    const char *scope; /* limit of the capture's targets; "": none */
    const struct profile_event *events;
    uint32_t event_count;
    uint64_t samples, lost, unknown, truncated;
    uint64_t max_age_s; /* the capture's own retention (schedules); 0: the store's */
    const char *const *warnings;
    size_t warning_count;
    const struct store_process {
        int32_t host_pid;
        const char *name, *container, *pod, *pod_namespace, *service;
        uint64_t samples;
    } * processes;
    size_t process_count;
    uint64_t bytes; /* bytes in the store */
};

/* Opens or makes the store. It does not fail for a newer schema, a corrupt file, a full disk or a
 * read-only folder. It then opens as far as possible, so that old data may be readable.
 * store_problem() gives the reason and the remedy, and writes fail with that sentence. A write
 * opens the store again, at most every 10 s, so a repaired store works. Return: 0, -ENOMEM and the
 * like. */
int store_open(const struct store_opts *o, struct store **ret, struct error *err);
struct store *store_close(struct store *s);

/* Copies the store's problem with its remedy to @buf, "" if there is none. */
void store_problem(struct store *s, char *buf, size_t size);

/* Makes a fresh random id. */
void store_new_id(char ret[STORE_ID_BYTES]);

/* Writes a whole finished capture, or nothing. @p->id is its id. @schedule may be NULL. After it
 * returns 0, the capture survives a kill -9 of this process. */
int store_put(struct store *s, const struct profile *p, const char *schedule, uint64_t max_age_s,
              struct error *err);
/* Records that a capture has begun. A capture still running when a store is opened is marked as
 * failed ("flamed ended while it ran"). */
int store_put_running(struct store *s, const char *id, const struct profile *meta,
                      const char *schedule, struct error *err);
/* Records that a capture failed. */
int store_put_failed(struct store *s, const char *id, const struct profile *meta, const char *why,
                     struct error *err);

#define STORE_NOT_FOUND 1

/* Gets a new reference to the profile of a capture; start_ns, end_ns and sample times are
 * CLOCK_REALTIME. STORE_NOT_FOUND; -EBADMSG with a sentence if the file is damaged. */
int store_get(struct store *s, const char *id, struct profile **ret, struct error *err);
/* Passes the facts of a capture to @fn. */
typedef int (*store_capture_fn)(void *cookie, const struct store_capture *c);
int store_get_facts(struct store *s, const char *id, store_capture_fn fn, void *cookie,
                    struct error *err);
int store_delete(struct store *s, const char *id, struct error *err);
/* Does the same, but waits for a busy store without limit. */
void store_delete_patiently(struct store *s, const char *id);

/* A capture's place in lists, which are sorted by start and id, newest first. A cursor names the
 * last one shown, so it does not reveal how many captures other users have. */
struct store_place {
    uint64_t start_ns;
    char id[STORE_ID_BYTES];
};
#define STORE_CURSOR_BYTES 64
/* Returns 0, or -EINVAL with a sentence about the parameter. */
int store_read_cursor(const char *cursor, struct store_place *ret, struct error *err);
void store_write_cursor(const struct store_place *p, char ret[STORE_CURSOR_BYTES]);

struct store_query {
    uint64_t from_ns, to_ns;      /* captures that overlap [from, to); 0, UINT64_MAX: all */
    const char *event, *schedule; /* NULL: any */
    int state;                    /* enum store_state, -1: any */
    int32_t host_pid;             /* 0: any */
    const char *pod, *pod_namespace, *service; /* exact, NULL: any */
    const char *container;     /* an id, or a prefix of 6 or more of its hex digits; NULL: any */
    const char *container_ids; /* as in struct target_selector; NULL: none */
    const char *scope;         /* captures limited to exactly this; NULL: any */
    const char *cursor;        /* *ret_next of the previous page; NULL: the first */
    size_t limit;
    bool need_open; /* true: a store that is not open fails with -ENODEV; false: it lists nothing */
};
/* Passes captures to @fn, newest first. @fn returns non-zero to stop. @ret_next gets the cursor of
 * the next page, "" at the end. */
int store_list(struct store *s, const struct store_query *q, store_capture_fn fn, void *cookie,
               char ret_next[STORE_CURSOR_BYTES], struct error *err);

/* Counts and last results of the runs of a schedule or trigger. They are stored beside the
 * captures, so that counting continues after a restart. */
struct store_runs {
    uint64_t last_ns;       /* time of the last run; 0: none yet */
    uint64_t last_error_ns; /* time of last_error; 0: never */
    uint64_t runs, missed, unmatched;
    char last_id[STORE_ID_BYTES];
    char last_error[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 8]; /* why a run did not begin */
};
int store_put_runs(struct store *s, const char *name, const struct store_runs *h,
                   struct error *err);
/* Reads the runs of @name. Return: 0; STORE_NOT_FOUND: none are recorded; -errno. */
int store_get_runs(struct store *s, const char *name, struct store_runs *ret, struct error *err);

/* Drops captures over the limits of age and size. Call it every 60 s and after puts. @now_ns 0: the
 * wall clock cannot be trusted, and no capture is too old. */
int store_retain(struct store *s, uint64_t now_ns, struct error *err);

struct store_stats {
    uint64_t bytes, captures, puts, put_failures, dropped_by_age, dropped_by_size;
    uint64_t oldest_ns;
    uint64_t names_bytes; /* memory of the names and stacks that captures share, bytes */
};
/* Returns counters and sizes. */
void store_stats(struct store *s, struct store_stats *ret);
