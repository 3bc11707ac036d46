/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads which request the thread that runs works on. The path that flamed compiled for its process
 * leads through the thread's own objects, read in its context and with its rights. Path and memory
 * are not trusted: each loop has a bound, each text a length, and what cannot be read ends the
 * path. The thread is interrupted, so what it writes is whole; objects that a collector moves are
 * found through the thread's references. No address of an object is kept or compared.
 */
#pragma once

#include "sample/lock.bpf.h"
#include "unwind/context.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, STACK_CONTEXTS_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32); /* process id */
    __type(value, struct context_path);
} contexts SEC(".maps");

/* Paths in the table. Samples look for theirs only while there is one. */
__u32 contexts_put;

/* A path on its way. Behind `out` lie more bytes than any text is longer than its room. */
struct context_work {
    struct sample_context out;
    __u64 at[CONTEXT_REGISTERS];
    __u64 thread;             /* the JavaThread */
    __u64 table, want, found; /* of a search */
    __u64 spare[8];
    __u32 count; /* of the table's entries */
    __u32 next;  /* step */
    __u32 nth;
    __u32 fault; /* memory was not there, or is not what it should be */
};

/* Loads a number of @bytes; 0: not readable, which is noted. */
static __always_inline __u64 context_load(struct context_work *w, __u64 at, const __u32 bytes)
{
    __u64 v = 0;

    if (at < 4096 || at >> 47 || bpf_probe_read_user(&v, bytes, (const void *)at)) {
        w->fault = 1;
        return 0;
    }
    return v;
}

/* Returns the object that the reference at @at leads to; 0: null, or not readable. */
static __always_inline __u64 context_field(struct context_work *w, const struct unwind_locks *l,
                                           __u64 at)
{
    __u64 v;

    if (l->oop_bytes != 4)
        return lock_address(l, context_load(w, at, 8));
    v = context_load(w, at, 4);
    return v ? l->oop_base + (v << (l->oop_shift & 31)) : 0;
}

/* Returns the class word of @object, as in the key of a step; 0: not readable. */
static __always_inline __u64 context_class(struct context_work *w, const struct context_path *path,
                                           const struct unwind_locks *l, __u64 object)
{
    __u64 word = lock_class(l, object);

    if (!word)
        w->fault = 1;
    return word >> (path->mark_shift & 63);
}

/* Looks at entry @i, from the hash on, of the thread's table. Returns 1 at the end of the search.
 * These functions are not static: the verifier then checks each once and on its own. */
__attribute__((noinline)) int context_probe(struct context_work *w, struct context_path *path,
                                            struct unwind_process *p, __u32 i)
{
    __u64 entry, key;

    if (!w || !path || !p)
        return 1;
    i = ((__u32)w->want + i) & (w->count - 1);
    entry = context_field(w, &p->vm.locks,
                          w->table + path->array_base + (__u64)i * p->vm.locks.oop_bytes);
    if (!entry)
        return 1;
    key = context_field(w, &p->vm.locks, entry + path->referent);
    if (!key || context_load(w, key + path->hash, 4) != w->want)
        return 0;
    w->found = context_field(w, &p->vm.locks, entry + path->entry_value);
    return 1;
}

/* The same of value @i of an array of keys and values. */
__attribute__((noinline)) int context_pair(struct context_work *w, struct context_path *path,
                                           struct unwind_process *p, __u32 i)
{
    __u64 value;

    if (!w || !path || !p || 2 * i + 1 >= w->count)
        return 1;
    value = context_field(w, &p->vm.locks,
                          w->table + path->array_base + (2 * (__u64)i + 1) * p->vm.locks.oop_bytes);
    if (!value || context_class(w, path, &p->vm.locks, value) != w->want)
        return 0;
    w->found = value;
    return w->nth-- == 0;
}

/* The same of the next node in a bucket of a HashMap. */
__attribute__((noinline)) int context_node(struct context_work *w, struct context_path *path,
                                           struct unwind_process *p)
{
    if (!w || !path || !p || !w->table)
        return 1;
    if (context_load(w, w->table + path->node_hash, 4) == w->want) {
        w->found = context_field(w, &p->vm.locks, w->table + path->node_value);
        return 1;
    }
    w->table = context_field(w, &p->vm.locks, w->table + path->node_next);
    return 0;
}

/* Prepares a search in the array at @array, of @max entries at most. Returns whether it has any. */
static __always_inline bool context_search(struct context_work *w, const struct context_path *path,
                                           __u64 array, __u64 want)
{
    w->found = 0;
    w->table = array;
    w->want = want;
    w->count = array ? (__u32)context_load(w, array + path->array_length, 4) : 0;
    if (w->count > CONTEXT_TABLE_MAX) {
        w->fault = 1;
        w->count = 0;
    }
    return w->count > 0;
}

