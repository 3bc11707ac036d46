/* SPDX-License-Identifier: Apache-2.0 */
/* The request for the processes that hold a socket. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/server.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define HOLDERS_NS (200 * NSEC_PER_MSEC) /* that one look at all processes may take */
#define LINK_BYTES 32                    /* "socket:[18446744073709551615]" */

static DIR *open_folder(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir)
        close_fd(fd);
    return dir;
}

/* Whether process @pid has a descriptor whose link reads @link. */
static bool holds(int proc_fd, int32_t pid, const char *link)
{
    char path[32], text[LINK_BYTES + 1];
    const struct dirent *entry;
    bool found = false;
    DIR *dir;

    snprintf(path, sizeof(path), "%d/fd", pid);
    dir = open_folder(proc_fd, path);
    while (dir && !found && (entry = readdir(dir))) {
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, text, LINK_BYTES);

        if (n <= 0)
            continue;
        text[n] = '\0';
        found = strcmp(text, link) == 0;
    }
    if (dir)
        closedir(dir);
    return found;
}

struct pids {
    int32_t *items;
    size_t count;
};

static int newest_first(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x < y) - (x > y);
}

/* All processes. 0 or -errno. */
static int list_pids(int proc_fd, struct pids *ret)
{
    const struct dirent *entry;
    DIR *dir = open_folder(proc_fd, ".");
    size_t room = 0;
    uint64_t pid;

    if (!dir)
        return -errno;
    while ((entry = readdir(dir))) {
        if (!span_parse_dec(span_of(entry->d_name), &pid) || pid > BROKER_PID_MAX)
            continue;
        if (ret->count == room) {
            int32_t *more = reallocarray(ret->items, MAX(room * 2, 256), sizeof(*more));

            if (!more)
                break;
            ret->items = more;
            room = MAX(room * 2, 256);
        }
        ret->items[ret->count++] = (int32_t)pid;
    }
    closedir(dir);
    qsort(ret->items, ret->count, sizeof(*ret->items), newest_first);
    return entry ? -ENOMEM : 0;
}

/* By the links in /proc: the newest process that holds it, since flamed's clients are most often
 * young. @link: as its link reads. */
static int find_by_links(const struct server *s, const char *link, struct broker_holders *ret)
{
    uint64_t end_ns = clock_monotonic_ns() + HOLDERS_NS;
    struct pids pids = { 0 };
    int r = list_pids(s->proc_fd, &pids);

    for (size_t i = 0; r == 0 && i < pids.count && !ret->count; i++) {
        if (clock_monotonic_ns() > end_ns)
            r = -ETIMEDOUT;
        else if (holds(s->proc_fd, pids.items[i], link))
            ret->pids[ret->count++] = pids.items[i];
    }
    free(pids.items);
    return r;
}

/* By the kernel's own walk: all that hold it. */
static int find_by_walk(struct server *s, uint64_t inode, struct broker_holders *ret)
{
    int r = holders_find(s->holders, inode, HOLDERS_NS, ret->pids, BROKER_HOLDERS_MAX);

    if (r > 0)
        ret->count = (uint32_t)r;
    return MIN(r, 0);
}

/* Has the walk loaded, once. False: the kernel has none, or refuses it. */
static bool can_walk(struct server *s)
{
    int r;

    if (s->holders || s->holders_refused)
        return s->holders;
    r = holders_new(s->pid_ns_fd, &s->holders);
    s->holders_refused = r < 0;
    if (r < 0)
        log_warn("which process holds a socket is read in /proc, which takes longer: the kernel "
                 "refuses the BPF program that walks over descriptors (%s)",
                 strerror(-r));
    return r == 0;
}

/*
 * socket_holders. Safe: it tells process numbers, and of those processes nothing but that they hold
 * the socket with the number that was asked for. Nothing is opened.
 */
int request_socket_holders(struct server *s, const struct broker_request *q, struct reply *rep)
{
    char link[LINK_BYTES + 1];
    int r;

    rep->holders.count = 0;
    snprintf(link, sizeof(link), "socket:[%ju]", (uintmax_t)q->start);
    r = can_walk(s) ? find_by_walk(s, q->start, &rep->holders)
                    : find_by_links(s, link, &rep->holders);
    if (r < 0)
        return error_code(&rep->err, r, "cannot tell which processes hold a socket");
    return rep->holders.count ? 0 : BROKER_ABSENT;
}
