// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Memory that Java threads allocate. A thread allocates in a buffer of its own (TLAB), which no
 * program sees. The program runs where HotSpot takes the slow path: the buffer is full, or the
 * object goes outside of it. The object that did not fit is the sample of all that its thread
 * allocated since the last one. Large objects miss more often than small ones, as often as their
 * share of the bytes. So the sample is worth the same whatever its size, but for what is nearly as
 * large as a buffer: that always comes here, and stands for itself alone. Of what a sample is worth
 * less than the interval, a share by chance becomes a record.
 *
 * The same program stands where other functions begin whose calls are counted. There each call is
 * worth one, and of each interval one is sampled. And where memory of a C library is asked for:
 * there each call is worth the bytes, which are thinned as above.
 *
 * Of sets of event nativelive, another program stands at those: native_live.bpf.h.
 *
 * And it stands at a function of the agent, which is called for objects that the JVM itself draws:
 * each byte that a thread allocates ends an interval with the same chance. So an object is drawn
 * with a chance of 1 - exp(-size/interval), and stands for its size divided by that.
 */
#include "sample/stack.bpf.h"

#include "sample/alloc_abi.h"
#include "sample/alloc_args.bpf.h"
#include "sample/pick.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SIZE_MAX_BYTES (1ULL << 40) /* more is no object, and no buffer */
#define STEPS_KEPT 4                /* a power of two */

/* Written by the loader. */
struct pick_rate rates[STACK_SETS_MAX]; /* intervals of bytes, or of calls */
__u32 alloc_sets;                       /* bits: those of allocations at probes in libjvm.so */
__u32 agent_sets;                       /* bits: those of allocations that agents tell, */
__u32 live_sets;                        /* and of these: those of objects that agents follow */
__u32 call_epochs[ALLOC_CALLS_MAX];     /* of the probe in each slot; 0: it counts nothing */
__u32 block_epochs[STACK_SETS_MAX];     /* of sets of native_live.bpf.h: how often each began */

/* Of a task. */
struct allocating {
    __u64 thread;  /* JavaThread */
    __u64 counted; /* bytes that it had allocated behind the last sample */
    __u64 carry;   /* of those before, what no sample stands for yet */
    __u64 buffer;  /* bytes of its TLAB; 0: not known */
    __u64 begun;   /* bytes that it had allocated when it got it */
    __u64 outside; /* bytes that went outside since */
    __u32 epoch;   /* of its process; 0: nothing is known */
    /* By its agent: the interval that its next sample is drawn with. */
    __u32 drawn_epoch;
    __u64 drawn;
    __u64 last;              /* bytes that it had allocated at its last full buffer */
    __u64 steps[STEPS_KEPT]; /* of the last ones; see is_same_step() */
    __u32 step;              /* the oldest of them */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct allocating);
} allocators SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, ALLOC_PROCESSES_MAX);
    __type(key, __u32); /* process id */
    __type(value, struct alloc_process);
} vms SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, ALLOC_PROCESSES_MAX);
    __type(key, __u32); /* process id */
    __type(value, struct alloc_mallocs);
} mallocs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, ALLOC_PROCESSES_MAX);
    __type(key, __u32); /* process id */
    __type(value, struct alloc_agent);
} agents SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, ALLOC_COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

struct alloc_scratch {
    struct stack_scratch stack;
    struct allocated what;
    struct arguments args;
    __u64 values[STACK_SETS_MAX]; /* of the sets that take it */
    __u64 flags;                  /* SAMPLE_SAME_STEP, SAMPLE_ALONE */
    __u64 block;                  /* address of a block of malloc */
    __u64 taken;                  /* by one that runs or was preempted */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, ALLOC_DEPTH);
    __type(key, __u32);
    __type(value, struct alloc_scratch);
} scratches SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, STACK_SETS_MAX);
    __type(key, __u32);
    __type(value, struct block);
} blocks SEC(".maps");

static __always_inline void count(__u32 which, __u64 n)
{
    __u64 *c = bpf_map_lookup_elem(&counters, &which);

    if (c)
        __sync_fetch_and_add(c, n);
}

/* ---- what was allocated ---- */

/* The buffer of a thread, and what it has allocated in all. */
struct thread_bytes {
    __u64 start, top, end, all;
};

static __always_inline bool read_thread(const struct alloc_vm *vm, __u64 thread,
                                        struct thread_bytes *ret)
{
    if (!read_word(&ret->all, thread + vm->allocated_bytes) ||
        !read_word(&ret->start, thread + vm->tlab_start) ||
        !read_word(&ret->top, thread + vm->tlab_top) ||
        !read_word(&ret->end, thread + vm->tlab_end))
        return false;
    if (ret->top < ret->start || ret->end < ret->top || ret->end - ret->start >= SIZE_MAX_BYTES)
        ret->start = ret->top = ret->end = 0;
    ret->all += ret->top - ret->start;
    return true;
}

