// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Finds the processes that hold given sockets, some ten times faster than holders.bpf.c. One run
 * follows the kernel's list of processes, and looks at the pointers in their descriptor tables. It
 * looks into each file only until it has found those of the sockets, which it notes for later runs.
 * From then on it only compares pointers. Its result counts only if it is whole. Else the loader
 * runs holders.bpf.c. The including program defines read_u64().
 *
 * The kernel runs these programs under RCU: no task or replaced table is freed during a run. A
 * table that ends with its process may be. So a table counts only if it is its thread's after the
 * look, too. The kernel appends new processes and threads to their lists, which a run follows from
 * the first element on. So if a holder ends during the run, its children are ahead.
 */
#pragma once

#include "sample/held_socket.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define WORDS 64             /* words of a bitmap that are read at once */
#define WORD 64              /* descriptors of a word */
#define BLOCK (WORDS * WORD) /* descriptors of these words */
#define BLOCKS 256           /* of a table; above, the run ends without result */
#define STEPS 256            /* squared: threads and processes of a run */
#define CLOCK_EACH 256       /* descriptors between two readings of the clock */
#define PARENTS 64           /* of the broker */
#define NO_FILE ~0ULL        /* no pointer */
#define NOTED 256            /* remembered files; a power of two */
#define TRIES 4              /* of a table that changes */

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
    unsigned long *open_fds;
} __attribute__((preserve_access_index));

struct files_struct {
    struct fdtable *fdt;
} __attribute__((preserve_access_index));

struct signal_struct {
    struct list_head thread_head;
} __attribute__((preserve_access_index));

struct tables_run run;

/* Reads a number or pointer of the kernel; 0 if that fails. Defined by the including program. */
static __always_inline __u64 read_u64(__u64 at);

#define READ(address, type, member) read_u64((address) + bpf_core_field_offset(type, member))

/* Loads before this call come before those after it. x86 keeps their order. On aarch64 a call for
 * the time does it: it has a barrier for loads (smp_rmb()), in all kernels. */
static __always_inline void keep_order(void)
{
#ifdef __TARGET_ARCH_arm64
    bpf_ktime_get_ns();
#endif
    asm volatile("" ::: "memory");
}

/* ---- what is searched for ---- */

__u64 socket_ops;             /* struct file_operations * of all sockets' files; 0: unknown yet */
__u64 files[HOLDERS_SOCKETS]; /* struct file * of each socket; NO_FILE: not found yet, or none */
__u64 filter;                 /* bit set of filter_bit() of files */
__u64 keys[HOLDERS_SOCKETS];  /* of sockets without a file yet; 0: none */
__u64 unfound;                /* bit set of key_bit() of keys */

/* Files of sockets of earlier runs. Each is checked again before it counts. */
struct {
    __u64 key, file;
} noted[NOTED];

/* Returns the bit of a file's address in a filter. */
static __always_inline __u64 filter_bit(__u64 file)
{
    return 1ULL << ((file >> 8 ^ file >> 14) & 63);
}

/* Returns the bit of a cookie in unfound. */
static __always_inline __u64 key_bit(__u64 key)
{
    return 1ULL << (key & 63);
}

/* Returns true if @file is that of the socket with the cookie @key. The memory may be any: that of
 * a file that is closed, or of another one. A closed socket has no file, and an open one only one.
 */
static __always_inline int is_file_of(__u64 file, __u64 key)
{
    struct socket *socket = BPF_CORE_READ((struct file *)file, private_data);

    return (__u64)BPF_CORE_READ(socket, file) == file &&
           key_of(socket, /* inode= */ 0, /* net_ns= */ 0) == key;
}

/* Begins to search for files of @file's address. */
static __always_inline void search(__u32 i, __u64 file)
{
    files[i] = file;
    filter |= filter_bit(file);
}

/* Takes the files that are still known from earlier runs. */
static __always_inline void begin_search(void)
{
    filter = unfound = 0;
    for (__u32 i = 0; i < HOLDERS_SOCKETS; i++) {
        __u64 key = run.sockets[i].key, file = noted[key & (NOTED - 1)].file;

        files[i] = NO_FILE;
        keys[i] = 0;
        if (!key)
            continue;
        if (noted[key & (NOTED - 1)].key == key && is_file_of(file, key)) {
            search(i, file);
        } else {
            keys[i] = key;
            unfound |= key_bit(key);
        }
    }
}

/* Returns true if the files that were found are still those of their sockets. */
static __always_inline int files_stay(void)
{
    for (__u32 i = 0; i < HOLDERS_SOCKETS && run.sockets[i].key; i++) {
        if (files[i] != NO_FILE && !is_file_of(files[i], run.sockets[i].key))
            return 0;
    }
    return 1;
}

/* ---- where the run is ---- */

