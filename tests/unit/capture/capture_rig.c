/* SPDX-License-Identifier: Apache-2.0 */
#include "capture_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FINISH_NS (10 * NSEC_PER_SEC)

int rig_missing(void)
{
    if (geteuid() == 0)
        return 0;
    fprintf(stderr, "skipped: needs root\n");
    return 77;
}

static pid_t start_sleep(int proc_fd)
{
    struct proc_stat stat = { 0 };
    struct proc_status status = { 0 };
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(127);
    }
    while (strcmp(stat.comm, "sleep") != 0 || status.state != 'S') { /* it is mapped now */
        usleep(1000);
        ck_assert_int_eq(proc_read_stat(proc_fd, pid, &stat), 0);
        ck_assert_int_eq(proc_read_status(proc_fd, pid, &status), 0);
    }
    return pid;
}

static void release(void *cookie, uint64_t all_until_ns)
{
    dispatch_release(cookie, all_until_ns);
}

static void join(struct rig *rig)
{
    struct captures *c = &rig->captures;
    struct dispatch *d = &rig->dispatch;

    c->sampling = &rig->sampling;
    c->attaching = &rig->attaching;
    c->pending = &d->pending;
    c->hooks.release = release;
    c->hooks.release_cookie = d;
    rig->attaching.broker = c->broker;
    rig->attaching.discover = c->discover;
    rig->attaching.proc_fd = c->opts.proc_fd;
    *d = (struct dispatch){ .discover = c->discover,
                            .unwinding = c->unwinding,
                            .anchors = c->anchors,
                            .broker = c->broker,
                            .proc_fd = c->opts.proc_fd,
                            .max_words = SAMPLE_USER_MAX,
                            .captures = c,
                            .recorder = &rig->recorder,
                            .naming = { .symbolizer = c->symbolizer,
                                        .frames = c->frames,
                                        .stack = malloc(sizeof(*d->naming.stack)) } };
    ck_assert_ptr_nonnull(d->naming.stack);
    pending_init(&d->pending, /* kept= */ NULL);
    pending_init(&d->waiting, /* kept= */ NULL);
}

/* Returns the process after a sample of it made it known. */
struct process *rig_process(struct rig *rig)
{
    struct sample_record rec = rig_sample_of(rig, 0);
    struct process *p = discover_get(rig->captures.discover, rig->pid, rec.start_boottime_ns,
                                     rec.exec_id, rec.time_ns, rec.comm);

    ck_assert_ptr_nonnull(p);
    return p;
}

void rig_open(struct rig *rig)
{
    struct captures *c = &rig->captures;
    uint64_t until_ns = clock_monotonic_ns() + FINISH_NS;

    rig_open_unread(rig);
    while (unwinding_begin(c->unwinding, rig_process(rig), clock_monotonic_ns()) &&
           clock_monotonic_ns() < until_ns) {
        usleep(1000);
        unwinding_poll(c->unwinding, c->discover, clock_monotonic_ns());
    }
    fake_broker_forget(rig->fake);
}

void rig_open_unread(struct rig *rig)
{
    struct captures *c = &rig->captures;
    int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

    memset(rig, 0, sizeof(*rig));
    rig->pid = start_sleep(proc_fd);
    rig->fake = fake_broker_start(&fd);
    captures_init(c, &(struct captures_opts){ .proc_fd = proc_fd,
                                              .captures_max = 16,
                                              .samples_max = 100000,
                                              .captures_max_bytes = (size_t)64 << 20 });
    memory_budget_init(&rig->memory);
    ck_assert_int_eq(broker_new(fd, &c->broker), 0);
    ck_assert_int_eq(frame_table_new(100000, (size_t)16 << 20, &c->frames), 0);
    ck_assert_int_eq(
        discover_new(c->broker, &(struct discover_opts){ .proc_fd = proc_fd }, &c->discover, NULL),
        0);
    ck_assert_int_eq(unwinding_new(c->broker, /* wake_fd= */ -1, &rig->memory, &c->unwinding), 0);
    ck_assert_int_eq(anchors_new(c->broker, proc_fd, &c->anchors), 0);
    ck_assert_int_eq(symbolizer_new(c->broker, c->frames,
                                    &(struct symbolizer_opts){ .proc_fd = proc_fd,
                                                               .elf_files_max = 16,
                                                               .memory = &rig->memory,
                                                               .perf_map_max_bytes = 4096,
                                                               .background = true },
                                    &c->symbolizer, NULL),
                     0);
    ck_assert_int_eq(store_writer_start(/* store= */ NULL, &c->store_writer), 0);
    rig->sampling.ring = (struct ring *)rig; /* the pointer is only compared with NULL */
    join(rig);
    fake_broker_forget(rig->fake);
}

