/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of discover/: the list of processes, which of them are JVMs, and what they run in. Kept
 * fresh from perf side-band records (fork, exec, exit), with a sweep of /proc after lost records
 * and every 60 s. Thread: the engine's, for everything here.
 */
#pragma once

#include "base/error.h"
#include "broker_client/broker.h"
#include "hotspot/hotspot.h"
#include "proc/proc.h"

#define DISCOVER_PROCESSES_MAX 4096
#define DISCOVER_ARGS_MAX_BYTES 16384

struct discover;

struct container {
    char id[65]; /* 64 hex digits, or the name if the runtime knows no other id (runc, crun, lxc,
                  * systemd-nspawn). "": the process is in no known container */
    char runtime[16];       /* "docker", "containerd", "cri-o", "podman", "systemd-nspawn", "runc",
                             * "crun", "lxc",
                             * "" unknown */
    char name[128];         /* clean text; "" unknown */
    char image_version[64]; /* tag of its image, else the begin of a digest; clean text; "" unknown
                             */
    char pod_uid[40], pod_name[256], pod_namespace[64]; /* the UID is known whenever a pod is */
    char outer[65];         /* id of the outermost container around this one; "": none */
    char outer_pod_uid[40]; /* UID of the pod around the outermost container; "": none */
};

/* Returns the name of the pod, or its UID if the node knows no name; "": no pod. Points into @c. */
static inline const char *container_pod(const struct container *c)
{
    return c->pod_name[0] ? c->pod_name : c->pod_uid;
}

/* How well a JVM is known. */
enum jvm_state {
    JVM_NO,          /* no libjvm.so mapped */
    JVM_STARTING,    /* mapped, tables not ready yet */
    JVM_READY,       /* ->vm can be used */
    JVM_UNSUPPORTED, /* ->reason says why */
};

/* Whether samples found code that GraalVM compiled ahead of time (a native image). */
enum native_image {
    IMAGE_NO,
    IMAGE_NAMED,    /* its file has symbols */
    IMAGE_NAMELESS, /* samples met functions without a name */
};

/* A process image, borrowed from the table. It stays valid (though possibly `exited`) until a later
 * discover_poll() finds that it ended over 2 s ago and has no pin. While the table is nearly full,
 * ended images are freed earlier, oldest first. Running images are freed too if their owner has
 * most of the table. An image known only from discover_each() is valid during that call. */
struct process {
    struct proc_id id;
    char comm[64]; /* clean text */
    char *command; /* clean text: the name that a person would use; owned; never NULL */
    int32_t ns_pid[PROC_NS_DEPTH_MAX];
    size_t ns_depth;
    uint32_t uid; /* effective user ID, as the host sees it */
    /* The user that may see the process, as proc_user() returns; 0: root alone. This is not the
     * owner of budgets (proc_owner()). */
    uint32_t owner;
    uint64_t payer;        /* the owner of budgets; 0: not read yet, see process_payer() */
    bool rootless;         /* `owner` made the process's container without root */
    int64_t container_uid; /* uid in its own user namespace; -1: unmapped or unknown */
    bool kernel_thread;
    bool zombie;           /* dead, but not reaped by its parent yet */
    bool exited;           /* it ended, or an exec replaced it */
    bool replaced;         /* an exec replaced it */
    uint64_t exited_ns;    /* CLOCK_MONOTONIC of its end */
    uint64_t exec_time_ns; /* CLOCK_MONOTONIC of the exec that made this image; 0: not seen */
    uint32_t exec_id;      /* task->self_exec_id as in samples; 0: not known yet */
    /* Wall clock of its start; it moves only if the clock is set. 0: not read yet. */
    uint64_t start_realtime_ns;
    struct container container;
    char *cgroup; /* path, clean text; owned; never NULL */

