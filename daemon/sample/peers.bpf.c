// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Finds the system calls that given threads wait in, and the peers of given sockets: an iterator
 * over threads. It reads the socket through the descriptors of the thread, and opens nothing.
 */
#include "sample/task.bpf.h"

#include "sample/peers_abi.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct super_block {
    unsigned long s_magic;
} __attribute__((preserve_access_index));

struct inode {
    struct super_block *i_sb;
} __attribute__((preserve_access_index));

struct file {
    void *private_data;
    struct inode *f_inode;
} __attribute__((preserve_access_index));

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
} __attribute__((preserve_access_index));

struct files_struct {
    struct fdtable *fdt;
} __attribute__((preserve_access_index));

struct task_struct___files {
    struct files_struct *files;
} __attribute__((preserve_access_index));

struct in6_addr {
    __u8 bytes[16];
};

struct sock_common {
    __u32 skc_daddr;
    __u16 skc_dport; /* big-endian */
    unsigned short skc_family;
    volatile unsigned char skc_state;
    struct in6_addr skc_v6_daddr;
} __attribute__((preserve_access_index));

struct sock {
    struct sock_common __sk_common;
} __attribute__((preserve_access_index));

struct socket {
    struct sock *sk;
} __attribute__((preserve_access_index));

struct sockaddr_un {
    unsigned short sun_family;
    char sun_path[PEERS_ADDRESS_BYTES];
};

struct unix_address {
    int len;
    struct sockaddr_un name[];
} __attribute__((preserve_access_index));

struct unix_sock {
    struct unix_address *addr;
    struct sock *peer;
} __attribute__((preserve_access_index));

#define SOCKFS_MAGIC 0x534f434b
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define TCP_CLOSE 7
#define TCP_LISTEN 10

/* Set by the loader before each walk. */
__u32 host_pid;
struct peers_wanted wanted[PEERS_MAX];

struct waiting_peer peer; /* the output for a thread */

static __always_inline void read_internet(struct sock *sk, struct waiting_peer *to)
{
    unsigned char state = BPF_CORE_READ(sk, __sk_common.skc_state);
    __u16 port = BPF_CORE_READ(sk, __sk_common.skc_dport);

    if (!port || state == TCP_CLOSE || state == TCP_LISTEN) {
        to->family = 0;
        return;
    }
    to->port = __builtin_bswap16(port);
    if (to->family == AF_INET) {
        __u32 address = BPF_CORE_READ(sk, __sk_common.skc_daddr);

        __builtin_memcpy(to->address, &address, sizeof(address));
    } else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
        bpf_probe_read_kernel(to->address, sizeof(struct in6_addr), &sk->__sk_common.skc_v6_daddr);
    } else {
        to->family = 0;
    }
}

/* Reads the path of the peer's socket. A server's socket has the path of its listening socket. */
static __always_inline void read_unix(struct sock *sk, struct waiting_peer *to)
{
    struct unix_address *address;
    struct sock *peer;
    __u32 n;

    if (!bpf_core_type_exists(struct unix_sock))
        goto none;
    peer = BPF_CORE_READ((struct unix_sock *)sk, peer);
    address = peer ? BPF_CORE_READ((struct unix_sock *)peer, addr) : NULL;
    n = address ? (__u32)BPF_CORE_READ(address, len) : 0;
    if (n <= sizeof(unsigned short))
        goto none;
    n -= sizeof(unsigned short);
    asm volatile("" : "+r"(n)); /* keeps clang from comparing a copy of n */
    if (n > sizeof(to->address))
        n = sizeof(to->address);
    /* Memory behind the path belongs to other objects of the kernel. */
    bpf_probe_read_kernel(to->address, n, &address->name[0].sun_path);
    return;
none:
    to->family = 0;
}

/* Reads the peer of the socket at the descriptor @fd of @task. */
static __always_inline void read_peer(struct task_struct *task, int fd, struct waiting_peer *to)
{
    struct files_struct *files = BPF_CORE_READ((struct task_struct___files *)task, files);
    struct fdtable *table = BPF_CORE_READ(files, fdt);
    struct file **at = BPF_CORE_READ(table, fd), *file = NULL, *still = NULL;
    struct socket *socket;
    struct sock *sk;

    if (fd < 0 || (__u32)fd >= BPF_CORE_READ(table, max_fds))
        return;
    at += (__u32)fd;
    bpf_probe_read_kernel(&file, sizeof(file), at);
    if (!file || BPF_CORE_READ(file, f_inode, i_sb, s_magic) != SOCKFS_MAGIC)
        return;
    socket = BPF_CORE_READ(file, private_data);
    sk = BPF_CORE_READ(socket, sk);
    to->family = BPF_CORE_READ(sk, __sk_common.skc_family);
    if (to->family == AF_INET || to->family == AF_INET6)
        read_internet(sk, to);
    else if (to->family == AF_UNIX)
        read_unix(sk, to);
    else
        to->family = 0;
    /* The file may have been closed, and its memory reused for another process. */
    bpf_probe_read_kernel(&still, sizeof(still), at);
    if (still != file)
        to->family = 0;
}

static __always_inline int fd_wanted(__u32 tid)
{
    for (int i = 0; i < PEERS_MAX; i++) {
        if (wanted[i].host_tid == tid)
            return wanted[i].fd;
    }
    return -2;
}

SEC("iter/task")
int peers_thread(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    struct pt_regs___kernel *regs;
    __u32 tid;
    int fd;

    if (!task || task->flags & TASK_KERNEL_THREAD || task->exit_state ||
        process_number(task) != host_pid)
        return 0;
    tid = thread_number(task);
    fd = fd_wanted(tid);
    if (!tid || fd < -1)
        return 0;
    regs = (void *)bpf_task_pt_regs(task);
    __builtin_memset(&peer, 0, sizeof(peer));
    if (!task->on_cpu && task->__state != 0 && user_is_64(regs)) {
        peer.host_tid = tid;
        peer.call = user_call(regs, &peer.first, &peer.second);
        read_peer(task, fd, &peer);
    }
    bpf_seq_write(ctx->meta->seq, &peer, sizeof(peer));
    return 0;
}