/* What an object of @bytes is worth that did not fit into a buffer of @buffer bytes; @since were
 * allocated since the last sample, and *ret_carry of them are left for the next. */
static __always_inline __u64 worth(__u64 bytes, __u64 buffer, __u64 since, __u64 *ret_carry)
{
    __u64 share = ((buffer - bytes) << 20) / (buffer - bytes / 2),
          mine = (since >> 10) * share >> 10;

    *ret_carry = since - mine;
    return bytes + mine;
}

/* Whether a buffer was full after as many bytes, and for an object of the same class and size, as
 * one of the last few of this thread. A program that allocates a fixed sequence again and again
 * goes round like that, and only those objects are ever met. @all: bytes that the thread has
 * allocated. */
static __always_inline bool is_same_step(struct allocating *t, const struct allocated *a, __u64 all)
{
    __u64 step = (all - t->last) * 0x9e3779b97f4a7c15ULL ^ a->klass ^ a->bytes << 48;
    bool same = false;

    UNWIND_LOOP
    for (__u32 i = 0; i < STEPS_KEPT; i++)
        same |= t->steps[i] == step;
    t->last = all;
    t->steps[t->step & (STEPS_KEPT - 1)] = step;
    t->step++;
    return same;
}

/* Whether an object that stands for @weight stands for hardly more than itself: the bytes of other
 * places are a ninth of it at most. So it is with what no buffer has room for: each comes here. */
static __always_inline bool is_alone(const struct allocated *a, __u64 weight)
{
    return weight - a->bytes <= a->bytes >> 3;
}

/* What the object stands for; 0: it is no sample. It is allocated already. */
static __always_inline __u64 weigh(struct allocating *t, const struct alloc_process *p,
                                   const struct allocated *a, const struct thread_bytes *b)
{
    __u64 before = b->all - a->bytes, buffer = b->end - b->start, old = t->buffer, since;
    bool known = t->epoch == p->epoch && t->thread == a->thread;
    bool fitted;

    if (!known) {
        t->epoch = p->epoch;
        t->thread = a->thread;
        t->carry = t->outside = 0;
        /* Of what it did before, this is the sample of about one buffer. */
        t->counted = before - (a->outside ? b->top - b->start : buffer);
        old = buffer;
        t->begun = before - (b->top - b->start);
    }
    if (a->outside) {
        t->buffer = old = buffer;
        t->outside += a->bytes;
        fitted = false;
    } else {
        /* It had room: a collection took the buffer away. So it comes by chance, and not for its
         * size. */
        fitted = known && old && before - t->begun - t->outside + a->bytes <= old;
        t->buffer = buffer;
        t->begun = before;
        t->outside = 0;
    }
    if (fitted)
        return 0;
    if (a->bytes >= old) {
        t->counted += a->bytes; /* of itself alone */
        return a->bytes;
    }
    since = before - t->counted + t->carry;
    if (since >= SIZE_MAX_BYTES)
        since = old;
    t->counted = b->all;
    return worth(a->bytes, old, since, &t->carry);
}

/* What an object stands for that is still to be allocated; 0: it is no sample. It may get a new
 * buffer or go outside: that does not matter. */
static __always_inline __u64 weigh_before(struct allocating *t, const struct alloc_process *p,
                                          const struct allocated *a, const struct thread_bytes *b)
{
    bool known = t->epoch == p->epoch && t->thread == a->thread;
    __u64 buffer = b->end - b->start, since;

    if (buffer && a->bytes <= b->end - b->top)
        return 0; /* it has room */
    if (!known) {
        t->epoch = p->epoch;
        t->thread = a->thread;
        t->carry = t->outside = t->buffer = 0;
        /* Of what it did before, this is the sample of what is in the buffer. */
        t->counted = t->begun = b->all - (b->top - b->start);
    }
    if (!buffer) { /* a collection took it away; did that have room? */
        buffer = t->buffer;
        if (b->all - t->begun + a->bytes <= buffer)
            return 0;
    }
    t->buffer = buffer;
    t->begun = b->all;
    if (a->bytes >= buffer) {
        t->counted += a->bytes;
        return a->bytes;
    }
    since = b->all - t->counted + t->carry;
    if (since >= SIZE_MAX_BYTES)
        since = buffer;
    t->counted = b->all + a->bytes;
    return worth(a->bytes, buffer, since, &t->carry);
}