    enum jvm_state jvm;
    char reason[512];        /* why it is JVM_UNSUPPORTED, or what limits it; with the remedy */
    char *main;              /* main class or jar; clean; owned; "" if unknown */
    struct service *service; /* what it states about its service itself; owned; NULL: nothing */
    char *args;              /* JVM and program arguments, masked, clean; owned; "" if unknown */
    enum native_image native_image; /* as symbolize/ found; no image if JVM_READY */
    int jdk;                        /* 8, 11, 17, 21, 25; 0 unknown */
    char java_version[128], vm_name[128];
    bool frame_pointers, debug_non_safepoints, attach_disabled;
    uint64_t libjvm_base;
    int mem_fd;                     /* -1 if none */
    struct hotspot_vm *vm;          /* NULL unless JVM_READY */
    struct counters *counters;      /* as last read; owned; NULL: never */
    uint64_t counters_ns;           /* CLOCK_MONOTONIC of that reading */
    bool counters_off;              /* the JVM keeps none */
    struct memory_history *history; /* history of its counters; owned; NULL: none */
    struct residence *residence;    /* as last counted; owned; NULL: never */
    unsigned pins;                  /* captures and resolvers that still use it */
};

/* Returns a sentence on its native image; "": it has none. */
const char *process_image_text(const struct process *p);
/* Returns the name of @p for people: its main class, else its command. */
static inline const char *process_title(const struct process *p)
{
    return p->main && p->main[0] ? p->main : p->comm;
}

/* Returns whether @p runs Java code: in a JVM, or as a native image. */
static inline bool process_runs_java(const struct process *p)
{
    return p->jvm != JVM_NO || p->native_image != IMAGE_NO;
}

