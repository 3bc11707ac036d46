/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract between `flamed` started by hand as root, the supervisor it becomes, and the worker
 * that the supervisor starts:
 *
 *   flamed (root)       opens listening sockets, store and configuration, then supervise_exec():
 *   -> flamed-broker --supervise --flamed-fd=N --uid=U --gid=G --listen-fds=A,B --store-fd=N
 *                    --config-fd=N --push-fd=N --config=PATH --audit-log=PATH --log-level=L
 * [--attach-mount]
 *                    -- EXTRA...                                               (same pid)
 *      -> flamed-broker --fd=3 --client=PID --config=PATH --audit-log=PATH --log-level=L
 *                       [--attach-mount]
 *                                                                      root, few capabilities
 *      -> flamed --worker --broker-fd=3 --listen-fds=4,5 --store-fd=6 --config-fd=7 --notes-fd=8
 *                --push-fd=9 --log-level=L -- EXTRA...                         uid U, no groups, no
 * capability
 *
 * The configuration is opened again by its path before each start of the worker, and by the broker
 * when the worker requests it. An fd that does not exist has no option. The worker's environment is
 * the supervisor's. The notes (quarantine/quarantine.h) are memory of the supervisor's: what one
 * worker writes there the next one finds. Both children have their own session and die with the
 * supervisor (PR_SET_PDEATHSIG). When one ends the other is ended too and both are started again
 * with a new socket pair, after 100 ms to 5 s. SIGTERM and SIGINT go to the worker as SIGTERM;
 * SIGHUP goes to the worker. A worker that exits with SUPERVISE_EXIT_FINAL is not started again:
 * the supervisor exits with that status.
 *
 * Thread: call before any thread is started.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <sys/types.h>

#define SUPERVISE_LISTEN_MAX 16
#define SUPERVISE_EXIT_FINAL 78     /* as sysexits' EX_CONFIG: trying again would not help */
#define SUPERVISE_FALLBACK_ID 64079 /* uid and gid where there is no user "flamed" */

struct supervise_opts {
    int listen_fds[SUPERVISE_LISTEN_MAX]; /* listening sockets */
    size_t listen_count;
    int store_fd;            /* directory, owned by uid; -1: none */
    int push_fd;             /* program flamed-push; -1: nothing is pushed */
    int config_fd;           /* configuration file, read from offset 0; -1: none */
    const char *audit_path;  /* of the log of who did what, absolute; NULL: none */
    const char *config_path; /* of the same, absolute; NULL: it cannot be read again */
    uid_t uid;
    gid_t gid;
    enum log_level log_level;
    bool attach_mount;  /* the broker may mount in containers */
    char *const *extra; /* NULL-terminated arguments for the worker as they are, or NULL */
};

/* Gives the user that the worker runs as: @name; if NULL user "flamed", or the fallback id (then
 * *ret_fallback, for a line in the log). Return: 0, or -ENOENT for a @name that does not exist. */
int supervise_user(const char *name, uid_t *ret_uid, gid_t *ret_gid, bool *ret_fallback,
                   struct error *err);

/* Opens the program flamed-push, which lies where the broker does. 0 or -errno with @err. */
int supervise_open_push(int *ret_fd, struct error *err);

/* Becomes the supervisor: execs the flamed-broker that lies beside this program, or the installed
 * one. Returns only when that failed: -errno. Needs root. */
int supervise_exec(const struct supervise_opts *o, struct error *err);

struct supervise_worker {
    int broker_fd; /* connected SEQPACKET socket; this and the others are the caller's */
    int listen_fds[SUPERVISE_LISTEN_MAX];
    size_t listen_count;
    int store_fd, config_fd, notes_fd, push_fd; /* -1: none */
    enum log_level log_level;
    int extra; /* index of the first of EXTRA in argv; argc when there is none */
};

/* Reads `flamed --worker ...`. 0; 1: not a worker's command line (no --worker first; *ret
 * untouched); -EINVAL: one that the supervisor did not write. Checks the fds' kinds and sets
 * close-on-exec. */
int supervise_worker_parse(int argc, char **argv, struct supervise_worker *ret, struct error *err);

/* ---- shared with the supervisor ---- */

/* "A,B,C" into @ret. 0 or -EINVAL. */
int supervise_parse_fds(const char *text, int ret[SUPERVISE_LISTEN_MAX], size_t *ret_count);
/* Returns the value of @arg when it is "@name=VALUE", else NULL. */
const char *supervise_option(const char *arg, const char *name);
/* Parses a decimal number of at most INT32_MAX. 0 or -EINVAL. */
int supervise_parse_int(const char *text, int *ret);
const char *supervise_level_name(enum log_level level);
