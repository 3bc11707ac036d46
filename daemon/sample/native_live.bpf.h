// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which blocks of glibc's malloc are not given back. A block has to be known by its address, which
 * is not known where malloc begins. But glibc keeps blocks that a thread gave back in a list of the
 * thread's own (tcache). If that has one of the size, the first of those is what malloc returns.
 * For all other blocks malloc calls a function of its own. Behind that call the block is in a
 * register, and the jump that tests it has a probe. So no probe stands at a return.
 *
 * A block that is sampled has a number, which its record has. Where it is given back, a second
 * record says so. What of these is left at the end stays.
 *
 * All that is read is the target's and may be garbage. A block is believed to be one only if what
 * glibc writes before it says its size.
 */
#pragma once

#include "sample/alloc_calls.bpf.h"
#include "sample/probe_stack.bpf.h"

#define BLOCK_MIN_BYTES 32 /* glibc's smallest */
#define BLOCK_STEP_BYTES 16
#define BLOCK_HEAD_BYTES 8 /* before it: its size, and flags */
#define BLOCK_FLAGS 7
#define BLOCK_MAPPED 2          /* it has a mapping of its own: whole pages */
#define BLOCK_REST_BYTES 32     /* that a block may be larger than was asked for */
#define BLOCK_REST_MAPPED 12288 /* the same of such a mapping */
#define ADDRESS_END (1ULL << UNWIND_PC_BITS)

#define CACHE_SIZES 64     /* smallest blocks that a thread keeps, by size */
#define CACHE_WORDS 512    /* of a thread's own memory that are looked through */
#define CACHE_TRIES_MAX 64 /* of a process */

/* What a call of a thread asks for, for one set. */
struct asking {
    __u64 bytes;
    __u64 value;  /* of its sample; 0: it is none, or is done */
    __u64 cached; /* the block that the thread's own list has for it; 0: none */
    __u32 block;  /* the number of the sample; 0: not written yet */
    __u32 epoch;  /* of the set */
};

struct asking_sets {
    struct asking of[STACK_SETS_MAX];
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct asking_sets);
} askers SEC(".maps");

/* The blocks that were sampled and are not given back, by number. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, ALLOC_BLOCKS_MAX);
    __type(key, struct alloc_block);
    __type(value, __u32);
} live_blocks SEC(".maps");

__u32 block_epochs[STACK_SETS_MAX]; /* of sets: how often each began; written by the loader */
__u32 last_block;                   /* number */
/* Blocks that are followed: of all processes, and of each by its slot. The loader takes off those
 * that it forgets. One that ends before it is counted makes that -1 for a moment. */
__s32 blocks_of_all;
__s32 blocks_of[ALLOC_PROCESSES_MAX];

/* The size that glibc has for @bytes. */
static __always_inline __u64 block_bytes(__u64 bytes)
{
    bytes = (bytes + BLOCK_HEAD_BYTES + BLOCK_STEP_BYTES - 1) & ~(__u64)(BLOCK_STEP_BYTES - 1);
    return bytes < BLOCK_MIN_BYTES ? BLOCK_MIN_BYTES : bytes;
}

/* What stands before a block at @address; 0: there can be none. */
static __always_inline __u64 block_head(__u64 address)
{
    __u64 head = 0;

    if (!address || address >= ADDRESS_END || address & (BLOCK_STEP_BYTES - 1))
        return 0;
    return read_word(&head, address - BLOCK_HEAD_BYTES) ? head : 0;
}

/* Whether the block at @address is what a call that asks for @bytes gets. */
static __always_inline bool is_block_of(__u64 address, __u64 bytes)
{
    __u64 head = block_head(address), size = head & ~(__u64)BLOCK_FLAGS, least = block_bytes(bytes),
          rest = head & BLOCK_MAPPED ? BLOCK_REST_MAPPED : BLOCK_REST_BYTES;

    return size >= least && size - least <= rest;
}

/* ---- a thread's own blocks ---- */

/* How glibc's list of them is laid out: by the size of the block that it lies in. That is a step
 * larger where glibc had such a block. */
