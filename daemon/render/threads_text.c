/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump of threads as text, in the form of jstack and jcmd Thread.print: programs that read those
 * can read this dump. It also has virtual threads, which those leave out.
 */
#include "base/cleanup.h"
#include "base/utc_text.h"
#include "render/threads_common.h"

static void add_name(const struct thread_dump *d, uint32_t name, struct buf *out)
{
    buf_add_char(out, '"');
    buf_add_span(out, intern_get(d->strings, name));
    buf_add_char(out, '"');
}

static const char *what_it_does(const struct dumped_thread *t)
{
    switch (t->state) {
    case DUMPED_BLOCKED:
        return "waiting for monitor entry";
    case DUMPED_WAITING:
    case DUMPED_TIMED_WAITING:
        return t->lock == THREAD_LOCK_NOTIFY ? "in Object.wait()" : "waiting on condition";
    default:
        return "runnable";
    }
}

static void add_head_line(const struct thread_dump *d, const struct dumped_thread *t,
                          struct buf *out)
{
    const struct dumped_thread *carrier = thread_dump_find(d, t->carrier_id);

    add_name(d, t->name, out);
    buf_printf(out, " #%llu", (unsigned long long)t->id);
    if (t->is_virtual)
        buf_add_str(out, " virtual");
    else if (t->is_daemon)
        buf_add_str(out, " daemon");
    if (t->ns_tid)
        buf_printf(out, " [%d] nid=%d", t->host_tid ? t->host_tid : t->ns_tid, t->ns_tid);
    buf_printf(out, " %s", what_it_does(t));
    if (carrier) {
        buf_add_str(out, ", carried by ");
        add_name(d, carrier->name, out);
    }
    buf_printf(out, "\n   java.lang.Thread.State: %s", thread_state_name(t->state));
    if (t->state >= DUMPED_BLOCKED && t->state <= DUMPED_TIMED_WAITING)
        buf_add_str(out, t->lock == THREAD_LOCK_MONITOR  ? " (on object monitor)"
                         : t->lock == THREAD_LOCK_NOTIFY ? " (on object monitor)"
                         : t->lock                       ? " (parking)"
                                                         : "");
    buf_add_char(out, '\n');
}

static void add_lock(const struct thread_dump *d, const struct dumped_thread *t, struct buf *out)
{
    const struct dumped_thread *owner = thread_dump_find(d, t->owner_id);

    if (!t->lock || !t->lock_class)
        return;
    buf_printf(out, "\t- %s (a ",
               t->lock == THREAD_LOCK_MONITOR  ? "waiting to lock"
               : t->lock == THREAD_LOCK_NOTIFY ? "waiting on"
                                               : "parking to wait for");
    buf_add_span(out, intern_get(d->strings, t->lock_class));
    buf_add_char(out, ')');
    if (t->owner_id) {
        buf_add_str(out, ", owned by ");
        if (owner)
            add_name(d, owner->name, out);
        buf_printf(out, " #%llu", (unsigned long long)t->owner_id);
    }
    buf_add_char(out, '\n');
}

static void add_stack(const struct thread_dump *d, const struct dumped_thread *t, struct buf *out)
{
    static const char *const WHYS[THREAD_STACKS] = {
        [THREAD_STACK_CUT] = "\t... outer frames are cut\n",
        [THREAD_STACK_RUNNING] = "\t... it runs, and its stack is not in memory\n",
        [THREAD_STACK_CHANGED] = "\t... it ran while its stack was read\n",
    };
    struct span text = intern_get(d->strings, t->stack), line;
    bool first = true;

    while (span_take_line(&text, &line)) {
        buf_add_str(out, "\tat ");
        buf_add_span(out, line);
        buf_add_char(out, '\n');
        if (first)
            add_lock(d, t, out);
        first = false;
    }
    if (t->why < THREAD_STACKS && WHYS[t->why])
        buf_add_str(out, WHYS[t->why]);
    buf_add_char(out, '\n');
}

static void add_group(const struct thread_dump *d, const struct thread_group *g, struct buf *out)
{
    struct dumped_thread one = *g->some[0];
    bool first = true;

    buf_printf(out, "%zu threads (%zu virtual):", g->count, g->virtuals);
    for (size_t i = 0; i < DUMPED_STATES; i++) {
        if (g->states[i])
            buf_printf(out, "%s %zu %s", first ? "" : ",", g->states[i],
                       thread_state_name((unsigned)i));
        if (g->states[i])
            first = false;
    }
    buf_add_char(out, '\n');
    for (size_t i = 0; i < MIN(g->count, (size_t)THREAD_GROUP_NAMES); i++) {
        buf_add_str(out, i ? ", " : "   ");
        add_name(d, g->some[i]->name, out);
        buf_printf(out, " #%llu", (unsigned long long)g->some[i]->id);
    }
    buf_add_str(out, g->count > THREAD_GROUP_NAMES ? ", ...\n" : "\n");
    one.owner_id = 0; /* each thread of a group may wait for another owner */
    add_stack(d, &one, out);
}

static void add_head(const struct thread_dump *d, struct buf *out)
{
    struct thread_counts c;
    char time[UTC_TEXT_BYTES];

    thread_counts(d, &c);
    utc_text_ns(d->time_ns, time);
    buf_printf(out, "%s\nFull thread dump %s (%s):\n\n", time, d->vm_name, d->java_version);
    buf_printf(out, "%zu threads: %zu platform, %zu virtual (%zu mounted)\n", d->count, c.platform,
               c.virtuals, c.mounted);
    for (size_t i = 0; i < d->warning_count; i++)
        buf_printf(out, "Warning: %s\n", d->warnings[i]);
    buf_add_char(out, '\n');
}

static int add_groups(const struct thread_dump *d, struct buf *out)
{
    _cleanup_free_ struct thread_group *groups = NULL;
    size_t n = 0;
    int r = thread_groups(d, &groups, &n);

    for (size_t i = 0; r == 0 && i < n; i++)
        add_group(d, &groups[i], out);
    return r;
}

int render_threads_text(const struct thread_dump *d, const struct threads_opts *o, struct buf *out)
{
    add_head(d, out);
    if (o->grouped)
        return add_groups(d, out);
    for (size_t i = 0; i < d->count; i++) {
        add_head_line(d, &d->threads[i], out);
        add_stack(d, &d->threads[i], out);
    }
    return 0;
}
