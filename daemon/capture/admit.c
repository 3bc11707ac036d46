/* SPDX-License-Identifier: Apache-2.0 */
/* How many captures one caller may have at once, and how much of memory; and all together. */
#include "capture/capture_impl.h"

#define OTHERS_RETRY_NS (10 * NSEC_PER_SEC)

bool capture_lasts(const struct capture_request *req)
{
    return req->duration_ns ? req->duration_ns > CAPTURE_LASTS_NS : !req->live;
}

struct capture_counts {
    size_t all, own, own_lasting;
    uint64_t first_end_ns, own_first_end_ns; /* UINT64_MAX: none has an end */
};

static struct capture_counts captures_count(const struct engine *e, const struct caller *caller)
{
    struct capture_counts n = { .first_end_ns = UINT64_MAX, .own_first_end_ns = UINT64_MAX };

    for (const struct capture *c = e->captures; c; c = c->next) {
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

int capture_admit(const struct engine *e, const struct capture_request *req, struct error *err)
{
    struct capture_counts n = captures_count(e, &req->caller);
    bool root = caller_is_root(&req->caller);
    size_t max = e->opts.captures_max, most = e->opts.captures_max_bytes / 2;
    size_t held = root ? 0 : capture_memory_of(e, &req->caller);
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
        /* Who does not see all is not told what others do, nor for how long. */
        error_set(err, -EAGAIN, "no more captures can run at this time");
        return capture_refuse(clock_monotonic_ns() + OTHERS_RETRY_NS, err);
    }
    if (n.all >= callers_limit(max, root)) {
        error_set(err, -EAGAIN, "%zu captures are running, the most that is allowed", n.all);
        return capture_refuse(n.first_end_ns, err);
    }
    return 0;
}
