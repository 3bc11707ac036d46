/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_peers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/old_kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peers.skel.h"

struct peers_walk {
    struct peers_bpf *skel;
    struct bpf_link *link; /* every walk is an iterator made of it */
};

CLEANUP_FUNCTION(peers_walk_freep, peers_walk, peers_walk_free)

int peers_walk_new(int pid_ns_fd, struct peers_walk **ret)
{
    _cleanup_(peers_walk_freep) struct peers_walk *w = NULL;
    struct stat st = { 0 };
    int r;

    if (old_kernel_pretended("task_iterator"))
        return -EOPNOTSUPP;
    if (pid_ns_fd >= 0 && fstat(pid_ns_fd, &st) < 0)
        return -errno;
    w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->skel = peers_bpf__open();
    if (!w->skel)
        return -errno;
    w->skel->rodata->pid_ns_inum = (uint32_t)st.st_ino;
    r = peers_bpf__load(w->skel);
    if (r < 0)
        return r;
    w->link = bpf_program__attach_iter(w->skel->progs.peers_thread, NULL);
    if (!w->link)
        return -errno;
    *ret = TAKE_PTR(w);
    return 0;
}

struct peers_walk *peers_walk_free(struct peers_walk *w)
{
    if (w) {
        bpf_link__destroy(w->link);
        peers_bpf__destroy(w->skel);
        free(w);
    }
    return NULL;
}

/* Puts @one in its thread's place. A thread meets the program twice if it found no room at first.
 */
static void put(const struct peers_wanted *wanted, size_t n, const struct waiting_peer *one,
                struct waiting_peer *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (one->host_tid && wanted[i].host_tid == one->host_tid)
            ret[i] = *one;
    }
}

int peers_walk_find(struct peers_walk *w, int32_t host_pid, const struct peers_wanted *wanted,
                    size_t n, uint64_t limit_ns, struct waiting_peer ret[PEERS_MAX])
{
    _cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(w->link));
    uint64_t end_ns = clock_monotonic_ns() + limit_ns;
    size_t found = 0;

    if (fd < 0)
        return -errno;
    if (n > PEERS_MAX)
        return -E2BIG;
    memset(ret, 0, PEERS_MAX * sizeof(*ret));
    memset(w->skel->bss->wanted, 0, sizeof(w->skel->bss->wanted));
    memcpy(w->skel->bss->wanted, wanted, n * sizeof(*wanted));
    w->skel->bss->host_pid = (uint32_t)host_pid;
    while (found < n) {
        struct waiting_peer one;
        ssize_t r = read(fd, &one, sizeof(one)); /* returns as soon as one is found */

        if (r == 0)
            return 0;
        if (r < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (r == sizeof(one)) {
            put(wanted, n, &one, ret);
            found++;
        }
        if (clock_monotonic_ns() > end_ns)
            return -ETIMEDOUT;
    }
    return 0;
}