/* ---- what an agent's JVM has drawn ---- */

#define SHARE_STEPS 8 /* of x = size/interval, for each 1 */
#define SHARE_BITS 16 /* behind the point */
#define SHARE_STEP_BITS 13
#define SHARES_TO 8 /* beyond, an object stands for itself */

/* x / (1 - exp(-x)), between whose values a line is right to 1 in 3,000. */
static const __u32 SHARES[SHARES_TO * SHARE_STEPS + 1] = {
    65536,  69717,  74069,  78590,  83280,  88136,  93156,  98337,  103676, 109170, 114815,
    120606, 126539, 132608, 138809, 145138, 151587, 158153, 164829, 171610, 178491, 185467,
    192532, 199681, 206909, 214212, 221584, 229021, 236518, 244072, 251679, 259334, 267035,
    274777, 282558, 290375, 298225, 306105, 314013, 321946, 329903, 337881, 345879, 353895,
    361927, 369974, 378035, 386108, 394193, 402288, 410392, 418505, 426625, 434753, 442887,
    451026, 459171, 467320, 475474, 483631, 491792, 499956, 508123, 516292, 524464,
};

/* What an object of @bytes stands for that was drawn with @interval. */
static __always_inline __u64 drawn_worth(__u64 bytes, __u64 interval)
{
    __u64 x, at, rest, low, high;

    if (bytes >= SHARES_TO * interval)
        return bytes;
    x = (bytes << SHARE_BITS) / interval;
    at = (x >> SHARE_STEP_BITS) & (SHARES_TO * SHARE_STEPS - 1);
    rest = x & ((1 << SHARE_STEP_BITS) - 1);
    low = SHARES[at];
    high = SHARES[at + 1];
    return interval * (low + ((high - low) * rest >> SHARE_STEP_BITS)) >> SHARE_BITS;
}

/* What the object of a call of flamed_agent_sampled() stands for, which has the handle of a class,
 * the bytes of the object, the interval that the thread's next one is drawn with, and the object's
 * number if the agent follows it. 0: it is no sample. */
static __always_inline __u64 weigh_drawn(struct alloc_scratch *as, __u32 host_pid, __u64 cookie)
{
    __u64 handle = as->args.n[0], bytes = as->args.n[1], next = as->args.n[2];
    struct task_struct *task = bpf_get_current_task_btf();
    struct alloc_agent *p = bpf_map_lookup_elem(&agents, &host_pid);
    __u64 object, interval = next;
    struct allocating *t;

    if (!p || p->epoch != ALLOC_COOKIE_EPOCH(cookie) || !bytes || bytes >= SIZE_MAX_BYTES ||
        !next || next > ALLOC_INTERVAL_MAX)
        return 0;
    t = bpf_task_storage_get(&allocators, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!t || !read_word(&object, handle & ~7ULL) ||
        !read_word(&as->what.klass, object + p->class_klass) || !as->what.klass) {
        count(ALLOC_LOST_OTHER, 1);
        return 0;
    }
    as->what.object = (__u32)as->args.n[3];
    as->what.collections = 0;
    if (as->what.object && p->collections)
        bpf_probe_read_user(&as->what.collections, sizeof(as->what.collections),
                            (const void *)p->collections);
    if (t->drawn_epoch == p->epoch && t->drawn)
        interval = t->drawn;
    t->drawn_epoch = p->epoch;
    t->drawn = next;
    return drawn_worth(bytes, interval);
}

/* ---- records ---- */

/* Whether set @i takes a sample that is worth @weight, and what the record then stands for. */
static __always_inline __u64 draw(__u32 i, __u64 weight)
{
    __u64 interval = rates[i & (STACK_SETS_MAX - 1)].interval;

    if (weight >= interval)
        return weight;
    return random_below(interval) < weight ? interval : 0;
}

static __always_inline struct alloc_scratch *take_scratch(void)
{
    UNWIND_LOOP
    for (__u32 i = 0; i < ALLOC_DEPTH; i++) {
        __u32 key = i;
        struct alloc_scratch *s = bpf_map_lookup_elem(&scratches, &key);

        if (s && __sync_lock_test_and_set(&s->taken, 1) == 0)
            return s;
    }
    return NULL;
}

