// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Samples waits by visits: a pass visits all threads of wanted processes. flamed makes a pass by
 * reading an iterator, one pass at a time. The counters of switches show whether a thread has run
 * since its last visit. If it has, and waits now, its record has the kernel's stack and the
 * registers from which flamed walks the user's stack.
 */
#include "sample/task.bpf.h"

#include "sample/looks_abi.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* State of a thread. */
struct looked {
    __u64 switches; /* their number when its place was last written or found unchanged */
    __u64 print;    /* print_of() its place */
    __u32 epoch;    /* epoch of its process at that time; 0: its place is unknown */
    __u32 host_tid; /* in flamed's pid namespace; stored, as finding it is slow; 0: not yet */
    __u32 alike;    /* number of LOOKS_ALIKE since that time */
    __u32 zero;
};

THREAD_MAP(looked_threads, struct looked);

/* By process id: the epoch of the process, not 0. Places written in another epoch are void. */
LAZY_MAP(looked_processes, HASH, LOOKS_PROCESSES_MAX, __u32, __u32);

/* The output for a thread. */
struct form {
    struct looks_entry entry;
    struct sample_record rec;
    __u64 words[STACK_MAX + 1 + SAMPLE_REGISTER_COUNT];
};

MAP(forms, ARRAY, 1, __u32, struct form);

/* Written by the loader before each pass. */
struct looks_pass pass;
__u64 until_ns;   /* no walk begins later; CLOCK_MONOTONIC; 0: the pass has not begun */
__u64 place;      /* sum of pass.share over the draws; each time it exceeds 2^32, a thread is
                   * walked */
__u32 drawn_tid;  /* the thread of the last draw, if its record found no room yet; 0: none */
__u32 drawn;      /* result of that draw */
__u32 last_tgid;  /* the process of the last look-up; 0: none */
__u32 last_pid;   /* number of that process in flamed's pid namespace */
__u32 last_epoch; /* epoch of that process; 0: not wanted */
bool last_checks; /* whether threads of that process that wait as before are walked */

/* Returns the epoch of @task's process; 0: it is not wanted. */
static __always_inline __u32 epoch_of(struct task_struct *task)
{
    __u32 tgid = task->tgid, pid, *epoch;

    if (tgid == last_tgid)
        return last_epoch;
    pid = process_number(task);
    epoch = bpf_map_lookup_elem(&looked_processes, &pid);
    last_tgid = tgid;
    last_pid = pid;
    last_epoch = epoch ? *epoch : 0;
    last_checks = bpf_get_prandom_u32() < pass.share / LOOKS_ALIKE_SHARE;
    return last_epoch;
}

#define PRINT_FRAMES 8
#define PRINT_FACTOR 0x9E3779B97F4A7C15ull

/* Returns a hash of how @task waits: of its pc, its stack pointer and the kernel's last frames.
 * @count: number of frames in f->words. */
static __always_inline __u64 print_of(struct form *f, struct task_struct *task, __u64 count)
{
    struct pt_regs___kernel *regs = (void *)bpf_task_pt_regs(task);
    __u64 print = user_pc(regs) * PRINT_FACTOR ^ user_sp(regs);

    UNWIND_LOOP
    for (__u32 i = 0; i < PRINT_FRAMES; i++)
        print = (print ^ print >> 29) * PRINT_FACTOR ^ (i < count ? f->words[i] : 0);
    return print;
}

/* Returns whether @task waits as it did when its place was written. */
static __always_inline bool waits_as_before(struct form *f, struct task_struct *task,
                                            const struct looked *known)
{
    long got = bpf_get_task_stack(task, f->words, PRINT_FRAMES * sizeof(__u64), 0);

    return known->print == print_of(f, task, got > 0 ? (__u64)got / sizeof(__u64) : 0);
}

/* Draws whether the thread @tid, which has run, is walked. Walked threads stand for those that are
 * not drawn, so there is no draw once no walk is possible. The draw takes every n-th thread from a
 * random start, so each thread has the chance pass.share and the number of walks hardly varies.
 * @alike: the thread waits as before. For such threads, one random number decides for a whole
 * process. */
