/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of flamed-broker, and one function per request. broker_request_check() has checked each
 * request before its function runs. Thread: the program's main one; other threads are those of
 * loader.h and hooker.h.
 */
#pragma once

#include "broker/given.h"
#include "broker/hooker.h"
#include "broker/loader.h"
#include "broker_client/requests.h"
#include "proc/owner_budget.h"
#include "proc/owner_cache.h"
#include "sample/holders.h"
#include "sample/sampler.h"

#include <sys/types.h>

#define OPENERS_MAX 32

/* One opener (file_openers.h), as the broker sees it. */
struct opener {
    pid_t pid;
    int fd;
    uint64_t owner; /* proc_owner() of the process that the opener did not open in time; 0: the
                     * opener is free */
    /* Its last late request, and the answer if that has arrived, for the next equal request. */
    bool kept;
    struct broker_request late;
    uint64_t late_ns; /* time of that request */
    struct broker_answer late_answer;
    int late_fd; /* -1: none */
};

enum sampler_state {
    SAMPLER_UNASKED, /* before the first request that needs it */
    SAMPLER_LOADING,
    SAMPLER_LOADED,
    SAMPLER_REFUSED,
};

/* Further attempts to load what the kernel refused for a passing reason, such as too little memory.
 * The first wait is LOAD_AGAIN_NS, and each further wait is twice as long. */
#define LOAD_AGAIN_NS (2 * NSEC_PER_SEC)
#define LOAD_AGAIN_MAX 8
struct load_again {
    uint64_t at_ns; /* time of the next attempt; 0: there is none */
    uint32_t count; /* number of further attempts so far */
};

/* The sampler, and the states of what it loads. */
struct server_sampling {
    struct sampler *sampler; /* NULL until it is loaded; ends when the client leaves */
    enum sampler_state state;
    struct error error; /* why the state is SAMPLER_REFUSED */
    struct load_again again;
    enum sampler_state program_states[PROGRAM_COUNT]; /* by program (sample/program.h) */
    struct error program_errors[PROGRAM_COUNT];
    struct load_again program_again[PROGRAM_COUNT];
    uint32_t max_frames; /* limit for sampler_new(); 0: not set, BROKER_FRAMES_MAX applies */
    struct server_sideband {
        int fd;         /* the client's side-band event of the CPU; <= 0: none */
        uint32_t opens; /* events opened since the CPU was seen offline */
    } sideband[BROKER_CPUS_MAX];
};

/* The walk over open sockets. */
struct server_walk {
    struct holders *holders; /* NULL: not loaded */
    bool warned;             /* a warning that the kernel refuses it is logged */
    uint64_t again_ns;       /* time of the next attempt to load it */
    int error;               /* error until then: -EOPNOTSUPP, or an error that may pass */
};

#define KNOWN_JVMS_MAX 256

/* A process that maps a libjvm.so, valid while it runs this program: an exec changes the program
 * file or the place of the stack. */
struct known_jvm {
    int32_t host_pid;
    uint32_t dev_major, dev_minor;
    uint64_t start_ticks, inode, stack_start;
};

struct server;
struct reply;
/* Does the look @raw of @n bytes (opener_looks.h), and copies it to *@q. False: it is none. */
typedef bool (*opener_look_fn)(struct server *s, const void *raw, size_t n,
                               struct broker_request *q, struct reply *rep, int *ret_result);

struct server {
    opener_look_fn look;     /* of an opener; NULL in the broker itself */
    const char *audit_path;  /* file of the audit log; borrowed; NULL: none */
    const char *config_path; /* flamed's configuration file; borrowed; NULL: unknown */
    int proc_fd;             /* /proc */
    int host_root_fd;        /* O_PATH: the root of the host's init where visible, else our own */
    int pid_ns_fd;           /* our pid namespace when it is not the initial one, else -1 */
    int pins_fd;             /* root of uprobe_pins_open(), -1: none */
    bool initial_pid_ns;
    pid_t self, parent;    /* parent: the supervisor; 0: none, systemd started the broker */
    pid_t client;          /* pid of flamed, 0: unknown */
    struct loader *loader; /* runs from before the lockdown to the end */
    struct hooker *hooker; /* runs from before the lockdown to the end */
    struct server_sampling sampling;
    uint64_t tended_ns;
    struct {
        bool attach_mount; /* attaches may mount in containers */
        bool bpf_only;     /* no perf events in place of BPF programs */
    } options;
    bool setns_by_pidfd; /* attaches may enter namespaces (Linux 5.8) */
    int launcher_fd;     /* our end of the launcher's socket (launcher.h), -1: none */
    struct opener openers[OPENERS_MAX];
    size_t opener_count;
    bool has_openers; /* the broker opens no files of targets itself */
    struct {
        int fd;            /* socket of the nursery, which forks openers; -1: none */
        bool asked;        /* for another opener; it has not answered yet */
        uint64_t again_ns; /* after a failed fork: time of the next request */
    } nursery;
    struct {
        struct owner_budgets budgets;
        struct owner_cache cache;
    } owners;
    struct known_jvm known_jvms[KNOWN_JVMS_MAX]; /* the JVMs that were checked last */
    size_t known_jvm_count;                      /* number of JVMs ever added; the next one replaces
                                                  * the oldest */
    struct agents *agents;
    struct owner_files *owner_files;
    struct server_walk walk;
    struct given given; /* not of an opener */
    const void *tables; /* memory for tables that flamed writes: BROKER_TABLES_BYTES; NULL:
                         * none */
};

