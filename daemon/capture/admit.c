/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of captures, per caller and in total: their number, their events and rates, their memory.
 */
#include "capture/capture_impl.h"

#define OTHERS_RETRY_NS (10 * NSEC_PER_SEC)
#define SETS_OF_CALLER_MAX 4 /* sets of samples of all captures of a caller */
#define SETS_OF_ONE_MAX 5    /* of its only capture, if SETS_LEFT remain: wall and three */
#define SETS_ALONE_MAX 6     /* of the only capture of all callers: wall, lock and cpu by probes */
#define SETS_LEFT 2          /* one set for root, and one for another caller */
#define SETS_OF_ROOT 1       /* sets that are reserved for root */

bool capture_lasts(const struct capture_request *req)
{
    return req->duration_ns ? req->duration_ns > CAPTURE_LASTS_NS : !req->live;
}

struct capture_counts {
    size_t all, own, own_lasting;
    uint64_t first_end_ns,
        own_first_end_ns; /* of all; of the caller. UINT64_MAX: none has an end */
};

static struct capture_counts captures_count(const struct captures *captures,
                                            const struct caller *caller)
{
    struct capture_counts n = { .first_end_ns = UINT64_MAX, .own_first_end_ns = UINT64_MAX };

    for (const struct capture *c = captures->running; c; c = c->next) {
        n.all++;
        n.first_end_ns = MIN(n.first_end_ns, c->end_ns);
        if (!caller_equal(&c->caller, caller))
            continue;
        n.own++;
        n.own_lasting += c->lasts;
        n.own_first_end_ns = MIN(n.own_first_end_ns, c->end_ns);
    }
    return n;
}

static int capture_refuse(uint64_t first_end_ns, struct error *err)
{
    uint64_t now = clock_monotonic_ns();
    unsigned retry_s = 1;

    if (first_end_ns != UINT64_MAX && first_end_ns > now)
        retry_s += (unsigned)((first_end_ns - now) / NSEC_PER_SEC);
    error_remedy(err, "ask again in %u s, end one of them, or raise captures_max", retry_s);
    if (err)
        err->retry_s = retry_s;
    return BACKEND_TOO_MANY;
}

int capture_admit(const struct captures *captures, const struct capture_request *req,
                  struct error *err)
{
    struct capture_counts n = captures_count(captures, &req->caller);
    bool root = caller_is_root(&req->caller);
    size_t max = captures->opts.captures_max, most = captures->opts.captures_max_bytes / 2;
    size_t held = root ? 0 : capture_memory_of(captures, &req->caller);
    char name[CALLER_NAME_BYTES];

    caller_name(&req->caller, name);
    if (!root && n.own >= max) {
        error_set(err, -EAGAIN, "%zu captures are running for %s, the most for one caller", n.own,
                  name);
        return capture_refuse(n.own_first_end_ns, err);
    }
    if (!root && capture_lasts(req) && n.own_lasting >= (max + 1) / 2) {
        error_set(err, -EAGAIN,
                  "%zu captures are running for %s that take longer than %d s, the most for one "
                  "caller",
                  n.own_lasting, name, (int)(CAPTURE_LASTS_NS / NSEC_PER_SEC));
        return capture_refuse(n.own_first_end_ns, err);
    }
    if (!root && held >= most) {
        error_set(err, -EAGAIN,
                  "the captures of %s hold %zu MiB of memory, and one caller may have %zu MiB",
                  name, held >> 20, most >> 20);
        capture_refuse(n.own_first_end_ns, err);
        error_remedy(err, "ask again in %u s, end one of them, or raise captures_max_bytes",
                     err ? err->retry_s : 1);
        return BACKEND_TOO_MANY;
    }
    if (n.all >= callers_limit(max, root) && !(req->target.viewer && req->target.viewer->whole)) {
        /* A viewer that does not see all learns nothing of other captures, nor of their times. */
        error_set(err, -EAGAIN, "no more captures can run at this time");
        return capture_refuse(clock_monotonic_ns() + OTHERS_RETRY_NS, err);
    }
    if (n.all >= callers_limit(max, root)) {
        error_set(err, -EAGAIN, "%zu captures are running, the most that is allowed", n.all);
        return capture_refuse(n.first_end_ns, err);
    }
    return 0;
}

/* Returns how many sets of samples the captures of @caller may have together. */
static unsigned sets_limit(const struct captures *captures, const struct caller *caller)
{
    size_t own = 0, others = 0; /* others: without root's sets, which are reserved */

    for (const struct capture *c = captures->running; c; c = c->next) {
        own += caller_equal(&c->caller, caller);
        others += !caller_equal(&c->caller, caller) && !caller_is_root(&c->caller);
    }
    if (own > 1)
        return SETS_OF_CALLER_MAX;
    if (others == 0)
        return SETS_ALONE_MAX;
    return sample_sets_used(&captures->sets) + SETS_LEFT < BROKER_SETS_MAX ? SETS_OF_ONE_MAX
                                                                           : SETS_OF_CALLER_MAX;
}

/* Returns how many sets of samples the captures of @caller have. */
static unsigned sets_of(const struct captures *captures, const struct caller *caller)
{
    uint32_t sets = 0;

    for (const struct capture *c = captures->running; c; c = c->next) {
        if (caller_equal(&c->caller, caller))
            sets |= capture_sets(c);
    }
    return (unsigned)__builtin_popcount(sets);
}

bool capture_may_add_set(const struct captures *captures, const struct caller *caller,
                         struct error *err)
{
    char name[CALLER_NAME_BYTES];

    if (caller_is_root(caller))
        return true;
    if (sets_of(captures, caller) >= sets_limit(captures, caller)) {
        error_set(err, -EBUSY,
                  "the captures of %s sample %u events and rates, the most for one caller",
                  caller_name(caller, name), sets_of(captures, caller));
        error_remedy(err, "use an event and a rate of one of them, or end one");
        return false;
    }
    if (sample_sets_used(&captures->sets) + SETS_OF_ROOT < BROKER_SETS_MAX)
        return true;
    error_set(err, -EBUSY, "no more events and rates can be sampled at this time");
    error_remedy(err, "ask again in %d s, or for another event or a lower rate",
                 (int)(OTHERS_RETRY_NS / NSEC_PER_SEC));
    return false;
}
