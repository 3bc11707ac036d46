/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits connections. One caller may have connections_max of them, all callers together one and a
 * half times as many, and root some more. So a caller that fills its share takes no place of
 * another caller. A caller beyond its share becomes a guest: a few more connections serve guests,
 * for health routes only. A new guest may evict an older one. All functions run with lock held.
 */
#include "base/list.h"
#include "serve/serve_impl.h"

#include "base/clock.h"

#include <poll.h>
#include <sys/socket.h>

static struct client *client_slot(struct serve *s)
{
    return FIRST_OF(i, s->clients, s->client_max, !s->clients[i].used);
}

void client_cut(struct client *c)
{
    c->closing = true;
    shutdown(c->fd, SHUT_RDWR); /* the HTTP library sees the end and closes it */
}

/* Counts a client as reading while its socket has room for more of the answer. */
void client_watch_reading(struct client *c, uint64_t now)
{
    struct pollfd p = { .fd = c->fd, .events = POLLOUT };

    if (!c->busy || poll(&p, 1, 0) != 0)
        c->stalled_ns = 0;
    else if (!c->stalled_ns)
        c->stalled_ns = now;
}

/* Returns whether a newer connection may replace @c: it has no complete request, or it does not
 * read its answer. A guest may also be replaced after SERVE_GUEST_NS. *ret_since_ns: since when it
 * has been idle. */
static bool client_evictable(const struct client *c, uint64_t now, uint64_t *ret_since_ns)
{
    *ret_since_ns = c->busy && c->stalled_ns ? c->stalled_ns : c->since_ns;
    if (c->guest && c->busy)
        return now > *ret_since_ns && now - *ret_since_ns > SERVE_GUEST_NS;
    return !c->busy || (c->stalled_ns && now - c->stalled_ns > SERVE_STALL_NS);
}

/* Closes the connection that has been idle longest, among guests or among the others. @of: of this
 * caller only; NULL: of any. */
static bool client_evict(struct serve *s, bool guests, const struct caller *of)
{
    uint64_t now = clock_monotonic_ns(), since_ns, oldest_ns = UINT64_MAX;
    struct client *oldest = NULL;

    for (size_t i = 0; i < s->client_max; i++) {
        struct client *c = &s->clients[i];

        if (!c->used || c->closing || c->guest != guests || (of && !caller_equal(&c->caller, of)))
            continue;
        if (client_evictable(c, now, &since_ns) && since_ns < oldest_ns) {
            oldest = c;
            oldest_ns = since_ns;
        }
    }
    if (!oldest)
        return false;
    s->stats.evicted++;
    client_cut(oldest);
    return true;
}

/* Returns the number of guests or of other connections. @of: of this caller only; NULL: of all. */
static size_t clients_now(const struct serve *s, bool guests, const struct caller *of)
{
    size_t n = 0;

    for (size_t i = 0; i < s->client_max; i++) {
        const struct client *c = &s->clients[i];

        n += c->used && !c->closing && c->guest == guests && (!of || caller_equal(&c->caller, of));
    }
    return n;
}

/* Returns whether @c has its share of connections; root has no limit. */
static bool caller_is_full(const struct serve *s, const struct caller *c)
{
    return !caller_is_root(c) && clients_now(s, false, c) >= s->opts.connections_max;
}

static bool all_is_full(const struct serve *s, const struct caller *c)
{
    return clients_now(s, false, NULL) >= callers_limit(s->opts.connections_max, caller_is_root(c));
}

struct client *connection_place_take(struct serve *s, const struct caller *caller)
{
    bool own_full = caller_is_full(s, caller), guest = false;
    struct client *c;

    if (own_full || all_is_full(s, caller))
        guest = !client_evict(s, /* guests= */ false, own_full ? caller : NULL);
    if (guest && clients_now(s, /* guests= */ true, NULL) >= SERVE_GUESTS_MAX &&
        !client_evict(s, /* guests= */ true, NULL))
        return NULL;
    c = client_slot(s);
    if (c)
        *c = (struct client){ .used = true,
                              .generation = c->generation + 1,
                              .caller = *caller,
                              .asks = *caller,
                              .guest = guest,
                              .since_ns = clock_monotonic_ns() };
    return c;
}

bool connection_place_promote(struct serve *s, struct client *c)
{
    if (c->guest && !caller_is_full(s, &c->caller) && !all_is_full(s, &c->caller))
        c->guest = false;
    return !c->guest;
}
