/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the table of names when it is large: it only grows, as classes come and go for weeks.
 * Running captures move their names to the new table. So the table can be renewed while captures
 * run; with scrapers, some always run.
 */
#include "base/clock.h"
#include "engine/engine_impl.h"

#define NAMES_FRAMES_MAX ((size_t)4 << 20)
#define NAMES_STRING_BYTES_MAX ((size_t)MEMORY_LASTING_BYTES)
#define NAMES_BYTES ((size_t)64 << 20)
/* Interval of renewals while an owner's share of the table is used up. */
#define NAMES_REFUSED_NS (30 * NSEC_PER_SEC)

int names_new(struct engine *e, struct frame_table **ret)
{
    int r = frame_table_new(NAMES_FRAMES_MAX, NAMES_STRING_BYTES_MAX, ret);

    if (r == 0)
        frame_table_join(*ret, &e->memory.lasting);
    return r;
}

/* Does both steps of a rebase. Return: 0, or -errno: then nothing has changed. */
static int move_captures(struct engine *e, struct frame_table *fresh)
{
    _cleanup_(rebase_freep) struct rebase *b = NULL;
    int r = rebase_new(e->frames, fresh, &b) ?: captures_rebase_add(&e->captures, b);

    if (r == 0)
        captures_rebase(&e->captures, b, fresh);
    return r;
}

void names_renew(struct engine *e)
{
    struct frame_table *fresh = NULL;
    size_t bytes = frame_table_bytes(e->frames);
    uint64_t now_ns = clock_monotonic_ns();
    int r;

    if (bytes < MAX(e->renewal.bytes, NAMES_BYTES) &&
        (!frame_table_refused(e->frames) || now_ns - e->renewal.at_ns < NAMES_REFUSED_NS))
        return;
    e->renewal.at_ns = now_ns;
    r = names_new(e, &fresh);
    if (r == 0) {
        frame_table_join(fresh, NULL); /* not twice: both tables have what captures hold */
        r = move_captures(e, fresh);
    }
    if (r < 0) { /* try again when the table has grown by a quarter */
        frame_table_free(fresh);
        e->renewal.bytes = bytes + bytes / 4;
        return;
    }
    recorder_use_table(e->recorder, fresh);
    symbolizer_use_table(e->symbolizer, fresh);
    e->dispatch.naming.refused += frame_table_refused(e->frames);
    frame_table_free(e->frames);
    frame_table_join(fresh, &e->memory.lasting);
    e->frames = fresh;
    e->dispatch.naming.frames = fresh;
    e->renewal.bytes =
        2 * frame_table_bytes(fresh); /* the names that captures hold cannot be dropped */
}