/* Whether the array is a table whose index is a part of a hash. */
static __always_inline bool context_is_table(struct context_work *w)
{
    if (!(w->count & (w->count - 1)))
        return true;
    w->fault = 1;
    return false;
}

/* Finds the value of a thread's variable. */
static __always_inline __u64 context_local(struct context_work *w, struct context_path *path,
                                           struct unwind_process *p, __u64 hash)
{
    const struct unwind_locks *l = &p->vm.locks;
    __u64 at = lock_root(l, w->thread + l->thread_object, l->thread_handle);

    if (at)
        at = context_field(w, l, at + path->thread_locals);
    if (at)
        at = context_field(w, l, at + path->table);
    if (!context_search(w, path, at, (__u32)hash) || !context_is_table(w))
        return 0;
    UNWIND_LOOP
    for (__u32 i = 0; i < CONTEXT_PROBES_MAX; i++) {
        if (context_probe(w, path, p, i))
            break;
    }
    return w->found;
}

/* Finds the value of class @want number @nth, or the last one before it, in the array at @array. */
static __always_inline __u64 context_nth(struct context_work *w, struct context_path *path,
                                         struct unwind_process *p, __u64 array, __u64 want,
                                         __u32 nth)
{
    if (!context_search(w, path, array, want))
        return 0;
    w->nth = nth;
    UNWIND_LOOP
    for (__u32 i = 0; i < CONTEXT_PAIRS_MAX; i++) {
        if (context_pair(w, path, p, i))
            break;
    }
    return w->found;
}

/* Finds the value of the key of hash @hash in the HashMap at @map. */
static __always_inline __u64 context_map(struct context_work *w, struct context_path *path,
                                         struct unwind_process *p, __u64 map, __u32 hash)
{
    __u64 at = map ? context_field(w, &p->vm.locks, map + path->map_table) : 0;

    hash ^= hash >> 16; /* as HashMap spreads it */
    if (!context_search(w, path, at, hash) || !context_is_table(w))
        return 0;
    w->table = context_field(w, &p->vm.locks,
                             w->table + path->array_base +
                                 (__u64)(hash & (w->count - 1)) * p->vm.locks.oop_bytes);
    UNWIND_LOOP
    for (__u32 i = 0; i < CONTEXT_NODES_MAX; i++) {
        if (context_node(w, path, p))
            break;
    }
    return w->found;
}

/* Copies @n bytes at @at to @to, which has room for @max, a power of two. */
static __always_inline bool context_copy(struct context_work *w, void *to, const __u32 max,
                                         __u64 at, __u64 n)
{
    if (n > max)
        n = max;
    UNWIND_MASK(n, max * 2 - 1);
    if (at >= 4096 && !(at >> 47) && !bpf_probe_read_user(to, n, (const void *)at))
        return true;
    w->fault = 1;
    return false;
}

/* Copies the java.lang.String at @string as text @text. Returns whether it has any. */
__attribute__((noinline)) int context_string(struct context_work *w, struct context_path *path,
                                             struct unwind_process *p, __u32 text, __u64 string)
{
    __u64 array, n;
    bool wide = true, good = false;

    if (!w || !path || !p || !string)
        return 0;
    array = context_field(w, &p->vm.locks, string + path->string_value);
    if (!array)
        return 0;
    n = context_load(w, array + path->array_length, 4);
    if (path->string_coder)
        wide = context_load(w, string + path->string_coder, 1) != 0;
    else
        n *= 2; /* an array of char */
    array += path->bytes_base;
    if (text == CONTEXT_TRACE) {
        n = n > 64 ? 64 : n;
        good = context_copy(w, &w->out.id[CONTEXT_TRACE_WORD], 64, array, n);
    } else if (text == CONTEXT_SPAN) {
        n = n > 32 ? 32 : n;
        good = context_copy(w, &w->out.id[CONTEXT_SPAN_WORD], 32, array, n);
    } else if (text == CONTEXT_ROOT) {
        n = n > 32 ? 32 : n;
        good = context_copy(w, &w->out.id[CONTEXT_ROOT_WORD], 32, array, n);
    } else {
        text = CONTEXT_NAME;
        n = n > CONTEXT_NAME_BYTES ? CONTEXT_NAME_BYTES : n;
        good = context_copy(w, w->out.name, CONTEXT_NAME_BYTES, array, n);
    }
    w->out.bytes[text & (CONTEXT_TEXTS - 1)] = good ? n : 0;
    if (wide)
        w->out.wide |= 1U << (text & (CONTEXT_TEXTS - 1));
    else
        w->out.wide &= ~(1U << (text & (CONTEXT_TEXTS - 1)));
    return good && n;
}