static __always_inline __u32 cache_first(__u64 size)
{
    return size == 0x250 || size == 0x260   ? 0x40 /* 2.26 to 2.29 */
           : size == 0x290 || size == 0x2a0 ? 0x80 /* 2.30 to 2.41 */
           : size == 0x300 || size == 0x310 ? 0x98 /* 2.42 and up */
                                            : 0;
}

/* Where the list at @cache has the first block of its size @index. */
static __always_inline __u64 cache_block(__u64 cache, __u32 first, __u32 index)
{
    __u64 block = 0;
    __u16 count = 1;

    if (first == 0x80 &&
        bpf_probe_read_user(&count, sizeof(count), (const void *)(cache + index * sizeof(count))))
        return 0;
    return count && read_word(&block, cache + first + index * sizeof(block)) ? block : 0;
}

/* Whether such a list is at @cache, and has a block: all have the sizes of their places. Not
 * static: so the verifier checks it once. */
__attribute__((noinline)) int is_cache(__u64 cache)
{
    __u32 first = cache_first(block_head(cache) & ~(__u64)BLOCK_FLAGS);
    int found = 0;

    if (!first)
        return 0;
    UNWIND_LOOP
    for (__u32 i = 0; i < CACHE_SIZES; i++) {
        __u64 block = cache_block(cache, first, i);

        if (!block)
            continue;
        if ((block_head(block) & ~(__u64)BLOCK_FLAGS) !=
            BLOCK_MIN_BYTES + (__u64)i * BLOCK_STEP_BYTES)
            return 0;
        found = 1;
    }
    return found;
}

/* How far below a thread's own memory (@fs) the word is that says where its list is; 0: not found.
 * The first that leads to a block of that size is it, also while it has no blocks. What is further
 * away may be left of a thread that had this stack before. */
__attribute__((noinline)) int find_cache(__u64 fs)
{
    UNWIND_LOOP
    for (__u32 i = 1; i <= CACHE_WORDS; i++) {
        __u64 cache = 0;

        if (read_word(&cache, fs - i * sizeof(cache)) && cache &&
            cache_first(block_head(cache) & ~(__u64)BLOCK_FLAGS))
            return is_cache(cache) ? (int)i : 0;
    }
    return 0;
}

/* The block that malloc of @bytes takes out of the list of the thread that runs; 0: it has none, or
 * nobody knows. */
static __always_inline __u64 cached_block(struct task_struct *task, struct alloc_mallocs *m,
                                          __u64 bytes)
{
    __u64 size = block_bytes(bytes), fs = THREAD_POINTER(task->thread), cache = 0, block;
    __u32 index = (__u32)(size - BLOCK_MIN_BYTES) / BLOCK_STEP_BYTES, first;

    if (size >= BLOCK_MIN_BYTES + CACHE_SIZES * BLOCK_STEP_BYTES || !fs)
        return 0;
    if (!m->cache_word && m->cache_tries < CACHE_TRIES_MAX) {
        m->cache_tries++;
        m->cache_word = (__u32)find_cache(fs);
    }
    if (!m->cache_word || !read_word(&cache, fs - m->cache_word * sizeof(cache)))
        return 0;
    first = cache_first(block_head(cache) & ~(__u64)BLOCK_FLAGS);
    block = first ? cache_block(cache, first, index) : 0;
    if (!block)
        return 0;
    if ((block_head(block) & ~(__u64)BLOCK_FLAGS) == size)
        return block;
    m->cache_word = 0; /* it was something else */
    return 0;
}

/* ---- records ---- */

/* Writes that block number @block was given back. With a @value: nobody follows it, and it is worth
 * that; number 0: nobody knows where it is. */
static __always_inline void write_end(struct task_struct *task, struct alloc_scratch *as,
                                      __u32 host_pid, __u32 set, __u32 block, __u64 value)
{
    struct sample_record *rec = &as->stack.rec;

    begin_record(rec, task, host_pid, thread_number(task), bpf_ktime_get_ns());
    rec->set = (__u8)set;
    rec->flags = SAMPLE_GIVEN_BACK;
    rec->object = block;
    rec->value = value;
    bpf_get_current_comm(rec->comm, sizeof(rec->comm));
    if (bpf_ringbuf_output(&ring, rec, sizeof(*rec), BPF_RB_NO_WAKEUP)) {
        count(ALLOC_LOST_RING, 1);
        lose_record(rec);
    }
}

