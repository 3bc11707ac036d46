/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/losses.h"

#include "capture/capture_impl.h"

#include <unistd.h>

#define LOSSES_EVERY_NS NSEC_PER_SEC

uint64_t lost_samples(const struct lost *l)
{
    return (uint64_t)(l->unread + 0.5) + (uint64_t)(l->costly + 0.5) + l->unplaced;
}

/* Returns whether losses that happen now count for @c. */
static bool counts_losses(const struct capture *c)
{
    return c->state >= CAPTURE_RUNNING && c->state < CAPTURE_NAMING;
}

/* Returns whether @c samples @p (NULL: an unknown process). */
static bool has_process(const struct capture *c, const struct process *p)
{
    return p ? target_matches(c->target, p) : target_is_node(c->target);
}

static void add_loss(struct capture *c, const struct loss *l)
{
    for (size_t i = 0; i < c->event_count; i++) {
        const struct capture_event *event = &c->events[i];
        double share = source_set_share(event, l->of.set);

        if (!(capture_event_sets(event) & 1u << l->of.set))
            continue;
        c->lost.unread += (double)l->count.unread * share;
        c->lost.costly += (double)l->count.costly * share;
    }
}

void captures_add_losses(struct captures *captures, const struct loss *losses, size_t count,
                         uint64_t now_ns)
{
    for (size_t i = 0; i < count; i++) {
        const struct loss *l = &losses[i];
        const struct process *p = NULL;

        if (l->of.set >= BROKER_SETS_MAX || !captures_want(captures, l->of.set))
            continue;
        p = discover_get(captures->discover, (int32_t)l->of.host_pid, l->of.start_boottime_ns,
                         /* exec_id= */ 0, now_ns, "");
        for (struct capture *c = captures->running; c; c = c->next) {
            if (counts_losses(c) && has_process(c, p))
                add_loss(c, l);
        }
    }
}

/* Adds the copied stacks that the kernel lost. It does not report their process, so every capture
 * may have lost them. */
static void add_unplaced_losses(struct captures *captures)
{
    uint64_t lost = captures->sampling->perf ? perf_rings_lost(captures->sampling->perf) : 0;

    for (struct capture *c = captures->running; c; c = c->next) {
        if (counts_losses(c))
            c->lost.unplaced += lost - captures->counts.unplaced_lost;
    }
    captures->counts.unplaced_lost = lost;
}

void captures_take_losses(struct captures *captures)
{
    static struct loss losses[LOSSES_MAX];
    _cleanup_close_ int fd = -1;
    ssize_t n;

    captures->counts.losses_ns = clock_monotonic_ns();
    add_unplaced_losses(captures);
    if (broker_take_losses(captures->broker, &fd, NULL) != 0)
        return;
    n = pread(fd, losses, sizeof(losses), 0);
    if (n > 0)
        captures_add_losses(captures, losses, (size_t)n / sizeof(losses[0]),
                            captures->counts.losses_ns);
}

void captures_losses_tick(struct captures *captures, uint64_t now_ns)
{
    if (captures->running && now_ns - captures->counts.losses_ns >= LOSSES_EVERY_NS)
        captures_take_losses(captures);
}
