/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of store/: finished captures, kept in SQLite (WAL) in one folder. Facts and labels as
 * rows, samples with their times as compressed blobs, strings and stacks shared between captures.
 * Retention by age and size while running. Knows profiles, nothing of sampling or HTTP. Thread:
 * any; calls block for disk (milliseconds) and are serialised inside. Times are CLOCK_REALTIME
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
    STORE_HISTORY, /* what the flight recorder spills: store/history.h has the functions for it */
};

struct store_opts {
    enum store_kind kind;
    int dir_fd;         /* the folder; borrowed */
    const char *dir;    /* its path, as SQLite will open files below it */
    uint64_t max_bytes; /* 2 GiB: the oldest captures go first */
    uint64_t max_age_s; /* 0: no limit by age */
};

enum store_state { STORE_RUNNING, STORE_DONE, STORE_FAILED };

/* What a list shows of a capture. Strings are valid during the call that hands it out. */
struct store_capture {
    char id[STORE_ID_BYTES];
    enum store_state state;
    uint64_t start_ns, end_ns;
    const char *event;                                 /* names, with commas between them */
    const char *target, *symbols, *schedule, *failure; /* "" where not applicable */
    const char *scope;                                 /* what it was limited to; "": nothing */
    const struct profile_event *events;
    uint32_t event_count;
    uint64_t samples, lost, unknown, truncated;
    uint64_t max_age_s; /* retention of its own (schedules), 0: the store's */
    const char *const *warnings;
    size_t warning_count;
    const struct store_process {
        int32_t host_pid;
        const char *name, *container, *pod, *pod_namespace, *service;
        uint64_t samples;
    } * processes;
    size_t process_count;
    uint64_t bytes; /* in the store */
};

/* Opens or makes the store. A newer schema, a corrupt file, a full disk or a read-only folder are
 * no reason not to start. The store is then opened as far as possible, and old data stays readable
 * if it can be. store_problem() says what is wrong and what to do, and puts fail with that
 * sentence. They open it again every 10 s, so that a mended store works. Return: 0, -ENOMEM and the
 * like. */
int store_open(const struct store_opts *o, struct store **ret, struct error *err);
struct store *store_close(struct store *s);

/* "", or a sentence with the remedy. Copied to @buf. */
void store_problem(struct store *s, char *buf, size_t size);

/* Makes a fresh random id. */
void store_new_id(char ret[STORE_ID_BYTES]);

/* Writes a finished capture whole, or nothing. @p->id is its id. @schedule may be NULL. When this
 * returns 0 it survives a kill -9 of this process. */
int store_put(struct store *s, const struct profile *p, const char *schedule, uint64_t max_age_s,
              struct error *err);
/* Records that a capture has begun, so that a restart finds it. What is still running when a store
 * is opened is marked as failed ("flamed ended while it ran"). */
int store_put_running(struct store *s, const char *id, const struct profile *meta,
                      const char *schedule, struct error *err);
/* Records that a capture failed. */
int store_put_failed(struct store *s, const char *id, const struct profile *meta, const char *why,
                     struct error *err);

#define STORE_NOT_FOUND 1

/* Gets a new reference to its profile (sample times are CLOCK_REALTIME then, as are start_ns and
 * end_ns). STORE_NOT_FOUND; -EBADMSG with a sentence where the file is damaged. */
int store_get(struct store *s, const char *id, struct profile **ret, struct error *err);
/* Facts only, handed to @fn. */
typedef int (*store_capture_fn)(void *cookie, const struct store_capture *c);
int store_get_facts(struct store *s, const char *id, store_capture_fn fn, void *cookie,
                    struct error *err);
int store_delete(struct store *s, const char *id, struct error *err);

struct store_query {
    uint64_t from_ns, to_ns;      /* captures that overlap; 0, UINT64_MAX */
    const char *event, *schedule; /* NULL: any */
    int state;                    /* enum store_state, -1: any */
    int32_t host_pid;             /* 0: any */
    const char *container, *pod, *pod_namespace,
        *service;       /* exact, NULL: any; container: or a prefix of its id */
    const char *scope;  /* of those limited to just this; NULL: any */
    const char *cursor; /* of the page before, NULL: the first */
    size_t limit;
    bool need_open; /* a store that is not open is -ENODEV with the sentence; false: it has none */
};
/* Newest first. @fn returns non-zero to stop. @ret_next gets the cursor of the next page, "" at the
 * end. */
int store_list(struct store *s, const struct store_query *q, store_capture_fn fn, void *cookie,
               char ret_next[64], struct error *err);

/* What has become of the runs of a schedule or trigger: kept beside its captures, so that a restart
 * goes on counting. */
struct store_runs {
    uint64_t last_ns;       /* of the last run; 0: none yet */
    uint64_t last_error_ns; /* of what follows; 0: never */
    uint64_t runs, missed, unmatched;
    char last_id[STORE_ID_BYTES];
    char last_error[ERROR_MSG_MAX + ERROR_REMEDY_MAX + 8]; /* why a run did not begin */
};
int store_put_runs(struct store *s, const char *name, const struct store_runs *h,
                   struct error *err);
/* 0; STORE_NOT_FOUND: nothing is known of it. */
int store_get_runs(struct store *s, const char *name, struct store_runs *ret, struct error *err);

/* Drops what is too old or too much. To be called now and then (each 60 s) and after puts. @now_ns
 * 0: the wall clock cannot be trusted, and nothing is too old. */
int store_retain(struct store *s, uint64_t now_ns, struct error *err);

struct store_stats {
    uint64_t bytes, captures, puts, put_failures, dropped_by_age, dropped_by_size;
    uint64_t oldest_ns;
    uint64_t names_bytes; /* memory of the names and stacks that captures share */
};
/* Gives its counters and sizes. */
void store_stats(struct store *s, struct store_stats *ret);