/* Returns how many were written. */
static __always_inline __u32 write_records(struct alloc_scratch *as, __u32 sets)
{
    struct stack_scratch *s = &as->stack;
    __u32 words = s->rec.user_count, written = 0;

    if (words > SAMPLE_USER_MAX)
        words = SAMPLE_USER_MAX;
    UNWIND_LOOP
    for (__u32 i = 0; i < STACK_SETS_MAX; i++) {
        if (!(sets & 1U << i))
            continue;
        s->rec.set = (__u8)i;
        s->rec.value = as->values[i];
        if (bpf_ringbuf_output(&ring, &s->rec, sizeof(s->rec) + words * sizeof(__u64),
                               BPF_RB_NO_WAKEUP))
            count(ALLOC_LOST_RING, 1);
        else
            written++;
    }
    count(ALLOC_SAMPLES, written);
    return written;
}

/* Of the task that runs, for @sets (bits). Returns how many records were written. */
static __always_inline __u32 take_sample(struct task_struct *task, struct alloc_scratch *as,
                                         __u32 sets, __u32 host_pid)
{
    __u64 now_ns = bpf_ktime_get_ns(), took_ns;
    struct stack_scratch *s = &as->stack;
    struct unwind_process *p;
    __u32 written;

    if (over_budget(now_ns, STACK_BUDGET_NS)) {
        count(ALLOC_LOST_BUDGET, 1);
        return 0;
    }
    begin_record(&s->rec, task, host_pid,
                 pid_ns_inum ? pid_number(task->thread_pid) : (__u32)task->pid, now_ns);
    s->rec.klass = as->what.klass;
    s->rec.flags = (__u8)as->flags;
    s->rec.object = as->what.object;
    s->rec.collections = as->what.collections;
    bpf_get_current_comm(s->rec.comm, sizeof(s->rec.comm));
    p = tables_of(s);
    s->rec.user_count = p ? walk(task, s, p) : leaf(task, s);
    written = write_records(as, sets);
    took_ns = bpf_ktime_get_ns() - now_ns;
    count(ALLOC_TIME_NS, took_ns);
    spend(took_ns);
    return written;
}

/* ---- what happened ---- */

/* What the object of a call with the arguments of @as is worth, as @cookie says; 0: no sample. */
static __always_inline __u64 weigh_object(struct alloc_scratch *as, __u32 host_pid, __u64 cookie)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct alloc_process *p = bpf_map_lookup_elem(&vms, &host_pid);
    struct allocated *a = &as->what;
    struct thread_bytes bytes;
    struct allocating *t;
    __u64 weight;

    if (!p || p->epoch != ALLOC_COOKIE_EPOCH(cookie))
        return 0;
    set_by_arguments(&p->vm, ALLOC_COOKIE_KIND(cookie), &as->args, a);
    if (!a->thread || !a->bytes || a->bytes >= SIZE_MAX_BYTES)
        return 0;
    t = bpf_task_storage_get(&allocators, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!t) {
        count(ALLOC_LOST_OTHER, 1);
        return 0;
    }
    if (!read_thread(&p->vm, a->thread, &bytes))
        return 0;
    weight = a->before ? weigh_before(t, p, a, &bytes) : weigh(t, p, a, &bytes);
    if (weight && is_alone(a, weight)) {
        as->flags = SAMPLE_ALONE;
        t->last += a->bytes; /* a step is of what goes into buffers */
    } else if (weight && is_same_step(t, a, bytes.all)) {
        as->flags = SAMPLE_SAME_STEP;
    }
    return weight;
}

/* Whether set @set, below STACK_SETS_MAX, takes this call, and what the record then stands for; 0:
 * an interval. One that preempts another may spoil a block, and no more than that. */
static __always_inline bool takes_call(__u32 set, __u64 *ret_value)
{
    struct block *b = bpf_map_lookup_elem(&blocks, &set);

    *ret_value = 0;
    UNWIND_MASK(set, STACK_SETS_MAX - 1); /* older verifiers forget the bound of a key */
    return !b || is_picked(b, &rates[set], ret_value);
}

/* The set of a probe that has one of its own. */
static __always_inline __u32 set_of(__u32 kind)
{
    return (__u32)(kind >= ALLOC_MALLOC ? (kind - ALLOC_MALLOC) / ALLOC_MALLOC_KINDS
                                        : kind - ALLOC_CALL) &
           (STACK_SETS_MAX - 1);
}

/* What a call of a function of @kind (enum alloc_malloc) asks for, by its first three arguments; 0:
 * nothing. */