struct {
    __u64 first, process; /* struct task_struct *: the list's head, which is no process, and the
                           * present one */
    __u64 head, next;     /* struct list_head *: of its threads, and of the next thread */
    __u64 table, owner;   /* the last one that was looked at of this process, and its thread */
    __u64 kernels;        /* the one of the kernel's own threads, which is never freed */
    __u32 ended;          /* 1: no step is to follow */
    __u32 looked_at;      /* descriptors since the clock was last read for them */
} walk;

/* Ends the run if its time is over. */
static __always_inline void read_clock(void)
{
    if (bpf_ktime_get_ns() > run.end_ns)
        walk.ended = 1;
}

/* ---- one table ---- */

struct {
    __u64 task, table;  /* the thread, and its struct fdtable * */
    __u64 fds, bitmap;  /* the table's arrays */
    __u32 size;         /* its descriptors */
    __u32 failed;       /* 1: a read failed */
    __u32 found;        /* bit set of sockets */
    __u64 words[WORDS]; /* part of the bitmap of open descriptors */
    __u64 pointers[WORD];
} look;

/* Notes the sockets that have the file @file. */
__noinline int compare(__u64 file)
{
    for (__u32 i = 0; i < HOLDERS_SOCKETS; i++) {
        if (files[i] == file)
            look.found |= 1u << i;
    }
    return 0;
}

/* Learns socket_ops from @file if it is that of a socket. It may be closed during that, and its
 * memory become another file. */
static __always_inline void learn(__u64 file)
{
    __u64 ops = READ(file, struct file, f_op);
    struct file *f = (struct file *)file;
    struct socket *socket;

    keep_order();
    socket = BPF_CORE_READ(f, private_data);
    if (BPF_CORE_READ(f, f_inode, i_sb, s_magic) != SOCKFS_MAGIC ||
        (__u64)BPF_CORE_READ(socket, file) != file)
        return;
    keep_order();
    if (READ(file, struct file, f_op) == ops)
        socket_ops = ops;
}

/* Returns the key of the socket of @file, which may be closed; 0: none. It is that of key_of() if
 * is_file_of() is true. */
static __always_inline __u64 key_in(__u64 file)
{
    __u64 sk = READ(READ(file, struct file, private_data), struct socket, sk);

    if (bpf_core_type_exists(struct mptcp_sock) &&
        (READ(sk, struct sock, sk_protocol) & 0xffff) == IPPROTO_MPTCP)
        return BPF_CORE_READ((struct mptcp_sock *)sk, first, __sk_common.skc_cookie.counter);
    return READ(sk, struct sock, __sk_common.skc_cookie);
}

/* Returns true if @key is one of keys. */
static __always_inline int is_sought(__u64 key)
{
    for (__u32 i = 0; i < HOLDERS_SOCKETS; i++) {
        if (keys[i] == key)
            return 1;
    }
    return 0;
}

/* Notes @file, that of the sockets with the key @key. */
static __always_inline void take_file(__u64 file, __u64 key)
{
    unfound = 0;
    for (__u32 i = 0; i < HOLDERS_SOCKETS; i++) {
        if (keys[i] == key) {
            keys[i] = 0;
            search(i, file);
        } else if (keys[i]) {
            unfound |= key_bit(keys[i]);
        }
    }
    noted[key & (NOTED - 1)].key = key;
    noted[key & (NOTED - 1)].file = file;
}

/* Notes @file if it is that of a socket without a file yet. */
__noinline int look_at_file(__u64 file)
{
    __u64 key;

    if (!socket_ops)
        learn(file);
    if (READ(file, struct file, f_op) != socket_ops)
        return 0;
    key = key_in(file);
    if (key && unfound & key_bit(key) && is_sought(key) && is_file_of(file, key))
        take_file(file, key);
    return 0;
}

/* Looks at the descriptors of the word @at of look.words, that begin at @first. */
__noinline int look_at_word(__u32 at, __u32 first)
{
    __u64 open = look.words[at & (WORDS - 1)];
    __u32 n = open >> 32 ? 64 : open >> 16 ? 32 : open >> 8 ? 16 : 8;

    walk.looked_at += n;
    if (walk.looked_at >= CLOCK_EACH) {
        walk.looked_at = 0;
        read_clock();
    }
    if (walk.ended)
        return 0;
    if (bpf_probe_read_kernel(look.pointers, n * sizeof(__u64),
                              (void *)(look.fds + first * sizeof(__u64)))) {
        look.failed = 1;
        return 0;
    }
    for (__u32 i = 0; i < WORD && i < n; i++) {
        if (!look.pointers[i])
            continue;
        if (unfound)
            look_at_file(look.pointers[i]);
        if (filter & filter_bit(look.pointers[i]))
            compare(look.pointers[i]);
    }
    return 0;
}

