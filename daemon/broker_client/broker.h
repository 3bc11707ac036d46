/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main header of broker_client/: flamed's side of the connection to flamed-broker, which holds
 * the privileges. Each request gets one answer, over a SOCK_SEQPACKET socket. Requests name a
 * thing, never a path; answers carry read-only fds. Every call blocks for the broker's answer
 * (milliseconds). A broker that does not answer within 10 s counts as lost. Thread: any (one
 * request at a time, by a lock). The list of requests and the reason why each is safe:
 * broker_client/requests.h and docs/privilege.md.
 */
#pragma once

#include "base/error.h"
#include "base/tls_paths.h"
#include "event/event_kind.h"
#include "proc/proc.h"
#include "proc/socket_holding.h"
#include "sample/alloc_abi.h"
#include "sample/looks_abi.h"
#include "sample/moment_abi.h"
#include "sample/peers_abi.h"
#include "sample/stats.h"
#include "sample/yields_abi.h"

struct broker;

/* Outcomes > 0 besides PROC_GONE. */
#define BROKER_ABSENT 2 /* no such file (hsperfdata, perf map, debug file, container data) */

/* Makes a client of the connected socket @fd, which it takes. Returns 0 or -ENOMEM. */
int broker_new(int fd, struct broker **ret);
struct broker *broker_free(struct broker *b);
/* Returns the socket, to poll for EOF; @b owns it. */
int broker_fd(const struct broker *b);
/* Returns true once the peer is gone: every further call returns -ENOTCONN. */
bool broker_lost(const struct broker *b);

/* Facts about the machine and the broker, for /readyz and warnings. */
struct broker_facts {
    uint64_t capabilities;   /* bit set of the broker's permitted capabilities */
    uint32_t kernel_version; /* KERNEL_VERSION(a,b,c) */
    uint32_t cpus;           /* online */
    int32_t perf_event_paranoid, kptr_restrict;
    uint32_t perf_event_max_stack;
    int32_t pid;                                 /* pid of the broker */
    uint8_t btf, bpf_loaded, sideband, kallsyms; /* 1: it works */
    uint8_t pid_namespace_level;                 /* 0: the initial namespace */
    uint8_t bpf_loading; /* 1: the programs are neither loaded nor refused yet; call again */
    uint8_t perf_home;   /* 1: the kernel refuses BPF programs, and perf events replace them */
    uint8_t pad;
    char bpf_problem[336], sideband_problem[240]; /* a sentence with the remedy; "": it works */
};
int broker_facts(struct broker *b, struct broker_facts *ret, struct error *err);

struct quarantine;
/* Makes every later request about the processes in @l fail. Borrows @l, which must not change. Call
 * it before other threads make requests. */
void broker_set_quarantine(struct broker *b, const struct quarantine *l);
/* Returns true if requests about @id are refused (-ETIMEDOUT). *ret_jvm (unless NULL): whether @id
 * is known to be a JVM. Thread: any. */
bool broker_is_quarantined(const struct broker *b, const struct proc_id *id, bool *ret_jvm);
/* Writes the sentence of such a refusal. Returns -ETIMEDOUT. */
int broker_refuse_quarantined(const struct proc_id *id, struct error *err);

/* Open files of a target read-only; the fds are the caller's. Return 0, PROC_GONE, BROKER_ABSENT,
 * or -errno with @err. */