void rig_close(struct rig *rig)
{
    struct captures *c = &rig->captures;
    struct error err = ERROR_NULL;

    captures_fail_all(c, -ECANCELED, &err);
    rig_forget_end(rig);
    store_writer_stop(c->store_writer);
    pending_deinit(&rig->dispatch.pending);
    dispatch_waiting_deinit(&rig->dispatch);
    symbolizer_free(c->symbolizer);
    unwinding_free(c->unwinding);
    anchors_free(c->anchors);
    discover_free(c->discover);
    frame_table_free(c->frames);
    free(rig->dispatch.naming.stack);
    broker_free(c->broker);
    ck_assert_uint_eq(c->budget.used_bytes, 0);
    captures_deinit(c);
    close(c->opts.proc_fd);
    fake_broker_stop(rig->fake);
    kill(rig->pid, SIGKILL);
    waitpid(rig->pid, NULL, 0);
}

struct capture_request rig_request(const struct rig *rig, const char *event, uint64_t period)
{
    struct capture_request req = {
        .target = { .viewer = &VIEWER_WHOLE, .pids = { rig->pid }, .pid_count = 1 },
        .events[0].period = period,
        .event_count = 1,
    };

    wanted_event_set(&req.events[0], span_of(event));
    return req;
}

static void done(void *cookie, int outcome, struct profile *p, const struct error *err)
{
    struct rig *rig = cookie;

    if (rig->end.done) {
        profile_unref(p);
        return;
    }
    rig->end = (struct rig_end){ .done = true, .outcome = outcome, .profile = p };
    if (err)
        rig->end.err = *err;
}

static void begun(void *cookie)
{
    struct rig *rig = cookie;

    rig->begun++;
}

int rig_start(struct rig *rig, const struct capture_request *req, struct error *err)
{
    return captures_start(&rig->captures, req, &(struct capture_waiter){ begun, done, rig },
                          &rig->handle, err);
}

void rig_begin(struct rig *rig, const char *event, uint64_t period)
{
    struct capture_request req = rig_request(rig, event, period);
    struct error err = ERROR_NULL;
    int r = rig_start(rig, &req, &err);

    ck_assert_msg(r == 0, "%d: %s", r, err.msg);
}

void rig_read_symbols(struct rig *rig)
{
    symbolizer_prepare(rig->captures.symbolizer, rig_process(rig),
                       clock_monotonic_ns() + FINISH_NS);
}

void rig_tick(struct rig *rig)
{
    struct captures *c = &rig->captures;
    uint64_t now_ns = clock_monotonic_ns();

    discover_poll(c->discover, now_ns);
    unwinding_poll(c->unwinding, c->discover, now_ns);
    if (symbolizer_poll(c->symbolizer))
        dispatch_release(&rig->dispatch, /* all_until_ns= */ 0);
    event_sources_drain(c);
    captures_look(c, now_ns);
    captures_poll(c, now_ns);
    captures_finish_due(c, now_ns);
}

void rig_finish(struct rig *rig)
{
    uint64_t until_ns = clock_monotonic_ns() + FINISH_NS;

    while (!rig->end.done && clock_monotonic_ns() < until_ns) {
        rig_tick(rig);
        usleep(1000);
    }
    ck_assert(rig->end.done);
}

void rig_run(struct rig *rig)
{
    uint64_t until_ns = clock_monotonic_ns() + FINISH_NS;

    while (rig->captures.running && rig->captures.running->state == CAPTURE_PREPARING &&
           clock_monotonic_ns() < until_ns) {
        rig_tick(rig);
        usleep(1000);
    }
}

struct sample_record rig_sample_of(const struct rig *rig, uint32_t set)
{
    struct sample_record rec = { .time_ns = clock_monotonic_ns(),
                                 .host_pid = (uint32_t)rig->pid,
                                 .host_tid = (uint32_t)rig->pid,
                                 .weight = 1,
                                 .set = (uint8_t)set,
                                 .comm = "sleep" };
    struct proc_stat st;

    ck_assert_int_eq(proc_read_stat(rig->captures.opts.proc_fd, rig->pid, &st), 0);
    rec.start_boottime_ns = st.start_ticks * (NSEC_PER_SEC / 100);
    return rec;
}

void rig_take(struct rig *rig, const struct sample_record *rec)
{
    dispatch_sample(&rig->dispatch, rec, (const uint64_t[]){ 0 });
}

void rig_sample(struct rig *rig, uint32_t set, uint64_t wait_ns)
{
    struct sample_record rec = rig_sample_of(rig, set);

    rec.wait_ns = rec.value = wait_ns;
    rig_take(rig, &rec);
}

void rig_forget_end(struct rig *rig)
{
    profile_unref(rig->end.profile);
    rig->end = (struct rig_end){ 0 };
}

bool rig_warned(const struct rig *rig, const char *text)
{
    const struct profile *p = rig->end.profile;

    for (size_t i = 0; p && i < p->warning_count; i++) {
        if (strstr(p->warnings[i], text))
            return true;
    }
    return false;
}