static __always_inline __u8 draw(__u32 tid, bool alike)
{
    __u64 now_ns = bpf_ktime_get_ns();

    if (!until_ns) {
        until_ns = now_ns + LOOKS_PASS_NS;
        place = bpf_get_prandom_u32();
        drawn_tid = 0;
    }
    if (!pass.walks || now_ns >= until_ns)
        return alike ? LOOKS_ALIKE : LOOKS_LEFT;
    if (alike)
        return last_checks ? LOOKS_PLACE : LOOKS_ALIKE;
    if (drawn_tid != tid) {
        place += (__u64)pass.share + 1;
        drawn = place >> 32 ? LOOKS_PLACE : LOOKS_PASSED;
        place = (__u32)place;
        drawn_tid = tid;
    }
    return (__u8)drawn;
}

/* Writes the record of @task into @f. Returns its bytes. */
static __always_inline __u32 fill_place(struct form *f, struct task_struct *task, __u64 runs)
{
    struct sample_record *rec = &f->rec;
    long got = bpf_get_task_stack(task, f->words, STACK_MAX * sizeof(__u64), 0);
    __u64 n = got > 0 ? (__u64)got / sizeof(__u64) : 0, words;

    begin_record(rec, task, f->entry.host_pid, f->entry.host_tid, bpf_ktime_get_ns());
    bpf_probe_read_kernel(rec->comm, sizeof(rec->comm), task->comm);
    rec->flags = SAMPLE_IN_KERNEL;
    if (n >= STACK_MAX) {
        n = STACK_MAX;
        rec->flags |= SAMPLE_KERNEL_CUT;
    }
    if (f->entry.runnable)
        rec->flags |= SAMPLE_RUNNABLE;
    if (f->entry.runnable && is_throttled(task))
        rec->flags |= SAMPLE_THROTTLED;
    rec->user_end = UNWIND_END_NOT_TAKEN;
    rec->kernel_count = (__u8)n;
    words = n;
    if (runs && put_registers(f->words + n, task, runs)) {
        rec->flags |= SAMPLE_REGISTERS;
        rec->user_count = SAMPLE_REGISTER_COUNT;
        words += SAMPLE_REGISTER_COUNT;
    }
    return sizeof(*rec) + (__u32)words * sizeof(__u64);
}

SEC("iter/task")
int looks_thread(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    __u64 switches, runs;
    __u32 zero = 0, epoch, bytes;
    struct looked *known;
    struct form *f;

    if (!task || task->flags & TASK_KERNEL_THREAD || task->exit_state)
        return 0;
    epoch = epoch_of(task);
    f = epoch ? bpf_map_lookup_elem(&forms, &zero) : NULL;
    if (!f)
        return 0;
    f->entry.host_pid = last_pid;
    known = bpf_task_storage_get(&looked_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    f->entry.host_tid = known && known->host_tid ? known->host_tid : thread_number(task);
    if (known)
        known->host_tid = f->entry.host_tid;
    if (pass.parts > 1 && f->entry.host_tid % pass.parts != pass.part)
        return 0;
    runs = runs_of(task);
    switches = task->nvcsw + task->nivcsw;
    f->entry.ran_ns = task->se.sum_exec_runtime;
    f->entry.queued_ns = run_delay_of(task);
    f->entry.runnable = task->__state == 0;
    f->entry.bytes = 0;
    f->entry.alike = 0;
    if (task->on_cpu)
        f->entry.found = LOOKS_RUNS;
    else if (known && known->epoch == epoch && known->switches == switches)
        f->entry.found = LOOKS_SAME;
    else if (!known)
        f->entry.found = LOOKS_LEFT;
    else {
        f->entry.alike = known->epoch == epoch && known->alike < LOOKS_ALIKE_MAX &&
                         !(epoch & LOOKS_EPOCH_WALKS) && !f->entry.runnable &&
                         waits_as_before(f, task, known);
        f->entry.found = draw(f->entry.host_tid, f->entry.alike);
    }
    if (f->entry.found == LOOKS_PLACE)
        f->entry.bytes = fill_place(f, task, runs);
    bytes = sizeof(f->entry) + f->entry.bytes;
    if (bytes > sizeof(*f))
        bytes = sizeof(*f);
    if (bpf_seq_write(ctx->meta->seq, f, bytes))
        return 0; /* no room in the output: the kernel passes it to the reader, then visits the
                   * thread again */
    drawn_tid = 0;
    if (!known || f->entry.found == LOOKS_SAME)
        return 0;
    known->switches = switches;
    if (f->entry.found == LOOKS_ALIKE) {
        known->alike++;
        return 0;
    }
    known->epoch = 0;
    known->alike = 0;
    if (f->entry.found == LOOKS_PLACE) {
        known->epoch = epoch;
        known->print = print_of(f, task, f->rec.kernel_count);
        pass.walks--;
    }
    return 0;
}
