/* SPDX-License-Identifier: Apache-2.0 */
/* The request for the processes that hold some sockets. */
#include "base/array.h"
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
    int32_t pids[SOCKET_HOLDERS_MAX];
};

struct search {
    size_t sockets;
    uint64_t inodes[SOCKETS_ASKED_MAX];
    struct found found[SOCKETS_ASKED_MAX];
    uint32_t told; /* bit set: what is found is all */
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

/* Notes which of the sockets that nobody was found for are held by process @pid. */
static void find_in(int proc_fd, int32_t pid, struct search *search)
{
    char path[32], text[LINK_BYTES];
    const struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "%d/fd", pid);
    dir = open_folder(proc_fd, path);
    while (dir && (entry = readdir(dir))) {
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, text, sizeof(text));
        uint64_t number = n > 0 ? socket_number((struct span){ text, (size_t)n }) : 0;

        for (size_t i = 0; number && i < search->sockets; i++) {
            if (search->inodes[i] == number && !search->found[i].count)
                search->found[i].pids[search->found[i].count++] = pid;
        }
    }
    if (dir)
        closedir(dir);
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
        if (!array_grow(&ret->items, &room, ret->count + 1, 256))
            break;
        ret->items[ret->count++] = (int32_t)pid;
    }
    closedir(dir);
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), newest_first);
    return entry ? -ENOMEM : 0;
}

static uint32_t all_of(const struct search *search)
{
    return (uint32_t)((UINT64_C(1) << search->sockets) - 1);
}

static uint32_t found_of(const struct search *search)
{
    uint32_t set = 0;

    for (size_t i = 0; i < search->sockets; i++)
        set |= (uint32_t)(search->found[i].count > 0) << i;
    return set;
}

/* By the links in /proc: the newest process that holds each, since flamed's clients are most often
 * young. */
static int find_by_links(const struct server *s, struct search *search)
{
    uint64_t end_ns = clock_monotonic_ns() + HOLDERS_NS;
    struct pids pids = { 0 };
    int r = list_pids(s->proc_fd, &pids);

    for (size_t i = 0; r == 0 && i < pids.count && found_of(search) != all_of(search); i++) {
        if (clock_monotonic_ns() > end_ns)
            r = -ETIMEDOUT;
        else
            find_in(s->proc_fd, pids.items[i], search);
    }
    free(pids.items);
    search->told = r == 0 ? all_of(search) : found_of(search);
    return search->told ? 0 : r;
}

/* By the kernel's own walk: all that hold them. */
static int find_by_walk(struct server *s, struct search *search)
{
    int r = holders_find(s->holders, search->inodes, search->sockets, HOLDERS_NS);

    if (r < 0)
        return r;
    for (size_t i = 0; i < search->sockets; i++)
        search->found[i].count = holders_of(s->holders, i, search->found[i].pids);
    search->told = all_of(search);
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

/* Puts what was found of the socket @i into @ret, if there is room. */
static void pack(const struct search *search, size_t i, struct broker_holders *ret)
{
    const struct found *f = &search->found[i];
    bool many = f->count > SOCKET_HOLDERS_MAX;

    if (!(search->told & UINT32_C(1) << i) ||
        (!many && f->count > BROKER_HOLDERS_ITEMS - ret->count))
        return;
    ret->told |= UINT32_C(1) << i;
    ret->many |= (uint32_t)many << i;
    for (size_t k = 0; !many && k < f->count; k++)
        ret->items[ret->count++] = (uint32_t)i << BROKER_HOLDER_BITS | (uint32_t)f->pids[k];
}

/* The first socket, and then those that few hold: sockets that many hold keep out no other. */
static void pack_all(const struct search *search, struct broker_holders *ret)
{
    *ret = (struct broker_holders){ 0 };
    pack(search, 0, ret);
    for (size_t count = 0; count <= SOCKET_HOLDERS_MAX + 1; count++) {
        for (size_t i = 1; i < search->sockets; i++) {
            if (MIN(search->found[i].count, (size_t)SOCKET_HOLDERS_MAX + 1) == count)
                pack(search, i, ret);
        }
    }
}

/*
 * socket_holders. Safe: it tells process numbers, and of those processes nothing but that they hold
 * the sockets with the numbers that were asked for. Nothing is opened.
 */
int request_socket_holders(struct server *s, const struct broker_request *q, struct reply *rep)
{
    struct search search = { .sockets = q->name_n / sizeof(uint64_t) };
    int r;

    memcpy(search.inodes, q->name, q->name_n);
    r = can_walk(s) ? find_by_walk(s, &search) : find_by_links(s, &search);
    if (r < 0)
        return error_code(&rep->err, r, "cannot tell which processes hold a socket");
    pack_all(&search, &rep->holders);
    return 0;
}