/* Looks at up to BLOCK descriptors from @first on. */
__noinline int look_at_block(__u32 first)
{
    __u32 n = (look.size - first + WORD - 1) / WORD;

    if (n > WORDS)
        n = WORDS;
    if (n == 1) { /* most tables */
        look.words[0] = read_u64(look.bitmap + first / 8);
    } else if (bpf_probe_read_kernel(look.words, n * sizeof(__u64),
                                     (void *)(look.bitmap + first / 8))) {
        look.failed = 1;
        return 0;
    }
    for (__u32 i = 0; i < WORDS && i < n; i++) {
        if (look.words[i])
            look_at_word(i, first + i * WORD);
    }
    return 0;
}

/* Looks at the table of @table, a struct files_struct *. Returns true if it was the thread's the
 * whole time. */
__noinline int look_at_table(__u64 table)
{
    __u64 now = READ(table, struct files_struct, fdt);

    look.failed = look.found = 0;
    look.size = (__u32)READ(now, struct fdtable, max_fds);
    look.fds = READ(now, struct fdtable, fd);
    look.bitmap = READ(now, struct fdtable, open_fds);
    if (look.size > BLOCKS * BLOCK)
        return 0;
    for (__u32 i = 0; i < BLOCKS && i * BLOCK < look.size; i++) {
        if (i)
            read_clock(); /* the block may have no descriptors */
        if (walk.ended)
            return 0;
        look_at_block(i * BLOCK);
    }
    keep_order();
    return !walk.ended && !look.failed && READ(table, struct files_struct, fdt) == now &&
           READ(look.task, struct task_struct, files) == table && !look.failed;
}

/* ---- all threads ---- */

/* Adds the thread's process to the sockets that are in its table. */
static __always_inline void add_found(void)
{
    for (__u32 i = 0; i < HOLDERS_SOCKETS; i++) {
        if (look.found & 1u << i)
            add(&run.sockets[i], (struct task_struct *)look.task, (struct file *)files[i]);
    }
}

/* Looks at one thread once. Returns true if that is done, false if its table has changed. */
__noinline int try_thread(void)
{
    __u64 table;

    look.failed = 0;
    table = READ(look.task, struct task_struct, files);
    /* it has ended, or shares a table: with all of the kernel, or with another thread */
    if (!table || table == walk.kernels)
        return !look.failed;
    if (table == walk.table && READ(walk.owner, struct task_struct, files) == table)
        return !look.failed; /* a table that was freed may be another's by now */
    if (!look_at_table(table))
        return 0;
    walk.table = table;
    walk.owner = look.task;
    add_found();
    return 1;
}

/* Looks at one thread. Returns false if that cannot be done. The function above is one of its own
 * for Linux 5.10, which refuses a loop that ends with a call. */
static __always_inline int look_at_thread(void)
{
    for (int i = 0; i < TRIES && !walk.ended; i++) {
        if (try_thread())
            return 1;
    }
    return 0;
}

/* Goes on to the next thread of the process, or to the next process. */
__noinline int step(void)
{
    if (walk.next == walk.head) {
        walk.process = READ(walk.process, struct task_struct, tasks) -
                       bpf_core_field_offset(struct task_struct, tasks);
        if (walk.process == walk.first) {
            run.whole = 1;
            return walk.ended = 1;
        }
        walk.head = READ(walk.process, struct task_struct, signal) +
                    bpf_core_field_offset(struct signal_struct, thread_head);
        walk.next = read_u64(walk.head);
        walk.table = 0;
        return 0;
    }
    look.task = walk.next - bpf_core_field_offset(struct task_struct, thread_node);
    if (look.failed || !look_at_thread())
        walk.ended = 1;
    keep_order();
    walk.next = read_u64(walk.next); /* now, so that threads are seen that this one has started */
    return 0;
}

/* Does up to STEPS steps, in time. */
__noinline int some_steps(void)
{
    read_clock();
    for (int i = 0; i < STEPS && !walk.ended; i++)
        step();
    return 0;
}

/* Returns the head of the list of processes: the kernel's first task, parent of all others. */
static __always_inline __u64 first_task(void)
{
    __u64 task = bpf_get_current_task();

    for (int i = 0; i < PARENTS; i++) {
        __u64 parent = READ(task, struct task_struct, real_parent);

        if (parent == task)
            break;
        task = parent;
    }
    return BPF_CORE_READ((struct task_struct *)task, pid) == 0 ? task : 0;
}

/* Walks all tables. Sets run.whole if nothing was missed. */
SEC("raw_tp")
int walk_tables(void *ctx)
{
    run.whole = 0;
    walk.first = walk.process = first_task();
    walk.head = walk.next = walk.ended = walk.looked_at = look.failed = 0;
    walk.kernels = READ(walk.first, struct task_struct, files);
    if (!walk.first)
        return 0;
    begin_search();
    for (int i = 0; i < STEPS && !walk.ended; i++)
        some_steps();
    keep_order();
    if (run.whole && (look.failed || !files_stay()))
        run.whole = 0;
    return 0;
}
