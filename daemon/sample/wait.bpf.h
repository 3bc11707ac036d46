/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state that off.bpf.c keeps of each wait, and the choice of wanted and sampled waits. Also the
 * parts of a record that do not depend on how the stack was taken.
 */
#pragma once

#include "sample/context.bpf.h"
#include "sample/lock.bpf.h"

#include "sample/off_abi.h"
#include "sample/points.bpf.h"

#define COUNTERS OFF_COUNTERS
#include "sample/counters.bpf.h"

#define TASK_WORKER 0x00004010 /* PF_USER_WORKER, PF_IO_WORKER: without user mode */
#define MET 1                  /* in wait.off_ns: a flush has met the wait */

struct set_points {
    struct points of[STACK_SETS_MAX];
};

/* State of a task. The members that each switch reads are first, and so in one cache line, with one
 * set's block. */
struct wait {
    __u64 off_ns;            /* CLOCK_MONOTONIC when the thread left, or-ed with MET; 0: it runs */
    __u64 run_delay, ran_ns; /* values when the thread left */
    __u32 epoch;             /* epoch_of() when the thread left: with an older one, all is void */
    __u32 filters;           /* value of filters_no when `sets` was looked up */
    __u8 sets;               /* bit set of the sets that want the wait */
    __u8 asked;              /* 1: lock was read when it left */
    __u8 unlikely;           /* 1: is_unlikely() returned true for it */
    __u8 throttled;          /* 1: is_throttled() returned true when it left */
    __u32 flush;             /* the last flush that saw the wait */
    struct set_points points;
    __u64 late_key; /* key in `lates` of its last wait with a pending user stack; 0: none */
    struct lock_words lock;
};
_Static_assert(STACK_SETS_MAX <= 8, "wait.sets has a bit for each");

/* A wait at its end. */
struct ended {
    __u64 time_ns, run_delay;       /* run_delay: at its start */
    __u64 runnable_ns;              /* the part in which the thread was runnable */
    __u64 runs;                     /* runs_of() before the thread came back */
    __u64 since;                    /* its start, if known; else 0 */
    __u64 waits_ns[STACK_SETS_MAX]; /* length since the set began; 0: the set did not draw it */
    __u64 values[STACK_SETS_MAX];   /* its value for the set, in ns */
    __u32 exec_id, flush, flushed;
    __u16 kernel_count, flags;
    struct lock_words lock;
    __u64 key, before; /* key: in `lates`; before: key of the thread's previous late wait */
    __u64 kernel[STACK_MAX + 1];
};

/* Late waits: ended ones with a pending user stack. */
struct bpf_task_work {
    __u64 __opaque;
} __attribute__((aligned(8)));

struct late {
    struct bpf_task_work work;
    struct ended ended;
};

/* The value of a late wait before it is in the map. Only the map `lates` may hold a struct
 * bpf_task_work, so `zero` is in its place. */
struct late_form {
    __u64 zero;
    struct ended ended;
};

struct bpf_map {
    __u32 id;
} __attribute__((preserve_access_index));

/* Schedules @callback to run before @task is back in user mode. From Linux 7.0 on, the name is
 * shorter and the kernel adds the last argument itself. */
extern int bpf_task_work_schedule_resume(struct task_struct *task, struct bpf_task_work *work,
                                         void *map,
                                         int (*callback)(struct bpf_map *map, void *key,
                                                         void *value)) __ksym __weak;
extern int
bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work, void *map,
                                   int (*callback)(struct bpf_map *map, void *key, void *value),
                                   void *aux) __ksym __weak;

/* 1: there is no task work. */
const volatile bool early;
const volatile bool short_task_work; /* the function has four arguments */

/* CLOCK_MONOTONIC when a thread last switched without room for its state; 0: never. */
__u64 no_room_ns;