/* Counts @n more blocks that are followed of the process of @m. */
static __always_inline void count_blocks(const struct alloc_mallocs *m, __s32 n)
{
    __sync_fetch_and_add(&blocks_of_all, n);
    __sync_fetch_and_add(&blocks_of[m->slot & (ALLOC_PROCESSES_MAX - 1)], n);
}

/* Whether one more block of the process of @m may be followed: it has no more of them than are left
 * for others. So none takes all, and one that is alone may have half. */
static __always_inline bool has_room(const struct alloc_mallocs *m)
{
    return blocks_of[m->slot & (ALLOC_PROCESSES_MAX - 1)] < ALLOC_BLOCKS_MAX - blocks_of_all;
}

/* Has the block at @address followed as number @block, which is worth @value. If there is no room,
 * nobody follows it, and its record says so. */
static __always_inline void follow(struct task_struct *task, struct alloc_scratch *as,
                                   const struct alloc_mallocs *m, __u64 address, __u32 host_pid,
                                   __u32 set, __u32 block, __u64 value)
{
    struct alloc_block key = { .address = address, .host_pid = host_pid, .set = set };

    if (has_room(m) && !bpf_map_update_elem(&live_blocks, &key, &block, BPF_NOEXIST)) {
        count_blocks(m, 1);
        return;
    }
    /* One that nobody saw given back was at that address. */
    if (bpf_map_update_elem(&live_blocks, &key, &block, BPF_EXIST))
        write_end(task, as, host_pid, set, block, value);
}

/* Stops following the block of @key, if it is followed. */
static __always_inline void unfollow(const struct alloc_mallocs *m, const struct alloc_block *key)
{
    if (!bpf_map_delete_elem(&live_blocks, key))
        count_blocks(m, -1);
}

/* The block at @address is given back. */
static __always_inline void give_back(struct task_struct *task, struct alloc_scratch *as,
                                      const struct alloc_mallocs *m, __u64 address, __u32 host_pid,
                                      __u32 set)
{
    struct alloc_block key = { .address = address, .host_pid = host_pid, .set = set };
    __u32 *block = bpf_map_lookup_elem(&live_blocks, &key), number;

    if (!block)
        return;
    number = *block;
    unfollow(m, &key);
    write_end(task, as, host_pid, set, number, 0);
}

/* ---- what happened ---- */

/* A function that asks for memory begins. Returns the block that it gets, of a sample, if that is
 * known by now; else 0. */
static __always_inline __u64 begin_asking(struct task_struct *task, struct alloc_scratch *as,
                                          struct asking *a, struct alloc_mallocs *m, __u32 kind,
                                          __u32 host_pid, __u32 set)
{
    if (a->value && !a->block)
        write_end(task, as, host_pid, set, 0, a->value); /* of the call before */
    a->block = 0;
    a->cached = 0;
    if (kind == ALLOC_MALLOC_SECOND_OF_OLD && as->args.n[0])
        give_back(task, as, m, as->args.n[0], host_pid, set);
    a->bytes = asked_bytes(kind, as->args.n[0], as->args.n[1], as->args.n[2]);
    a->value = a->bytes ? draw(set, a->bytes) : 0;
    if (a->value && (kind == ALLOC_MALLOC_FIRST || kind == ALLOC_MALLOC_PRODUCT))
        a->cached = cached_block(task, m, a->bytes);
    return a->cached;
}

/* The block of a call that did not come out of the thread's own list is at @address. Returns that
 * if it is a sample that is still to be written; else 0. */
static __always_inline __u64 end_asking(struct task_struct *task, struct alloc_scratch *as,
                                        struct asking *a, const struct alloc_mallocs *m,
                                        __u64 address, __u32 host_pid, __u32 set)
{
    struct alloc_block cached = { .address = a->cached, .host_pid = host_pid, .set = set };

    if (!a->value || !is_block_of(address, a->bytes))
        return 0;
    if (!a->block)
        return address;
    unfollow(m, &cached); /* calloc before 2.41 takes nothing out of it */
    follow(task, as, m, address, host_pid, set, a->block, a->value);
    a->value = 0;
    return 0;
}

