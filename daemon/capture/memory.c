/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What captures hold of memory together: the samples and stacks of those that run, and the finished
 * profiles that are being answered or stored. Where there is no room, the captures with the most
 * samples are thinned, so that one that is small and young is left whole; where samples are not
 * what takes the room, the capture that has the most ends early. Thread: the engine's.
 */
#include "capture/capture_impl.h"

#define CUT_SHORT_NS NSEC_PER_SEC /* between two that end early: until its memory is back */

/* The capture with the most samples, at least @min_bytes of them, but for that of @but. */
static struct capture *most_samples(const struct engine *e, const struct record *but,
                                    size_t min_bytes)
{
    struct capture *most = NULL;

    for (struct capture *c = e->captures; c; c = c->next) {
        size_t bytes = record_sample_bytes(c->record);

        if (c->record == but || bytes < min_bytes)
            continue;
        most = c;
        min_bytes = bytes;
    }
    return most;
}

static void make_room(void *cookie, const struct record *r, size_t bytes)
{
    size_t min_bytes = MAX(record_sample_bytes(r), RECORD_SHRINK_MIN_BYTES);
    struct engine *e = cookie;
    struct capture *c;

    while (!record_budget_has(&e->budget, bytes) && (c = most_samples(e, r, min_bytes))) {
        e->captures_thinned++;
        record_shrink(c->record);
    }
}

/* Ends the capture that holds the most, at the next tick. */
static void exhausted(void *cookie)
{
    uint64_t now = clock_monotonic_ns();
    struct engine *e = cookie;
    struct capture *most = NULL;

    if (e->cut_short_ns && now - e->cut_short_ns < CUT_SHORT_NS)
        return;
    for (struct capture *c = e->captures; c; c = c->next) {
        if (c->end_ns > now && (!most || record_bytes(c->record) > record_bytes(most->record)))
            most = c;
    }
    if (!most)
        return;
    e->captures_cut_short++;
    e->cut_short_ns = now;
    most->end_ns = now;
    record_warn(most->record,
                "the capture ended after %.0f s, because the memory for captures "
                "(captures_max_bytes, %zu MiB) was used up; choose fewer processes, or take fewer "
                "captures at once",
                (double)(now - most->start_ns) / 1e9, e->budget.max_bytes >> 20);
}

void capture_memory_init(struct engine *e)
{
    e->budget = (struct record_budget){ .max_bytes = e->opts.captures_max_bytes,
                                        .make_room = make_room,
                                        .exhausted = exhausted,
                                        .cookie = e };
}

void capture_memory_tick(struct engine *e)
{
    e->budget.other_bytes = profile_counted_bytes();
}
