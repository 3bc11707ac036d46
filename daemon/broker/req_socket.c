/* SPDX-License-Identifier: Apache-2.0 */
/* The request for a process that holds a socket. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/server.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define HOLDER_NS (200 * NSEC_PER_MSEC) /* that one look at all processes may take */
#define LINK_BYTES 32                   /* "socket:[18446744073709551615]" */

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

/*
 * socket_holder. Safe: it tells a process number, and of that process nothing but that it holds the
 * socket with the number that was asked for. Links are read, and nothing is opened by them. Who
 * asks flamed something is most often young, so the newest are looked at first.
 */
int request_socket_holder(struct server *s, const struct broker_request *q, struct reply *rep)
{
    uint64_t end_ns = clock_monotonic_ns() + HOLDER_NS;
    char link[LINK_BYTES + 1];
    struct pids pids = { 0 };
    int r = list_pids(s->proc_fd, &pids);

    snprintf(link, sizeof(link), "socket:[%ju]", (uintmax_t)q->start);
    for (size_t i = 0; r == 0 && i < pids.count && !rep->value; i++) {
        if (clock_monotonic_ns() > end_ns)
            r = -ETIMEDOUT;
        else if (holds(s->proc_fd, pids.items[i], link))
            rep->value = (uint64_t)pids.items[i];
    }
    free(pids.items);
    if (r < 0)
        return error_code(&rep->err, r, "cannot tell which process holds a socket");
    return rep->value ? 0 : BROKER_ABSENT;
}
