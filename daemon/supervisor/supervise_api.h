/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract between `flamed` started by hand as root, the supervisor it becomes, and the worker
 * that the supervisor starts:
 *
 *   flamed (root)       opens listening sockets, store and configuration, then supervise_exec():
 *   -> flamed-broker --supervise --flamed-fd=N --uid=U --gid=G --listen-fds=A,B --store-fd=N
 *                    --config-fd=N --push-fd=N --config=PATH --audit-log=PATH --log-level=L
 * [--attach-mount] [--bpf-only]
 *                    -- EXTRA...                                               (same pid)
 *      -> flamed-broker --fd=3 --client=PID --config=PATH --audit-log=PATH --log-level=L
 *                       [--attach-mount] [--bpf-only]
 *                                                                      root, few capabilities
 *      -> flamed --worker --broker-fd=3 --listen-fds=4,5 --store-fd=6 --config-fd=7 --notes-fd=8
 *                --push-fd=9 --log-level=L -- EXTRA...                         uid U, no groups, no
 * capability
 *
 * The configuration is opened again by its path before each start of the worker, and by the broker
 * when the worker requests it. There is no option for an fd that does not exist. The worker's
 * environment is the supervisor's. The notes (quarantine/quarantine.h) are memory of the
 * supervisor: a worker finds there what the previous worker wrote. Both children have their own
 * session and die with the supervisor (PR_SET_PDEATHSIG). When one child ends, the supervisor ends
 * the other and starts both again with a new socket pair, after 100 ms to 5 s. SIGTERM and SIGINT
 * go to the worker as SIGTERM; SIGHUP goes to the worker. A worker that exits with
 * SUPERVISE_EXIT_FINAL is not started again: the supervisor exits with that status.
 *
 * Thread: call before any thread is started.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <sys/types.h>

#define SUPERVISE_LISTEN_MAX 16
#define SUPERVISE_EXIT_FINAL 78 /* sysexits' EX_CONFIG: a restart would not help */
/* uid and gid if there is no user "flamed". Another program with this id could read the store, and
 * counts as flamed's user. So no program is given it by chance. Debian's packages have ids from
 * 60000 to 64999, and systemd's DynamicUser= gives 61184 to 65519. Images of containers use 65532,
 * nobody is 65534, and user namespaces begin at 65536. */
#define SUPERVISE_FALLBACK_ID 65521

struct supervise_opts {
    int listen_fds[SUPERVISE_LISTEN_MAX]; /* listening sockets */
    size_t listen_count;
    int store_fd;            /* folder, owned by uid; -1: none */
    int push_fd;             /* flamed-push's program file; -1: push is off */
    int config_fd;           /* configuration file, read from offset 0; -1: none */
    const char *audit_path;  /* absolute path of the audit log; NULL: none */
    const char *config_path; /* absolute path of the configuration; NULL: it cannot be reopened */
    uid_t uid;
    gid_t gid;
    enum log_level log_level;
    bool attach_mount;  /* the broker may mount in containers */
    bool bpf_only;      /* the broker opens no perf events in place of BPF programs */
    char *const *extra; /* NULL-terminated arguments passed on to the worker, or NULL */
};

/* Looks up the user to run the worker as: @name, or "flamed" if @name is NULL. Without a user
 * "flamed" it returns the fallback id and sets *ret_fallback, which the caller logs. Return: 0, or
 * -ENOENT for an unknown @name. */
int supervise_user(const char *name, uid_t *ret_uid, gid_t *ret_gid, bool *ret_fallback,
                   struct error *err);

/* Opens the program flamed-push in the folder of flamed-broker. Return: 0 or -errno with @err. */
int supervise_open_push(int *ret_fd, struct error *err);

/* Becomes the supervisor: executes flamed-broker from this program's folder, or else the installed
 * one. Returns -errno on failure, otherwise not. Needs root. */
int supervise_exec(const struct supervise_opts *o, struct error *err);

struct supervise_worker {
    int broker_fd; /* connected SEQPACKET socket; the caller owns all fds here */
    int listen_fds[SUPERVISE_LISTEN_MAX];
    size_t listen_count;
    int store_fd, config_fd, notes_fd, push_fd; /* -1: none */
    enum log_level log_level;
    int extra; /* index of EXTRA in argv; argc: no EXTRA */
};

/* Parses `flamed --worker ...`. Checks the fds' kinds and sets close-on-exec. Returns 0; 1 without
 * --worker (then *ret is untouched); -EINVAL if the supervisor would not write such a command line.
 */
int supervise_worker_parse(int argc, char **argv, struct supervise_worker *ret, struct error *err);

/* ---- shared with the supervisor ---- */

/* Parses "A,B,C" into @ret. Return: 0 or -EINVAL. */
int supervise_parse_fds(const char *text, int ret[SUPERVISE_LISTEN_MAX], size_t *ret_count);
/* Returns VALUE if @arg is "@name=VALUE", else NULL. */
const char *supervise_option(const char *arg, const char *name);
/* Parses a decimal number of at most INT32_MAX. Return: 0 or -EINVAL. */
int supervise_parse_int(const char *text, int *ret);
const char *supervise_level_name(enum log_level level);