/* Largest age of an owner: a process may change its cgroup or user. */
#define SERVER_OWNER_NS NSEC_PER_SEC

/* Returns proc_owner() of @id, as it was a moment ago. */
static inline uint64_t server_owner(struct server *s, const struct proc_id *id)
{
    return owner_cache_get(&s->owners.cache, s->proc_fd, id, SERVER_OWNER_NS);
}

/* The reply that a request's function fills. Its fds are sent, then closed. */
struct reply {
    struct error err; /* reason for a result < 0 */
    int fds[BROKER_CPUS_MAX];
    size_t fd_count;
    union broker_body body;
};

/* Opens the descriptors that @s holds. @client: flamed's pid, 0 unknown. 0 or -errno with @err. */
int server_init(struct server *s, pid_t client, struct error *err);
void server_deinit(struct server *s);
/* Opens /proc/kallsyms through the host's init, because ProtectKernelTunables= hides it from a
 * service. Return: the fd, or -1 and errno. */
int server_open_kallsyms(const struct server *s);
/* Probes features that need rights which the broker gives up (probe.c). Call before
 * broker_lockdown(). */
void server_probe(struct server *s);
/* Forgets all state of the client that left: sampling ends. */
void server_forget_client(struct server *s);
/* Receives and answers one message from @fd. Return: 0; 1 if the connection ended; -errno if it is
 * broken. Blocks in sending no longer than the socket's send timeout. */
int server_answer(struct server *s, int fd);

/* Does periodic work, about once a second: sampling follows processors that come and go, and files
 * that flamed has closed are freed. Openers that have ended are replaced. Return: milliseconds
 * until the next call; -1: none is needed. */
int server_tend(struct server *s);

/* Adds @fd to the reply, which takes ownership. Returns 0, so that a request's function can end
 * with it. */
int reply_fd(struct reply *rep, int fd);

/* The functions of the requests. Each returns 0, PROC_GONE, BROKER_ABSENT, or -errno with rep->err.
 * The comment above each (req_*.c) says why it is safe. */
#define REQUEST(number, id, name, type, answer, fds)                                               \
    int request_##name(struct server *s, const struct type *q, struct reply *rep);
#include "broker_client/requests.def"
#undef REQUEST

/* Refuses (-EPERM with @err) our own processes and the host's init. 0: the process may be inspected
 * in depth. */
int server_refuse_own(const struct server *s, int32_t host_pid, struct error *err);

/* Unmaps the memory for tables. */
void server_forget_tables(struct server *s);
/* Requests the BPF programs unless they are loaded, and waits for them at most @wait_ns. Return: 0;
 * -EAGAIN while they are being loaded; other -errno with the kernel's reason. @err is set unless
 * 0. */
int server_sampler(struct server *s, uint64_t wait_ns, struct error *err);
/* Closes @e and forgets how often it was opened. */
void sideband_forget(struct server_sideband *e);
/* Opens one side-band event on @cpu, for request sideband and for the test of request facts.
 * Return: the fd, or -errno. */
int sideband_open(int cpu);
/* Writes the sentence and remedy for the error @r of sideband_open(). Returns @r. */
int sideband_problem(int r, struct error *err);
/* Calls @fn with each online CPU below BROKER_CPUS_MAX until it returns nonzero; returns that
 * value. */
int cpus_each(int (*fn)(int cpu, void *cookie), void *cookie);
