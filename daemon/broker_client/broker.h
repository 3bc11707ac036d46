/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of broker_client/: flamed's side of the talk with flamed-broker, which holds the
 * privileges. One request, one answer, over a SOCK_SEQPACKET socket; requests name a thing, never a
 * path; answers carry read-only fds. Every call blocks for the broker's answer (milliseconds; a
 * deadline of 10 s makes the peer count as lost). Thread: any (one request at a time, by a lock).
 * The list of requests and the reason why each is safe: broker_client/requests.h and
 * docs/privilege.md.
 */
#pragma once

#include "base/error.h"
#include "base/tls_paths.h"
#include "event/event_kind.h"
#include "proc/proc.h"
#include "proc/socket_holding.h"

struct broker;

/* Outcomes > 0 besides PROC_GONE. */
#define BROKER_ABSENT                                                                              \
    2 /* there is no such file (hsperfdata, perf map, debug file, container data) */

/* Takes @fd, the connected socket. 0 or -ENOMEM. */
int broker_new(int fd, struct broker **ret);
struct broker *broker_free(struct broker *b);
/* Returns the socket, to be watched for EOF. Points into @b. */
int broker_fd(const struct broker *b);
/* Returns true once the peer is gone: every further call returns -ENOTCONN. */
bool broker_lost(const struct broker *b);

/* What the broker found when it started: for /readyz and warnings. */
struct broker_facts {
    uint64_t capabilities;   /* bit set of its permitted capabilities */
    uint32_t kernel_version; /* KERNEL_VERSION(a,b,c) */
    uint32_t cpus;           /* online */
    int32_t perf_event_paranoid, kptr_restrict;
    uint32_t perf_event_max_stack;
    int32_t pid;                                 /* its own */
    uint8_t btf, bpf_loaded, sideband, kallsyms; /* 1: works */
    uint8_t pid_namespace_level;                 /* 0: the initial one */
    uint8_t bpf_loading; /* 1: not loaded yet, and not refused: to be asked again */
    uint8_t perf_home;   /* 1: BPF programs are refused, and perf events take their place */
    uint8_t pad;
    char bpf_problem[336],
        sideband_problem[240]; /* a sentence with the remedy, "" where it works */
};
int broker_facts(struct broker *b, struct broker_facts *ret, struct error *err);

struct quarantine;
/* Refuses from now on to ask for what @l names (borrowed; does not change). To be called before
 * other threads ask. */
void broker_set_quarantine(struct broker *b, const struct quarantine *l);
/* Returns whether all that is asked about @id is refused: -ETIMEDOUT with the sentence. *ret_jvm
 * (where not NULL): whether it is known to be a JVM. Thread: any. */
bool broker_is_quarantined(const struct broker *b, const struct proc_id *id, bool *ret_jvm);
/* Writes the sentence. Return: -ETIMEDOUT. */
int broker_refuse_quarantined(const struct proc_id *id, struct error *err);