int broker_maps(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* Opens /proc/PID/mem. Refused (-EPERM) for pid 1 of the host, for flamed's own processes, and for
 * a process without libjvm.so. */
int broker_mem(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* Gets the words of the target's environment that name its service (broker/service_words.h), each
 * with a NUL behind it, in a sealed memfd. Refused as broker_mem() is. */
int broker_service_words(struct broker *b, const struct proc_id *id, int *ret_fd,
                         struct error *err);
/* Gets the service information of Datadog's tracer (broker/tracer_file.h) in a sealed memfd.
 * Refused as broker_mem() is. */
int broker_tracer_info(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* Opens the file @name (without '/'), a jar or war that JVM @id has open. Return: 0; BROKER_ABSENT:
 * it has no such file open. */
int broker_program_jar(struct broker *b, const struct proc_id *id, const char *name, int *ret_fd,
                       struct error *err);
/* Opens /proc/PID/pagemap, without page frame numbers. Refused as broker_mem() is. */
int broker_pagemap(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* Gets the text of /proc/PID/cgroup in a sealed memfd. Each path is cut at the first folder that a
 * user other than root may have made. *ret_cpu_limit: the least CPU limit of its cgroups and of
 * those above, in thousandths of a CPU; 0: none. */
int broker_cgroup(struct broker *b, const struct proc_id *id, int *ret_fd, uint64_t *ret_cpu_limit,
                  struct error *err);
/* Finds out whether one of the process's cgroups is frozen. Returns 0, PROC_GONE or -errno. */
int broker_is_frozen(struct broker *b, const struct proc_id *id, bool *ret, struct error *err);

/* Files of a process's cgroups that show which resources it lacks. */
enum broker_cgroup_file {
    BROKER_CGROUP_CPU,             /* cpu.stat of the cgroup with the least CPU limit */
    BROKER_CGROUP_KILLS,           /* memory.events, or memory.oom_control of version 1 */
    BROKER_CGROUP_MEMORY_PRESSURE, /* memory.pressure of its own cgroup */
    BROKER_CGROUP_SWAP, /* memory.swap.current, or memory.stat of version 1, of the cgroup with the
                         * least limit of swap */
    BROKER_CGROUP_FILES
};
struct broker_cgroup_files {
    uint64_t cpu_limit;           /* thousandths of a CPU, as broker_cgroup() returns it */
    uint64_t memory_limit;        /* bytes, the least of its cgroups and those above; 0: none */
    uint64_t swap_limit;          /* the same for bytes that may be swapped out; UINT64_MAX: none */
    int fds[BROKER_CGROUP_FILES]; /* read-only, owned by the caller; -1: no such file */
};
/* Opens these files. They can be read repeatedly, until the cgroup is removed. Returns 0, PROC_GONE
 * or -errno; after an error no file of @ret is open. */
int broker_cgroup_files(struct broker *b, const struct proc_id *id, struct broker_cgroup_files *ret,
                        struct error *err);
/* Gets the user that made the user namespace of a rootless container (rootless podman). The kernel
 * lets that user trace its processes. Returns 0, PROC_GONE or -errno. Returns BROKER_ABSENT if
 * there is no such namespace, if root made it, or if it is in a container of root's. */
int broker_namespace_user(struct broker *b, const struct proc_id *id, uint32_t *ret_uid,
                          struct error *err);
/* Gets the processes that hold the TCP sockets @keys: one element of @ret for each socket. @keys
 * are cookies if @net_ns is 0. Else they are inodes of sockets that are open in the network
 * namespace with the inode @net_ns. With 1,421 threads and 3,600 descriptors on the machine it
 * takes some 28 to 43 us if @net_ns is 0, else 1.1 ms (docs/access.md). The first socket has
 * priority in the answer, then sockets with few holders. Returns 0 or -errno. -EBUSY: other
 * requests took more than a second. -ETIMEDOUT: there are too many descriptors. -EOPNOTSUPP: the
 * kernel cannot list the descriptors. */
int broker_socket_holders(struct broker *b, const uint64_t *keys, size_t n, uint64_t net_ns,
                          struct socket_holding *ret, struct error *err);
/* Gets the system calls of waiting threads of a JVM, and the peers of sockets. Writes one element
 * of @ret for each of the @n @threads, at most PEERS_MAX. Takes some 100 ns for each thread of the
 * machine. Returns 0, PROC_GONE or -errno. -EPERM: the process is no JVM. -EINPROGRESS or -EAGAIN:
 * the program is being loaded. */
int broker_wait_peers(struct broker *b, const struct proc_id *id,
                      const struct peers_wanted *threads, size_t n,
                      struct waiting_peer ret[PEERS_MAX], struct error *err);
int broker_hsperfdata(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* Opens /tmp/perf-<innermost pid>.map in the target's root. */
int broker_perfmap(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* Opens the file of the executable mapping start-end, deleted or not. "[vdso]" is returned as a
 * sealed memfd. */
int broker_mapped(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                  int *ret_fd, struct error *err);

#define BROKER_BUILD_ID_MAX 20
/* Opens a separate debug file by build-id, from the target's root or else the host's. */
int broker_debug(struct broker *b, const struct proc_id *id, const uint8_t *build_id, size_t n,
                 int *ret_fd, struct error *err);
/* Opens the file @name below /usr/lib/debug/.dwz, shared by debug files (dwz), from the target's
 * root or else the host's. */
int broker_debug_shared(struct broker *b, const struct proc_id *id, struct span name, int *ret_fd,
                        struct error *err);
/* Opens the separate debug file @basename (no '/'), the .gnu_debuglink of the file mapped at
 * start-end. */
int broker_debuglink(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                     const char *basename, int *ret_fd, struct error *err);

/* Opens flamed's current configuration file, by the path that was fixed when the broker started, or
 * a file for TLS that it names. BROKER_ABSENT: there is no configuration, or it does not name such
 * a file. */
int broker_config(struct broker *b, enum tls_file which, int *ret_fd, struct error *err);
/* Opens the file that the configuration names by @path in a target of `push`. Returns the results
 * of broker_config(). */
int broker_pushed_file(struct broker *b, const char *path, int *ret_fd, struct error *err);

/* Opens /proc/kallsyms; the fd is the caller's. Returns 0 or -errno with @err. */
int broker_kallsyms(struct broker *b, int *ret_fd, struct error *err);

/* Opens the audit log for appending, by the path that was fixed when the broker started. Returns 0,
 * BROKER_ABSENT if no path was given, or -errno. */
int broker_audit_log(struct broker *b, int *ret_fd, struct error *err);
/* Opens the container runtime's data about container @id (64 hex digits): containerd's config.json,
 * CRI-O's userdata config.json, dockershim's config.v2.json. */
int broker_container_config(struct broker *b, const char *id, int *ret_fd, struct error *err);
/* Gets the names in /var/log/containers, NUL-separated, in a sealed memfd. */
int broker_container_logs(struct broker *b, int *ret_fd, struct error *err);
/* Gets the names of the kernel's tracepoints, one GROUP:NAME in each line, in a sealed memfd.
 * Returns -ENOENT if tracefs is not mounted. */
int broker_tracepoints(struct broker *b, int *ret_fd, struct error *err);

#define BROKER_CPUS_MAX 1024
/* Opens perf side-band events (fork, exec, comm, exit), one per online CPU, not yet mapped; their
 * clock is CLOCK_MONOTONIC. Returns 0, or -errno with a remedy. */
int broker_sideband(struct broker *b, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                    struct error *err);

#define BROKER_FRAMES_MIN 16
#define BROKER_FRAMES_MAX 2048
/* Sets the limit of frames in a user stack; an interpreted frame counts twice. Call it before any
 * request that samples or loads programs, such as broker_facts(): after these it returns -EBUSY. */
int broker_unwind_limit(struct broker *b, uint32_t frames, struct error *err);

/* Gets the map fd of the BPF ring buffer, which sample/ring.c maps. */
int broker_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err);
/* Gets the rings of the perf home (sample/perf_abi.h) from number @first on. There is one per
 * processor, in the order in which they came online. *ret_bytes: size of each ring, without its
 * first page. The fds are the caller's. Returns 0 or -errno with @err. */
int broker_perf_rings(struct broker *b, uint32_t first, int ret_fds[BROKER_CPUS_MAX],
                      size_t *ret_count, size_t *ret_bytes, struct error *err);

#define BROKER_SETS_MAX 8
/* Starts a set: the event @event on each CPU, with a sample every @period of its unit. @ret_set: 0
 * to BROKER_SETS_MAX-1. The set samples once broker_sample_begun() returns 0. Returns -EINPROGRESS
 * while its program is being loaded; call again. */
int broker_sample_start(struct broker *b, const char *event, uint64_t period, uint32_t *ret_set,
                        struct error *err);
/* Does the same for waits of virtual threads, by probes. @event is offcpu or lock. */
int broker_sample_yields(struct broker *b, const char *event, uint64_t period, uint32_t *ret_set,
                         struct error *err);
/* Checks that set @set samples. Returns 0, -EINPROGRESS while the kernel is still installing its
 * program (call again), or -errno if the set failed. Errors come with @err. */
int broker_sample_begun(struct broker *b, uint32_t set, struct error *err);
/* Checks that this machine has the event. Returns 0, or -errno with the reason in @err. */
int broker_sample_check(struct broker *b, const char *event, struct error *err);
/* Checks all events that have a name of their own. The sealed memfd has a line for each event: the
 * name, a tab, and the reason why this machine lacks the event, or nothing. Returns 0 or -errno
 * with @err. */
int broker_sample_checks(struct broker *b, int *ret_fd, struct error *err);
/* Writes a sample for each unfinished wait of set @set of event offcpu. These samples have the
 * number *ret_no (sample_abi.h: flush). *ret_late: number of finished waits with a pending sample.
 */
int broker_sample_flush(struct broker *b, uint32_t set, uint32_t *ret_no, uint32_t *ret_late,
                        struct error *err);
/* Writes the pending samples of @set for threads that wait again. */
int broker_sample_lates(struct broker *b, uint32_t set, struct error *err);
int broker_sample_stop(struct broker *b, uint32_t set, struct error *err);
/* Selects the sets that sample a process: bit n of @sets for set n; 0 forgets the process. */
int broker_filter_process(struct broker *b, int32_t host_pid, uint32_t sets, struct error *err);
/* Selects the sets that sample every process. */
int broker_filter_all(struct broker *b, uint32_t sets, struct error *err);

/* ---- looking at threads ---- */

#define BROKER_LOOK_PARTS_MAX 64
/* Opens an iterator over the threads of the processes that broker_look_process() selected. A read
 * returns a struct looks_entry for each thread, some followed by a struct sample_record. Returns 0
 * or -errno with @err. -EINPROGRESS: the program is being loaded; call again. -EOPNOTSUPP: the
 * kernel has no such iterator. */
int broker_look(struct broker *b, const struct looks_pass *pass, int *ret_fd, struct error *err);
/* Selects the threads of @host_pid for passes. @epoch: a new number starts as if no pass had
 * visited them; 0 ends the selection. Returns 0 or -errno with @err. */
int broker_look_process(struct broker *b, int32_t host_pid, uint32_t epoch, struct error *err);

/* Checks that all probes for process @host_pid are in. Returns 0 or -errno with @err. -EINPROGRESS:
 * not yet. -ENOENT: no probes were requested. Any other error: some probes failed;
 * broker_probe_put() then returns which. */
int broker_probes_begun(struct broker *b, int32_t host_pid, struct error *err);

/* The programs that run at probes. */
enum broker_probed {
    BROKER_PROBED_HEAP,    /* event alloc, at functions of libjvm.so that allocate */
    BROKER_PROBED_AGENT,   /* events alloc and live, at the one place in an agent that the broker
                            * knows (STREAM_OPTION_SAMPLES) */
    BROKER_PROBED_MOMENTS, /* event safepoint, at marks in libjvm.so that the broker finds */
    BROKER_PROBED_CALL,    /* for one set, at the function that it counts calls of */
    BROKER_PROBED_MALLOC,  /* for one set, at a function that allocates or frees memory; the set may
                            * have several in a process */
    BROKER_PROBED_YIELDS,  /* sets of broker_sample_yields(), where virtual threads yield */
    BROKER_PROBED_PROGRAMS,
};

/* The kinds of a place for BROKER_PROBED_MALLOC. The first ones are those of enum alloc_malloc of
 * sample/alloc_abi.h: they define which arguments of the function are the requested bytes. Event
 * nativelive has two more kinds. BROKER_MALLOC_FREE: the function frees its argument.
 * BROKER_MALLOC_RESULT: the function's results are probed, at places in the function that the
 * broker finds (-ENOEXEC: there is none). */
enum broker_malloc_argument {
    BROKER_MALLOC_FIRST,
    BROKER_MALLOC_SECOND,
    BROKER_MALLOC_SECOND_OF_OLD,
    BROKER_MALLOC_THIRD,
    BROKER_MALLOC_THIRD_OF_LARGE,
    BROKER_MALLOC_PRODUCT,
    BROKER_MALLOC_FREE,
    BROKER_MALLOC_RESULT,
    BROKER_MALLOC_ARGUMENTS,
};

#define BROKER_FILE_BYTES_MAX (UINT64_C(8) << 30) /* size of a file with probed functions */
#define BROKER_PLACES_MAX 24
#define BROKER_THREAD_BYTES_MAX 65536 /* size of a JavaThread, which really has 1 to 3 KiB */

/* The start of a function: its offset in the file, and its kind. The program decides whether a kind
 * is an enum alloc_kind, broker_malloc_argument or yields_kind. A place for YIELDS_PREEMPT may be
 * missing. The broker refuses the place of an offset of 2^56 or more. */
typedef uint64_t broker_place;
static inline broker_place broker_place_of(uint64_t offset, uint32_t kind)
{
    return offset >> 56 ? UINT64_MAX : offset | (uint64_t)kind << 56;
}
static inline uint64_t broker_place_offset(broker_place p)
{
    return p & ((UINT64_C(1) << 56) - 1);
}
static inline uint32_t broker_place_kind(broker_place p)
{
    return (uint32_t)(p >> 56);
}

/* Where the program of BROKER_PROBED_AGENT reads in a JVM. */
struct broker_agent {
    uint64_t collections; /* address of the JVM's number of collections; 0: unknown */
    uint32_t class_klass; /* offset in a java.lang.Class of its Klass* */
    uint32_t zero;
};
struct broker_probes {
    uint32_t program; /* enum broker_probed */
    uint32_t set;     /* for BROKER_PROBED_CALL and BROKER_PROBED_MALLOC; else 0 */
    union {
        struct alloc_vm heap;
        struct broker_agent agent;
        struct moment_thread thread;
        struct yields_vm yields;
    } about;              /* where the program reads in a JVM; zero for the other programs */
    uint32_t count, zero; /* count: number of places; 0 if the broker knows or finds them */
    broker_place places[BROKER_PLACES_MAX]; /* zero from index count on */
};

/* Puts probes into process @id. They replace those of the same program and set, except for
 * BROKER_PROBED_MALLOC. The probed file is the one mapped to execute at @start-@end; for
 * BROKER_PROBED_AGENT both are 0. Probes end with the set, or with the last set of their events.
 * Returns 0, PROC_GONE, BROKER_ABSENT if the file has no such marks, or -errno with @err.
 * -EINPROGRESS: the kernel is installing the probes; a repeated request keeps those that are
 * installed. -EPERM: no probe is allowed there. -ENOEXEC: no probe can be at that instruction.
 * -EAGAIN: no set of such events runs. */
int broker_probe_put(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                     const struct broker_probes *probes, struct error *err);
/* Removes the probes of @program from process @host_pid. For BROKER_PROBED_CALL and
 * BROKER_PROBED_MALLOC, @which is the set, and its probes of both programs are removed. For
 * BROKER_PROBED_MOMENTS, @which is bits of enum moment_group; 0: all. Otherwise it is 0. Returns
 * -ENOENT if the process has no such probes. */
int broker_probe_drop(struct broker *b, int32_t host_pid, enum broker_probed program,
                      uint32_t which, struct error *err);
/* Makes set @set, of event alloc, take samples of agents alone. Returns -ENOENT if there is no such
 * set. */
int broker_sample_agents(struct broker *b, uint32_t set, struct error *err);
/* Gets the ring of moments as broker_ring() does, while a set of event safepoint runs. */
int broker_moments_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err);
/* Gets the number of calls that the process made to functions of BROKER_PROBED_MALLOC since the
 * first such function was probed. Returns 0, -ENOENT without such probes, or another -errno. */
int broker_mallocs(struct broker *b, int32_t host_pid, uint64_t *ret);
/* Gets the number of hits of the probes of BROKER_PROBED_HEAP in a process. Returns 0, -ENOENT
 * without such probes, or another -errno. */
int broker_heap_hits(struct broker *b, int32_t host_pid, uint64_t *ret);
/* Gets the counts of the probes of BROKER_PROBED_YIELDS in a process. Returns 0, -ENOENT without
 * such probes, or another -errno. */
int broker_yields(struct broker *b, int32_t host_pid, struct yields_counts *ret);
/* Gets the current waits of virtual threads in a process with BROKER_PROBED_YIELDS: each a struct
 * yields_start of sample/yields_abi.h, in a sealed memfd. Returns 0, -ENOENT without such probes,
 * or another -errno. */
int broker_yields_waits(struct broker *b, int32_t host_pid, int *ret_fd, struct error *err);

/* Gets the counters of the BPF programs since they were loaded. */
int broker_sample_stats(struct broker *b, struct sample_stats *ret, struct error *err);
/* Gets a file with the losses since the last call: a struct loss (sample/loss_abi.h) for each set
 * and process, at most LOSSES_MAX. Returns 0 or -errno. */
int broker_take_losses(struct broker *b, int *ret_fd, struct error *err);

/* Begins an attach to the JVM @id (docs/threat-model.md) and returns at once. @mode: enum
 * attach_mode; @tmp: mount over the container's /tmp during the attach; @options: bits of enum
 * stream_option. *ret_result: a pipe with one struct attach_result (helper/job.h) at the end of the
 * attach. *ret_out: a file that the JVM writes (agent/stream.h, or text), for the caller to map.
 * Both are the caller's. Returns 0, PROC_GONE, or -errno with @err and the remedy. */
int broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                  uint32_t options, int *ret_result, int *ret_out, struct error *err);
/* Checks that an attach is possible, and changes nothing. Returns 0, PROC_GONE, or -errno with @err
 * and the remedy. */
int broker_attach_check(struct broker *b, const struct proc_id *id, struct error *err);
/* Gets the exit status of a JVM that flamed attached to: *ret_status as in wait(2). Returns 0,
 * -EAGAIN if the JVM has not ended yet, or another -errno. Returns BROKER_ABSENT if the status is
 * unknown: the JVM ended long ago, or its parent reaped it on a kernel before Linux 6.15. */
int broker_attach_ended(struct broker *b, const struct proc_id *id, int *ret_status);
/* Gets the exit status of a process that its parent has not waited for: *ret_status as in wait(2).
 * Returns 0, BROKER_ABSENT if the process lives or its parent has waited for it, or -errno. */
int broker_zombie_status(struct broker *b, const struct proc_id *id, int *ret_status);
