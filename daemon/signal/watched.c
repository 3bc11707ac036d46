/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/watched.h"

#include "base/cleanup.h"
#include "discover/age.h"
#include "proc/stall_readers.h"

#include <sys/pidfd.h>

#define NS_PER_S 1e9

/* Returns a pidfd of process @id; -1: it has ended, or its start time cannot be read now. */
static int open_process(int proc_fd, const struct proc_id *id)
{
    _cleanup_close_ int fd = pidfd_open(id->host_pid, 0);
    struct proc_stat stat;

    if (fd < 0 || readers_stat(proc_fd, id, &stat) != 0 || stat.start_ticks != id->start_ticks)
        return -1;
    return take_fd(&fd);
}

struct watched *watched_new(struct process *p, int proc_fd)
{
    struct watched *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->p = p;
    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++)
        w->files.fds[i] = -1;
    reading_clear(&w->fixed);
    reading_clear(&w->taken);
    process_pin(p);
    w->pidfd = open_process(proc_fd, &p->id);
    return w;
}

struct watched *watched_free(struct watched *w)
{
    if (!w)
        return NULL;
    cgroup_files_close(&w->files);
    close_fd(w->pidfd);
    numbers_deinit(&w->numbers);
    for (size_t i = 0; i < RULES; i++)
        free(w->past[i]);
    process_unpin(w->p);
    free(w);
    return NULL;
}

uint64_t watched_take_rise(struct watched *w, enum number which)
{
    double now = w->numbers.last.v[which], before = w->taken.v[which];

    if (!w->numbers.last_ns || isnan(now))
        return 0;
    w->taken.v[which] = now;
    return now > before ? (uint64_t)fmin(now - before, WATCHED_RISE_MOST) : 0;
}

uint64_t watched_throttled(const struct watched *w, uint64_t since_ns, uint64_t *ret_from_ns,
                           uint64_t *ret_to_ns)
{
    const struct numbers *n = &w->numbers;
    double sum = 0;

    *ret_from_ns = *ret_to_ns = n->last_ns;
    for (size_t k = n->count; k > 0 && numbers_at(n, k - 1)->at_ns > since_ns; k--) {
        const struct number_point *p = numbers_at(n, k - 1);
        uint64_t ns = (uint64_t)((double)p->seconds * NS_PER_S), known_ns;

        if (!(p->v[NUMBER_THROTTLED_NS] > 0))
            continue;
        *ret_from_ns = MAX(p->at_ns - MIN(ns, p->at_ns), since_ns);
        known_ns = p->at_ns - *ret_from_ns;
        sum += (double)p->v[NUMBER_THROTTLED_NS] * (double)known_ns / (double)MAX(ns, 1u);
    }
    return (uint64_t)fmin(sum, WATCHED_RISE_MOST);
}

/* Returns whether to turn the signal off, as it was too weak for RULE_RELEASE_S. */
static bool has_gone(struct signal_state *state, const struct rule_finding *found, uint64_t now_ns)
{
    if (found->strength >= RULE_RELEASE) {
        state->weak_ns = 0;
        return false;
    }
    if (!state->weak_ns)
        state->weak_ns = now_ns;
    return (double)(now_ns - state->weak_ns) / NS_PER_S >= RULE_RELEASE_S;
}

void signal_state_note(struct signal_state *state, const struct signal_rule *rule,
                       const struct rule_finding *found, uint64_t now_ns)
{
    if (found->strength >= 1) {
        if (!state->strong_ns)
            state->strong_ns = now_ns;
        state->on |= (double)(now_ns - state->strong_ns) / NS_PER_S >= rule->hold_s;
    } else if (!state->on) {
        state->strong_ns = 0;
    }
    if (!state->on)
        return;
    if (has_gone(state, found, now_ns)) {
        *state = (struct signal_state){ .on = false };
        return;
    }
    if (found->strength >= RULE_RELEASE)
        state->finding = *found;
}

void watched_judge(struct watched *w, uint64_t now_ns)
{
    struct rule_view v = { .numbers = &w->numbers,
                           .lock = &w->lock,
                           .pool = &w->pool,
                           .peer = &w->peer,
                           .carriers = &w->carriers,
                           .virtual = &w->virtual,
                           .release = &w->release,
                           .heap = w->heap.text,
                           .heap_was_full = w->heap.was_full,
                           .age_s = (double)process_age_ns(w->p) / NS_PER_S };

    for (size_t i = 0; i < RULES; i++) {
        const struct signal_rule *rule = rule_of((enum rule_id)i);
        struct rule_finding found = { .severity = 1 };

        if (!rule->look)
            continue;
        rule->look(&v, &found);
        signal_state_note(&w->states[i], rule, &found, now_ns);
        signal_past_note(&w->past[i], &w->states[i], now_ns);
    }
}
