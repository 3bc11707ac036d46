// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Time off the processor. Each switch keeps when a wanted thread left, and decides when it comes
 * back. A wait as long as the interval or longer is sampled, and stands for itself. The shorter
 * ones of a thread, one after the other, are cut into blocks of an interval. Of each a point is
 * drawn: the wait in which it lies is sampled, and stands for the interval. The kernel's stack is
 * taken there. The user's stack is taken late, by task work in the thread's own context before it
 * is back in user mode: it is still the one that it waited with. What still waits is met by an
 * iterator over all threads.
 */
#include "sample/lock.bpf.h"

#include "sample/off_abi.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define TASK_WORKER 0x00004010 /* PF_USER_WORKER, PF_IO_WORKER: they have no user mode */
#define MET 1                  /* in wait.off_ns: a flush has met it */

/* The block of short waits that a thread is in: what is left of it, and of that how much lies
 * behind the point. */
struct block {
    __u64 left, pick;
};

/* Of a task. */
struct wait {
    __u64 off_ns; /* when it left, CLOCK_MONOTONIC, or-ed with MET; 0: it runs */
    __u64 run_delay;
    __u32 epoch;            /* of off_ns: what an older one says is not true any more */
    __u32 filters;          /* of sets: the number of filters_no */
    __u32 sets;             /* that want it */
    __u32 flush;            /* the last that met it */
    struct lock_words lock; /* what it waits for; UNREAD: nobody asked when it left */
    struct block blocks[STACK_SETS_MAX];
};

/* What is known of a wait when it ends. */
struct ended {
    __u64 time_ns, run_delay;
    __u64 waits_ns[STACK_SETS_MAX]; /* since the set began; 0: it did not draw the wait */
    __u64 values[STACK_SETS_MAX];   /* what it then stands for, in ns */
    __u32 exec_id, flush, flushed;
    __u16 kernel_count, flags;
    struct lock_words lock;
    __u64 kernel[STACK_MAX + 1];
};

/* The same while its user stack is waited for. */
struct bpf_task_work {
    __u64 __opaque;
} __attribute__((aligned(8)));

struct late {
    struct bpf_task_work work;
    struct ended ended;
};

/* The same before it is in the map: other maps must not have the work. */
struct late_form {
    __u64 zero;
    struct ended ended;
};

struct bpf_map {
    __u32 id;
} __attribute__((preserve_access_index));

extern int
bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work, void *map,
                                   int (*callback)(struct bpf_map *map, void *key, void *value),
                                   void *aux) __ksym;

struct bpf_iter_meta {
    __u64 session_id;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
    union {
        struct bpf_iter_meta *meta;
        __u64 : 64;
    };
    union {
        struct task_struct *task;
        __u64 : 64;
    };
} __attribute__((preserve_access_index));

/* Written by the loader. */
__u64 intervals[STACK_SETS_MAX]; /* 0: no set of this program */
__u64 starts_ns[STACK_SETS_MAX]; /* CLOCK_MONOTONIC */
__u32 off_sets;                  /* the sets with an interval, as bits */
__u32 lock_sets;                 /* those of them that want waits for locks, and no others */
__u32 epoch;                     /* how often the program was attached */
__u32 filters_no;                /* how often filters were changed */
__u64 wanted_bits[OFF_BITS / 64];
__u32 flush_no, flush_set;

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct wait);
} waits SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, OFF_LATE_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u64);
    __type(value, struct late);
} lates SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, OFF_COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

/* Of a processor, for what cannot be preempted: the switch. */
struct desk {
    struct late_form form;
    struct sample_record bare_rec; /* with its frames behind it */
    __u64 bare_frames[STACK_MAX + 1];
    struct block blocks[STACK_SETS_MAX]; /* of threads that have none yet */
    __u64 last_key;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct desk);
} desks SEC(".maps");

/* For what can be preempted, by another of its kind. */
struct off_scratch {
    struct stack_scratch stack;
    __u64 taken; /* by one that runs or was preempted */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, OFF_DEPTH);
    __type(key, __u32);
    __type(value, struct off_scratch);
} scratches SEC(".maps");