/* Written by the loader. */
struct off_rate set_rates[STACK_SETS_MAX];
__u32 off_sets;   /* the sets with an interval, as bits */
__u32 lock_sets;  /* sets that want only waits for locks */
__u32 futex_sets; /* sets that want only waits for futexes, without those for Java's locks */
__u32 epoch;      /* how often the program was attached */
__u32 filters_no; /* how often filters were changed */
__u64 wanted_bits[OFF_BITS / 64];
__u32 wanted_no[OFF_BITS]; /* how often each bit was set: until then, switches went unseen */
__u32 flush_no, flush_set;
__u32 flush_lates; /* 1: flush only finished waits with a pending user stack */

THREAD_MAP(waits, struct wait);

/* Waits by early_key() if there is no task work. Allocated in advance. The loader sets the number,
 * and deletes entries of processes that no set wants. */
MAP(early_waits, HASH, 1, __u64, struct wait);
MAP(empty_wait, ARRAY, 1, __u32, struct wait);
LAZY_MAP(lates, HASH, OFF_LATE_MAX, __u64, struct late);

/* State of a processor for code that cannot be preempted: the switch. */
struct desk {
    struct late_form form;
    struct sample_record bare_rec; /* with its frames behind it */
    __u64 bare_frames[STACK_MAX + 1 + SAMPLE_REGISTER_COUNT];
    __u64 last_key;
    __u64 in_ns, in_runs; /* when the thread in_tid came, and its runs_of() before that */
    __u32 in_tid;
};

MAP(desks, PERCPU_ARRAY, 1, __u32, struct desk);

/* Memory for code that another of its kind can preempt. */
struct off_scratch {
    struct stack_scratch stack;
    struct context_work context;
    __u64 taken; /* 1: in use, by a program that runs or was preempted */
};

#define SCRATCH struct off_scratch
#define SCRATCH_DEPTH OFF_DEPTH
#include "sample/scratch.bpf.h"

/* Returns the key of @task without task work: its ids in the first pid namespace. */
static __always_inline __u64 early_key(struct task_struct *task)
{
    return OFF_EARLY_KEY((__u64)(__u32)task->tgid, (__u32)task->pid);
}

