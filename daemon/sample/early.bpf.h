/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Waits on kernels without task work (before 6.18). The user's stack is walked each time that a
 * wanted thread leaves its processor, since the length of the wait is not known yet. The stack is
 * stored until the wait ends. All maps are allocated in advance, because such kernels must not
 * allocate while a run queue is locked.
 */
#pragma once

#include "sample/late.bpf.h"

struct kept {
    __u64 off_ns; /* start of the wait; 0: no stack is stored */
    __u32 count;
    __u16 flags, end;
    struct sample_context context;
    __u64 has_context; /* 1: context was read */
    __u64 words[OFF_EARLY_WORDS];
};

/* By early_key(). Each thread here also has an entry in early_waits. The loader sets the number. */
MAP(kepts, HASH, 1, __u64, struct kept);

/* An empty value, which new entries start from. */
MAP(empty_kept, ARRAY, 1, __u32, struct kept);

/* Returns the stored stack of @task; NULL: none is stored or, with @create, the map is full. */
static __always_inline struct kept *kept_of(struct task_struct *task, bool create)
{
    __u64 key = early_key(task);
    struct kept *k = bpf_map_lookup_elem(&kepts, &key), *empty;
    __u32 zero = 0;

    if (k || !create)
        return k;
    empty = bpf_map_lookup_elem(&empty_kept, &zero);
    if (!empty || bpf_map_update_elem(&kepts, &key, empty, BPF_NOEXIST))
        return NULL;
    return bpf_map_lookup_elem(&kepts, &key);
}

/* Walks the stack of @task, which runs and is about to leave, and stores it for the wait that
 * begins at @off_ns. */
static __always_inline void keep_stack(struct task_struct *task, __u64 off_ns)
{
    struct off_scratch *os;
    struct stack_scratch *s;
    struct unwind_process *p;
    struct kept *k;
    __u64 took_ns;
    __u32 n;

    if (task->flags & (TASK_WORKER | TASK_EXITING) || over_budget(off_ns, STACK_BUDGET_NS))
        return; /* a stack stored for an older wait has another off_ns */
    k = kept_of(task, /* create= */ true);
    os = k ? take_scratch() : NULL;
    if (!os || !k)
        return;
    s = &os->stack;
    begin_record(&s->rec, task, process_number(task), thread_number(task), off_ns);
    p = tables_of(s);
    n = p ? walk(task, s, p) : leaf(task, s);
    if (n > OFF_EARLY_WORDS)
        n = OFF_EARLY_WORDS;
    k->has_context = (__u64)context_keep(s, &os->context, task, &k->context);
    k->off_ns = off_ns;
    k->count = n;
    k->flags = s->rec.flags;
    k->end = s->rec.user_end;
    bpf_probe_read_kernel(k->words, n * sizeof(__u64), s->frames);
    give_scratch(os);
    took_ns = bpf_ktime_get_ns() - off_ns;
    count(STACK_TIME_NS, took_ns);
    spend(took_ns);
}

/* Writes the records of the finished wait of @task that began at @since, with its stored stack.
 * Returns false if no stack is stored. */
static __always_inline bool write_kept(struct task_struct *task, struct desk *d, __u64 since)
{
    struct ended *x = &d->form.ended;
    struct kept *k = kept_of(task, /* create= */ false);
    struct off_scratch *os;
    struct stack_scratch *s;
    __u64 n = x->kernel_count, words;

    if (!k || !since || k->off_ns != since)
        return false;
    os = take_scratch();
    if (!os)
        return false;
    s = &os->stack;
    if (n > STACK_MAX)
        n = STACK_MAX;
    UNWIND_MASK(n, STACK_MAX); /* older verifiers forget the bound */
    words = k->count;
    if (words > OFF_EARLY_WORDS)
        words = OFF_EARLY_WORDS;
    fill_record(&s->rec, task, x);
    s->rec.flags |= (__u8)k->flags;
    s->rec.user_end = (__u8)k->end;
    s->rec.user_count = (__u16)words;
    bpf_probe_read_kernel(s->frames, n * sizeof(__u64), x->kernel);
    bpf_probe_read_kernel(user_words(s), words * sizeof(__u64), k->words);
    if (k->has_context)
        context_put(s, &k->context, (__u32)(n + words));
    write_both(s, x, x->runnable_ns);
    give_scratch(os);
    return true;
}