static __always_inline void count(__u32 which, __u64 n)
{
    __u64 *c = bpf_map_lookup_elem(&counters, &which);

    if (c)
        __sync_fetch_and_add(c, n);
}

/* ---- who is wanted ---- */

static __always_inline __u32 process_number(struct task_struct *task)
{
    return pid_ns_inum ? pid_number(task->group_leader->thread_pid) : (__u32)task->tgid;
}

static __always_inline __u32 thread_number(struct task_struct *task)
{
    return pid_ns_inum ? pid_number(task->thread_pid) : (__u32)task->pid;
}

/* Rules out most tasks at the least cost. */
static __always_inline bool may_be_wanted(struct task_struct *task)
{
    __u32 pid = task->tgid;

    if (!pid || task->flags & TASK_KERNEL_THREAD)
        return false;
    if (pid_ns_inum || filter_all & off_sets)
        return true;
    return wanted_bits[pid / 64 % (OFF_BITS / 64)] >> pid % 64 & 1;
}

/* The sets that want @task, looked up again once filters changed; @w may be NULL. */
static __always_inline __u32 sets_of(struct task_struct *task, struct wait *w)
{
    __u32 no = *(volatile __u32 *)&filters_no, pid, sets;

    if (w && w->filters == no)
        return w->sets;
    pid = process_number(task);
    sets = pid ? wanted_sets(pid) & off_sets : 0;
    if (w) {
        w->sets = sets;
        w->filters = no;
    }
    return sets;
}

/* ---- records ---- */

/* The part of a sample of @value that its thread was runnable for. The others of the wait's time
 * are the rest; both are right on average, and exact where the wait is longer than the interval. */
static __always_inline __u64 runnable_part(__u64 value, __u64 wait_ns, __u64 runnable_ns,
                                           __u64 interval)
{
    __u64 chance = bpf_get_prandom_u32();

    if (runnable_ns >= wait_ns)
        return value;
    if (value > wait_ns) /* drawn by chance: it stands for one or the other */
        return chance * wait_ns >> 32 < runnable_ns ? value : 0;
    if (runnable_ns >= interval)
        return runnable_ns;
    return chance * interval >> 32 < runnable_ns ? interval : 0;
}

static __always_inline __u64 run_delay_of(struct task_struct *task)
{
    return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

/* Tells in @rec what @x waited for, if set @i asks for that. Whether the set has the record. */
static __always_inline bool fill_lock(struct sample_record *rec, const struct ended *x, __u32 i)
{
    bool asks = lock_sets & 1U << i;

    rec->lock = asks ? (__u8)x->lock.kind : UNWIND_LOCK_NONE;
    rec->lock_class = asks ? x->lock.class_word : 0;
    rec->lock_owner = asks ? x->lock.owner : 0;
    return !asks || x->lock.kind != UNWIND_LOCK_NONE;
}

static __always_inline void write_record(struct sample_record *rec, __u64 bytes)
{
    if (bytes > sizeof(struct stack_scratch))
        bytes = sizeof(struct stack_scratch);
    if (bpf_ringbuf_output(&ring, rec, bytes, BPF_RB_NO_WAKEUP))
        count(OFF_LOST_RING, 1);
    else
        count(OFF_SAMPLES, 1);
}

/* What of a record does not depend on how the stack was taken. */
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

/* How many points lie in a wait that is shorter than @interval, and goes on in block @b. */
static __always_inline __u64 points(struct block *b, __u64 wait_ns, __u64 interval)
{
    __u64 n = 0;

    if (b->left > interval) /* of another interval */
        b->left = 0;
    if (wait_ns >= b->left) {
        n = b->left > b->pick;
        wait_ns -= b->left;
        b->left = interval;
        b->pick = (__u64)bpf_get_prandom_u32() * interval >> 32;
    }
    n += b->left > b->pick && b->left - wait_ns <= b->pick;
    b->left -= wait_ns;
    return n;
}

/* Decides for each of @sets about a wait of @task from @since to x->time_ns. Whether any takes it.
 */
static __always_inline bool draw(struct task_struct *task, struct ended *x, struct block *blocks,
                                 __u32 sets, __u64 since)
{
    bool taken = false;

    if (since < task->start_time)
        since = task->start_time;
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        __u64 from = since < starts_ns[i] ? starts_ns[i] : since, interval = intervals[i], wait_ns;

        x->waits_ns[i] = 0;
        if (!(sets & 1U << i) || from >= x->time_ns)
            continue;
        wait_ns = x->time_ns - from;
        x->values[i] = wait_ns;
        if (wait_ns < interval)
            x->values[i] = interval * points(&blocks[i], wait_ns, interval);
        if (!x->values[i])
            continue;
        x->waits_ns[i] = wait_ns;
        taken = true;
    }
    return taken;
}

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

