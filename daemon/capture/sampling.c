/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/sampling.h"

#include "base/cleanup.h"
#include "base/clock.h"

#define ASK_AGAIN_NS (250 * NSEC_PER_MSEC)
#define RETRY_S 1

static int open_ring(struct sampling *s, struct broker *b, struct error *err)
{
    _cleanup_close_ int fd = -1;
    size_t bytes;
    int r = broker_ring(b, &fd, &bytes, err);

    return r < 0 ? r : ring_open(fd, bytes, &s->ring, err);
}

static int look(struct sampling *s, struct broker *b, struct error *err)
{
    int r = broker_facts(b, &s->facts, err);

    if (r == 0 && s->facts.bpf_loaded)
        r = open_ring(s, b, err);
    return r;
}

int sampling_open(struct sampling *s, struct broker *b, struct error *err)
{
    s->looked_ns = clock_monotonic_ns();
    return look(s, b, err);
}

bool sampling_poll(struct sampling *s, struct broker *b, uint64_t now_ns)
{
    struct error err = ERROR_NULL;

    if (s->ring || !s->facts.bpf_loading || now_ns - s->looked_ns < ASK_AGAIN_NS)
        return false;
    s->looked_ns = now_ns;
    if (look(s, b, &err) < 0) /* a broker that is lost ends the engine */
        sampling_note_problem(s, &err);
    return s->ring != NULL;
}

void sampling_note_problem(struct sampling *s, const struct error *err)
{
    span_copy(span_of(err->msg), s->facts.bpf_problem, sizeof(s->facts.bpf_problem));
}

void sampling_problem(const struct sampling *s, struct error *err)
{
    if (s->facts.bpf_loading) {
        error_set(err, -EAGAIN, "flamed is not ready yet: %s", s->facts.bpf_problem);
        if (err)
            err->retry_s = RETRY_S;
    } else {
        error_set(err, -ENOSYS, "this machine cannot sample: %s", s->facts.bpf_problem);
    }
}
