/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/sampling.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "capture/recorder.h"

#define ASK_AGAIN_NS (250 * NSEC_PER_MSEC)
#define RETRY_S 1

static int open_ring(struct engine *e, struct error *err)
{
    _cleanup_close_ int fd = -1;
    size_t bytes;
    int r = broker_ring(e->broker, &fd, &bytes, err);

    return r < 0 ? r : ring_open(fd, bytes, &e->ring, err);
}

static int look(struct engine *e, struct error *err)
{
    int r = broker_facts(e->broker, &e->facts, err);

    if (r == 0 && e->facts.bpf_loaded)
        r = open_ring(e, err);
    return r;
}

int sampling_open(struct engine *e, struct error *err)
{
    e->sampling_looked_ns = clock_monotonic_ns();
    return look(e, err);
}

void sampling_poll(struct engine *e, uint64_t now_ns)
{
    struct error err = ERROR_NULL;
    int r;

    if (e->ring || !e->facts.bpf_loading || now_ns - e->sampling_looked_ns < ASK_AGAIN_NS)
        return;
    e->sampling_looked_ns = now_ns;
    r = look(e, &err);
    if (r == 0 && e->ring)
        r = recorder_start(e, e->opts.recorder_hz, e->opts.recorder_keep_ns,
                           e->opts.recorder_max_bytes, &err);
    if (r < 0) /* a broker that is lost ends the engine */
        span_copy(span_of(err.msg), e->facts.bpf_problem, sizeof(e->facts.bpf_problem));
}

int sampling_problem(const struct engine *e, struct error *err)
{
    if (e->facts.bpf_loading) {
        error_set(err, -EAGAIN, "flamed is not ready yet: %s", e->facts.bpf_problem);
        if (err)
            err->retry_s = RETRY_S;
    } else {
        error_set(err, -ENOSYS, "this machine cannot sample: %s", e->facts.bpf_problem);
    }
    return BACKEND_UNAVAILABLE;
}
