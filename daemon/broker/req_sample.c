/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that sample: the ring of the BPF programs, sets and filters.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/target/target.h"
#include "event/event_form.h"
#include "event/events.h"
#include "sample/looks_abi.h"
#include "sample/loss_abi.h"
#include "sample/program.h"
#include "sample/sampler_looks.h"
#include "sample/sampler_off.h"
#include "sample/sampler_peers.h"

#include <fcntl.h>
#include <unistd.h>

#define RING_BYTES ((size_t)16 << 20)
#define PEERS_NS (100 * NSEC_PER_MSEC) /* limit of a walk over all threads */
#define CHECKS_MAX_BYTES ((size_t)256 << 10)

_Static_assert(SAMPLER_SETS_MAX == BROKER_SETS_MAX, "a set of the sampler is a set of the broker");

int cpus_each(int (*fn)(int cpu, void *cookie), void *cookie)
{
    _cleanup_free_ uint32_t *cpus = calloc(SAMPLER_CPUS_MAX, sizeof(*cpus));
    int n = cpus ? sampler_online_cpus(cpus, NULL) : -ENOMEM, r = MIN(n, 0);

    for (int i = 0; r == 0 && i < n && cpus[i] < BROKER_CPUS_MAX; i++)
        r = fn((int)cpus[i], cookie);
    return r;
}

/* Takes the result @r of a load, with @why. Plans another attempt if the reason may pass. A result
 * < 0 without a sentence, as for too little memory, gets one: @why is what later requests return.
 */
static void take_result(struct load_again *a, int r, struct error *why)
{
    uint64_t wait_ns = LOAD_AGAIN_NS << a->count;

    a->at_ns = 0;
    if (r < 0 && !why->code)
        error_code(why, r, "cannot load the BPF programs");
    if (!loader_may_pass(r) || a->count == LOAD_AGAIN_MAX)
        return;
    a->at_ns = clock_monotonic_ns() + wait_ns;
    a->count++;
    log_warn("%s: attempt %u of %d to load it again in %ju s", why->msg, a->count, LOAD_AGAIN_MAX,
             (uintmax_t)(wait_ns / NSEC_PER_SEC));
}

/* Returns the state after a refusal: SAMPLER_UNASKED once it is time for another attempt. */
static enum sampler_state state_now(enum sampler_state state, const struct load_again *a)
{
    bool due = state == SAMPLER_REFUSED && a->at_ns && clock_monotonic_ns() >= a->at_ns;

    return due ? SAMPLER_UNASKED : state;
}

int server_sampler(struct server *s, uint64_t wait_ns, struct error *err)
{
    uint32_t frames = s->sampling.max_frames ? s->sampling.max_frames : BROKER_FRAMES_MAX;
    int r = 0;

    s->sampling.state = state_now(s->sampling.state, &s->sampling.again);
    if (s->sampling.state == SAMPLER_UNASKED) {
        loader_ask(s->loader, s->pid_ns_fd, RING_BYTES, frames, s->options.bpf_only);
        s->sampling.state = SAMPLER_LOADING;
    }
    if (s->sampling.state == SAMPLER_LOADING) {
        r = loader_take(s->loader, wait_ns, &s->sampling.sampler, &s->sampling.error);
        if (r == LOADER_BUSY) {
            error_set(err, -EAGAIN, "the kernel is still checking the BPF programs");
            error_remedy(err, "ask again in a second");
            return -EAGAIN;
        }
        s->sampling.state = r == 0 ? SAMPLER_LOADED : SAMPLER_REFUSED;
        take_result(&s->sampling.again, r, &s->sampling.error);
        if (r == 0) {
            sampler_hook_by(s->sampling.sampler, hooker_worker(s->hooker));
            if (!sampler_without_bpf(s->sampling.sampler))
                log_info("the BPF programs are loaded, for the stacks of %u processes at once",
                         sampler_processes_max(s->sampling.sampler));
        }
    }
    if (s->sampling.state == SAMPLER_LOADED)
        return 0;
    if (err)
        *err = s->sampling.error;
    return s->sampling.error.code;
}

/*
 * unwind_limit. Safe: a number in a range, up to the one that the BPF program is built for.
 */
