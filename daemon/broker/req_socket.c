/* SPDX-License-Identifier: Apache-2.0 */
/* The request for the processes that hold given sockets. */
#include "base/clock.h"
#include "base/log.h"
#include "broker/server.h"

#include <sys/stat.h>

#define HOLDERS_NS (200 * NSEC_PER_MSEC)         /* limit of one walk over all processes */
#define REFUSED_NS (UINT64_C(10) * NSEC_PER_SEC) /* pause after a refusal */
/* pause after a lack of memory or descriptors */
#define SHORT_NS NSEC_PER_SEC

_Static_assert(SOCKETS_ASKED_MAX <= HOLDERS_SOCKETS && SOCKET_HOLDERS_MAX == HOLDERS_OF_SOCKET,
               "the walk and the answer have the same limits");

/* The holders of one of the requested sockets. */
struct found {
    size_t count;                      /* number of all holders; above SOCKET_HOLDERS_MAX, pids has
                                        * only some */
    uint32_t pids[SOCKET_HOLDERS_MAX]; /* as holders_of() returns them */
};

struct search {
    size_t sockets;
    struct found found[SOCKETS_ASKED_MAX];
};

/* Loads the walk unless it is loaded. 0; -EOPNOTSUPP: the kernel refuses it; -errno: not now. */
static int load_walk(struct server *s)
{
    int r;

    if (s->walk.holders)
        return 0;
    if (clock_monotonic_ns() < s->walk.again_ns)
        return s->walk.error;
    r = holders_new(s->pid_ns_fd, &s->walk.holders);
    if (r == 0)
        return 0;
    s->walk.error = loader_may_pass(r) ? r : -EOPNOTSUPP;
    if (loader_may_pass(r)) {
        s->walk.again_ns = clock_monotonic_ns() + SHORT_NS;
        return r;
    }
    s->walk.again_ns = clock_monotonic_ns() + REFUSED_NS;
    if (!s->walk.warned)
        log_warn("clients over TCP cannot be identified: the kernel refuses the BPF program that "
                 "lists a socket's processes (%s); use the Unix socket",
                 strerror(-r));
    s->walk.warned = true;
    return -EOPNOTSUPP;
}

/* Returns true if process @pid is in our namespace of the kind @name, by the inodes. A kernel
 * without namespaces of this kind has all processes in the same one. */
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

/* Packs @number of holders_of(), a process with a flag, into the form of an answer. */
static uint32_t pack_holder(const struct server *s, uint32_t number)
{
    uint32_t pid = number & ~HOLDERS_BOUNDED;
    uint32_t flags = (shares_namespace(s, (int32_t)pid, "pid") ? HOLDER_OUR_PIDS : 0u) |
                     (shares_namespace(s, (int32_t)pid, "user") ? HOLDER_OUR_USERS : 0u) |
                     (number & HOLDERS_BOUNDED ? HOLDER_BOUNDED : 0u);

    return flags << BROKER_HOLDER_BITS | pid;
}

/* Adds the holders of the socket @i to @ret, if there is room. */
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
        ret->items[ret->count++] = (uint32_t)i << BROKER_HOLDER_SOCKET | pack_holder(s, f->pids[k]);
}

/* Packs the first socket, then the others in order of their number of holders. So a socket with
 * many holders leaves room for the others. */
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
 * socket_holders. Safe: process numbers, and of those processes only that they hold the requested
 * sockets, whether they opened them with the same bounds, and whether they are in the broker's pid
 * and user namespace. Nothing is opened.
 */
int request_socket_holders(struct server *s, const struct sockets_fields *q, struct reply *rep)
{
    struct search search = { .sockets = q->count };
    int r = load_walk(s) ?: holders_find(s->walk.holders, q->keys, q->count, q->net_ns, HOLDERS_NS);

    if (r < 0)
        return error_code(&rep->err, r, "cannot list the processes that hold a socket");
    for (size_t i = 0; i < search.sockets; i++)
        search.found[i].count = holders_of(s->walk.holders, i, search.found[i].pids);
    pack_all(s, &search, &rep->body.socket_holders);
    rep->body.socket_holders.slow = !holders_were_fast(s->walk.holders);
    return 0;
}
