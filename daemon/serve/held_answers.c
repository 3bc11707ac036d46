/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the memory of answers that clients have not read yet. All callers together may hold
 * answer_max_bytes. One caller may hold one answer of any size, or several with half of
 * answer_max_bytes together. If no memory is left, the caller that holds most loses an answer,
 * unless the new caller would then hold more. A client that still reads keeps its answer for
 * READING_NS. Small answers and answers of root are counted, but never refused or cut.
 */
#include "serve/serve_impl.h"

#include "base/clock.h"
#include "base/lock.h"

#define SMALL_BYTES ((size_t)64 << 10) /* answers up to this size are never refused */
#define READING_NS (10 * NSEC_PER_SEC) /* how long a client that reads is safe from being cut */
#define ANSWERS_RETRY_S 2
#define ONE_CALLER_PART 2 /* divisor: share of one caller with several answers */

/* Returns the bytes that are held. @of: by this caller only; NULL: by all. */
static size_t held_bytes(const struct serve *s, const struct caller *of)
{
    size_t n = 0;

    for (size_t i = 0; i < s->client_max; i++) {
        const struct client *c = &s->clients[i];

        if (c->used && !c->closing && c->held_bytes && (!of || caller_equal(&c->asks, of)))
            n += c->held_bytes;
    }
    return n;
}

static bool may_be_cut(const struct client *c, uint64_t now)
{
    if (!c->used || c->closing || c->held_bytes <= SMALL_BYTES || caller_is_root(&c->asks))
        return false;
    return (c->stalled_ns && now > c->stalled_ns && now - c->stalled_ns > SERVE_STALL_NS) ||
           (now > c->since_ns && now - c->since_ns > READING_NS);
}

/* Returns the client to cut: the one with the oldest answer, among the clients of the caller that
 * holds most. NULL: no caller with a client that may be cut holds @least bytes or more. */
static struct client *longest_held(struct serve *s, size_t least)
{
    uint64_t now = clock_monotonic_ns();
    struct client *found = NULL;

    for (size_t i = 0; i < s->client_max; i++) {
        struct client *c = &s->clients[i];
        size_t n = may_be_cut(c, now) ? held_bytes(s, &c->asks) : 0;

        if (n > least || (n && n == least && (!found || c->since_ns < found->since_ns))) {
            found = c;
            least = n;
        }
    }
    return found;
}

bool answers_have_room(struct serve *s, const struct caller *of, size_t n)
{
    size_t max = s->opts.answer_max_bytes, own = held_bytes(s, of);
    struct client *c;

    if (n <= SMALL_BYTES || caller_is_root(of))
        return true;
    n = MIN(n, max); /* a single answer always fits */
    if (own > 0 && own + n > max / ONE_CALLER_PART)
        return false;
    while (held_bytes(s, NULL) + n > max && (c = longest_held(s, own + n))) {
        s->stats.evicted++;
        client_cut(c);
    }
    return held_bytes(s, NULL) + n <= max;
}

void answers_hold(struct request *req)
{
    size_t n = answer_held_bytes(&req->answer), own;
    struct serve *s = req->serve;
    struct error err = ERROR_NULL;
    char name[CALLER_NAME_BYTES];
    bool room;

    pthread_mutex_lock(&s->lock);
    own = held_bytes(s, &req->who.caller);
    room = answers_have_room(s, &req->who.caller, n);
    if (room)
        req->client->held_bytes = n;
    else
        s->stats.quota_refused[QUOTA_ANSWERS]++;
    pthread_mutex_unlock(&s->lock);
    if (room)
        return;
    answer_reset_but(&req->answer, "X-Flamed-Capture"); /* the others are of the dropped body */
    if (own > 0)
        error_set(&err, 0,
                  "%s has %zu KiB of answers that it has not read yet, and another of %zu KiB "
                  "exceeds its share",
                  caller_name(&req->who.caller, name), own >> 10, n >> 10);
    else
        error_set(&err, 0, "too much memory is taken by answers that clients have not read yet");
    error_remedy(&err, "read or close them, and ask again in %u s; or raise answer_max_bytes",
                 ANSWERS_RETRY_S);
    answer_outcome(&req->answer, BACKEND_TOO_MANY, &err, ANSWERS_RETRY_S);
}