int request_unwind_limit(struct server *s, const struct frames_fields *q, struct reply *rep)
{
    if (s->sampling.state != SAMPLER_UNASKED)
        return error_set(&rep->err, -EBUSY, "unwind_limit: the BPF programs are loaded already");
    s->sampling.max_frames = q->frames;
    return 0;
}

/*
 * ring. Safe: the map's memory can be mapped, its samples read, and its consumer's position
 * written. Anything else takes bpf(2), which flamed may not call.
 */
int request_ring(struct server *s, const struct no_fields *q, struct reply *rep)
{
    size_t bytes = 0;
    int fd, r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    (void)q;
    if (r < 0)
        return r;
    fd = fcntl(sampler_ring_fd(s->sampling.sampler, &bytes), F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return error_errno(&rep->err, "cannot copy the ring's fd");
    rep->body.ring.bytes = bytes;
    return reply_fd(rep, fd);
}

/*
 * perf_rings. Safe: rings of samples, for flamed to map. Their own events count nothing, and flamed
 * cannot re-program them: ioctl is closed to it. By writing into a ring it only loses its own
 * samples.
 */
int request_perf_rings(struct server *s, const struct rings_fields *q, struct reply *rep)
{
    size_t bytes = 0;
    int fd, r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    for (size_t i = q->first; r == 0 && rep->fd_count < BROKER_CPUS_MAX; i++) {
        fd = sampler_perf_ring(s->sampling.sampler, i, &bytes);
        if (fd < 0)
            break;
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        r = fd < 0 ? error_errno(&rep->err, "cannot copy a ring's fd") : reply_fd(rep, fd);
    }
    if (r == 0 && !rep->fd_count)
        r = sampler_check_rings(s->sampling.sampler, &rep->err);
    rep->body.perf_rings.bytes = bytes;
    return r < 0 || bytes ? r : error_set(&rep->err, -ENOENT, "samples come by BPF programs");
}

/* Requests @program once the BPF programs are loaded, as server_sampler() does without waiting.
 * Returns -EINPROGRESS. */
static int request_program(struct server *s, enum event_program program, struct error *err)
{
    enum sampler_state *state = &s->sampling.program_states[program];
    struct error *problem = &s->sampling.program_errors[program];
    struct load_again *again = &s->sampling.program_again[program];
    struct sampler_shared shared;
    void *loaded = NULL;
    int r;

    if (sampler_has(s->sampling.sampler, program))
        return 0;
    r = sampler_check_program(s->sampling.sampler, program, err);
    if (r < 0)
        return r;
    *state = state_now(*state, again);
    if (*state == SAMPLER_UNASKED) {
        r = sampler_share(s->sampling.sampler, &shared);
        if (r < 0)
            return error_code(err, r, "cannot copy descriptors");
        shared.pins_fd = s->pins_fd;
        loader_ask_program(s->loader, program, &shared);
        *state = SAMPLER_LOADING;
    }
    if (*state == SAMPLER_LOADING) {
        r = loader_take_program(s->loader, program, &loaded, problem);
        if (r == LOADER_BUSY) {
            error_set(err, -EINPROGRESS,
                      "the kernel is still checking the BPF programs of this event");
            error_remedy(err, "ask again in a second");
            return -EINPROGRESS;
        }
        if (r == 0)
            sampler_take(s->sampling.sampler, program, loaded);
        else
            *state = SAMPLER_REFUSED;
        take_result(again, r, problem);
    }
    if (sampler_has(s->sampling.sampler, program))
        return 0;
    if (err)
        *err = *problem;
    return problem->code;
}

/* Resolves the event @q. */
static int describe(const struct event_fields *q, struct sampler_event *ret, struct error *err)
{
    int r = sampler_describe(q->kind, span_of(q->text),
                             /* devices_fd= */ -1, ret, err);

    if (r == 0 && q->yields)
        ret->program = PROGRAM_YIELDS;
    return r;
}

/*
 * sample_start. Safe: an event of a fixed table, a number for the processor's counters, or a
 * tracepoint. The number is raw, or found by names of a PMU, which are single path components below
 * one folder of sysfs. The tracepoint is found by two such names below one folder of tracefs. A
 * function's name is not used: request call has its place. offcpu and lock can be sampled at yields
 * of virtual threads instead. These events count and read nothing else; which processes are sampled
 * is as with all events. The period is in bounds, at most eight at a time. With BPF programs their
 * samples take at most a quarter of a processor (STACK_BUDGET_NS); without, there are at most
 * PERF_HOME_HZ_MAX a second. The kernel bounds the clock's by perf_event_max_sample_rate and
 * perf_cpu_time_max_percent.
 */
int request_sample_start(struct server *s, const struct sample_fields *q, struct reply *rep)
{
    struct sampler_event event;
    uint32_t set = 0;
    int r = server_sampler(s, /* wait_ns= */ 0, &rep->err) ?:
            describe(&q->event, &event, &rep->err) ?:
            request_program(s, event.program, &rep->err) ?:
            sampler_start_event(s->sampling.sampler, &event, q->period, &set, &rep->err);

    rep->body.sample_start.set = set;
    return r;
}

/* Checks that the machine has the event: opens it for a moment, disabled. */
static int check_event(struct server *s, uint32_t kind, struct span name, struct error *err)
{
    struct sampler_event event;
    int r = sampler_describe(kind, name, /* devices_fd= */ -1, &event, err) ?:
            sampler_check_home(s->sampling.sampler, &event, err) ?:
            sampler_check_program(s->sampling.sampler, event.program, err);

    return r < 0 || event.info->perf_type == EVENT_PERF_NONE ? r : sampler_check_event(&event, err);
}

/*
 * sample_check. Safe: opens such an event for a moment, disabled.
 */
int request_sample_check(struct server *s, const struct event_fields *q, struct reply *rep)
{
    return check_event(s, q->kind, span_of(q->text), &rep->err);
}

/* Appends a line: the event's name, and why the machine lacks it. */
static void add_check(struct server *s, uint32_t kind, const char *name, bool by_name,
                      struct buf *out)
{
    struct error why = ERROR_NULL;

    if (check_event(s, kind, by_name ? span_of(name) : SPAN_NULL, &why) == 0)
        why = ERROR_NULL;
    buf_printf(out, "%s\t%s%s%s\n", name, why.msg, why.remedy[0] ? "; " : "", why.remedy);
}

/*
 * sample_checks. Safe: as sample_check, for each event with a name of its own: rows of a fixed
 * table, and events of caches.
 */
int request_sample_checks(struct server *s, const struct no_fields *q, struct reply *rep)
{
    _cleanup_buf_ struct buf out = BUF_UPTO(CHECKS_MAX_BYTES);
    char name[EVENT_CACHE_NAME_BYTES];
    size_t count;
    const struct event_info *events = events_table(&count);
    int fd = -1, r;

    (void)q;
    for (size_t i = 0; i < count; i++)
        add_check(s, (uint32_t)i, events[i].name, /* by_name= */ false, &out);
    for (size_t i = 0; event_cache_name(i, name); i++)
        add_check(s, EVENT_CACHE, name, /* by_name= */ true, &out);
    r = out.error ? out.error : memfd_of("sample-checks", out.p, out.n, &fd, &rep->err);
    return r ? r : reply_fd(rep, fd);
}

/*
 * sample_flush. Safe: writes samples for a set that flamed began, of processes that it filters, in
 * one pass over all threads, bounded by their number.
 */
int request_sample_flush(struct server *s, const struct set_fields *q, struct reply *rep)
{
    uint64_t late = 0;
    uint32_t no = 0;
    struct sampler_off *off = sampler_loaded(s->sampling.sampler, PROGRAM_OFF);
    int r = off ? sampler_off_flush(off, q->set, &no, &late) : -ENOENT;

    if (r < 0)
        return error_code(&rep->err, r, "cannot read the waits that go on");
    rep->body.sample_flush = (struct flush_answer){ no, (uint32_t)MIN(late, (uint64_t)UINT32_MAX) };
    return 0;
}

/*
 * sample_lates. Safe: as sample_flush, for waits that are over.
 */
int request_sample_lates(struct server *s, const struct set_fields *q, struct reply *rep)
{
    struct sampler_off *off = sampler_loaded(s->sampling.sampler, PROGRAM_OFF);
    int r = off ? sampler_off_lates(off, q->set) : -ENOENT;

    return r < 0 ? error_code(&rep->err, r, "cannot read the waits that have ended") : 0;
}

/*
 * look. Safe: an iterator over threads. Its program writes how long threads of processes have run,
 * and for waiting threads the kernel's stack and the registers, as samples have them. Only a read
 * makes the pass, in the time of flamed's own thread. look_process selects the processes. Each open
 * iterator takes memory of the kernel, so their number is bounded (SAMPLER_LOOKS_MAX).
 */
int request_look(struct server *s, const struct look_fields *q, struct reply *rep)
{
    int fd = -1, r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    if (r == 0)
        r = request_program(s, PROGRAM_LOOKS, &rep->err)
                ?: sampler_looks_open(sampler_loaded(s->sampling.sampler, PROGRAM_LOOKS), &q->pass,
                                      &fd, &rep->err);
    return r < 0 ? r : reply_fd(rep, fd);
}

/*
 * look_process. Safe: a pid and a number go into a table of fixed size that the BPF program looks
 * pids up in; a pid of no process matches nothing.
 */
int request_look_process(struct server *s, const struct look_process_fields *q, struct reply *rep)
{
    struct sampler_looks *looks = sampler_loaded(s->sampling.sampler, PROGRAM_LOOKS);

    (void)rep;
    return looks ? sampler_looks_process(looks, q->host_pid, q->epoch) : -ENOENT;
}

/*
 * wait_peers. Safe: only for a JVM, as mem is, and its memory holds the same: the system calls of
 * waiting threads, with two arguments, and the peers of its sockets. Nothing is opened.
 */
int request_wait_peers(struct server *s, const struct peers_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    uint64_t stack_start = 0;
    int r = server_pin_jvm(s, &q->target, &t, &stack_start, &rep->err);

    if (r == 0)
        r = server_sampler(s, /* wait_ns= */ 0, &rep->err);
    if (r == 0)
        r = request_program(s, PROGRAM_PEERS, &rep->err);
    if (r)
        return r;
    r = sampler_peers_find(sampler_loaded(s->sampling.sampler, PROGRAM_PEERS), t.host_pid,
                           q->threads, q->count, PEERS_NS, rep->body.wait_peers.threads);
    if (r < 0)
        return error_code(&rep->err, r, "cannot read what threads wait for");
    return server_check_program(s, &t, stack_start, &rep->err);
}

/*
 * sample_begun. Safe: whether sample_start is done, and nothing else.
 */
int request_sample_begun(struct server *s, const struct set_fields *q, struct reply *rep)
{
    return s->sampling.sampler ? sampler_begun(s->sampling.sampler, q->set, &rep->err) : -ENOENT;
}

/*
 * sample_stop. Safe: ends what sample_start began.
 */
int request_sample_stop(struct server *s, const struct set_fields *q, struct reply *rep)
{
    if (!s->sampling.sampler)
        return error_set(&rep->err, -ENOENT, "no sampling is under way");
    return sampler_stop(s->sampling.sampler, q->set);
}

/*
 * filter_process. Safe: a pid and eight bits go into a table of fixed size that the BPF program
 * looks pids up in; a pid of no process matches nothing.
 */
int request_filter_process(struct server *s, const struct filter_fields *q, struct reply *rep)
{
    int r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    return r < 0 ? r : sampler_filter_process(s->sampling.sampler, q->host_pid, q->sets);
}

/*
 * filter_all. Safe: eight bits, one per set.
 */
int request_filter_all(struct server *s, const struct sets_fields *q, struct reply *rep)
{
    int r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    return r < 0 ? r : sampler_filter_all(s->sampling.sampler, q->sets);
}

/*
 * take_losses. Safe: numbers that the BPF programs counted, in a sealed memfd. They are removed
 * from the table.
 */
int request_take_losses(struct server *s, const struct no_fields *q, struct reply *rep)
{
    static struct loss losses[LOSSES_MAX];
    size_t count = 0;
    int fd = -1, r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    (void)q;
    if (r == 0)
        r = sampler_take_losses(s->sampling.sampler, losses, &count);
    if (r == 0)
        r = memfd_of("losses", losses, count * sizeof(losses[0]), &fd, &rep->err);
    return r < 0 ? r : reply_fd(rep, fd);
}

/*
 * sample_stats. Safe: seven counters.
 */
int request_sample_stats(struct server *s, const struct no_fields *q, struct reply *rep)
{
    int r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    (void)q;
    if (r < 0)
        return r;
    sampler_stats(s->sampling.sampler, &rep->body.sample_stats);
    return 0;
}