/* ---- the user's stack ---- */

static __always_inline struct desk *my_desk(void)
{
    __u32 zero = 0;

    return bpf_map_lookup_elem(&desks, &zero);
}

static __always_inline struct off_scratch *take_scratch(void)
{
    for (__u32 i = 0; i < OFF_DEPTH; i++) {
        __u32 key = i;
        struct off_scratch *s = bpf_map_lookup_elem(&scratches, &key);

        if (s && __sync_lock_test_and_set(&s->taken, 1) == 0)
            return s;
    }
    return NULL;
}

static __always_inline void write_both(struct stack_scratch *s, const struct ended *x,
                                       __u64 runnable_ns)
{
    __u32 words = (__u32)s->rec.kernel_count + s->rec.user_count;
    __u8 flags = s->rec.flags;

    if (words > STACK_MAX + SAMPLE_USER_MAX)
        words = STACK_MAX + SAMPLE_USER_MAX;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        __u64 value = x->values[i], part;

        if (!x->waits_ns[i] || !fill_lock(&s->rec, x, i))
            continue;
        /* Who waits for a lock waits until it runs again. */
        part = s->rec.lock ? 0 : runnable_part(value, x->waits_ns[i], runnable_ns, intervals[i]);
        s->rec.set = (__u8)i;
        s->rec.wait_ns = x->waits_ns[i];
        if (part) {
            s->rec.flags = flags | SAMPLE_RUNNABLE;
            s->rec.value = part;
            write_record(&s->rec, sizeof(s->rec) + words * sizeof(__u64));
        }
        if (part < value) {
            s->rec.flags = flags;
            s->rec.value = value - part;
            write_record(&s->rec, sizeof(s->rec) + words * sizeof(__u64));
        }
    }
}

/* In the thread's own context, on its way back to user mode or out of life. */
static int take_late(struct bpf_map *map, void *key, void *value)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u64 begun_ns = bpf_ktime_get_ns(), run_delay = run_delay_of(task), took_ns;
    struct late *l = value;
    struct off_scratch *os = take_scratch();
    struct stack_scratch *s;
    struct unwind_process *p;
    __u32 n;

    count(OFF_TAKEN, 1);
    if (!os) {
        count(OFF_LOST_MEMORY, 1);
        goto out;
    }
    s = &os->stack;
    fill_record(&s->rec, task, &l->ended);
    if (l->ended.lock.kind == UNWIND_LOCK_UNREAD) {
        lock_read(&l->ended.lock, s->rec.host_pid, s->rec.host_tid);
        l->ended.lock.owner = 0; /* of now, and not of when it began */
    }
    n = l->ended.kernel_count;
    if (n > STACK_MAX)
        n = STACK_MAX;
    bpf_probe_read_kernel(s->frames, n * sizeof(__u64), l->ended.kernel);
    if (task->flags & TASK_EXITING || l->ended.exec_id != (__u32)task->self_exec_id) {
        s->rec.user_end = UNWIND_END_NOT_TAKEN; /* its memory may be gone */
    } else {
        p = tables_of(s);
        s->rec.user_count = p ? walk(task, s, p) : leaf(task, s);
    }
    write_both(s, &l->ended, run_delay - l->ended.run_delay);
    __sync_lock_test_and_set(&os->taken, 0);
    took_ns = bpf_ktime_get_ns() - begun_ns;
    count(OFF_TIME_NS, took_ns);
    spend(took_ns);
