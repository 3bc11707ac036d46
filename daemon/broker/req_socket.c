/* SPDX-License-Identifier: Apache-2.0 */
/* The request for the processes that hold a socket. */
#include "base/cleanup.h"
#include "base/clock.h"
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
static bool holds(int proc_fd, uint64_t pid, const char *link)
{
    char path[32], text[LINK_BYTES + 1];
    const struct dirent *entry;
    bool found = false;
    DIR *dir;

    snprintf(path, sizeof(path), "%ju/fd", (uintmax_t)pid);
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

/*
 * socket_holders. Safe: it tells process numbers, and of a process nothing but that it holds the
 * socket with the number that was asked for. Links are read, and nothing is opened by them.
 */
int request_socket_holders(struct server *s, const struct broker_request *q, struct reply *rep)
{
    uint64_t end_ns = clock_monotonic_ns() + HOLDERS_NS, pid;
    const struct dirent *entry;
    char link[LINK_BYTES + 1];
    DIR *dir = open_folder(s->proc_fd, ".");
    int r = 0;

    if (!dir)
        return error_errno(&rep->err, "cannot list the processes");
    snprintf(link, sizeof(link), "socket:[%ju]", (uintmax_t)q->start);
    while (r == 0 && (entry = readdir(dir))) {
        if (!span_parse_dec(span_of(entry->d_name), &pid) || pid > BROKER_PID_MAX)
            continue;
        if (clock_monotonic_ns() > end_ns)
            r = -ETIMEDOUT;
        else if (!holds(s->proc_fd, pid, link))
            continue;
        else if (rep->value == BROKER_HOLDERS_MAX)
            r = -E2BIG;
        else
            rep->holders[rep->value++] = (int32_t)pid;
    }
    closedir(dir);
    if (r < 0)
        error_code(&rep->err, r, "cannot tell which processes hold a socket");
    return r;
}
