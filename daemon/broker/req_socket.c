/* SPDX-License-Identifier: Apache-2.0 */
/* The request for the processes that hold some sockets. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/server.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOLDERS_NS (200 * NSEC_PER_MSEC) /* that one look at all processes may take */
#define LINK_BYTES 32                    /* "socket:[18446744073709551615]" */

_Static_assert(SOCKETS_ASKED_MAX <= HOLDERS_SOCKETS && SOCKET_HOLDERS_MAX == HOLDERS_OF_SOCKET,
               "the walk and the answer have the same limits");

static DIR *open_folder(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir)
        close_fd(fd);
    return dir;
}

/* What is known of one of the sockets that were asked for. */
struct found {
    size_t count; /* above SOCKET_HOLDERS_MAX: more than are in pids */
    int32_t last; /* that was counted: it may hold the socket by many descriptors */
    int32_t pids[SOCKET_HOLDERS_MAX];
};

struct search {
    size_t sockets;
    uint64_t inodes[SOCKETS_ASKED_MAX];
    struct found found[SOCKETS_ASKED_MAX];
};

/* The number of the socket of the link @text; 0: it is none. */
static uint64_t socket_number(struct span text)
{
    uint64_t number;

    if (!span_take_str(&text, "socket:[") || text.n == 0 || text.p[text.n - 1] != ']')
        return 0;
    text.n--;
    return span_parse_dec(text, &number) ? number : 0;
}

static void add_holder(struct found *f, int32_t pid)
{
    if (f->last == pid)
        return;
    f->last = pid;
    if (f->count < SOCKET_HOLDERS_MAX)
        f->pids[f->count] = pid;
    f->count++;
}

/* Whether an error says that the process is gone, or that nobody may look into it. One that holds a
 * socket alone, and into which nobody may look, is not found: the socket is nobody's. */
static bool is_hidden(int error)
{
    return error == ENOENT || error == ESRCH || error == EACCES || error == EPERM;
}

/* Whether a link that cannot be read is that of no socket: "." is no link, a path may be long. */
static bool is_no_socket(int error)
{
    return is_hidden(error) || error == EINVAL || error == ENAMETOOLONG;
}

/* Notes which of the sockets are held by process @pid. 0 or -errno. */
static int find_in(int proc_fd, int32_t pid, struct search *search)
{
    char path[32], text[LINK_BYTES];
    const struct dirent *entry;
    DIR *dir;
    int r;

    snprintf(path, sizeof(path), "%d/fd", pid);
    dir = open_folder(proc_fd, path);
    if (!dir)
        return is_hidden(errno) ? 0 : -errno;
    for (errno = 0; (entry = readdir(dir)); errno = 0) {
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, text, sizeof(text));
        uint64_t number = n > 0 ? socket_number((struct span){ text, (size_t)n }) : 0;

        if (n < 0 && !is_no_socket(errno))
            break;
        for (size_t i = 0; number && i < search->sockets; i++) {
            if (search->inodes[i] == number)
                add_holder(&search->found[i], pid);
        }
    }
    r = is_hidden(errno) ? 0 : -errno;
    closedir(dir);
    return r;
}

/* By the links in /proc: all that hold them, but for threads with descriptors of their own and
 * processes into which nobody may look. */
static int find_by_links(const struct server *s, struct search *search)
{
    uint64_t end_ns = clock_monotonic_ns() + HOLDERS_NS;
    DIR *dir = open_folder(s->proc_fd, ".");
    const struct dirent *entry;
    uint64_t pid;
    int r = dir ? 0 : -errno;

    for (errno = 0; r == 0 && (entry = readdir(dir)); errno = 0) {
        if (!span_parse_dec(span_of(entry->d_name), &pid) || pid > BROKER_PID_MAX)
            continue;
        r = clock_monotonic_ns() > end_ns ? -ETIMEDOUT : find_in(s->proc_fd, (int32_t)pid, search);
    }
    if (r == 0)
        r = -errno;
    if (dir)
        closedir(dir);
    return r;
}

/* By the kernel's own walk: all that hold them. */
static int find_by_walk(struct server *s, struct search *search)
{
    int r = holders_find(s->holders, search->inodes, search->sockets, HOLDERS_NS);

    if (r < 0)
        return r;
    for (size_t i = 0; i < search->sockets; i++)
        search->found[i].count = holders_of(s->holders, i, search->found[i].pids);
    return 0;
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

/* Whether process @pid is in the namespace of the kind @name that we are in: by the inodes. Where
 * the kernel has no namespaces of this kind, all processes are in the same one. */
static bool shares_namespace(const struct server *s, int32_t pid, const char *name)
{
    struct stat ours, theirs;
    char path[32];

    snprintf(path, sizeof(path), "self/ns/%s", name);
    if (fstatat(s->proc_fd, path, &ours, 0) < 0)
        return errno == ENOENT;
    snprintf(path, sizeof(path), "%d/ns/%s", pid, name);
    return fstatat(s->proc_fd, path, &theirs, 0) == 0 && ours.st_ino == theirs.st_ino &&
           ours.st_dev == theirs.st_dev;
}

static uint32_t holder_flags(const struct server *s, int32_t pid)
{
    return (shares_namespace(s, pid, "pid") ? HOLDER_OUR_PIDS : 0u) |
           (shares_namespace(s, pid, "user") ? HOLDER_OUR_USERS : 0u);
}

/* Puts what was found of the socket @i into @ret, if there is room. */
static void pack(const struct server *s, const struct search *search, size_t i,
                 struct broker_holders *ret)
{
    const struct found *f = &search->found[i];
    bool many = f->count > SOCKET_HOLDERS_MAX;

    if (!many && f->count > BROKER_HOLDERS_ITEMS - ret->count)
        return;
    ret->told |= UINT32_C(1) << i;
    ret->many |= (uint32_t)many << i;
    for (size_t k = 0; !many && k < f->count; k++)
        ret->items[ret->count++] = (uint32_t)i << BROKER_HOLDER_SOCKET |
                                   holder_flags(s, f->pids[k]) << BROKER_HOLDER_BITS |
                                   (uint32_t)f->pids[k];
}

/* The first socket, and then those that few hold: sockets that many hold keep out no other. */
static void pack_all(const struct server *s, const struct search *search,
                     struct broker_holders *ret)
{
    *ret = (struct broker_holders){ 0 };
    pack(s, search, 0, ret);
    for (size_t count = 0; count <= SOCKET_HOLDERS_MAX + 1; count++) {
        for (size_t i = 1; i < search->sockets; i++) {
            if (MIN(search->found[i].count, (size_t)SOCKET_HOLDERS_MAX + 1) == count)
                pack(s, search, i, ret);
        }
    }
}

/*
 * socket_holders. Safe: it tells process numbers, and of those processes nothing but that they hold
 * the sockets with the numbers that were asked for, and whether they are in the broker's pid and
 * user namespace. Nothing is opened.
 */
int request_socket_holders(struct server *s, const struct sockets_fields *q, struct reply *rep)
{
    struct search search = { .sockets = q->count };
    int r;

    memcpy(search.inodes, q->inodes, q->count * sizeof(q->inodes[0]));
    r = can_walk(s) ? find_by_walk(s, &search) : find_by_links(s, &search);
    if (r < 0)
        return error_code(&rep->err, r, "cannot tell which processes hold a socket");
    pack_all(s, &search, &rep->body.socket_holders);
    return 0;
}