/* Makes the next step. Returns 1 at the end of the path. */
__attribute__((noinline)) int context_step(struct context_work *w, struct context_path *path,
                                           struct unwind_process *p)
{
    const struct context_step *s;
    __u64 v = 0, from;
    __u32 i;

    if (!w || !path || !p)
        return 1;
    i = w->next;
    if (i >= CONTEXT_STEPS_MAX || i >= path->step_count)
        return 1;
    s = &path->steps[i];
    w->out.step = i;
    w->next = i + 1;
    from = w->at[s->from & (CONTEXT_REGISTERS - 1)];
    switch (s->op) {
    case CONTEXT_THREAD_LOCAL:
        v = context_local(w, path, p, s->key);
        break;
    case CONTEXT_REF:
        v = from ? context_field(w, &p->vm.locks, from + s->offset) : 0;
        break;
    case CONTEXT_NTH:
        v = context_nth(w, path, p, from, s->key, s->offset);
        break;
    case CONTEXT_MAP:
        v = context_map(w, path, p, from, (__u32)s->key);
        break;
    case CONTEXT_CLASS:
        if (from && context_class(w, path, &p->vm.locks, from) == s->key)
            return 0;
        break;
    case CONTEXT_WORD:
        if (from) {
            w->out.id[s->key & (CONTEXT_ID_WORDS - 1)] = context_load(w, from + s->offset, 8);
            return 0;
        }
        break;
    case CONTEXT_TEXT:
        if (context_string(w, path, p, (__u32)s->key, from))
            return 0;
        break;
    default:
        break;
    }
    if (v) {
        w->at[s->to & (CONTEXT_REGISTERS - 1)] = v;
        return 0;
    }
    w->next += s->skip;
    return !s->skip;
}

/* What of a request was found. */
static __always_inline __u8 context_found(const struct context_work *w)
{
    __u64 trace = w->out.id[CONTEXT_TRACE_WORD] | w->out.id[CONTEXT_TRACE_WORD + 1];

    if (!trace || !w->out.id[CONTEXT_SPAN_WORD])
        return w->fault ? CONTEXT_UNREADABLE : CONTEXT_NO_REQUEST;
    return w->out.bytes[CONTEXT_NAME] ? CONTEXT_NAMED : CONTEXT_IDS_ONLY;
}

/* Reads into @w what the thread that runs works on. flamed knows the thread by these numbers and
 * its image by @exec_id, or its thread pointer leads to its JavaThread. Returns whether anybody
 * wants that of its process. */
__attribute__((noinline)) int context_read(struct context_work *w, __u32 pid, __u32 tid,
                                           __u32 exec_id, __u64 pointer)
{
    struct context_path *path = bpf_map_lookup_elem(&contexts, &pid);
    struct unwind_process *p;
    __u64 key = (__u64)pid << 32 | tid, *known;

    if (!w || !path)
        return 0;
    p = bpf_map_lookup_elem(&processes, &pid);
    known = bpf_map_lookup_elem(&threads, &key);
    __builtin_memset(w, 0, sizeof(*w));
    w->out.ids = path->ids;
    w->out.state = CONTEXT_UNREADABLE;
    if (!p || !p->vm.locks.klass_bytes || path->exec_id != exec_id || p->exec_id != exec_id ||
        (!known && !p->vm.locks.thread_vtable))
        return 1;
    w->out.state = CONTEXT_NO_REQUEST;
    /* The thread knows best: its number may have been another's. */
    w->thread = p->vm.locks.thread_vtable ? lock_current_thread(&p->vm.locks, pointer)
                : known                   ? *known
                                          : 0;
    if (!w->thread) /* it runs no Java */
        return 1;
    UNWIND_LOOP
    for (__u32 i = 0; i < CONTEXT_STEPS_MAX; i++) {
        if (context_step(w, path, p))
            break;
    }
    w->out.state = context_found(w);
    return 1;
}

/* Puts what @w holds behind the @words words of @s. Returns how many it put. */
__attribute__((noinline)) int context_put(struct stack_scratch *s, struct context_work *w,
                                          __u32 words)
{
    if (!s || !w || words > STACK_MAX + SAMPLE_USER_MAX)
        return 0;
    bpf_probe_read_kernel(&s->frames[words], sizeof(w->out), &w->out);
    return CONTEXT_WORDS;
}

/* Reads the request of @task, which runs, behind the @words words of @s. Returns how many words
 * there are then. */
static __always_inline __u32 take_context(struct stack_scratch *s, struct context_work *w,
                                          struct task_struct *task, __u32 words)
{
    if (!contexts_put || task->flags & (TASK_KERNEL_THREAD | TASK_EXITING) ||
        !context_read(w, s->rec.host_pid, s->rec.host_tid, s->rec.exec_id, task->thread.fsbase))
        return words;
    s->rec.context_count = (__u8)context_put(s, w, words);
    return words + s->rec.context_count;
}
