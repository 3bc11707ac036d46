/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the BPF programs and arms their events; runs inside flamed-broker only. Every link and map
 * is an fd, so sampling ends with the process. Thread: the broker's main one.
 */
#pragma once

#include "base/error.h"
#include "event/event_kind.h"
#include "sample/hook.h"
#include "sample/stats.h"
#include "unwind/process.h"

struct context_path;
struct sampler;
struct sampler_event;
struct sampler_shared;

/* Loads the programs. @err explains what the kernel lacks, with the remedy (no BTF, capability,
 * verifier). @pid_ns_fd: the pid namespace that numbers processes, or -1 for the initial one.
 * @max_frames: limit of a user stack, SAMPLE_USER_MIN to SAMPLE_USER_MAX; an interpreted frame
 * counts twice. 0 or -errno. */
int sampler_new(int pid_ns_fd, size_t ring_bytes, uint32_t max_frames, struct sampler **ret,
                struct error *err);
/* Makes a sampler of perf events (sample/perf_abi.h), since BPF programs cannot be loaded for @why.
 * @rows_fd: sealed memory of SAMPLER_ROWS_MAX rows, which it takes. 0 or -errno with @err. */
int sampler_new_perf(int rows_fd, const struct error *why, struct sampler **ret, struct error *err);
/* Returns why @s has no BPF programs; NULL: it has them. */
const struct error *sampler_without_bpf(const struct sampler *s);
/* Gets the fd, borrowed, of ring @i of a sampler without BPF programs, and the bytes of each ring.
 * -ENOENT: there is no such ring. */
int sampler_perf_ring(const struct sampler *s, size_t i, size_t *ret_bytes);
/* Checks that each processor on which a set was armed has its ring. 0 or -errno with @err. */
int sampler_check_rings(const struct sampler *s, struct error *err);
/* Checks that @event needs no BPF programs, or that @s has them. @s NULL: unknown, passes. 0;
 * -EOPNOTSUPP with @err. */
int sampler_check_home(const struct sampler *s, const struct sampler_event *event,
                       struct error *err);
struct sampler *sampler_free(struct sampler *s);
/* Lets @worker put all later hooks. Called before sets begin. Without a worker, the caller puts
 * hooks at once. */
void sampler_hook_by(struct sampler *s, struct hook_worker worker);
/* Returns the number of processes that sampler_put_process() may describe at once. That is
 * STACK_PROCESSES_MAX, or less if the kernel's maps cannot grow. */
uint32_t sampler_processes_max(const struct sampler *s);
/* Gets the ring buffer's map fd and size; borrowed from @s. */
int sampler_ring_fd(const struct sampler *s, size_t *ret_bytes);
/* Returns the map of the table of rows, of SAMPLER_ROWS_MAX; borrowed from @s. */
int sampler_rows_fd(const struct sampler *s);

#define SAMPLER_SETS_MAX 8
#define SAMPLER_ROWS_MAX (2u << 20) /* size of the table of rows: 16 MiB */
/* Sets the remedy in @err after perf_event_open() was refused (EPERM, EACCES): the capability, and
 * the setting that requires it. */
void sampler_denied(struct error *err);
/* Arms the event on every online CPU, or begins to, with a period of event_period_valid().
 * sampler_begun() reports when it is armed. @event is of sampler_describe(). Return: 0. -EBUSY: all
 * sets are taken. -EAGAIN: sampler_take() of its program must come first. -EEXIST: another set
 * samples the same tracepoint. -errno. */
int sampler_start_event(struct sampler *s, const struct sampler_event *event, uint64_t period,
                        uint32_t *ret_set, struct error *err);
/* Checks that this machine has the event: opens it for a moment. 0; -ENOENT; -errno, with @err. */
int sampler_check_event(const struct sampler_event *event, struct error *err);
/* Checks that set @set samples. 0. -EINPROGRESS: not yet. Other -errno: the set failed, and the
 * caller stops it. @err is set unless 0. */
int sampler_begun(struct sampler *s, uint32_t set, struct error *err);
int sampler_stop(struct sampler *s, uint32_t set);

/* ---- programs that are loaded later: program.h ---- */

/* Copies the parts of the sampler that later programs share. The caller owns *ret
 * (sampler_shared_close()). 0 or -errno. */
int sampler_share(const struct sampler *s, struct sampler_shared *ret);
/* Adds @loaded, of @program, to the programs of @s, which owns it from then on. */
void sampler_take(struct sampler *s, enum event_program program, void *loaded);
/* Returns true if @s has @program. */
bool sampler_has(const struct sampler *s, enum event_program program);
/* Returns @program of @s for the functions of its loader's header; NULL: it is not loaded, or @s is
 * NULL. */
void *sampler_loaded(const struct sampler *s, enum event_program program);
/* Checks that this kernel can load @program. @s may be NULL; it remembers a success. 0, or -errno
 * with @err. */
int sampler_check_program(struct sampler *s, enum event_program program, struct error *err);

/* ---- sets ---- */

/* Arms every set on processors that came online since, and releases those that went offline. Called
 * about once a second. Returns the number of processors that changed. */
int sampler_follow_cpus(struct sampler *s);
/* Does the same as if just the @count processors @cpus (ascending) were online. */
int sampler_set_cpus(struct sampler *s, const uint32_t *cpus, size_t count);
int sampler_filter_process(struct sampler *s, int32_t pid, uint32_t sets);
int sampler_filter_all(struct sampler *s, uint32_t sets);
/* Sets the CPU time that samples may take in each STACK_BUDGET_WINDOW_NS of a processor;
 * STACK_BUDGET_NS. Samples beyond it are not taken, and counted as lost_budget. For PROGRAM_CPU
 * alone. */
void sampler_budget(struct sampler *s, uint64_t ns);
/* Copies @count rows to index @first of the table of rows. -EINVAL: they exceed it. */
int sampler_put_rows(struct sampler *s, uint32_t first, const struct unwind_row *rows,
                     uint32_t count);
/* Describes process @pid to the unwinder; NULL forgets it. -E2BIG: too many processes. When slot
 * numbers start over (one is below the last), the unwinder's memory of old slots is cleared
 * first. */
int sampler_put_process(struct sampler *s, int32_t pid, const struct unwind_process *p);
/* Describes where the threads of process @pid keep their requests (context_path_valid()); NULL
 * forgets it. -E2BIG: there are STACK_CONTEXTS_MAX already. */
int sampler_put_context(struct sampler *s, int32_t pid, const struct context_path *path);
/* Stores the address of a thread's JavaThread. If STACK_THREADS_MAX are stored, the least recently
 * used one is evicted. */
int sampler_put_thread(struct sampler *s, int32_t pid, int32_t tid, uint64_t java_thread);
void sampler_stats(const struct sampler *s, struct sample_stats *ret);
struct loss;
/* Takes out the losses since the last call, by set and process: up to LOSSES_MAX. A loss that is
 * counted during the call may be missed by all calls. 0 or -errno. */
int sampler_take_losses(struct sampler *s, struct loss *ret, size_t *ret_count);