/* Returns the state of @task; NULL: none. */
static __always_inline struct wait *wait_of(struct task_struct *task, bool create)
{
    struct wait *w, *empty;
    __u32 zero = 0;
    __u64 key;

    if (!early)
        return bpf_task_storage_get(&waits, task, 0, create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
    key = early_key(task);
    w = bpf_map_lookup_elem(&early_waits, &key);
    if (w || !create)
        return w;
    empty = bpf_map_lookup_elem(&empty_wait, &zero);
    if (!empty || bpf_map_update_elem(&early_waits, &key, empty, BPF_NOEXIST))
        return NULL;
    return bpf_map_lookup_elem(&early_waits, &key);
}

/* ---- who is wanted ---- */

/* Rules out most tasks at the least cost: by their process alone. */
static __always_inline bool may_be_wanted(struct task_struct *task)
{
    __u32 pid = task->tgid;

    if (!pid_ns_inum && !(filter_all & off_sets) &&
        !(wanted_bits[pid / 64 % (OFF_BITS / 64)] >> pid % 64 & 1))
        return false;
    return pid && !(task->flags & TASK_KERNEL_THREAD);
}

/* Returns the number of @task's present epoch, in which each switch of it was seen. */
static __always_inline __u32 epoch_of(struct task_struct *task)
{
    return epoch + wanted_no[(__u32)task->tgid % OFF_BITS];
}

/* Returns the sets that want @task, looked up again after filters changed; @w may be NULL. */
static __always_inline __u32 sets_of(struct task_struct *task, struct wait *w)
{
    __u32 no = *(volatile __u32 *)&filters_no, pid, sets;

    if (w && w->filters == no)
        return w->sets;
    pid = process_number(task);
    sets = pid ? wanted_sets(pid) & off_sets : 0;
    if (w) {
        w->sets = (__u8)sets;
        w->filters = no;
    }
    return sets;
}

/* ---- how long a thread was runnable ---- */

/* a smaller change is not stored, because each switch may call learn_clock() */
#define CLOCK_SLACK_NS 100000

/* CLOCK_MONOTONIC minus the clock of the scheduler; may be negative. */
__u64 clock_difference_ns;
__u32 clock_known; /* 1: clock_difference_ns was learned */

/* Updates the difference from one arrival of a thread on a processor: @arrived_ns by the
 * scheduler's clock (0: unknown), @came_ns by CLOCK_MONOTONIC. */
static __always_inline void learn_clock(__u64 arrived_ns, __u64 came_ns)
{
    __u64 difference_ns = came_ns - arrived_ns;

    if (!arrived_ns ||
        (clock_known && difference_ns - clock_difference_ns + CLOCK_SLACK_NS <= 2 * CLOCK_SLACK_NS))
        return;
    clock_difference_ns = difference_ns;
    clock_known = 1;
}

/* Returns when @task last got a processor, by the scheduler's clock; 0: unknown. */
static __always_inline __u64 arrival_of(struct task_struct *task)
{
    return bpf_core_field_exists(task->sched_info.last_arrival) ? task->sched_info.last_arrival : 0;
}

/* Returns how long @task, which does not run, has been in its present run queue; 0: in none, or
 * unknown. */
static __always_inline __u64 queued_ns(struct task_struct *task, __u64 now_ns)
{
    __u64 queued =
        bpf_core_field_exists(task->sched_info.last_queued) ? task->sched_info.last_queued : 0;
    __s64 ns = (__s64)(now_ns - queued - clock_difference_ns);

    return queued && clock_known && ns > 0 ? (__u64)ns : 0;
}

/* Returns the part of a sample's @value in which its thread was runnable. The rest of @value stands
 * for the remaining time of the wait. Both parts are right on average. */
static __always_inline __u64 runnable_part(__u64 value, __u64 wait_ns, __u64 runnable_ns,
                                           __u64 interval)
{
    __u64 chance = bpf_get_prandom_u32();

    if (runnable_ns >= wait_ns)
        return value;
    if (value > wait_ns) /* a short wait: all of @value stands for one of both parts, drawn by
                          * chance */
        return chance * wait_ns >> 32 < runnable_ns ? value : 0;
    if (runnable_ns >= interval)
        return runnable_ns;
    return chance * interval >> 32 < runnable_ns ? interval : 0;
}

/* ---- records ---- */

/* Returns the address of @task's JavaThread; 0: flamed knows none. */
static __always_inline __u64 java_thread_of(struct task_struct *task)
{
    __u64 key = (__u64)process_number(task) << 32 | thread_number(task),
          *thread = bpf_map_lookup_elem(&threads, &key);

    return thread ? *thread : 0;
}

/* Returns true if @lock is a lock of Java. */
static __always_inline bool is_java(const struct lock_words *lock)
{
    return lock->kind != UNWIND_LOCK_NONE && lock->kind != UNWIND_LOCK_UNREAD;
}

/* Copies what @w waits for, if that was read when it left. */
static __always_inline void copy_lock(struct lock_words *ret, const struct wait *w)
{
    if (w->asked)
        *ret = w->lock;
    else
        *ret = (struct lock_words){ .kind = UNWIND_LOCK_UNREAD };
}

/* Writes to @rec what @x waited for, if set @i wants that. Returns false if set @i does not want
 * this wait. */
static __always_inline bool fill_lock(struct sample_record *rec, const struct ended *x, __u32 i)
{
    bool asks = lock_sets & 1U << i;

    if (futex_sets & 1U << i) {
        rec->lock = UNWIND_LOCK_FUTEX;
        rec->lock_class = x->lock.futex;
        rec->lock_owner = x->lock.owner;
        return x->lock.futex && !is_java(&x->lock);
    }
    rec->lock = asks ? (__u8)x->lock.kind : UNWIND_LOCK_NONE;
    rec->lock_class = asks ? x->lock.class_word : 0;
    rec->lock_owner = asks ? x->lock.owner : 0;
    return !asks || x->lock.kind != UNWIND_LOCK_NONE;
}

/* Writes the @bytes of @rec into the ring, and counts it as written or lost. */
static __always_inline void write_record(struct sample_record *rec, __u64 bytes)
{
    if (bytes > sizeof(struct stack_scratch))
        bytes = sizeof(struct stack_scratch);
    if (bpf_ringbuf_output(&ring, rec, bytes, BPF_RB_NO_WAKEUP)) {
        count(STACK_LOST_RING, 1);
        lose_record(rec);
    } else {
        count(STACK_SAMPLES, 1);
    }
}

/* Fills in the parts of a record that do not depend on how the stack was taken. */
static __always_inline void fill_record(struct sample_record *rec, struct task_struct *task,
                                        const struct ended *x)
{
    begin_record(rec, task, process_number(task), thread_number(task), x->time_ns);
    rec->flush = x->flush;
    rec->flushed = x->flushed;
    rec->flags = (__u8)x->flags;
    rec->kernel_count = x->kernel_count;
    bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), task->comm);
}

