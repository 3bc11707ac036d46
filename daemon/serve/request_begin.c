/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the client again when an act begins: a capture, an attach, a stop, a removal, a trigger.
 * The request may have waited for its body or a worker since its first check. By now, its client
 * may have left or lost its rights.
 */
#include "serve/serve_impl.h"

#include "base/clock.h"

#define BEGIN_FRESH_NS (100 * NSEC_PER_MSEC) /* age up to which a look-up counts as current */

static bool acts(const struct request *req)
{
    return !req->wants.head && audit_action_of(req) != AUDIT_NONE;
}

/* Checks the peer again if the peer identifies the subject. */
static enum begin begin_by_peer(struct request *req)
{
    struct serve *s = req->serve;
    struct peer_connection end;
    bool fresh;

    pthread_mutex_lock(&s->lock);
    end = req->client->end;
    pthread_mutex_unlock(&s->lock);
    if (!req->who.by_peer || !end.peer.tcp || req->client->subject.kind != SUBJECT_USER)
        return BEGIN_GO; /* only a user identified by a TCP peer is checked */
    if (req->who.look_up.confirms) {
        req->who.look_up.confirms = false;
        req->who.look_up.state = WHOSE_ASKED;
        if (req->who.look_up.place == PEER_HOST && end.peer.known &&
            end.peer.uid == req->client->subject.uid)
            return BEGIN_GO;
        request_refuse_peer(req, &end.peer,
                            req->who.look_up.place == PEER_HOST ? PEER_FOREIGN
                                                                : req->who.look_up.place);
        return BEGIN_REFUSED;
    }
    fresh = end.peer.looked_ns && clock_monotonic_ns() - end.peer.looked_ns < BEGIN_FRESH_NS;
    if (fresh && peer_is_same(s->opts.peers, &end))
        return BEGIN_GO;
    if (!fresh && whose_confirm(req))
        return BEGIN_WAIT;
    req->who.look_up.confirms = false;
    request_refuse_peer(req, &end.peer, fresh ? PEER_FOREIGN : PEER_UNTOLD);
    return BEGIN_REFUSED;
}

enum begin request_begin(struct request *req)
{
    struct serve *s = req->serve;
    enum begin begin;
    bool still;

    if (req->who.begun || !acts(req))
        return BEGIN_GO;
    begin = begin_by_peer(req);
    if (begin != BEGIN_GO)
        return begin;
    pthread_mutex_lock(&s->lock);
    still = review_may_still(req, clock_monotonic_ns());
    pthread_mutex_unlock(&s->lock);
    req->who.begun = still;
    if (still)
        return BEGIN_GO;
    review_refuse(req);
    return BEGIN_REFUSED;
}
