/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_peers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "sample/program.h"
#include "sample/refusal.h"
#include "sample/sampler_looks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "peers.skel.h"

struct sampler_peers {
    struct peers_bpf *skel;
    struct bpf_link *iterator;
};

static int check(struct error *err)
{
    if (sampler_looks_iterate())
        return 0;
    return error_set(err, -EOPNOTSUPP, "this kernel has no BPF iterator over threads");
}

static void free_peers(void *p)
{
    struct sampler_peers *w = p;

    if (!w)
        return;
    bpf_link__destroy(w->iterator);
    peers_bpf__destroy(w->skel);
    free(w);
}

CLEANUP_FUNCTION(peers_freep, sampler_peers, free_peers)

static int load(const struct sampler_shared *shared, void **ret, struct error *err)
{
    _cleanup_(peers_freep) struct sampler_peers *p = calloc(1, sizeof(*p));
    int r;

    if (!p)
        return -ENOMEM;
    refusal_watch();
    p->skel = peers_bpf__open();
    if (!p->skel)
        return refusal_explain(-errno, err);
    p->skel->rodata->pid_ns_inum = shared->pid_ns_inum;
    r = peers_bpf__load(p->skel);
    if (r < 0)
        return refusal_explain(r, err);
    p->iterator = bpf_program__attach_iter(p->skel->progs.peers_thread, NULL);
    if (!p->iterator)
        return error_errno(err, "cannot attach the iterator over threads");
    *ret = TAKE_PTR(p);
    return 0;
}

/* Stores @one at the place of its thread. The program visits a thread twice if the output had no
 * room at first. */
static void put(const struct peers_wanted *wanted, size_t n, const struct waiting_peer *one,
                struct waiting_peer *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (one->host_tid && wanted[i].host_tid == one->host_tid)
            ret[i] = *one;
    }
}

int sampler_peers_find(struct sampler_peers *p, int32_t host_pid, const struct peers_wanted *wanted,
                       size_t n, uint64_t limit_ns, struct waiting_peer ret[PEERS_MAX])
{
    _cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(p->iterator));
    uint64_t end_ns = clock_monotonic_ns() + limit_ns;
    size_t found = 0;

    if (fd < 0)
        return -errno;
    if (n > PEERS_MAX)
        return -E2BIG;
    memset(ret, 0, PEERS_MAX * sizeof(*ret));
    memset(p->skel->bss->wanted, 0, sizeof(p->skel->bss->wanted));
    memcpy(p->skel->bss->wanted, wanted, n * sizeof(*wanted));
    p->skel->bss->host_pid = (uint32_t)host_pid;
    while (found < n) {
        struct waiting_peer one;
        ssize_t r = read(fd, &one, sizeof(one)); /* a read returns after each found thread */

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

const struct sampler_program sampler_program_peers = {
    .check = check,
    .load = load,
    .free = free_peers,
};
