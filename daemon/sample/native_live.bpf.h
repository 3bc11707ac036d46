// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Tracks blocks of glibc's malloc until they are freed. A block must be known by its address, which
 * is unknown when malloc begins. But glibc keeps blocks that a thread freed in a list of the
 * thread's own (tcache). If the list has a block of the requested size, malloc returns the first
 * one. For all other blocks malloc calls a function of its own. After that call the block is in a
 * register. The probe is at the jump that tests this register, so no return probe is needed.
 *
 * A sampled block has a number, which is in its record. When the block is freed, a second record
 * reports that. Blocks without a second record are still live.
 *
 * All words are read from the target and may be garbage. A block is accepted only if glibc's size
 * word before it fits.
 */
#pragma once

#include "sample/alloc_calls.bpf.h"
#include "sample/probe_stack.bpf.h"

#define BLOCK_MIN_BYTES 32 /* glibc's smallest block */
#define BLOCK_STEP_BYTES 16
#define BLOCK_HEAD_BYTES 8 /* size word before a block: its size, and flags */
#define BLOCK_FLAGS 7
#define BLOCK_MAPPED 2          /* flag: the block has its own mapping, of whole pages */
#define BLOCK_REST_BYTES 32     /* limit of a block's bytes beyond the request */
#define BLOCK_REST_MAPPED 12288 /* the same for a block with its own mapping */
#define ADDRESS_END (1ULL << UNWIND_PC_BITS)

#define CACHE_SIZES 64     /* number of block sizes in a thread's list: the smallest ones */
#define CACHE_WORDS 512    /* words of a thread's own memory (TLS) that are searched */
#define CACHE_TRIES_MAX 64 /* limit of searches per process */

/* The last request of a thread for memory, for one set. */
struct asking {
    __u64 bytes;
    __u64 value;  /* value of its sample; 0: not sampled, or the sample is complete */
    __u64 cached; /* block that the thread's own list has for it; 0: none */
    __u32 block;  /* number of the sampled block; 0: its record is not written yet */
    __u32 epoch;  /* epoch of the set */
};

struct asking_sets {
    struct asking of[STACK_SETS_MAX];
};

THREAD_MAP(askers, struct asking_sets);

/* The sampled blocks that are not freed yet, with their numbers. */
MAP(live_blocks, HASH, ALLOC_BLOCKS_MAX, struct alloc_block, __u32);

__u32 block_epochs[STACK_SETS_MAX]; /* by set: how often it was started; by the loader */
__u32 last_block;                   /* the last number given to a block */
/* Number of tracked blocks, of all processes and by process slot. The loader subtracts the blocks
 * that it forgets. A block that is freed before it is counted makes the number -1 for a moment. */
__s32 blocks_of_all;
__s32 blocks_of[ALLOC_PROCESSES_MAX];

/* Returns glibc's block size for a request of @bytes. */
static __always_inline __u64 block_bytes(__u64 bytes)
{
    bytes = (bytes + BLOCK_HEAD_BYTES + BLOCK_STEP_BYTES - 1) & ~(__u64)(BLOCK_STEP_BYTES - 1);
    return bytes < BLOCK_MIN_BYTES ? BLOCK_MIN_BYTES : bytes;
}

/* Returns the size word before a block at @address; 0: no block can be there. */
static __always_inline __u64 block_head(__u64 address)
{
    __u64 head = 0;

    if (!address || address >= ADDRESS_END || address & (BLOCK_STEP_BYTES - 1))
        return 0;
    return read_word(&head, address - BLOCK_HEAD_BYTES) ? head : 0;
}

/* Returns true if the block at @address can be the result of a request for @bytes. */
static __always_inline bool is_block_of(__u64 address, __u64 bytes)
{
    __u64 head = block_head(address), size = head & ~(__u64)BLOCK_FLAGS, least = block_bytes(bytes),
          rest = head & BLOCK_MAPPED ? BLOCK_REST_MAPPED : BLOCK_REST_BYTES;

    return size >= least && size - least <= rest;
}

/* ---- a thread's own blocks ---- */

/* Returns the offset of the pointers in glibc's list, by the size of the block that holds the list;
 * 0: unknown. glibc may have used a free block that is one step larger. */
static __always_inline __u32 cache_first(__u64 size)
{
    return size == 0x250 || size == 0x260   ? 0x40 /* 2.26 to 2.29 */
           : size == 0x290 || size == 0x2a0 ? 0x80 /* 2.30 to 2.41 */
           : size == 0x300 || size == 0x310 ? 0x98 /* 2.42 and up */
                                            : 0;
}

/* Returns the first block of size number @index in the list at @cache; 0: none. */
static __always_inline __u64 cache_block(__u64 cache, __u32 first, __u32 index)
{
    __u64 block = 0;
    __u16 count = 1;

    if (first == 0x80 &&
        bpf_probe_read_user(&count, sizeof(count), (const void *)(cache + index * sizeof(count))))
        return 0;
    return count && read_word(&block, cache + first + index * sizeof(block)) ? block : 0;
}

/* Returns 1 if such a list with at least one block is at @cache. Checks that each block has the
 * size of its place in the list. Not static, so that the verifier checks it only once. */
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

