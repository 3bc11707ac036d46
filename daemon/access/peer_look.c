/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers the facts of peer_facts.h in their order, for many connections at once. If flamed runs in
 * its own pid namespace, it cannot see the holders: clients that share its network count by uid.
 */
#include "access/peers_impl.h"

#define LOOK_NS (100 * NSEC_PER_MSEC) /* time budget for reading processes */

struct look {
    struct peer_facts *facts;       /* for each connection; owned, like the arrays below */
    struct socket_holding *held;    /* the answers to one request */
    struct peer_process *processes; /* [process_max] */
    int *fds;                       /* folders in /proc of `processes`; negative: none */
    size_t process_count, process_max;
    bool slow, fast; /* holders were found by the iterator of the kernel, by the fast walk */
};

static struct look *look_free(struct look *l)
{
    if (l) {
        free(l->facts);
        free(l->held);
        free(l->processes);
        free(l->fds);
    }
    free(l);
    return NULL;
}

/* Allocates a look at @n connections. NULL: out of memory. */
static struct look *look_new(size_t n)
{
    struct look *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->process_max = n * SOCKET_HOLDERS_MAX;
    l->facts = calloc(n, sizeof(*l->facts));
    l->held = calloc(n, sizeof(*l->held));
    l->processes = calloc(l->process_max, sizeof(*l->processes));
    l->fds = calloc(l->process_max, sizeof(*l->fds));
    return l->facts && l->held && l->processes && l->fds ? l : look_free(l);
}

/* ---- the last look, for a request ---- */

/* Asks the kernel about the other end again. Returns false if that end is unknown or has changed.
 */
static bool ask_again(struct peers *s, struct peer_text *t, struct peer_connection *c)
{
    struct peer *p = &c->peer;
    struct peer_socket now;

    s->kernel.socket(s->kernel.ctx, t, c, &now);
    if (!now.told)
        return false;
    if (now.open && peer_socket_equal(&now, &p->socket) && s->kernel.connected(s->kernel.ctx, c))
        return true;
    p->foreign = true;
    p->refusal = "the other end of the connection is closed, or is not what it was";
    return false;
}

bool peer_is_same(struct peers *s, struct peer_connection *c)
{
    struct peer_text text = { 0 };
    bool same;

    if (!c->peer.tcp)
        return true;
    same = !c->peer.foreign && ask_again(s, &text, c);
    peer_text_clear(&text);
    return same;
}

/* Returns true if the last look is still valid. */
static bool is_fresh(const struct peers *s, const struct peer *p)
{
    return p->looked_ns && clock_monotonic_ns() - p->looked_ns < PEER_LOOK_NS && p->newest_pid &&
           p->newest_pid == peer_newest_pid(s);
}

enum peer_place peer_place(struct peers *s, struct peer_connection *c, bool again)
{
    struct peer *p = &c->peer;

    if (!p->known || p->foreign)
        return PEER_FOREIGN;
    if (!p->tcp)
        return PEER_HOST;
    if (!ask_again(s, /* t= */ NULL, c))
        return p->foreign ? PEER_FOREIGN : PEER_UNTOLD;
    return s->enclosed || (!again && is_fresh(s, p)) ? PEER_HOST : PEER_UNTOLD;
}

/* ---- a look ---- */

static void ask_sockets(struct peers *s, const struct peer_connection *list, size_t n,
                        struct look *l, bool after)
{
    struct peer_text text = { 0 };

    for (size_t i = 0; i < n; i++) {
        struct peer_facts *f = &l->facts[i];

        s->kernel.socket(s->kernel.ctx, &text, &list[i], after ? &f->after : &f->before);
        if (after)
            f->connected = s->kernel.connected(s->kernel.ctx, &list[i]);
    }
    peer_text_clear(&text);
}

/* Asks for the holders of the open sockets that have a cookie, or of those that have none. Returns
 * the result of peer_holders_fn. */
static int ask_some_holders(struct peers *s, size_t n, struct look *l, bool after, bool cookies)
{
    size_t index[SOCKETS_ASKED_MAX], count = 0;
    uint64_t keys[SOCKETS_ASKED_MAX];
    int r;

    for (size_t i = 0; i < n; i++) {
        const struct peer_socket *socket = &l->facts[i].before;

        if (!socket->open || !socket->inode || !socket->cookie == cookies)
            continue;
        keys[count] = cookies ? socket->cookie : socket->inode;
        index[count++] = i;
    }
    if (!count)
        return 0;
    r = s->holders ? s->holders(s->holders_ctx, keys, count, cookies ? 0 : s->net_ns, l->held)
                   : -EOPNOTSUPP;
    for (size_t i = 0; i < count; i++) {
        struct peer_facts *f = &l->facts[index[i]];

        if (r == 0)
            *(after ? &f->held_after : &f->held_before) = l->held[i];
        l->slow = l->slow || (r == 0 && l->held[i].slow);
        l->fast = l->fast || (r == 0 && !l->held[i].slow);
        f->blind = f->blind || r == -EOPNOTSUPP;
    }
    return r;
}

