/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of engine/: the engine, which owns discover, symbolize and every running capture on one
 * thread. Plans a request into sets of events, drains samples, names them and hands them to the
 * captures that take them.
 */
#pragma once

#include "base/error.h"
#include "base/tls_paths.h"
#include "quarantine/quarantine.h"
#include "request/backend.h"
#include "schedule/rules.h"
#include "store/history.h"
#include "store/store.h"

struct engine;
struct lent;

struct engine_opts {
    int broker_fd;       /* owned by the engine from then on */
    int proc_fd;         /* owned by the engine from then on: a directory fd of /proc */
    int namer_fd;        /* connection to the namer process, borrowed; <= 0: symbols stay raw */
    size_t captures_max; /* captures of one caller; request/caller.h limits the total */
    size_t samples_max;  /* samples of one capture */
    size_t captures_max_bytes; /* bytes of all captures together, running or waiting to be stored */
    bool show_arguments;
    struct store *store;               /* borrowed; NULL: captures are not kept */
    struct history *history;           /* borrowed; NULL: the recorder writes no history */
    struct service_counters *counters; /* borrowed; count the slices that the history stores; NULL:
                                        * none */
    uint32_t max_frames;               /* frames of a user stack; 0: SAMPLE_USER_MAX */
    double recorder_hz;                /* 0: no flight recorder */
    uint64_t recorder_keep_ns;         /* greatest age of a sample in the recorder */
    size_t recorder_max_bytes;
    bool recorder_waits;                 /* the recorder also records waits */
    bool recorder_requests;              /* the recorder also records the requests of samples */
    bool recorder_alloc;                 /* the recorder also records allocations of JVMs */
    bool allow_injection;                /* attach to JVMs if a request asks for it */
    bool allow_mounts;                   /* mount in their containers if nothing else works */
    const struct quarantine *quarantine; /* borrowed: process images with memory that is not read */
    /* Called every second, on a thread of its own, with the number of seconds for which the engine
     * is stalled (0: it is not). Borrowed; NULL: not called. */
    void (*look)(void *cookie, unsigned stands_s);
    void *look_cookie;
    struct lent *thread;      /* runs the engine; borrowed; NULL: the engine creates a thread */
    const char *external_url; /* address of this flamed for a browser; borrowed; NULL: not known */
    const char *node;         /* text that sets the phase of schedules; borrowed; NULL: no phase */
};

/* Starts the engine on its thread. Return: 0 and *ret, or -errno with @err. */
int engine_start(const struct engine_opts *o, struct engine **ret, struct error *err);
/* Ends captures that do not sample yet. From now on, a capture that cannot sample at once fails. So
 * the requests that wait for captures are answered, which serve_stop() needs. NULL: does nothing.
 * Thread: any but the engine's. */
void engine_stop_preparing(struct engine *e);
/* Ends the engine. Captures under way fail with "flamed is stopping". Returns NULL. */
struct engine *engine_stop(struct engine *e);
/* Replaces the schedules and triggers by @rules (NULL: none); captures under way continue. Return:
 * 0, or an error with @err: then nothing has changed and @rules is the caller's. Thread: any but
 * the engine's. */
int engine_set_rules(struct engine *e, struct rules *rules, struct error *err);
#define ENGINE_PROBLEM_BYTES (ERROR_MSG_MAX + ERROR_REMEDY_MAX + 96)
/* Problems that /readyz reports. */
enum engine_problem {
    ENGINE_PROBLEM_CONFIG,   /* the configuration could not be loaded */
    ENGINE_PROBLEM_TLS,      /* the files for TLS could not be loaded */
    ENGINE_PROBLEM_PLAIN,    /* a target of `push` accepts no profiles */
    ENGINE_PROBLEM_PUSH,     /* a receiver refuses pushed profiles */
    ENGINE_PROBLEM_RECORDER, /* the flight recorder could not be started yet */
    ENGINE_PROBLEMS
};
/* Sets the sentence for problem @which; "": no problem. Returns at once: an engine that is stalled
 * sets it later. Thread: any. */
void engine_set_problem(struct engine *e, enum engine_problem which, const char *sentence);
/* Opens the configuration file, or the file for TLS @which that it names, through the broker, which
 * knows the paths. The caller owns the fd. Return: 0; BROKER_ABSENT: no such file; -errno with
 * @err. Thread: any. */
int engine_open_config(struct engine *e, enum tls_file which, int *ret_fd, struct error *err);
/* Opens the file @path that a target of `push` names, as engine_open_config(). */
int engine_open_pushed(struct engine *e, const char *path, int *ret_fd, struct error *err);
/* Opens the audit log for appending, through the broker. Return: 0; BROKER_ABSENT; -errno. */
int engine_open_audit(struct engine *e, int *ret_fd, struct error *err);
/* Returns an fd that becomes readable when the broker is lost. The process then ends its captures
 * and exits to be restarted. */
int engine_lost_fd(const struct engine *e);