/* Returns the start of a wait of @task, for draw(): @since or, if that is unknown (0), the start of
 * the task. */
static __always_inline __u64 begun(struct task_struct *task, __u64 since)
{
    return since > 2 * MET ? since : task->start_time;
}

/* Decides for each of @sets about a wait from @since to @until. Returns 1 if any set takes the
 * wait; only then @x is written. Not static: the kernel's verifier then checks it once and on its
 * own. */
__attribute__((noinline)) int draw(struct ended *x, struct set_points *points, __u32 sets,
                                   __u64 since, __u64 until)
{
    int taken = 0;

    if (!x || !points)
        return 0;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX && sets >> i; i++) {
        __u64 interval = set_rates[i].interval_ns, from = set_rates[i].start_ns, value, wait_ns;

        if (from < since)
            from = since;
        if (!(sets & 1U << i) || from >= until)
            continue;
        value = wait_ns = until - from;
        if (wait_ns < interval)
            value = interval * points_in(&points->of[i], wait_ns, interval);
        if (!value)
            continue;
        if (!taken)
            __builtin_memset(x->waits_ns, 0, sizeof(x->waits_ns));
        taken = 1;
        x->waits_ns[i] = wait_ns;
        x->values[i] = value;
    }
    return taken;
}

/* Returns true if none of @sets takes a wait from @since to @until, which holds for most waits. If
 * false, draw() has to decide. */
static __always_inline bool pass(struct set_points *points, __u32 sets, __u64 since, __u64 until)
{
    __u64 wait_ns = until - since;

    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX && sets >> i; i++) {
        if (sets & 1U << i && (since < set_rates[i].start_ns ||
                               !meets_none(&points->of[i], wait_ns, set_rates[i].interval_ns)))
            return false;
    }
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX && sets >> i; i++) {
        if (sets & 1U << i)
            points->of[i].before -= wait_ns;
    }
    return true;
}

/* Returns true if no point of @sets is near, after a wait of @wait_ns. The next wait will then be
 * sampled only if it is far longer, so its lock is not read when it begins. If the wait is sampled
 * nevertheless, its lock is read when it ends, and only the owner is unknown. */
static __always_inline bool is_unlikely(const struct set_points *points, __u32 sets, __u64 wait_ns)
{
    __u64 near_ns = wait_ns * OFF_NEAR_WAITS;

    if (near_ns < OFF_NEAR_NS)
        near_ns = OFF_NEAR_NS;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX && sets >> i; i++) {
        if (sets & 1U << i && points->of[i].before <= near_ns)
            return false;
    }
    return true;
}

/* Takes the kernel's stack of @task, which does not run, into @x. */
static __always_inline void take_kernel_stack(struct task_struct *task, struct ended *x)
{
    long n = bpf_get_task_stack(task, x->kernel, STACK_MAX * sizeof(__u64), 0);

    x->flags = SAMPLE_IN_KERNEL;
    n = n > 0 ? (long)((__u64)n / sizeof(__u64)) : 0;
    if (n >= STACK_MAX) {
        n = STACK_MAX;
        x->flags |= SAMPLE_KERNEL_CUT;
    }
    x->kernel_count = (__u16)n;
}