out:
    bpf_map_delete_elem(&lates, key);
    return 0;
}

/* Without the user's stack. */
static __always_inline void write_bare(struct desk *d, struct task_struct *task,
                                       const struct ended *x, bool runnable)
{
    __u32 n = x->kernel_count;

    fill_record(&d->bare_rec, task, x);
    d->bare_rec.user_end = UNWIND_END_NOT_TAKEN;
    if (runnable)
        d->bare_rec.flags |= SAMPLE_RUNNABLE;
    if (n > STACK_MAX)
        n = STACK_MAX;
    bpf_probe_read_kernel(d->bare_frames, n * sizeof(__u64), x->kernel);
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (!x->waits_ns[i] || !fill_lock(&d->bare_rec, x, i))
            continue;
        d->bare_rec.set = (__u8)i;
        d->bare_rec.wait_ns = x->waits_ns[i];
        d->bare_rec.value = x->values[i];
        write_record(&d->bare_rec, sizeof(d->bare_rec) + n * sizeof(__u64));
    }
}

/* ---- the switch ---- */

/* Has the user stack of @task taken. */
static __always_inline bool schedule(struct task_struct *task, struct desk *d)
{
    __u64 key = (__u64)bpf_get_smp_processor_id() << 48 | ++d->last_key;
    struct late *l;

    if (bpf_map_update_elem(&lates, &key, &d->form, BPF_NOEXIST))
        return false;
    l = bpf_map_lookup_elem(&lates, &key);
    if (!l)
        return false;
    if (bpf_task_work_schedule_resume_impl(task, &l->work, &lates, take_late, NULL)) {
        bpf_map_delete_elem(&lates, &key);
        return false;
    }
    count(OFF_LATE, 1);
    return true;
}

static __always_inline void leaves(struct task_struct *task, __u64 now_ns)
{
    struct wait *w = bpf_task_storage_get(&waits, task, 0, 0);

    if (!w) {
        if (!sets_of(task, NULL))
            return;
        w = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (!w) {
            count(OFF_LOST_MEMORY, 1);
            return;
        }
    }
    w->run_delay = run_delay_of(task);
    w->epoch = epoch;
    w->lock.kind = UNWIND_LOCK_UNREAD;
    if (lock_sets && sets_of(task, w) & lock_sets)
        lock_read(&w->lock, process_number(task), thread_number(task));
    *(volatile __u64 *)&w->off_ns = now_ns & ~(__u64)MET;
}

SEC("tp_btf/sched_switch")
int off_switch(__u64 *ctx)
{
    struct task_struct *prev = (struct task_struct *)ctx[1], *next = (struct task_struct *)ctx[2];
    bool left = may_be_wanted(prev), back = may_be_wanted(next);
    __u64 now_ns, since = 0, run_delay;
    struct wait *w;
    struct desk *d;
    __u32 sets;

    if (!left && !back)
        return 0;
    now_ns = bpf_ktime_get_ns();
    if (left)
        leaves(prev, now_ns);
    if (!back)
        return 0;
    w = bpf_task_storage_get(&waits, next, 0, 0);
    sets = sets_of(next, w);
    if (w) /* for good: a flush that comes now does not meet it */
        since = __sync_lock_test_and_set(&w->off_ns, 0);
    if (!sets)
        return 0;
    d = my_desk();
    if (!d)
        return 0;
    d->form.ended.flushed = since & MET && w ? w->flush : 0;
    since &= ~(__u64)MET;
    if (w && w->epoch != epoch) {
        since = 0;
        w->epoch = epoch;
    }
    d->form.ended.time_ns = now_ns;
    d->form.ended.lock.kind = UNWIND_LOCK_UNREAD;
    if (w && since)
        d->form.ended.lock = w->lock;
    if (d->form.ended.lock.kind == UNWIND_LOCK_NONE)
        sets &= ~lock_sets;
    if (!draw(next, &d->form.ended, w ? w->blocks : d->blocks, sets, since))
        return 0;
    d->form.ended.flush = 0;
    run_delay = run_delay_of(next);
    asm volatile("" : "+r"(run_delay)); /* clang would load either by one instruction */
    if (w && since)
        run_delay = w->run_delay;
    d->form.ended.run_delay = run_delay;
    d->form.ended.exec_id = (__u32)next->self_exec_id;
    take_kernel_stack(next, &d->form.ended);
    if (!(next->flags & (TASK_WORKER | TASK_EXITING)) && !over_budget(now_ns, STACK_BUDGET_NS) &&
        schedule(next, d))
        return 0;
    count(OFF_BARE, 1);
    write_bare(d, next, &d->form.ended, false);
    return 0;
}

