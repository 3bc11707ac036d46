// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Finds the processes that hold given sockets: an iterator over all descriptors of all processes of
 * our pid namespace. It writes the processes' numbers beside their sockets. A socket is identified
 * by its cookie, which is never reused, or by its inode. Inode numbers repeat after 2^32 sockets.
 */
#include "sample/held_socket.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__task_file {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
    struct file *file;
} __attribute__((preserve_access_index));

#define CLOCK_EACH 1024 /* descriptors between two readings of the clock; a power of two */

/* Set by the loader before each walk. */
struct holders_socket sockets[HOLDERS_SOCKETS];
__u64 filter; /* bit set of the last six bits of their keys */
__u64
    net_ns; /* 0: the keys are cookies; else inodes of open TCP sockets of this network namespace */
__u64 end_ns;

__u64 looked_at;

static __always_inline int say_late(struct bpf_iter__task_file *ctx)
{
    __u32 late = HOLDERS_LATE;

    bpf_seq_write(ctx->meta->seq, &late, sizeof(late));
    return 0;
}

SEC("iter/task_file")
int holders(struct bpf_iter__task_file *ctx)
{
    struct task_struct *task = ctx->task;
    struct file *file = ctx->file;
    __u64 key;

    if (!task || !file)
        return 0;
    if ((++looked_at & (CLOCK_EACH - 1)) == 0 && bpf_ktime_get_ns() > end_ns)
        return say_late(ctx);
    if (file->f_inode->i_sb->s_magic != SOCKFS_MAGIC)
        return 0;
    key = key_of(file->private_data, file->f_inode->i_ino, net_ns);
    if (!key || !(filter & 1ULL << (key & 63)))
        return 0;
    for (int i = 0; i < HOLDERS_SOCKETS; i++) {
        if (sockets[i].key == key) {
            add(&sockets[i], task, file);
            break;
        }
    }
    return 0;
}
