// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which processes hold some sockets: an iterator over all descriptors of all processes of our pid
 * namespace. It writes their numbers beside those of the sockets. It takes some 50 ns for a
 * descriptor, where a link in /proc takes some 10 us.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sample/holders_abi.h"
#include "sample/pid_number.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct task_struct {
    int tgid;
    struct pid *thread_pid;
    struct task_struct *group_leader;
} __attribute__((preserve_access_index));

struct super_block {
    unsigned long s_magic;
} __attribute__((preserve_access_index));

struct inode {
    struct super_block *i_sb;
    unsigned long i_ino;
} __attribute__((preserve_access_index));

struct file {
    struct inode *f_inode;
} __attribute__((preserve_access_index));

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__task_file {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
    struct file *file;
} __attribute__((preserve_access_index));

#define SOCKFS_MAGIC 0x534f434b
#define CLOCK_EACH 1024 /* descriptors between two looks at the clock; a power of two */

/* Set by the loader before each look. */
struct holders_socket sockets[HOLDERS_SOCKETS];
__u64 filter; /* the last six bits of their numbers, as a set */
__u64 end_ns;

__u64 looked_at;

static __always_inline int say_late(struct bpf_iter__task_file *ctx)
{
    __u32 late = HOLDERS_LATE;

    bpf_seq_write(ctx->meta->seq, &late, sizeof(late));
    return 0;
}

static __always_inline void add(struct holders_socket *s, __u32 number)
{
    if (!number || number == s->last)
        return;
    s->last = number;
    s->pids[s->count++ & (HOLDERS_OF_SOCKET - 1)] = number;
}

SEC("iter/task_file")
int holders(struct bpf_iter__task_file *ctx)
{
    struct task_struct *task = ctx->task;
    struct file *file = ctx->file;
    __u64 inode;

    if (!task || !file)
        return 0;
    if ((++looked_at & (CLOCK_EACH - 1)) == 0 && bpf_ktime_get_ns() > end_ns)
        return say_late(ctx);
    inode = file->f_inode->i_ino;
    if (!(filter & 1ULL << (inode & 63)) || file->f_inode->i_sb->s_magic != SOCKFS_MAGIC)
        return 0;
    for (int i = 0; i < HOLDERS_SOCKETS; i++) {
        if (sockets[i].inode == inode) {
            add(&sockets[i],
                pid_ns_inum ? pid_number(task->group_leader->thread_pid) : (__u32)task->tgid);
            break;
        }
    }
    return 0;
}
