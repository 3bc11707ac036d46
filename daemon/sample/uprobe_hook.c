/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/uprobe_hook.h"

#include "base/cleanup.h"
#include "base/list.h"
#include "proc/exit_status.h"

#include <fcntl.h>
#include <sys/stat.h>

struct probing {
    struct uprobe_way way;
    int32_t pid;
    int program, pidfd, fd; /* owned, until the probes are in; pidfd -1: none */
    dev_t dev;              /* of the file */
    ino_t ino;
    struct uprobes *probes; /* owned; NULL: none are in */
    size_t count;
    struct uprobe_place places[UPROBE_PLACES_MAX];
};

static void close_files(struct probing *p)
{
    p->program = close_fd(p->program);
    p->pidfd = close_fd(p->pidfd);
    p->fd = close_fd(p->fd);
}

static void free_probing(void *arg)
{
    close_files(arg);
    free(arg);
}

static bool take_out(void *arg)
{
    struct probing *p = arg;

    return uprobes_detach_some(p->probes);
}

static int put(void *arg, struct error *err)
{
    struct probing *p = arg;
    int r =
        uprobes_attach(&p->way, p->program, p->pid, p->fd, p->places, p->count, &p->probes, err);

    if (r == 0 && exit_has_come(p->pidfd)) {
        p->probes = uprobes_detach(p->probes);
        r = error_set(err, -ESRCH, "it has ended");
    }
    close_files(p); /* the kernel keeps what it needs, and there may be thousands of hooks */
    return r;
}

static const struct hook_type PROBES = { put, take_out, free_probing };

int uprobe_hook(const struct hook_worker *by, const struct uprobe_way *way, int program,
                const struct uprobe_target *target, const struct uprobe_place *places, size_t count,
                struct hook **ret)
{
    struct probing *p = count <= UPROBE_PLACES_MAX ? calloc(1, sizeof(*p)) : NULL;
    struct stat st;
    int r;

    if (!p)
        return -ENOMEM;
    p->way = *way;
    p->pid = target->pid;
    p->count = count;
    memcpy(p->places, places, count * sizeof(*places));
    p->program = fcntl(program, F_DUPFD_CLOEXEC, 0);
    p->fd = fcntl(target->fd, F_DUPFD_CLOEXEC, 0);
    p->pidfd = target->pidfd < 0 ? -1 : fcntl(target->pidfd, F_DUPFD_CLOEXEC, 0);
    if (p->program < 0 || p->fd < 0 || (p->pidfd < 0 && target->pidfd >= 0) ||
        fstat(p->fd, &st) < 0) {
        r = -errno;
        free_probing(p);
        return r;
    }
    p->dev = st.st_dev;
    p->ino = st.st_ino;
    return hook_new(by, &PROBES, p, ret);
}

bool uprobe_hook_is(const struct hook *h, const struct uprobe_target *target,
                    const struct uprobe_place *places, size_t count)
{
    const struct probing *p = hook_arg(h);
    struct stat st;

    if (p->pid != target->pid || p->count != count || fstat(target->fd, &st) < 0 ||
        p->dev != st.st_dev || p->ino != st.st_ino)
        return false;
    return ALL_OF(i, count, p->places[i].offset == places[i].offset);
}

size_t uprobe_hook_count(const struct hook *h)
{
    return h ? ((const struct probing *)hook_arg(h))->count : 0;
}
