/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of engine/: the engine, which owns discover, symbolize and every running capture on one
 * thread. Plans a request into sets of events, drains samples, names them and hands them to the
 * captures that want them.
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
    int broker_fd;             /* taken over */
    int proc_fd;               /* taken over: a directory fd of /proc */
    int namer_fd;              /* of the namer's process, borrowed; <= 0: symbols stay raw */
    size_t captures_max;       /* of one caller; of all: request/caller.h */
    size_t samples_max;        /* of one capture */
    size_t captures_max_bytes; /* of all captures together, and of what waits to be stored */
    bool show_arguments;
    struct store *store;               /* borrowed; NULL: captures are not kept */
    struct history *history;           /* borrowed; NULL: the recorder spills nothing */
    struct service_counters *counters; /* borrowed; of what the history has; NULL: none */
    uint32_t max_frames;               /* of a user stack; 0: as many as can be */
    double recorder_hz;                /* 0: no flight recorder */
    uint64_t recorder_keep_ns;         /* how far back it reaches at most */
    size_t recorder_max_bytes;
    bool recorder_waits;    /* it looks at threads that wait, too */
    bool recorder_requests; /* it records the requests of samples */
    bool allow_injection;   /* attach to JVMs where a request asks for it */
    bool allow_mounts;      /* and mount in their containers where nothing else does it */
    const struct quarantine *quarantine; /* borrowed: whose memory is not read */
    /* Called every second with for how long the engine is stalled (0: it works), from a
     * thread of its own; borrowed; NULL: nobody. */
    void (*look)(void *cookie, unsigned stands_s);
    void *look_cookie;
    struct lent *thread; /* for the engine to run on; borrowed; NULL: one of its own */
    const char *node;    /* what distinguishes this node; borrowed; NULL: nothing */
};

/* Starts the engine on its thread. Return: 0 and *ret, or -errno with @err. */
int engine_start(const struct engine_opts *o, struct engine **ret, struct error *err);
/* Ends captures that do not sample yet, and lets no other one wait for its first sample. Requests
 * that wait for them are then answered, as serve_stop() needs. NULL: does nothing. Thread: any but
 * the engine's. */
void engine_stop_preparing(struct engine *e);
/* Ends it: captures are answered with what there is. Returns NULL. */
struct engine *engine_stop(struct engine *e);
/* Takes the schedules and triggers of @rules (NULL: none) for those before; captures under way go
 * on. 0, or an error with @err: then nothing has changed and @rules is the caller's. Thread: any
 * but the engine's. */
int engine_set_rules(struct engine *e, struct rules *rules, struct error *err);
#define ENGINE_PROBLEM_BYTES (ERROR_MSG_MAX + ERROR_REMEDY_MAX + 96)
/* What /readyz may say of the configuration. */
enum engine_problem {
    ENGINE_PROBLEM_CONFIG, /* it could not be taken */
    ENGINE_PROBLEM_TLS,    /* nor could the files for TLS */
    ENGINE_PROBLEM_PLAIN,  /* secrets are sent without TLS */
    ENGINE_PROBLEM_PUSH,   /* an engine takes no profiles */
    ENGINE_PROBLEMS
};
/* Sets that sentence; "": all is well. */
void engine_set_problem(struct engine *e, enum engine_problem which, const char *sentence);
/* Has the broker, which knows the paths, open the configuration file as it is now, or a file for
 * TLS that it names. The fd is the caller's. Return: 0; BROKER_ABSENT: there is none; -errno with
 * @err.
 * Thread: any. */
int engine_open_config(struct engine *e, enum tls_file which, int *ret_fd, struct error *err);
/* Does the same of a file that a target of `push` names by @path. */
int engine_open_pushed(struct engine *e, const char *path, int *ret_fd, struct error *err);
/* Opens the log of who did what, to append to, by the broker. 0; BROKER_ABSENT; -errno. */
int engine_open_audit(struct engine *e, int *ret_fd, struct error *err);
/* Readable when the broker is lost: the process then ends its captures and exits to be restarted.
 */
int engine_lost_fd(const struct engine *e);
