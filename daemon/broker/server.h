/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside flamed-broker: what it holds, and one function per request. Requests were checked by
 * broker_request_check() before they come here. Thread: the program's main one; the others are
 * those of loader.h and hooker.h.
 */
#pragma once

#include "broker/hooker.h"
#include "broker/loader.h"
#include "broker_client/requests.h"
#include "proc/owner_budget.h"
#include "sample/holders.h"
#include "sample/sampler.h"

#include <sys/types.h>

#define OPENERS_MAX 32

/* One of file_openers.h, seen from the broker. */
struct opener {
    pid_t pid;
    int fd;
    uint64_t owner; /* of proc_owner(): whose file it has not opened in time; 0: it is free */
    /* Its question, and its answer once that came, for the next such request. */
    bool kept;
    struct broker_request late;
    uint64_t late_ns; /* when it was asked */
    struct broker_answer late_answer;
    int late_fd; /* -1: none */
};

enum sampler_state {
    SAMPLER_UNASKED, /* the first request that needs it asks for it */
    SAMPLER_LOADING,
    SAMPLER_LOADED,
    SAMPLER_REFUSED,
};

struct server {
    const char *audit_path;  /* of the log of who did what; borrowed; NULL: there is none */
    const char *config_path; /* flamed's configuration file; borrowed; NULL: not known */
    int proc_fd;             /* /proc */
    int host_root_fd; /* O_PATH: the root of the host's init where it can be seen, else our own */
    int pid_ns_fd;    /* our pid namespace when it is not the initial one, else -1 */
    int pins_fd;      /* of uprobe_pins_open(), -1: there is none */
    bool initial_pid_ns;
    pid_t self, parent;      /* parent: the supervisor, 0 where systemd is */
    pid_t client;            /* flamed, 0 unknown */
    struct loader *loader;   /* from before the lockdown to the end, */
    struct hooker *hooker;   /* and this */
    struct sampler *sampler; /* NULL until it is loaded; ends with its client */
    enum sampler_state sampler_state;
    struct error sampler_error;                       /* of SAMPLER_REFUSED */
    enum sampler_state program_states[PROGRAM_COUNT]; /* of sample/program.h */
    struct error program_errors[PROGRAM_COUNT];
    uint32_t max_frames; /* of sampler_new(); 0: not said, BROKER_FRAMES_MAX */
    uint64_t tended_ns;
    bool attach_mount;   /* attaches may mount in containers */
    bool setns_by_pidfd; /* attaches may enter namespaces (Linux 5.8) */
    int launcher_fd;     /* our end of the launcher's socket (launcher.h), -1: there is none */
    bool is_opener;      /* this process is one of file_openers.h */
    struct opener openers[OPENERS_MAX];
    size_t opener_count;
    int nursery_fd;      /* of what forks them, -1: there is none */
    bool opener_awaited; /* it was asked for one more */
    struct owner_budgets owner_budgets;
    struct agents *agents;
    struct owner_files *owner_files;
    struct holders *holders;   /* NULL: not loaded */
    bool holders_warned;       /* that the kernel refuses it */
    uint64_t holders_again_ns; /* when it may be tried again */
    int holders_error;         /* why it has to wait for that: -EOPNOTSUPP, or what passes */
    const void *tables;        /* what flamed writes tables into: BROKER_TABLES_BYTES; NULL: none */
};

/* What a request's function fills. fds are the reply's: sent, then closed. */
struct reply {
    struct error err; /* of a result < 0 */
    int fds[BROKER_CPUS_MAX];
    size_t fd_count;
    union broker_body body;
};

/* Opens what the server holds. @client: flamed's pid, 0 unknown. 0 or -errno. */
int server_init(struct server *s, pid_t client, struct error *err);
void server_deinit(struct server *s);
/* /proc/kallsyms, as the host's init sees it: ProtectKernelTunables= hides it from a service. The
 * fd, or -1 and errno. */
int server_open_kallsyms(const struct server *s);
/* Tries what takes rights that the broker gives up (probe.c). Call before broker_lockdown(). */
void server_probe(struct server *s);
/* Forgets everything that was held for the client that left: sampling ends. */
void server_forget_client(struct server *s);
/* Answers the one message that is waiting on @fd. 0; 1 when the connection ended; -errno when it is
 * broken. Never more than the socket's send timeout. */
int server_answer(struct server *s, int fd);

/* Does what is due about once a second: sampling follows processors that come and go.
 * Milliseconds until the next call; -1: none is needed. */
int server_tend(struct server *s);

/* Takes @fd into the reply. Returns 0, so that a request's function can end with it. */
int reply_fd(struct reply *rep, int fd);

/* The functions of the requests. Each returns 0, PROC_GONE, BROKER_ABSENT, or -errno with rep->err.
 * Why each is safe stands above it (req_*.c). */
#define REQUEST(number, id, name, type, answer, fds)                                               \
    int request_##name(struct server *s, const struct type *q, struct reply *rep);
#include "broker_client/requests.def"
#undef REQUEST

/* 0 for a process that may be asked about in depth; -EPERM for our own and the host's init. */
int server_refuse_own(const struct server *s, int32_t host_pid, struct error *err);

/* Forgets the memory for tables. */
void server_forget_tables(struct server *s);
/* Has the BPF programs loaded unless that was done, and waits @wait_ns at most for it. 0; -EAGAIN
 * while they are being loaded, or -errno with the kernel's reason: each with @err. */
int server_sampler(struct server *s, uint64_t wait_ns, struct error *err);
/* Opens one side-band event on @cpu: what the facts try, and the request does. The fd, or -errno.
 */
int sideband_open(int cpu);
/* Writes the sentence and remedy for @r of sideband_open(). Returns @r. */
int sideband_problem(int r, struct error *err);
/* Calls @fn with each online CPU below BROKER_CPUS_MAX until it returns nonzero, which is returned.
 */
int cpus_each(int (*fn)(int cpu, void *cookie), void *cookie);
