/* SPDX-License-Identifier: Apache-2.0 */
#include "push/push.h"

#include "base/cleanup.h"
#include "base/lock.h"
#include "base/log.h"
#include "push/push_impl.h"

#include <poll.h>
#include <sys/eventfd.h>

#define WAIT_MAX_MS 1000

/* ---- status ---- */

static void publish(struct push *p)
{
    LOCK_SCOPE(&p->lock);

    for (size_t i = 0; i < p->o.config->count; i++) {
        spool_stats(p->states[i].spool, &p->states[i].status.spool);
        p->published[i] = p->states[i].status;
    }
}

size_t push_statuses(struct push *p, struct push_status *ret, size_t max)
{
    size_t n = MIN(p->o.config->count, max);
    LOCK_SCOPE(&p->lock);

    memcpy(ret, p->published, n * sizeof(*ret));
    return p->o.config->count;
}

/* Reports the first target that has failed for PUSH_FAILING_NS. */
static void look_for_problems(struct push *p, uint64_t now_ns)
{
    char text[sizeof(p->problem)] = "";

    for (size_t i = 0; i < p->o.config->count && !text[0]; i++) {
        const struct push_status *s = &p->states[i].status;

        if (s->failing_since_ns && now_ns > s->failing_since_ns &&
            now_ns - s->failing_since_ns > PUSH_FAILING_NS)
            snprintf(text, sizeof(text),
                     "push: '%s' has accepted nothing for over 10 minutes: %s; GET /api/v1/push "
                     "shows its queue and losses",
                     s->target->name, s->error);
    }
    if (strcmp(text, p->problem) == 0)
        return;
    if (text[0])
        log_warn("push: %s", text);
    memcpy(p->problem, text, sizeof(text));
    p->o.problem(p->o.cookie, text);
}

/* ---- the thread ---- */

/* Ends a failure if no body waits, and if no request has failed for a while. */
static void forget_failure(const struct push *p, struct push_state *s, uint64_t now_ns)
{
    if (p->ready && !s->under_way && spool_is_empty(s->spool) &&
        retry_is_over(s->status.error_ns, s->target->every_ns, now_ns))
        s->status.failing_since_ns = 0;
}

/* Serves each target once. Returns the milliseconds until the next action is due. */
static int go_round(struct push *p, bool *ret_room)
{
    uint64_t now_ns = clock_realtime_ns(), next_ns = now_ns + WAIT_MAX_MS * NSEC_PER_MSEC;

    *ret_room = false;
    push_take_events(p);
    for (size_t i = 0; i < p->o.config->count; i++) {
        next_ns = MIN(next_ns, push_take_minutes(p, &p->states[i], now_ns));
        *ret_room |= push_send(p, &p->states[i], clock_monotonic_ns());
        forget_failure(p, &p->states[i], now_ns);
    }
    look_for_problems(p, now_ns);
    publish(p);
    return next_ns > now_ns ? (int)((next_ns - now_ns) / NSEC_PER_MSEC) + 1 : 1;
}

static void *push_main(void *arg)
{
    struct push *p = arg;
    bool room;

    pthread_setname_np(pthread_self(), "push");
    for (;;) {
        int wait_ms = go_round(p, &room);
        struct pollfd fds[] = { { .fd = p->stop_fd, .events = POLLIN },
                                { .fd = p->o.pusher_fd,
                                  .events = (short)(POLLIN | (room ? POLLOUT : 0)) } };

        if (poll(fds, ARRAY_SIZE(fds), wait_ms) < 0 && errno != EINTR)
            break;
        if (fds[0].revents)
            break;
        if (p->o.pusher_fd >= 0 && fds[1].revents && !push_receive(p)) {
            log_err("flamed-push ended: nothing is sent until flamed is started again");
            p->o.pusher_fd = close_fd(p->o.pusher_fd);
            p->ready = false;
            for (size_t i = 0; i < p->o.config->count; i++)
                push_fail(&p->states[i], "flamed-push has ended");
        }
    }
    return NULL;
}

static int open_state(struct push *p, size_t i)
{
    struct push_state *s = &p->states[i];
    const struct push_target *t = &p->o.config->targets[i];
    const struct spool_opts o = { .store_fd = p->o.store_fd,
                                  .name = t->name,
                                  .kind = push_protocol_name(t->protocol),
                                  .max_bytes = t->spool_bytes,
                                  .max_age_ns = t->spool_age_ns };
    int r;

    s->target = s->status.target = t;
    s->phase_ns = p->spread % t->every_ns;
    buf_init(&s->body, SPOOL_BODY_MAX);
    series_init(&s->series);
    r = spool_open(&o, &s->spool);
    if (r == 0)
        s->begin_ns = push_first_minute(s, clock_realtime_ns());
    return r;
}

void push_end(struct push *p)
{
    if (!p || !p->started)
        return;
    eventfd_write(p->stop_fd, 1);
    pthread_join(p->thread, NULL);
    push_take_events(p);
    p->started = false;
}

void push_free(struct push *p)
{
    if (!p)
        return;
    push_take_events(p); /* api/ may have queued messages of triggers until here */
    for (size_t i = 0; i < PUSH_TARGETS_MAX; i++) {
        spool_close(p->states[i].spool);
        buf_deinit(&p->states[i].words);
        buf_deinit(&p->states[i].body);
    }
    close_fd(p->stop_fd);
    close_fd(p->o.pusher_fd);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

int push_start(const struct push_opts *o, struct push **ret, struct error *err)
{
    struct push *p = calloc(1, sizeof(*p));
    int r = 0;

    if (!p) {
        close_fd(o->pusher_fd);
        return error_set(err, -ENOMEM, "out of memory");
    }
    p->o = *o;
    p->next_id = 1;
    p->spread = push_spread(o->node);
    pthread_mutex_init(&p->lock, NULL);
    p->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (p->stop_fd < 0)
        r = -errno;
    for (size_t i = 0; r == 0 && i < o->config->count; i++)
        r = open_state(p, i);
    if (r == 0)
        publish(p);
    if (r == 0)
        r = -pthread_create(&p->thread, NULL, push_main, p);
    if (r < 0) {
        push_free(p);
        return error_code(err, r, "cannot start to push");
    }
    p->started = true;
    *ret = p;
    return 0;
}
