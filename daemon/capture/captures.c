/* SPDX-License-Identifier: Apache-2.0 */
/* The list of captures under way: their memory, and the profiles made of them. */
#include "capture/capture_impl.h"

struct capture *capture_free(struct capture *c)
{
    if (!c)
        return NULL;
    target_free(c->target);
    record_free(c->record);
    deferred_free(c->names.later);
    inlined_free(c->names.inlined);
    for (size_t i = 0; i < c->event_count; i++)
        free(c->events[i].state);
    id_table_deinit(&c->members.processes);
    id_table_deinit(&c->members.threads);
    free(c->members.verdicts);
    free(c->members.thread_ids);
    free(c->members.runs);
    free(c);
    return NULL;
}

int captures_rebase_add(const struct captures *captures, struct rebase *b)
{
    int r = 0;

    for (const struct capture *c = captures->running; c && r == 0; c = c->next) {
        r = rebase_add_record(b, c->record);
        if (r == 0 && c->names.later)
            r = deferred_rebase_add(c->names.later, b);
        if (r == 0 && c->names.inlined)
            r = inlined_rebase_add(c->names.inlined, b);
    }
    return r;
}

void captures_rebase(struct captures *captures, const struct rebase *b, struct frame_table *frames)
{
    captures->frames = frames;
    for (struct capture *c = captures->running; c; c = c->next) {
        record_rebase(c->record, b);
        if (c->names.later)
            deferred_rebase(c->names.later, b, frames);
        if (c->names.inlined)
            inlined_rebase(c->names.inlined, b, frames);
    }
}

int capture_make_profile(struct capture *c, const struct profile *meta, struct profile **ret)
{
    char selector[TARGET_MAIN_BYTES];
    int r;

    capture_decide_names(c);
    r = record_finish(c->record, meta, ret);
    if (r < 0)
        return r;
    target_main_selector(c->target, selector);
    if (selector[0])
        profile_warn_several(*ret, selector);
    capture_add_names(c, *ret);
    for (uint32_t i = 0; i < c->event_count && r == 0; i++) {
        if (c->events[i].source->weigh_profile)
            r = c->events[i].source->weigh_profile(*ret, i);
    }
    if (r < 0) {
        *ret = profile_unref(*ret);
        return r;
    }
    profile_count(*ret);
    return 0;
}

size_t capture_sample_count(const struct capture *c)
{
    size_t count = record_samples(c->record);

    for (size_t i = 0; i < c->event_count; i++)
        count += c->events[i].source->kept ? c->events[i].source->kept(&c->events[i]) : 0;
    return count;
}

int capture_new_record(struct captures *captures, struct record **ret)
{
    int r = record_new(captures->frames, captures->opts.samples_max, ret);

    if (r == 0)
        record_set_budget(*ret, &captures->budget);
    return r;
}

/* Returns whether there is memory for a copy of @c. Copies may use half of the budget of captures,
 * in addition to it, and never displace captures. */
static bool snapshot_has_room(const struct captures *captures, const struct capture *c)
{
    return captures->budget.used_bytes + profile_counted_bytes() + record_bytes(c->record) <=
           captures->budget.max_bytes + captures->budget.max_bytes / 2;
}

int captures_snapshot(struct captures *captures, struct capture *c, bool reset,
                      struct profile **ret, struct error *err)
{
    uint64_t now = clock_monotonic_ns();
    struct profile meta = c->meta;
    char memory[CAPTURE_MEMORY_BYTES];
    struct record *fresh = NULL;
    int r;

    for (size_t i = 0; reset && i < c->event_count; i++) {
        if (c->events[i].source->at_end)
            return error_set(err, -EINVAL,
                             "which objects are alive is known only when the capture ends");
    }
    if (!snapshot_has_room(captures, c)) {
        error_set(err, -EBUSY, "%s is used up", capture_memory_text(captures, memory));
        error_remedy(err, "ask again when captures have ended, or raise captures_max_bytes");
        return -EBUSY;
    }
    meta.end_ns = MIN(now, c->end_ns);
    meta.lost = lost_samples(&c->lost);
    meta.by_process = meta.by_process || capture_has_several_processes(c);
    r = capture_make_profile(c, &meta, ret);
    if (r < 0 || !reset)
        return r;
    r = capture_new_record(captures, &fresh);
    if (r < 0)
        return r;
    record_free(c->record);
    c->record = fresh;
    capture_defer_names(c);
    c->lost = (struct lost){ .hidden_before = captures_hidden(captures) };
    c->meta.start_ns = now;
    c->meta.start_realtime_ns = clock_realtime_ns();
    capture_forget_members(c);
    return 0;
}
