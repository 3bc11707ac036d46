/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/holders.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/old_kernel.h"
#include "sample/holders_abi.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holders.skel.h"

struct holders {
    struct holders_bpf *skel;
    struct bpf_link *link; /* each look is an iterator made of it */
};

int holders_new(int pid_ns_fd, struct holders **ret)
{
    struct holders *h;
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
    if (!h->skel) {
        r = -errno;
        goto fail;
    }
    h->skel->rodata->pid_ns_inum = (uint32_t)st.st_ino;
    r = holders_bpf__load(h->skel);
    if (r < 0)
        goto fail;
    h->link = bpf_program__attach_iter(h->skel->progs.holders, NULL);
    if (!h->link) {
        r = -errno;
        goto fail;
    }
    *ret = h;
    return 0;
fail:
    holders_free(h);
    return r;
}

struct holders *holders_free(struct holders *h)
{
    if (h) {
        bpf_link__destroy(h->link);
        holders_bpf__destroy(h->skel);
        free(h);
    }
    return NULL;
}

int holders_find(struct holders *h, uint64_t inode, uint64_t limit_ns, int32_t *pids, size_t max)
{
    _cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(h->link));
    uint64_t end_ns = clock_monotonic_ns() + limit_ns;
    size_t count = 0;

    if (fd < 0)
        return -errno;
    h->skel->bss->wanted = inode;
    h->skel->bss->end_ns = end_ns;
    h->skel->bss->last = 0;
    for (;;) {
        uint32_t number;
        ssize_t n = read(fd, &number, sizeof(number)); /* one: it would go on for more */

        if (n == 0)
            return (int)count;
        /* The kernel comes back after a million descriptors, too. */
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (clock_monotonic_ns() > end_ns || (n > 0 && number == HOLDERS_LATE))
            return -ETIMEDOUT;
        if (n <= 0)
            continue;
        if (count == max)
            return -E2BIG;
        pids[count++] = (int32_t)number;
    }
}
