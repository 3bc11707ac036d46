/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of all captures: samples and stacks of those that run, and finished profiles that are
 * being answered or stored. If the memory is full, the caller that holds the most must give room:
 * its capture with the most samples is thinned, so that small and young captures stay whole. If
 * samples do not take the room, its largest capture ends early. Thread: the engine's.
 */
#include "capture/capture_impl.h"

#define CUT_SHORT_NS NSEC_PER_SEC /* time between two early ends, until memory is free */

size_t capture_memory_of(const struct captures *captures, const struct caller *caller)
{
    size_t bytes = 0;

    for (const struct capture *c = captures->running; c; c = c->next) {
        if (caller_equal(&c->caller, caller))
            bytes += record_bytes(c->record);
    }
    return bytes;
}

/* The order in which captures are thinned or ended. */
struct weight {
    size_t callers, own; /* bytes of all captures of its caller; bytes of itself */
};

static bool is_heavier(const struct weight *a, const struct weight *b)
{
    return a->callers > b->callers || (a->callers == b->callers && a->own > b->own);
}

/* Returns the capture to thin when @r needs room: of the caller that holds the most, the capture
 * with the most samples. NULL: that is @r itself, or there is none. */
static struct capture *to_thin(const struct captures *captures, const struct record *r)
{
    struct weight most = { 0 }, w;
    struct capture *found = NULL;

    for (struct capture *c = captures->running; c; c = c->next) {
        w.own = record_sample_bytes(c->record);
        if (w.own < RECORD_SHRINK_MIN_BYTES)
            continue;
        w.callers = capture_memory_of(captures, &c->caller);
        if (!found || is_heavier(&w, &most)) {
            found = c;
            most = w;
        }
    }
    return found && found->record != r ? found : NULL;
}

static void make_room(void *cookie, const struct record *r, size_t bytes)
{
    struct captures *captures = cookie;
    struct capture *c;

    while (!record_budget_has(&captures->budget, bytes) && (c = to_thin(captures, r))) {
        captures->counts.thinned++;
        record_shrink(c->record);
    }
}

const char *capture_memory_text(const struct captures *captures, char buf[CAPTURE_MEMORY_BYTES])
{
    char taken[RECORD_TAKEN_BYTES];

    snprintf(buf, CAPTURE_MEMORY_BYTES, "the memory for captures (captures_max_bytes, %zu MiB%s)",
             captures->opts.captures_max_bytes >> 20,
             record_taken_text(captures->budget.taken_bytes, taken));
    return buf;
}

/* Ends the largest capture of the caller that holds the most, at the next tick. */
static void exhausted(void *cookie)
{
    uint64_t now = clock_monotonic_ns();
    struct weight heaviest = { 0 }, w;
    struct captures *captures = cookie;
    struct capture *most = NULL;
    char memory[CAPTURE_MEMORY_BYTES];

    if (captures->counts.cut_short_ns && now - captures->counts.cut_short_ns < CUT_SHORT_NS)
        return;
    for (struct capture *c = captures->running; c; c = c->next) {
        w = (struct weight){ capture_memory_of(captures, &c->caller), record_bytes(c->record) };
        if (c->state == CAPTURE_RUNNING && c->end_ns > now &&
            (!most || is_heavier(&w, &heaviest))) {
            most = c;
            heaviest = w;
        }
    }
    if (!most)
        return;
    captures->counts.cut_short++;
    captures->counts.cut_short_ns = now;
    most->end_ns = now;
    record_warn(most->record,
                "the capture ended after %.0f s: %s was used up; choose fewer "
                "processes, or take fewer captures at once",
                (double)(now - most->start_ns) / 1e9, capture_memory_text(captures, memory));
}

void captures_init(struct captures *captures, const struct captures_opts *opts)
{
    captures->opts = *opts;
    captures->taken_ns = UINT64_MAX;
    captures->probes.kind = &PROBES_LIBJVM;
    captures->agents.kind = &PROBES_AGENT;
    captures->calls.kind = &CALLS;
    captures->contexts.kind = &CONTEXTS;
    captures->virtual_threads.yields.kind = &YIELDS;
    moments_init(&captures->moments);
    id_table_init(&captures->filter.processes, sizeof(uint64_t), DISCOVER_PROCESSES_MAX);
    captures->budget = (struct record_budget){ .max_bytes = captures->opts.captures_max_bytes,
                                               .make_room = make_room,
                                               .exhausted = exhausted,
                                               .cookie = captures };
}

void captures_deinit(struct captures *captures)
{
    id_table_deinit(&captures->filter.processes);
    probe_table_deinit(&captures->probes);
    probe_table_deinit(&captures->agents);
    probe_table_deinit(&captures->calls);
    probe_table_deinit(&captures->contexts);
    probe_table_deinit(&captures->virtual_threads.yields);
    moments_deinit(&captures->moments);
    counted_deinit(&captures->counted);
}

void capture_memory_tick(struct captures *captures, uint64_t beside_bytes)
{
    size_t max = captures->opts.captures_max_bytes;
    uint64_t over = beside_bytes > CAPTURES_BESIDE_BYTES ? beside_bytes - CAPTURES_BESIDE_BYTES : 0;

    captures->budget.max_bytes = MAX(max / CAPTURES_LEAST_PART, max - MIN(over, max));
    captures->budget.taken_bytes = max - captures->budget.max_bytes;
    captures->budget.other_bytes = profile_counted_bytes();
}