/* ---- what still waits ---- */

struct flush_scratch {
    struct ended ended;
    struct desk desk;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY); /* one reader at a time */
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct flush_scratch);
} flush_scratches SEC(".maps");

/* What @task waits for; where it is not known, whose JavaThread is to be asked. Whether it may be
 * for a lock. */
static __always_inline bool lock_of_blocked(struct lock_words *ret, struct task_struct *task,
                                            const struct wait *w)
{
    __u64 key = (__u64)process_number(task) << 32 | thread_number(task), *thread;

    *ret = w->lock;
    if (ret->kind != UNWIND_LOCK_UNREAD)
        return ret->kind != UNWIND_LOCK_NONE;
    thread = bpf_map_lookup_elem(&threads, &key);
    if (!thread)
        return false;
    ret->class_word = 0;
    ret->owner = *thread;
    return true;
}

SEC("iter/task")
int off_blocked(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    __u32 zero = 0, set = flush_set;
    struct flush_scratch *f;
    struct wait *w;
    __u64 off_ns;

    if (!task || !may_be_wanted(task) || !(sets_of(task, NULL) & 1U << (set & 31)))
        return 0;
    f = bpf_map_lookup_elem(&flush_scratches, &zero);
    if (!f)
        return 0;
    w = bpf_task_storage_get(&waits, task, 0, 0);
    if (!w) {
        if (task->on_cpu)
            return 0;
        /* It has waited since before all of this began. */
        w = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (!w)
            return 0;
        w->lock.kind = UNWIND_LOCK_UNREAD;
    }
    off_ns = *(volatile __u64 *)&w->off_ns;
    if (w->epoch != epoch) {
        if (task->on_cpu)
            return 0;
        w->epoch = epoch;
        w->run_delay = run_delay_of(task);
        w->lock.kind = UNWIND_LOCK_UNREAD;
        if (__sync_val_compare_and_swap(&w->off_ns, off_ns, 2) != off_ns)
            return 0;
        off_ns = 2;
    }
    if (!off_ns)
        return 0;
    w->flush = flush_no;
    if (!(off_ns & MET) && __sync_val_compare_and_swap(&w->off_ns, off_ns, off_ns | MET) != off_ns)
        return 0; /* it has just come back */
    if (lock_sets & 1U << (set & 31) && !lock_of_blocked(&f->ended.lock, task, w))
        return 0;
    f->ended.time_ns = bpf_ktime_get_ns();
    if (!draw(task, &f->ended, w->blocks, 1U << (set & 31), off_ns & ~(__u64)MET))
        return 0;
    f->ended.flush = flush_no;
    f->ended.flushed = 0;
    f->ended.run_delay = 0;
    f->ended.exec_id = (__u32)task->self_exec_id;
    take_kernel_stack(task, &f->ended);
    write_bare(&f->desk, task, &f->ended, task->__state == 0);
    return 0;
}