/* What the thread that runs asks for, for set @set. NULL: no memory. */
static __always_inline struct asking *asking_of(struct task_struct *task, __u32 host_pid, __u32 set)
{
    struct asking_sets *all =
        bpf_task_storage_get(&askers, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    __u32 epoch = block_epochs[set & (STACK_SETS_MAX - 1)];
    struct asking *a;

    if (!all) {
        lose_other(task, host_pid, 1U << (set & (STACK_SETS_MAX - 1)));
        return NULL;
    }
    a = &all->of[set & (STACK_SETS_MAX - 1)];
    if (a->epoch != epoch)
        *a = (struct asking){ .epoch = epoch };
    return a;
}

/* What the probe of @cookie has seen. Returns whether there is a sample to write, of the block
 * as->block. Not static: as choose(). */
__attribute__((noinline)) int see_block(struct alloc_scratch *as, __u32 host_pid, __u64 cookie)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u32 kind = ALLOC_COOKIE_KIND(cookie), set = set_of(kind);
    struct alloc_mallocs *m = bpf_map_lookup_elem(&mallocs, &host_pid);
    struct asking *a;

    if (!as || !m)
        return 0;
    kind = (kind - ALLOC_MALLOC) % ALLOC_MALLOC_KINDS;
    if (kind == ALLOC_MALLOC_FREE) {
        give_back(task, as, m, as->args.n[0], host_pid, set);
        return 0;
    }
    a = asking_of(task, host_pid, set);
    if (!a)
        return 0;
    as->block =
        kind >= ALLOC_MALLOC_RESULT
            ? end_asking(task, as, a, m, as->registers[kind & (ALLOC_REGISTERS - 1)], host_pid, set)
            : begin_asking(task, as, a, m, kind, host_pid, set);
    if (!as->block)
        return 0;
    a->block = __sync_fetch_and_add(&last_block, 1) + 1;
    as->what = (struct allocated){ .object = a->block };
    as->flags = 0;
    as->values[set & (STACK_SETS_MAX - 1)] = a->value;
    if (kind >= ALLOC_MALLOC_RESULT || !a->block)
        a->value = 0;
    return a->block != 0;
}

/* Its sample was written; or not, and is counted as lost. */
__attribute__((noinline)) int sampled_block(struct alloc_scratch *as, __u32 host_pid, __u32 set,
                                            __u32 written)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct alloc_mallocs *m = bpf_map_lookup_elem(&mallocs, &host_pid);
    struct asking *a = asking_of(task, host_pid, set);

    if (as && m && written)
        follow(task, as, m, as->block, host_pid, set, as->what.object,
               as->values[set & (STACK_SETS_MAX - 1)]);
    else if (a)
        a->value = 0;
    return 0;
}

/* Of all probes of such sets. */
SEC("uprobe")
int block_probe(probe_registers *ctx)
{
    struct task_struct *task = bpf_get_current_task_btf();
    __u64 cookie = bpf_get_attach_cookie(ctx);
    __u32 kind = ALLOC_COOKIE_KIND(cookie), set = set_of(kind), host_pid = process_number(task);
    struct alloc_mallocs *m = bpf_map_lookup_elem(&mallocs, &host_pid);
    struct alloc_scratch *as;

    use_thread_stack(ctx);
    if (is_going(cookie) || !m || !(wanted_sets(host_pid) & 1U << set))
        return 0;
    __sync_fetch_and_add(&m->calls, 1);
    as = take_scratch();
    if (!as) {
        lose_other(task, host_pid, 1U << set);
        return 0;
    }
    number_registers(ctx, as->registers);
    take_arguments(ctx, &as->args);
    if (see_block(as, host_pid, cookie))
        sampled_block(as, host_pid, set, take_sample(task, as, 1U << set, host_pid));
    give_scratch(as);
    return 0;
}