/* Read-only fds of a target, owned by the caller. 0, PROC_GONE, BROKER_ABSENT, -errno with @err. */
int broker_maps(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* Refused (-EPERM) for pid 1 of the host, for flamed's own processes and where no libjvm is mapped.
 */
int broker_mem(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* As broker_mem(): the words of its environment that name its service (broker/service_words.h),
 * each with a NUL behind it, in a sealed memfd. */
int broker_service_words(struct broker *b, const struct proc_id *id, int *ret_fd,
                         struct error *err);
/* As broker_mem(): what Datadog's tracer says of it (broker/tracer_file.h), in a sealed memfd. */
int broker_tracer_info(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* As broker_mem(): its /proc/PID/pagemap, without page frame numbers. */
int broker_pagemap(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* Gets the text of its /proc/PID/cgroup in a sealed memfd, each path cut where it leads into a
 * folder that root alone did not make. *ret_cpu_limit: the least CPU limit of its cgroups and of
 * those above, in thousandths of a CPU; 0: none. */
int broker_cgroup(struct broker *b, const struct proc_id *id, int *ret_fd, uint64_t *ret_cpu_limit,
                  struct error *err);
/* Gets whether one of its cgroups is frozen. 0, PROC_GONE, -errno. */
int broker_is_frozen(struct broker *b, const struct proc_id *id, bool *ret, struct error *err);

/* The files of a process's cgroups that say what it lacks. */
enum broker_cgroup_file {
    BROKER_CGROUP_CPU,             /* cpu.stat, of the cgroup with the least CPU limit */
    BROKER_CGROUP_KILLS,           /* memory.events, or memory.oom_control of version 1 */
    BROKER_CGROUP_CPU_PRESSURE,    /* cpu.pressure, as the next two of its own cgroup */
    BROKER_CGROUP_MEMORY_PRESSURE, /* memory.pressure */
    BROKER_CGROUP_IO_PRESSURE,     /* io.pressure */
    BROKER_CGROUP_FILES
};
struct broker_cgroup_files {
    uint64_t cpu_limit;           /* as of broker_cgroup() */
    uint64_t memory_limit;        /* bytes, the least of its cgroups and those above; 0: none */
    int fds[BROKER_CGROUP_FILES]; /* read-only, owned by the caller; -1: there is no such file */
};
/* Gets them. The files can be read again and again; a reading fails once the cgroup is removed. 0,
 * PROC_GONE, -errno; then nothing of @ret is open. */
int broker_cgroup_files(struct broker *b, const struct proc_id *id, struct broker_cgroup_files *ret,
                        struct error *err);
/* Gets the user who made the user namespace of a container without root (rootless podman).
 * The kernel lets that user trace what runs in it. 0; BROKER_ABSENT: there is none, or it is
 * root's, or one in a container of root's; PROC_GONE; -errno. */
int broker_namespace_user(struct broker *b, const struct proc_id *id, uint32_t *ret_uid,
                          struct error *err);
/* Gets the processes that hold the TCP sockets @keys, into one of @ret for each. @keys are cookies
 * if @net_ns is 0. Else they are the inodes of sockets that are open in the network namespace with
 * the inode @net_ns. Takes some 50 ns for each descriptor of the machine, and 50 more for each
 * socket. The first socket and those that few hold come first, as far as the answer has room.
 * Return: 0. -EBUSY if its turn has not come within a second. -ETIMEDOUT if there are too many
 * descriptors. -EOPNOTSUPP if the kernel has no such walk. -errno. */
int broker_socket_holders(struct broker *b, const uint64_t *keys, size_t n, uint64_t net_ns,
                          struct socket_holding *ret, struct error *err);
int broker_hsperfdata(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* /tmp/perf-<innermost pid>.map in the target's root. */
int broker_perfmap(struct broker *b, const struct proc_id *id, int *ret_fd, struct error *err);
/* Gets the file behind the executable mapping start-end, deleted or not. "[vdso]" comes as a sealed
 * memfd. */
int broker_mapped(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                  int *ret_fd, struct error *err);

#define BROKER_BUILD_ID_MAX 20
/* Separate debug file by build-id, looked for in the target's root, then the host's. */
int broker_debug(struct broker *b, const struct proc_id *id, const uint8_t *build_id, size_t n,
                 int *ret_fd, struct error *err);
/* Gets the debug file that others share (dwz), @name below /usr/lib/debug/.dwz, looked for in the
 * target's root, then the host's. */
int broker_debug_shared(struct broker *b, const struct proc_id *id, struct span name, int *ret_fd,
                        struct error *err);
/* Separate debug file @basename (no '/') as .gnu_debuglink of the mapping start-end names it. */
int broker_debuglink(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                     const char *basename, int *ret_fd, struct error *err);

/* flamed's configuration file as it is now, by the path that was fixed when the broker started, or
 * a file for TLS that it names. BROKER_ABSENT: there is none, or it names none. */
int broker_config(struct broker *b, enum tls_file which, int *ret_fd, struct error *err);
/* Opens the file that the configuration names by @path in a target of `push`. Results as of
 * broker_config(). */
int broker_pushed_file(struct broker *b, const char *path, int *ret_fd, struct error *err);

/* Gives a descriptor of /proc/kallsyms, the caller's. Return: 0 or -errno with @err. */
int broker_kallsyms(struct broker *b, int *ret_fd, struct error *err);

/* Gets the log of who did what, to append to, by the path that was fixed when the broker started.
 * 0; BROKER_ABSENT: none was named; -errno. */
int broker_audit_log(struct broker *b, int *ret_fd, struct error *err);
/* Gets what the container runtime wrote about container @id (64 hex digits): containerd's
 * config.json, CRI-O's userdata config.json, dockershim's config.v2.json. */
int broker_container_config(struct broker *b, const char *id, int *ret_fd, struct error *err);
/* Gets the names in /var/log/containers, NUL-separated, in a sealed memfd. */
int broker_container_logs(struct broker *b, int *ret_fd, struct error *err);
/* Gets the kernel's tracepoints, GROUP:NAME a line, in a sealed memfd. -ENOENT: tracefs is not
 * mounted.
 */
int broker_tracepoints(struct broker *b, int *ret_fd, struct error *err);

#define BROKER_CPUS_MAX 1024
/* perf side-band events (fork, exec, comm, exit), one per online CPU, not yet mapped; the clock is
 * CLOCK_MONOTONIC. 0, or -errno with a remedy. */
int broker_sideband(struct broker *b, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                    struct error *err);

#define BROKER_FRAMES_MIN 16
#define BROKER_FRAMES_MAX 2048
/* Frames of a user stack at most; an interpreted one counts twice. To be said before anything that
 * samples is asked for (-EBUSY), broker_facts() among it. */
int broker_unwind_limit(struct broker *b, uint32_t frames, struct error *err);

/* Gets the BPF ring buffer's map fd, to be mapped by sample/ring.c. */
int broker_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err);
/* Gets the rings of the perf home (sample/perf_abi.h) from number @first on. There is one for each
 * processor, in the order in which they came online. *ret_bytes: of each, without its first page.
 * The fds are the caller's. 0 or -errno with @err. */
int broker_perf_rings(struct broker *b, uint32_t first, int ret_fds[BROKER_CPUS_MAX],
                      size_t *ret_count, size_t *ret_bytes, struct error *err);

#define BROKER_SETS_MAX 8
/* Starts a set: the event of that name on each CPU, a sample every @period of its unit. @ret_set
 * 0..BROKER_SETS_MAX-1. It samples from broker_sample_begun() on. -EINPROGRESS: its program is
 * being loaded; ask again. */
int broker_sample_start(struct broker *b, const char *event, uint64_t period, uint32_t *ret_set,
                        struct error *err);
/* Returns 0 if set @set samples. -EINPROGRESS: the kernel is still putting its program in place;
 * ask again. -errno: it never will. The last two with @err. */
int broker_sample_begun(struct broker *b, uint32_t set, struct error *err);
/* Checks whether this machine has the event. 0; -errno with @err, which says why not. */
int broker_sample_check(struct broker *b, const char *event, struct error *err);
/* Does the same for all events with a name of their own. The sealed memfd has a line for each: the
 * name, a tab, and why this machine lacks it; nothing where it does not. 0 or -errno with @err. */
int broker_sample_checks(struct broker *b, int *ret_fd, struct error *err);
/* Has a sample written for each wait that is not over, of set @set of event offcpu. They have the
 * number *ret_no (sample_abi.h: flush). *ret_late: waits that are over, and whose samples are still
 * to come. */
int broker_sample_flush(struct broker *b, uint32_t set, uint32_t *ret_no, uint32_t *ret_late,
                        struct error *err);
/* Has those samples of @set written that are still to come, of threads that wait again. */
int broker_sample_lates(struct broker *b, uint32_t set, struct error *err);
int broker_sample_stop(struct broker *b, uint32_t set, struct error *err);
/* Sets which sets want samples of a process: bit n of @sets for set n; 0 forgets it. */
int broker_filter_process(struct broker *b, int32_t host_pid, uint32_t sets, struct error *err);
/* Sets which sets want samples of every process. */
int broker_filter_all(struct broker *b, uint32_t sets, struct error *err);

/* ---- looking at threads ---- */

#define BROKER_LOOK_PARTS_MAX 64
struct broker_look {
    uint32_t share, walks; /* as in struct looks_pass of sample/looks_abi.h */
    uint32_t parts, part;  /* parts: 1 to BROKER_LOOK_PARTS_MAX; part: less */
};
/* Opens an iterator over the threads of the processes that broker_look_process() chose. Reading it
 * gives a struct looks_entry for each thread, some with a struct sample_record behind it.
 * -EINPROGRESS: its program is being loaded; ask again. -EOPNOTSUPP: the kernel has no such
 * iterator. -errno. All with @err. */
int broker_look(struct broker *b, const struct broker_look *look, int *ret_fd, struct error *err);
/* Has passes look at the threads of @host_pid. @epoch: 0: no more; another one than before: as if
 * no pass had looked at them. 0 or -errno with @err. */
int broker_look_process(struct broker *b, int32_t host_pid, uint32_t epoch, struct error *err);

/* Returns 0 if all probes are in that process @host_pid is to have. -EINPROGRESS: not yet. -ENOENT:
 * it is to have none. -errno: some could not be put; what puts them says which. Each but the first
 * with @err. */
int broker_probes_begun(struct broker *b, int32_t host_pid, struct error *err);

/* The programs that probes call. */
enum broker_probed {
    BROKER_PROBED_HEAP,    /* event alloc, at functions of libjvm.so that allocate */
    BROKER_PROBED_AGENT,   /* events alloc and live, at the one place of an agent
                            * (STREAM_OPTION_SAMPLES), which the broker knows */
    BROKER_PROBED_MOMENTS, /* event safepoint, at marks in libjvm.so, which the broker finds */
    BROKER_PROBED_CALL,    /* of one set, at a function whose calls it counts */
    BROKER_PROBED_MALLOC,  /* of one set, at a function that asks for memory or frees it: the set
                            * may have several in a process */
    BROKER_PROBED_PROGRAMS,
};

/* The kinds of a place of BROKER_PROBED_HEAP: as enum alloc_kind of sample/alloc_abi.h. */
enum broker_probe_kind {
    BROKER_PROBE_IN_NEW_TLAB,
    BROKER_PROBE_OUTSIDE_TLAB,
    BROKER_PROBE_ALLOCATORS, /* enum hotspot_allocator follows */
    BROKER_PROBE_KINDS = BROKER_PROBE_ALLOCATORS + 13,
};
/* The kinds of a place of BROKER_PROBED_MALLOC: as enum alloc_malloc of sample/alloc_abi.h. They
 * say which arguments of the function are the bytes that are asked for. With event nativelive there
 * are two more. The function frees its argument. Or its results are probed, at places in it that
 * the broker finds (-ENOEXEC: there is none). */
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

#define BROKER_FILE_BYTES_MAX (UINT64_C(8) << 30) /* of a file with functions */
#define BROKER_PLACES_MAX 24
#define BROKER_THREAD_BYTES_MAX 65536 /* of a JavaThread; it has 1 to 3 KiB */

/* The start of a function: its offset in the file, and its kind, of the program's own. An offset of
 * 2^56 and more makes a place that the broker refuses. */
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

/* What a program reads of a JVM, of BROKER_PROBED_HEAP. */
struct broker_heap {
    uint32_t allocated_bytes, tlab_start, tlab_top, tlab_end; /* bytes into a JavaThread, */
    uint32_t layout_helper, element_klass;                    /* into a Klass, an ObjArrayKlass, */
    uint32_t resolved_klasses, pool_bytes; /* into a ConstantPool, and to its end */
    uint32_t reference_bytes;              /* in an array of objects: 4 or 8 */
};
/* The same of BROKER_PROBED_AGENT. */
struct broker_agent {
    uint64_t collections; /* address of the number of its collections; 0: not known */
    uint32_t class_klass; /* bytes into a java.lang.Class, to its Klass* */
    uint32_t zero;
};
/* The same of BROKER_PROBED_MOMENTS. A JavaThread: bytes into it, to what it does and to what it
 * knows of safepoints (0: not known). What it does is one of these numbers, which rise in this
 * order (hotspot.h). */
struct broker_java_thread {
    uint32_t state, safepoint;
    uint8_t begun, native, blocked, end;
};
struct broker_probes {
    uint32_t program; /* enum broker_probed */
    uint32_t set;     /* of BROKER_PROBED_CALL and BROKER_PROBED_MALLOC; else 0 */
    union {
        struct broker_heap heap;
        struct broker_agent agent;
        struct broker_java_thread thread;
    } about;              /* as of the program; else zero */
    uint32_t count, zero; /* of places; of those that the broker knows or finds: 0 */
    broker_place places[BROKER_PLACES_MAX]; /* behind count: zero */
};

/* Puts probes into process @id, in place of those of that program and set, but for
 * BROKER_PROBED_MALLOC. They are in the file that it has mapped to execute at @start-@end; of
 * BROKER_PROBED_AGENT both are 0. They end with the set, or with the last set of their events.
 * Return: 0. -EINPROGRESS: the kernel is putting them; if it is asked again, what is there stays.
 * PROC_GONE. BROKER_ABSENT: the file has no such marks. -EPERM: no probe may be there. -ENOEXEC: or
 * not at that instruction. -EAGAIN: no set of them runs. -errno. Each below 0 with @err. */
int broker_probe_put(struct broker *b, const struct proc_id *id, uint64_t start, uint64_t end,
                     const struct broker_probes *probes, struct error *err);
/* Takes the probes of @program out of process @host_pid. @which: the set, of BROKER_PROBED_CALL and
 * BROKER_PROBED_MALLOC, whose probes of both go; bits of enum moment_group of
 * BROKER_PROBED_MOMENTS, 0: all; else 0. -ENOENT: it has none. */
int broker_probe_drop(struct broker *b, int32_t host_pid, enum broker_probed program,
                      uint32_t which, struct error *err);
/* Has set @set, of event alloc, take what agents report, and nothing else. -ENOENT: it is none. */
int broker_sample_agents(struct broker *b, uint32_t set, struct error *err);
/* Gets the ring of moments, as broker_ring(), while a set of event safepoint runs. */
int broker_moments_ring(struct broker *b, int *ret_fd, size_t *ret_bytes, struct error *err);
/* Gets how often the process called functions of BROKER_PROBED_MALLOC since the first of them was
 * probed. 0, -ENOENT: it has none, -errno. */
int broker_mallocs(struct broker *b, int32_t host_pid, uint64_t *ret);

/* Counters of the BPF programs since they were loaded. */
struct broker_sample_stats {
    uint64_t samples, lost_ring, lost_other;
    uint64_t lost_budget;   /* not taken: they would have cost over a quarter of a processor */
    uint64_t hidden;        /* ticks in processes outside our pid namespace */
    uint64_t time_ns, runs; /* time spent in the programs, where the kernel counts it */
};
int broker_sample_stats(struct broker *b, struct broker_sample_stats *ret, struct error *err);
/* Gets a file with what was lost since the last call, by set and process: each a struct loss
 * (sample/loss_abi.h), at most LOSSES_MAX. 0 or -errno. */
int broker_take_losses(struct broker *b, int *ret_fd, struct error *err);

/* Begins an attach to the JVM @id (docs/threat-model.md) and returns at once. @mode: enum
 * attach_mode; @tmp: mount over the container's /tmp during the attach; @options: bits of enum
 * stream_option. *ret_result: a pipe with one struct attach_result (helper/job.h) when the attach
 * is over. *ret_out: what the JVM writes (agent/stream.h, or text), to be mapped. Both are the
 * caller's. 0, PROC_GONE, -errno with @err and the remedy. */
int broker_attach(struct broker *b, const struct proc_id *id, uint32_t mode, bool tmp,
                  uint32_t options, int *ret_result, int *ret_out, struct error *err);
/* Checks whether it could be done, without doing anything. 0, PROC_GONE, -errno with @err and
 * remedy. */
int broker_attach_check(struct broker *b, const struct proc_id *id, struct error *err);
/* Gives how a JVM that was attached to ended: *ret_status as in wait(2).
 * Return: 0. -EAGAIN: it has not ended yet. BROKER_ABSENT: not known (Linux before 6.15 and its
 * parent has reaped it, or it is long ago). -errno. */
int broker_attach_ended(struct broker *b, const struct proc_id *id, int *ret_status);
/* Gives how a process ended that its parent has not waited for: *ret_status as in wait(2).
 * Return: 0. BROKER_ABSENT: it lives, or its parent has waited. -errno. */
int broker_zombie_status(struct broker *b, const struct proc_id *id, int *ret_status);
