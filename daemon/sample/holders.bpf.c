// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Finds the processes that hold given sockets: an iterator over all descriptors of all processes of
 * our pid namespace. It writes the processes' numbers beside their sockets. A socket is identified
 * by its cookie, which is never reused, or by its inode. Inode numbers repeat after 2^32 sockets.
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
    const struct cred *cred;
} __attribute__((preserve_access_index));

struct super_block {
    unsigned long s_magic;
} __attribute__((preserve_access_index));

struct inode {
    struct super_block *i_sb;
    unsigned long i_ino;
} __attribute__((preserve_access_index));

/* The kernel's capability set: { __u32 cap[2]; } in older kernels, { __u64 val; } in newer ones. */
typedef struct {
} kernel_cap_t;

struct user_namespace;

struct cred {
    kernel_cap_t cap_bset;
    struct user_namespace *user_ns;
} __attribute__((preserve_access_index));

struct file {
    void *private_data;
    const struct cred *f_cred; /* credentials of the program that opened the file */
    struct inode *f_inode;
} __attribute__((preserve_access_index));

struct net {
    struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
    struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

typedef struct {
    __s64 counter;
} __attribute__((preserve_access_index)) atomic64_t;

struct sock_common {
    unsigned short skc_family;
    volatile unsigned char skc_state;
    possible_net_t skc_net;
    atomic64_t skc_cookie;
} __attribute__((preserve_access_index));

struct sock {
    struct sock_common __sk_common;
    __u16 sk_protocol;
} __attribute__((preserve_access_index));

struct socket {
    struct sock *sk;
} __attribute__((preserve_access_index));

struct mptcp_sock {
    struct sock *first;
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
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_MPTCP 262
#define TCP_ESTABLISHED 1
#define TCP_FIN_WAIT1 4
#define TCP_FIN_WAIT2 5
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

static __always_inline __u64 bounds(const struct cred *c)
{
    __u64 set = 0;

    bpf_core_read(&set, sizeof(set), &c->cap_bset);
    return set;
}

/* Returns HOLDERS_BOUNDED if @file was opened with other capability bounds than those of @task: for
 * example by a container that passed it to a program of the host. */
static __always_inline __u32 bounded(struct task_struct *task, struct file *file)
{
    const struct cred *ours = BPF_CORE_READ(task, cred), *its = BPF_CORE_READ(file, f_cred);

    return bounds(ours) == bounds(its) &&
                   BPF_CORE_READ(ours, user_ns) == BPF_CORE_READ(its, user_ns)
               ? 0
               : HOLDERS_BOUNDED;
}

static __always_inline void add(struct holders_socket *s, __u32 number)
{
    if (!(number & ~HOLDERS_BOUNDED) || number == s->last)
        return;
    s->last = number;
    s->pids[s->count++ & (HOLDERS_OF_SOCKET - 1)] = number;
}

static __always_inline int is_open_in_net_ns(struct sock *sk)
{
    unsigned char state = BPF_CORE_READ(sk, __sk_common.skc_state);

    return (state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2) &&
           BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum) == net_ns;
}

/* Returns the key of @file, a socket; 0: not one that is searched for. For Multipath TCP, the
 * program holds a socket with the inode, and the connection is a TCP socket below it. */
static __always_inline __u64 key_of(struct file *file, __u64 inode)
{
    struct socket *socket = BPF_CORE_READ(file, private_data);
    struct sock *sk = BPF_CORE_READ(socket, sk);
    __u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
    __u16 protocol = BPF_CORE_READ(sk, sk_protocol);

    if ((family != AF_INET && family != AF_INET6) ||
        (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP))
        return 0;
    if (net_ns)
        return is_open_in_net_ns(sk) ? inode : 0;
    if (protocol == IPPROTO_MPTCP) {
        if (!bpf_core_type_exists(struct mptcp_sock))
            return 0;
        sk = BPF_CORE_READ((struct mptcp_sock *)sk, first);
    }
    return BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
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
    key = key_of(file, file->f_inode->i_ino);
    if (!key || !(filter & 1ULL << (key & 63)))
        return 0;
    for (int i = 0; i < HOLDERS_SOCKETS; i++) {
        if (sockets[i].key == key) {
            add(&sockets[i],
                (pid_ns_inum ? pid_number(task->group_leader->thread_pid) : (__u32)task->tgid) |
                    bounded(task, file));
            break;
        }
    }
    return 0;
}
