/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/holders.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/old_kernel.h"
#include "sample/tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holders.skel.h"

struct holders {
    struct holders_bpf *skel;
    struct bpf_link *link;              /* link from which each walk makes an iterator */
    struct tables *tables;              /* NULL: the kernel refuses them */
    const struct holders_socket *found; /* by the last walk: in one of the skeletons */
};

CLEANUP_FUNCTION(holders_freep, holders, holders_free)

int holders_new(int pid_ns_fd, struct holders **ret)
{
    _cleanup_(holders_freep) struct holders *h = NULL;
    struct stat st = { 0 };
    int r;

    if (old_kernel_pretended("task_file"))
        return -EOPNOTSUPP;
    if (pid_ns_fd >= 0 && fstat(pid_ns_fd, &st) < 0)
        return -errno;
    h = calloc(1, sizeof(*h));
    if (!h)
        return -ENOMEM;
    h->skel = holders_bpf__open();
    if (!h->skel)
        return -errno;
    h->skel->rodata->pid_ns_inum = (uint32_t)st.st_ino;
    r = holders_bpf__load(h->skel);
    if (r < 0)
        return r;
    h->link = bpf_program__attach_iter(h->skel->progs.holders, NULL);
    if (!h->link)
        return -errno;
    h->tables = tables_new((uint32_t)st.st_ino);
    *ret = TAKE_PTR(h);
    return 0;
}

struct holders *holders_free(struct holders *h)
{
    if (h) {
        bpf_link__destroy(h->link);
        holders_bpf__destroy(h->skel);
        tables_free(h->tables);
        free(h);
    }
    return NULL;
}

bool holders_were_fast(const struct holders *h)
{
    return h->found != h->skel->bss->sockets;
}

/* Runs the iterator over all descriptors. 0, -ETIMEDOUT or -errno. */
static int find_by_iterator(struct holders *h, const uint64_t *keys, size_t n, uint64_t net_ns,
                            uint64_t limit_ns)
{
    _cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(h->link));
    uint64_t end_ns = clock_monotonic_ns() + limit_ns;

    if (fd < 0)
        return -errno;
    memset(h->skel->bss->sockets, 0, sizeof(h->skel->bss->sockets));
    h->skel->bss->filter = 0;
    h->skel->bss->net_ns = net_ns;
    h->skel->bss->end_ns = end_ns;
    for (size_t i = 0; i < n; i++) {
        h->skel->bss->sockets[i].key = keys[i];
        h->skel->bss->filter |= UINT64_C(1) << (keys[i] & 63);
    }
    h->found = h->skel->bss->sockets;
    for (;;) {
        uint32_t late;
        ssize_t r = read(fd, &late, sizeof(late));

        if (r == 0)
            return 0;
        /* The kernel also returns EAGAIN after a million descriptors. */
        if (r < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (r > 0 || clock_monotonic_ns() > end_ns)
            return -ETIMEDOUT;
    }
}

int holders_find(struct holders *h, const uint64_t *keys, size_t n, uint64_t net_ns,
                 uint64_t limit_ns)
{
    if (n > HOLDERS_SOCKETS)
        return -E2BIG;
    /* inodes repeat: two sockets may have the same one */
    h->found = h->tables && !net_ns ? tables_find(h->tables, keys, n) : NULL;
    return h->found ? 0 : find_by_iterator(h, keys, n, net_ns, limit_ns);
}

size_t holders_of(const struct holders *h, size_t socket, uint32_t pids[HOLDERS_OF_SOCKET])
{
    const struct holders_socket *s = &h->found[socket];

    for (size_t i = 0; i < MIN((size_t)s->count, (size_t)HOLDERS_OF_SOCKET); i++)
        pids[i] = s->pids[i];
    return s->count;
}