/* Returns the number of the word that leads to the thread's list; 0: not found. @fs: the thread
 * pointer. The search ends at the first word that leads to a block of a list's size, even if the
 * list is empty. Words further away may be remains of an earlier thread with the same stack. */
__attribute__((noinline)) int find_cache(__u64 fs)
{
    UNWIND_LOOP
    for (__u32 i = 1; i <= CACHE_WORDS; i++) {
        __u64 cache = 0;

        if (read_word(&cache, thread_word(fs, i)) && cache &&
            cache_first(block_head(cache) & ~(__u64)BLOCK_FLAGS))
            return is_cache(cache) ? (int)i : 0;
    }
    return 0;
}

/* Returns the block that malloc of @bytes takes out of the running thread's list; 0: none, or
 * unknown. */
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
    if (!m->cache_word || !read_word(&cache, thread_word(fs, m->cache_word)))
        return 0;
    first = cache_first(block_head(cache) & ~(__u64)BLOCK_FLAGS);
    block = first ? cache_block(cache, first, index) : 0;
    if (!block)
        return 0;
    if ((block_head(block) & ~(__u64)BLOCK_FLAGS) == size)
        return block;
    m->cache_word = 0; /* the word does not lead to such a list */
    return 0;
}

/* ---- records ---- */

/* Writes that block number @block was freed. A @value other than 0 means instead that the block, of
 * this weight, is not tracked; with @block 0 its address is unknown, too. */
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
        count(STACK_LOST_RING, 1);
        lose_record(rec);
    }
}

/* Adds @n to the tracked blocks of the process of @m. */
static __always_inline void count_blocks(const struct alloc_mallocs *m, __s32 n)
{
    __sync_fetch_and_add(&blocks_of_all, n);
    __sync_fetch_and_add(&blocks_of[m->slot & (ALLOC_PROCESSES_MAX - 1)], n);
}

/* Returns true if one more block of the process of @m may be tracked: it may have at most as many
 * as are still free. So a single process may have half of all, and some are always left for
 * others. */
static __always_inline bool has_room(const struct alloc_mallocs *m)
{
    return blocks_of[m->slot & (ALLOC_PROCESSES_MAX - 1)] < ALLOC_BLOCKS_MAX - blocks_of_all;
}

/* Tracks the block at @address as number @block, with weight @value. Without room the block is not
 * tracked, and a record reports that. */
static __always_inline void follow(struct task_struct *task, struct alloc_scratch *as,
                                   const struct alloc_mallocs *m, __u64 address, __u32 host_pid,
                                   __u32 set, __u32 block, __u64 value)
{
    struct alloc_block key = { .address = address, .host_pid = host_pid, .set = set };
    __u32 *earlier, ended;

    if (has_room(m) && !bpf_map_update_elem(&live_blocks, &key, &block, BPF_NOEXIST)) {
        count_blocks(m, 1);
        return;
    }
    /* The table is full, or an earlier block at the address was freed unseen: replace that one. */
    earlier = bpf_map_lookup_elem(&live_blocks, &key);
    ended = earlier ? *earlier : 0;
    if (!bpf_map_update_elem(&live_blocks, &key, &block, BPF_EXIST))
        value = 0;
    else
        ended = block;
    if (ended)
        write_end(task, as, host_pid, set, ended, value);
}

/* Stops tracking the block of @key, if it is tracked. */
static __always_inline void unfollow(const struct alloc_mallocs *m, const struct alloc_block *key)
{
    if (!bpf_map_delete_elem(&live_blocks, key))
        count_blocks(m, -1);
}

/* Reports that the block at @address is freed, if it is tracked. */
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

/* Begins a request for memory. Returns the sampled block if its address is known already; else
 * 0. */
static __always_inline __u64 begin_asking(struct task_struct *task, struct alloc_scratch *as,
                                          struct asking *a, struct alloc_mallocs *m, __u32 kind,
                                          __u32 host_pid, __u32 set)
{
    if (a->value && !a->block)
        write_end(task, as, host_pid, set, 0, a->value); /* the last request got an unseen block */
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

/* Ends a request that got the block at @address, not from the thread's own list. Returns @address
 * if its sample is still to be written; else 0. */
static __always_inline __u64 end_asking(struct task_struct *task, struct alloc_scratch *as,
                                        struct asking *a, const struct alloc_mallocs *m,
                                        __u64 address, __u32 host_pid, __u32 set)
{
    struct alloc_block cached = { .address = a->cached, .host_pid = host_pid, .set = set };

    if (!a->value || !is_block_of(address, a->bytes))
        return 0;
    if (!a->block)
        return address;
    unfollow(m, &cached); /* before glibc 2.41, calloc takes no block from the list */
    follow(task, as, m, address, host_pid, set, a->block, a->value);
    a->value = 0;
    return 0;
}

/* Returns the running thread's request for set @set. NULL: no memory. */
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

/* Handles a hit of the probe of @cookie. Returns 1 if there is a sample to write, of the block
 * as->block. Not static, for the same reason as choose(). */
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

/* Tracks the block of a sample if @written; else the sample is counted as lost, and its request
 * ends. */
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

/* Runs at all probes of sets that track blocks. */
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
