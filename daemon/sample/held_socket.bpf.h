// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* For BPF programs that find the holders of sockets: how a socket is identified, and its holder. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sample/holders_abi.h"
#include "sample/pid_number.bpf.h"

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

struct list_head {
    struct list_head *next;
} __attribute__((preserve_access_index));

struct files_struct;
struct signal_struct;

struct task_struct {
    int pid;
    int tgid;
    struct list_head tasks; /* of all processes: their first threads */
    struct task_struct *real_parent;
    struct pid *thread_pid;
    struct task_struct *group_leader;
    const struct cred *cred;
    struct files_struct *files;
    struct signal_struct *signal;
    struct list_head thread_node; /* in signal->thread_head */
} __attribute__((preserve_access_index));

struct cred {
    kernel_cap_t cap_bset;
    struct user_namespace *user_ns;
} __attribute__((preserve_access_index));

struct file {
    void *private_data;
    const void *f_op;
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
    struct socket *sk_socket;
} __attribute__((preserve_access_index));

struct socket {
    struct file *file;
    struct sock *sk;
} __attribute__((preserve_access_index));

struct mptcp_sock {
    struct sock *first;
} __attribute__((preserve_access_index));

#define SOCKFS_MAGIC 0x534f434b
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_MPTCP 262
#define TCP_ESTABLISHED 1
#define TCP_FIN_WAIT1 4
#define TCP_FIN_WAIT2 5

/* Returns the bounding set of @c. */
static __always_inline __u64 bounds(const struct cred *c)
{
    __u64 set = 0;

    bpf_core_read(&set, sizeof(set), &c->cap_bset);
    return set;
}

/* Returns HOLDERS_BOUNDED if @file was opened with other capability bounds than those of @task. An
 * example is a container that passed it to a program of the host. */
static __always_inline __u32 bounded(struct task_struct *task, struct file *file)
{
    const struct cred *ours = BPF_CORE_READ(task, cred), *its = BPF_CORE_READ(file, f_cred);

    return bounds(ours) == bounds(its) &&
                   BPF_CORE_READ(ours, user_ns) == BPF_CORE_READ(its, user_ns)
               ? 0
               : HOLDERS_BOUNDED;
}

/* Adds @task's process as a holder of @s by @file. */
static __always_inline void add(struct holders_socket *s, struct task_struct *task,
                                struct file *file)
{
    __u32 number = pid_ns_inum ? pid_number(BPF_CORE_READ(task, group_leader, thread_pid))
                               : (__u32)BPF_CORE_READ(task, tgid);

    number |= bounded(task, file);
    if (!(number & ~HOLDERS_BOUNDED) || number == s->last)
        return;
    s->last = number;
    s->pids[s->count++ & (HOLDERS_OF_SOCKET - 1)] = number;
}

/* Returns true if @sk is an open connection in the network namespace @net_ns. */
static __always_inline int is_open_in_net_ns(struct sock *sk, __u64 net_ns)
{
    unsigned char state = BPF_CORE_READ(sk, __sk_common.skc_state);

    return (state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2) &&
           BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum) == net_ns;
}

/* Returns the key of @socket, that of an open file with the inode @inode; 0: not one that is
 * searched for. @net_ns: 0: the key is the cookie. For Multipath TCP, the program holds a socket
 * with the inode, and the connection is a TCP socket below it. */
static __always_inline __u64 key_of(struct socket *socket, __u64 inode, __u64 net_ns)
{
    struct sock *sk = BPF_CORE_READ(socket, sk);
    __u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
    __u16 protocol = BPF_CORE_READ(sk, sk_protocol);

    if ((family != AF_INET && family != AF_INET6) ||
        (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP))
        return 0;
    if (net_ns)
        return is_open_in_net_ns(sk, net_ns) ? inode : 0;
    if (protocol == IPPROTO_MPTCP) {
        if (!bpf_core_type_exists(struct mptcp_sock))
            return 0;
        sk = BPF_CORE_READ((struct mptcp_sock *)sk, first);
    }
    return BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}
