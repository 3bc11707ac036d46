/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the flight recorder and the history that it fills. */
#include "base/log.h"
#include "engine/engine_impl.h"

#define AGAIN_NS (5 * NSEC_PER_SEC)

/* Implements spill_opts.stopped. */
static struct history_stopped engine_stopped(void *cookie, const struct process *p)
{
    struct signal_stops s = signals_take_stops(((const struct engine *)cookie)->signals, p);

    return (struct history_stopped){ s.pauses, s.pause_ns, s.throttled_ns };
}

static int start_recorder(struct engine *e, struct error *err)
{
    return recorder_start(
        &(struct recorder_opts){
            .broker = e->broker,
            .sets = &e->captures.sets,
            .frames = e->frames,
            .hz = e->opts.recorder_hz,
            .keep_ns = e->opts.recorder_keep_ns,
            .max_bytes = e->opts.recorder_max_bytes,
            .contexts = e->opts.recorder_requests ? &e->captures.contexts : NULL,
            .allocs = e->opts.recorder_alloc ? &e->captures.recording.allocs : NULL,
            .discover = e->opts.recorder_waits ? e->discover : NULL,
            .deliver = dispatch_look,
            .walk = dispatch_walk_looks,
            .cookie = &e->dispatch },
        &e->recorder, err);
}

static int start_spill(struct engine *e)
{
    return spill_start(&(struct spill_opts){ .history = e->opts.history,
                                             .flight = e->recorder->flight,
                                             .discover = e->discover,
                                             .counters = e->opts.counters,
                                             .stopped = engine_stopped,
                                             .cookie = e },
                       &e->spill);
}

int engine_start_recorder(struct engine *e, struct error *err)
{
    int r = e->opts.recorder_hz > 0 ? start_recorder(e, err) : 0;

    if (r == 0 && e->recorder && e->opts.history) {
        r = start_spill(e);
        if (r < 0) {
            sample_sets_release(&e->captures.sets, e->broker, e->recorder->set);
            e->recorder = recorder_stop(e->recorder);
        }
    }
    if (r < 0)
        return err && err->msg[0] ? r : error_code(err, r, "cannot start it");
    e->captures.recording.recorder = e->recorder;
    e->captures.recording.sets = recorder_sets(e->recorder);
    e->captures.recording.requests = e->recorder && e->opts.recorder_requests;
    e->captures.recording.allocs.on = e->recorder && e->opts.recorder_alloc;
    captures_reconcile(&e->captures, clock_monotonic_ns());
    return 0;
}

void engine_want_recorder(struct engine *e, uint64_t now_ns)
{
    char *problem = e->problems[ENGINE_PROBLEM_RECORDER], before[ENGINE_PROBLEM_BYTES];
    struct error err = ERROR_NULL;

    if (e->recorder || e->opts.recorder_hz <= 0 || !sampling_works(&e->sampling) ||
        now_ns < e->recorder_due_ns)
        return;
    e->recorder_due_ns = now_ns + AGAIN_NS;
    memcpy(before, problem, sizeof(before));
    if (engine_start_recorder(e, &err) == 0) {
        problem[0] = '\0';
        if (before[0])
            log_info("the flight recorder records now");
        return;
    }
    snprintf(problem, ENGINE_PROBLEM_BYTES,
             "the flight recorder does not record yet; flamed tries again every %llu s: %s%s%s",
             (unsigned long long)(AGAIN_NS / NSEC_PER_SEC), err.msg, err.remedy[0] ? "; " : "",
             err.remedy);
    if (strcmp(problem, before) != 0)
        log_warn("%s", problem);
}