static int ask_holders(struct peers *s, size_t n, struct look *l, bool after)
{
    int r = ask_some_holders(s, n, l, after, /* cookies= */ true);

    return r == 0 ? ask_some_holders(s, n, l, after, /* cookies= */ false) : r;
}

/* Pins and reads the process @pid, once. Reading stops at @end_ns. */
static void add_process(const struct peers *s, const struct peer_hierarchies *all, int32_t pid,
                        uint64_t end_ns, struct look *l)
{
    struct peer_process *p;
    int fd;

    for (size_t i = 0; i < l->process_count; i++) {
        if (l->processes[i].pid == pid)
            return;
    }
    if (l->process_count == l->process_max || clock_monotonic_ns() > end_ns)
        return;
    p = &l->processes[l->process_count];
    fd = s->kernel.pin(s->kernel.ctx, pid);
    *p = (struct peer_process){ .pid = pid,
                                .reading =
                                    fd == -ENOENT || fd == -ESRCH ? READING_GONE : READING_PART };
    l->fds[l->process_count++] = fd;
    if (fd >= 0)
        peer_read_process(s, fd, all, p);
}

static void read_processes(const struct peers *s, size_t n, struct look *l)
{
    uint64_t end_ns = clock_monotonic_ns() + LOOK_NS;
    struct peer_hierarchies all;

    peer_read_hierarchies(s, &all);
    for (size_t i = 0; i < n; i++) {
        const struct socket_holding *h = &l->facts[i].held_before;

        for (size_t k = 0; h->count <= SOCKET_HOLDERS_MAX && k < h->count; k++)
            add_process(s, &all, h->holders[k].pid, end_ns, l);
    }
}

static void see_who_stays(const struct peers *s, struct look *l)
{
    for (size_t i = 0; i < l->process_count; i++)
        l->processes[i].stays = l->fds[i] >= 0 && s->kernel.stays(s->kernel.ctx, l->fds[i]) == 0;
}

static void unpin(const struct peers *s, struct look *l)
{
    for (size_t i = 0; i < l->process_count; i++) {
        if (l->fds[i] >= 0)
            s->kernel.unpin(s->kernel.ctx, l->fds[i]);
    }
}

/* Records the verdict of a look that began at @begun_ns. */
static enum peer_place conclude(struct peers *s, struct peer_facts *f, const struct look *l,
                                uint64_t begun_ns, uint64_t newest, struct peer *p)
{
    enum peer_place place;

    f->processes = l->processes;
    f->process_count = l->process_count;
    place = peer_decide(f, &p->refusal);
    if (place == PEER_HOST)
        peer_set_socket(s, &f->after, p);
    p->foreign = place == PEER_FOREIGN || (place == PEER_HOST && !p->known);
    p->looked_ns = place == PEER_HOST ? begun_ns : 0;
    p->newest_pid = place == PEER_HOST ? newest : 0; /* read before the look, so that a process
                                                      * which starts later has a higher pid */
    return p->foreign ? PEER_FOREIGN : place;
}

/* Looks at those of @list that have no valid result. */
static int look_at(struct peers *s, struct peer_connection *list, size_t n, struct look *l)
{
    int r;

    ask_sockets(s, list, n, l, /* after= */ false);
    r = ask_holders(s, n, l, /* after= */ false);
    if (r != 0 && r != -EOPNOTSUPP)
        return r;
    read_processes(s, n, l);
    r = ask_holders(s, n, l, /* after= */ true);
    s->slow_looks += l->slow;
    s->fast_looks += r == 0 && l->fast && !l->slow;
    see_who_stays(s, l);
    ask_sockets(s, list, n, l, /* after= */ true);
    unpin(s, l);
    return r;
}

uint64_t peers_slow_looks(const struct peers *s)
{
    return s->slow_looks;
}

uint64_t peers_fast_looks(const struct peers *s)
{
    return s->fast_looks;
}

bool peers_look(struct peers *s, struct peer_connection *list, size_t n, enum peer_place *ret)
{
    uint64_t begun_ns = clock_monotonic_ns(), newest = peer_newest_pid(s);
    struct look *l = look_new(n);
    int r = l ? 0 : -ENOMEM;

    if (l && !s->enclosed)
        r = look_at(s, list, n, l);
    for (size_t i = 0; i < n; i++) {
        if (!l)
            ret[i] = PEER_UNTOLD;
        else if (s->enclosed || !list[i].peer.tcp || list[i].peer.foreign)
            ret[i] = peer_is_same(s, &list[i]) && list[i].peer.known ? PEER_HOST : PEER_FOREIGN;
        else
            ret[i] = conclude(s, &l->facts[i], l, begun_ns, newest, &list[i].peer);
    }
    look_free(l);
    return r != -EBUSY;
}
