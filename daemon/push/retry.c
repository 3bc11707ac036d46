/* SPDX-License-Identifier: Apache-2.0 */
#include "push/retry.h"

#define RETRY_DOUBLINGS_MAX 7u

static enum retry_verdict later(struct retry *r, const struct pusher_answer *a, uint64_t now_ns,
                                uint64_t spread)
{
    uint64_t wait_ns = MIN(RETRY_FIRST_NS << MIN(r->failures, RETRY_DOUBLINGS_MAX), RETRY_MAX_NS);
    uint64_t asked_ns = MIN(a->retry_after_s * NSEC_PER_SEC, RETRY_AFTER_MAX_NS);

    wait_ns = MAX(wait_ns, asked_ns);
    wait_ns += spread % (wait_ns / 4 + 1);
    r->failures++;
    r->next_ns = now_ns + wait_ns;
    return RETRY_LATER;
}

static enum retry_verdict settle(struct retry *r, enum retry_verdict verdict)
{
    *r = (struct retry){ 0 };
    return verdict;
}

enum retry_verdict retry_judge(struct retry *r, const struct pusher_answer *a, uint64_t now_ns,
                               uint64_t spread)
{
    if (a->failure != PUSHER_ANSWERED)
        return later(r, a, now_ns, spread);
    switch (a->status) {
    case 400: /* the fault is in the body */
    case 413:
    case 415:
    case 422:
        return settle(r, RETRY_REJECTED);
    case 429:
    case 502:
    case 503:
    case 504:
        return later(r, a, now_ns, spread);
    default:
        break;
    }
    if (a->status / 100 == 2)
        return settle(r, RETRY_SENT);
    if (a->status / 100 == 5 && ++r->bad_tries >= RETRY_BAD_TRIES)
        return settle(r, RETRY_REJECTED);
    return later(r, a, now_ns, spread);
}

bool retry_is_over(uint64_t error_ns, uint64_t every_ns, uint64_t now_ns)
{
    return now_ns > error_ns && now_ns - error_ns > 2 * every_ns + RETRY_ANSWER_NS;
}