static __always_inline __u64 asked_bytes(__u32 kind, __u64 first, __u64 second, __u64 third)
{
    __u64 bytes = first;

    if (kind == ALLOC_MALLOC_PRODUCT)
        bytes = first < SIZE_MAX_BYTES && second < (1ULL << 23)   ? first * second
                : second < SIZE_MAX_BYTES && first < (1ULL << 23) ? first * second
                                                                  : SIZE_MAX_BYTES;
    else if (kind == ALLOC_MALLOC_THIRD)
        bytes = third;
    else if (kind != ALLOC_MALLOC_FIRST)
        bytes = kind == ALLOC_MALLOC_SECOND_OF_OLD && !first ? 0 : second;
    return bytes < SIZE_MAX_BYTES ? bytes : 0; /* no malloc gives so much */
}

/* The same, and counts the call of process @host_pid. */
static __always_inline __u64 asked(__u32 host_pid, __u32 kind, const struct arguments *args)
{
    struct alloc_mallocs *m = bpf_map_lookup_elem(&mallocs, &host_pid);

    if (m)
        __sync_fetch_and_add(&m->calls, 1);
    return asked_bytes((kind - ALLOC_MALLOC) % ALLOC_MALLOC_KINDS, args->n[0], args->n[1],
                       args->n[2]);
}

/* The sets of @wanted (bits) that take what happened to process @host_pid, as @cookie says, and its
 * value for each, in @as. Not static: so the verifier checks the walk behind it once, and not once
 * for each way that leads there. */
__attribute__((noinline)) int choose(struct alloc_scratch *as, __u32 wanted, __u32 host_pid,
                                     __u64 cookie)
{
    __u32 kind = ALLOC_COOKIE_KIND(cookie);
    __u64 weight;
    __u32 sets = 0, set;

    if (!as)
        return 0;
    as->flags = 0;
    if (kind >= ALLOC_MALLOC) {
        set = set_of(kind);
        as->what.klass = as->what.object = 0;
        as->what.bytes = asked(host_pid, kind, &as->args);
        as->values[set] = draw(set, as->what.bytes);
        return as->values[set] ? 1U << set : 0;
    }
    if (kind >= ALLOC_CALL) {
        set = set_of(kind);
        as->what.klass = as->what.object = 0;
        return takes_call(set, &as->values[set]) ? 1U << set : 0;
    }
    weight = kind == ALLOC_BY_AGENT ? weigh_drawn(as, host_pid, cookie)
                                    : weigh_object(as, host_pid, cookie);
    if (!as->what.object)
        wanted &= ~live_sets;
    UNWIND_LOOP
    for (__u32 i = 0; weight && i < STACK_SETS_MAX; i++) {
        as->values[i] = wanted & 1U << i ? draw(i, weight) : 0;
        if (as->values[i])
            sets |= 1U << i;
    }
    return (int)sets;
}

/* A probe that counts nothing any more. */
static __always_inline bool is_going(__u64 cookie)
{
    return ALLOC_COOKIE_KIND(cookie) >= ALLOC_CALL &&
           ALLOC_COOKIE_EPOCH(cookie) !=
               call_epochs[ALLOC_COOKIE_SLOT(cookie) & (ALLOC_CALLS_MAX - 1)];
}

static __always_inline int called(struct pt_regs *ctx)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u32 host_pid = pid_ns_inum ? pid_number(task->group_leader->thread_pid) : (__u32)task->tgid;
    __u64 di = ctx->rdi, si = ctx->rsi, dx = ctx->rdx, cx = ctx->rcx, r8 = ctx->r8, r9 = ctx->r9;
    __u64 sp = ctx->rsp, cookie = bpf_get_attach_cookie(ctx);
    __u32 kind = ALLOC_COOKIE_KIND(cookie);
    __u32 sets = wanted_sets(host_pid);
    struct alloc_scratch *as;

    /* Else clang reads the context through a pointer that it has moved. */
    asm volatile("" : "+r"(di), "+r"(si), "+r"(dx), "+r"(cx), "+r"(r8), "+r"(r9), "+r"(sp));
    sets &= kind >= ALLOC_CALL       ? 1U << set_of(kind)
            : kind == ALLOC_BY_AGENT ? agent_sets
                                     : alloc_sets;
    if (!sets)
        return 0;
    as = take_scratch();
    if (!as) {
        count(ALLOC_LOST_OTHER, 1);
        return 0;
    }
    as->args = (struct arguments){ { di, si, dx, cx, r8, r9 }, sp + sizeof(__u64) };
    sets = (__u32)choose(as, sets, host_pid, cookie);
    if (sets)
        take_sample(task, as, sets, host_pid);
    __sync_lock_test_and_set(&as->taken, 0);
    return 0;
}

SEC("uprobe")
int alloc_probe(struct pt_regs *ctx)
{
    return is_going(bpf_get_attach_cookie(ctx)) ? 0 : called(ctx);
}

#include "sample/native_live.bpf.h"