/* Requests of discover/ to the broker, with results as in broker_client/broker.h. */
struct discover_source {
    int (*maps)(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
    int (*mem)(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
    /* Works like broker_pagemap(); NULL: not available. */
    int (*pagemap)(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
    int (*hsperfdata)(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
    /* Works like broker_service_words(); NULL: not available. */
    int (*service_words)(struct broker *b, const struct proc_id *id, int *ret_fd,
                         struct error *err);
    /* Works like broker_tracer_info(); NULL: no process has one. */
    int (*tracer_info)(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
    /* Works like broker_program_jar(); NULL: not available. */
    int (*program_jar)(struct broker *b, const struct proc_id *id, const char *name, int *ret_fd,
                       struct error *err);
    int (*container_config)(struct broker *b, const char *id, int *ret_fd, struct error *err);
    int (*container_logs)(struct broker *b, int *ret_fd, struct error *err);
    /* Works like broker_cgroup(); NULL: the cgroups in /proc are trusted. */
    int (*cgroup)(struct broker *b, const struct proc_id *id, int *ret_fd, uint64_t *ret_cpu_limit,
                  struct error *err);
    /* Works like broker_namespace_user(); NULL: not available. */
    int (*namespace_user)(struct broker *b, const struct proc_id *id, uint32_t *ret_uid,
                          struct error *err);
    /* Works like broker_is_quarantined(); NULL: no process is. */
    bool (*is_quarantined)(const struct broker *b, const struct proc_id *id, bool *ret_jvm);
    int (*sideband)(struct broker *b, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                    struct error *err);
};

struct discover_opts {
    int proc_fd;         /* fd of /proc; borrowed */
    bool show_arguments; /* do not mask values of -D and --x= */
    /* Called for an image that ended over 2 s ago or that is removed to make room, pinned or not.
     * Holders drop their pointers to the image, and caches that pinned it unpin it. The image is
     * freed at once if it has no pin, else after the last pin. discover_free() frees all. May be
     * NULL. Must not call discover/, except process_unpin(). */
    void (*dropped)(void *cookie, struct process *p);
    void *dropped_cookie;
    const struct discover_source *source; /* NULL: the broker; tests pass their own source */
    void *source_ctx;
    uint64_t poll_budget_ns; /* time for reading /proc in a discover_poll(); 0: 5 ms */
};

/* Makes the table. Missing side-band events are no error, but a problem (below), and sweeps then
 * come every 5 s. @b is borrowed, and may be NULL with opts->source. Returns 0 or -errno. */
int discover_new(struct broker *b, const struct discover_opts *opts, struct discover **ret,
                 struct error *err);
struct discover *discover_free(struct discover *d);

/* Returns whether discover_poll() should come within 50 ms: a JVM starts, or work is left. */
bool discover_hurries(const struct discover *d);
/* Reads side-band rings, sweeps if due, and retries starting JVMs. Call every 10 ms to 1 s. */
void discover_poll(struct discover *d, uint64_t now_ns);
/* Takes what the side-band rings hold, such as the ends of processes, and reads nothing else. */
void discover_drain(struct discover *d);
/* Reads /proc in full now, up to 100 us per process. Call once after the start. */
void discover_sweep(struct discover *d);
/* Reads young processes for a request, at most once a second and for 30 ms, and has the next sweep
 * begin soon. Without side-band records, or after lost ones, reads /proc in full. */
void discover_catch_up(struct discover *d);
/* Returns "", or a sentence with the remedy on why processes may be hidden. The reason is a /proc
 * with hidepid, a /proc of another pid namespace, or no side-band events. The state is that of the
 * last sweep. Points into @d. */
const char *discover_problem(const struct discover *d);

/* Returns the image of a sample. Makes an entry for a new one: from /proc if the process is still
 * there, else with the sample's comm. NULL: the table is full (counted), or @host_pid is not above
 * 0. @exec_id and @start_boottime_ns as in the sample; both may be 0. */
struct process *discover_get(struct discover *d, int32_t host_pid, uint64_t start_boottime_ns,
                             uint32_t exec_id, uint64_t time_ns, const char *comm);
/* Returns the live image with this pid now, read from /proc if it is new; NULL if there is none
 * (thread ids are not pids). May be a zombie or a kernel thread. */
struct process *discover_find(struct discover *d, int32_t host_pid);
/* Returns image @id if it lives according to the side-band records and sweeps so far; reads
 * nothing. NULL: it has ended. */
struct process *discover_known(struct discover *d, const struct proc_id *id);
/* Calls @fn for each known image (also exited ones that are still kept); stops at non-zero. */
int discover_each(struct discover *d, int (*fn)(void *cookie, struct process *p), void *cookie);
/* Returns a number that rises when a process is found to be a JVM, and when a JVM ends. */
uint64_t discover_jvms_changed(const struct discover *d);
/* Reads the facts of a live process (JVM state, container) if they are missing or a second old.
 * Blocks only while it reads. For a request that names the process. */
void discover_refresh(struct discover *d, struct process *p);

struct process_usage {
    double cpu_limit;   /* CPUs that its cgroups allow, read now and then; 0: no limit */
    double cpu_percent; /* of one CPU; since a reading a second or more ago, else since the start */
    uint64_t rss_bytes;
    uint32_t threads;
};
/* Reads the usage now. Returns 0, PROC_GONE or -errno. */
int discover_usage(struct discover *d, struct process *p, struct process_usage *ret);

/* Reads the counters of JVM @p into p->counters now, and adds them to p->history. @asked: a request
 * waits for them; else slow readings (RSS, bytes that threads allocated) are made less often.
 * Return: as hotspot_vm_counters(); -ENOENT without p->vm. */
int discover_counters(struct discover *d, struct process *p, bool asked);
/* Makes discover_poll() read the counters of all JVMs for a minute from now, each every 5 s at
 * most. A call that was not expected reads what it can in 20 ms. If a JVM's memory does not answer,
 * that takes 100 ms more, once. */
void discover_want_counters(struct discover *d);

/* Counts the resident memory of JVM @p by area into p->residence, unless the last count is at most
 * @max_age_ns old. Each call counts one slice, for some 4 ms. Return: 0; -EINPROGRESS: call again;
 * -ETIMEDOUT, -EAGAIN, -errno with @err. Needs p->counters to know metaspace. */
int discover_residence(struct discover *d, struct process *p, uint64_t max_age_ns,
                       struct error *err);

/* Returns the owner of @p's budgets (proc_owner()), as read at the first call. */
uint64_t process_payer(struct process *p);
/* Keep the image from being freed, and allow that again. */
void process_pin(struct process *p);
void process_unpin(struct process *p);

struct discover_stats {
    uint64_t processes, jvms; /* live ones in the table now */
    uint64_t sideband_records, sideband_lost, sweeps;
    uint64_t sideband_malformed; /* bytes that were no records */
    uint64_t table_full;         /* samples and processes refused or dropped for lack of room */
};
/* Returns counters and sizes. */
void discover_stats(const struct discover *d, struct discover_stats *ret);
