/* SPDX-License-Identifier: Apache-2.0 */
/* A dump of threads as JSON. Each stack is listed once, and threads refer to it by number. */
#include "base/cleanup.h"
#include "base/utc_text.h"
#include "render/threads_common.h"

struct writer {
    const struct thread_dump *d;
    struct buf *out;
    uint32_t *numbers; /* for each string that is a stack: 1 + its number */
    uint32_t stacks;
};

static void add_string(struct writer *w, const char *name, struct span s)
{
    buf_printf(w->out, ",\"%s\":", name);
    render_add_json_string(w->out, s);
}

static void add_text(struct writer *w, const char *name, uint32_t string)
{
    add_string(w, name, intern_get(w->d->strings, string));
}

static void add_other(struct writer *w, const char *name, uint64_t id)
{
    const struct dumped_thread *t = thread_dump_find(w->d, id);

    buf_printf(w->out, ",\"%s\":{\"id\":%llu", name, (unsigned long long)id);
    if (t)
        add_text(w, "name", t->name);
    buf_add_char(w->out, '}');
}

static void add_number(struct writer *w, uint32_t stack)
{
    if (!w->numbers[stack])
        w->numbers[stack] = ++w->stacks;
    buf_printf(w->out, ",\"stack\":%u", w->numbers[stack] - 1);
}

static void add_lock(struct writer *w, const struct dumped_thread *t)
{
    buf_printf(w->out, ",\"lock\":{\"kind\":\"%s\"", thread_lock_name(t->lock));
    if (t->lock_class)
        add_text(w, "class", t->lock_class);
    if (t->owner_id)
        add_other(w, "owner", t->owner_id);
    buf_add_char(w->out, '}');
}

static void add_thread(struct writer *w, const struct dumped_thread *t)
{
    buf_printf(w->out, "{\"id\":%llu", (unsigned long long)t->id);
    add_text(w, "name", t->name);
    buf_printf(w->out, ",\"virtual\":%s,\"daemon\":%s,\"state\":\"%s\"",
               t->is_virtual ? "true" : "false", t->is_daemon ? "true" : "false",
               thread_state_name(t->state));
    if (t->host_tid)
        buf_printf(w->out, ",\"tid\":%d", t->host_tid);
    if (t->ns_tid && t->ns_tid != t->host_tid)
        buf_printf(w->out, ",\"nstid\":%d", t->ns_tid);
    if (t->is_mounted)
        buf_add_str(w->out, ",\"mounted\":true");
    if (t->carrier_id)
        add_other(w, "carrier", t->carrier_id);
    if (t->lock)
        add_lock(w, t);
    buf_printf(w->out, ",\"stack_state\":\"%s\"", thread_stack_name(t->why));
    if (t->stack)
        add_number(w, t->stack);
    buf_add_char(w->out, '}');
}

static void add_states(struct writer *w, const size_t states[DUMPED_STATES])
{
    bool first = true;

    buf_add_str(w->out, ",\"states\":{");
    for (unsigned i = 0; i < DUMPED_STATES; i++) {
        if (!states[i])
            continue;
        buf_printf(w->out, "%s\"%s\":%zu", first ? "" : ",", thread_state_name(i), states[i]);
        first = false;
    }
    buf_add_char(w->out, '}');
}

static void add_group(struct writer *w, const struct thread_group *g)
{
    buf_printf(w->out, "{\"count\":%zu,\"virtual\":%zu", g->count, g->virtuals);
    add_states(w, g->states);
    buf_add_str(w->out, ",\"threads\":[");
    for (size_t i = 0; i < MIN(g->count, (size_t)THREAD_GROUP_NAMES); i++) {
        buf_add_str(w->out, i ? ",\n" : "\n");
        add_thread(w, g->some[i]);
    }
    buf_add_char(w->out, ']');
    if (g->stack)
        add_number(w, g->stack);
    buf_add_char(w->out, '}');
}

static int add_groups(struct writer *w)
{
    _cleanup_free_ struct thread_group *groups = NULL;
    size_t n = 0;
    int r = thread_groups(w->d, &groups, &n);

    if (r < 0)
        return r;
    buf_add_str(w->out, ",\n\"groups\":[");
    for (size_t i = 0; i < n; i++) {
        buf_add_str(w->out, i ? ",\n" : "\n");
        add_group(w, &groups[i]);
    }
    buf_add_str(w->out, "]");
    return 0;
}

static void add_threads(struct writer *w)
{
    buf_add_str(w->out, ",\n\"threads\":[");
    for (size_t i = 0; i < w->d->count; i++) {
        buf_add_str(w->out, i ? ",\n" : "\n");
        add_thread(w, &w->d->threads[i]);
    }
    buf_add_str(w->out, "]");
}

static void add_stack(struct writer *w, struct span text)
{
    struct span line;
    bool first = true;

    buf_add_str(w->out, "\n[");
    while (span_take_line(&text, &line)) {
        buf_add_str(w->out, first ? "" : ",\n ");
        render_add_json_string(w->out, line);
        first = false;
    }
    buf_add_char(w->out, ']');
}

/* Writes the stacks in the order of their numbers. */
static int add_stacks(struct writer *w)
{
    _cleanup_free_ uint32_t *strings = calloc(w->stacks + 1, sizeof(*strings));

    if (!strings)
        return -ENOMEM;
    for (uint32_t i = 0; i < intern_count(w->d->strings); i++) {
        if (w->numbers[i])
            strings[w->numbers[i] - 1] = i;
    }
    buf_add_str(w->out, ",\n\"stacks\":[");
    for (uint32_t i = 0; i < w->stacks; i++) {
        buf_add_str(w->out, i ? "," : "");
        add_stack(w, intern_get(w->d->strings, strings[i]));
    }
    buf_add_str(w->out, "]");
    return 0;
}

static void add_head(struct writer *w)
{
    const struct thread_dump *d = w->d;
    struct thread_counts c;
    char time[UTC_TEXT_BYTES];

    thread_counts(d, &c);
    utc_text_ns(d->time_ns, time);
    buf_printf(w->out, "{\"pid\":%d,\"time\":\"%s\"", d->host_pid, time);
    add_string(w, "java_version", span_of(d->java_version));
    add_string(w, "vm_name", span_of(d->vm_name));
    buf_printf(w->out,
               ",\"seconds\":%.6f,\"count\":%zu,\"platform\":%zu,\"virtual\":%zu,"
               "\"mounted\":%zu,\"without_stack\":%zu,\"left_out\":%llu,\"complete\":%s",
               (double)d->took_ns / 1e9, d->count, c.platform, c.virtuals, c.mounted, c.without,
               (unsigned long long)d->left_out, d->warning_count ? "false" : "true");
    add_states(w, c.states);
    buf_add_str(w->out, ",\"warnings\":[");
    for (size_t i = 0; i < d->warning_count; i++) {
        buf_add_str(w->out, i ? "," : "");
        render_add_json_string(w->out, span_of(d->warnings[i]));
    }
    buf_add_char(w->out, ']');
}

int render_threads_json(const struct thread_dump *d, const struct threads_opts *o, struct buf *out)
{
    _cleanup_free_ uint32_t *numbers = calloc(intern_count(d->strings) + 1, sizeof(*numbers));
    struct writer w = { .d = d, .out = out, .numbers = numbers };
    int r = 0;

    if (!numbers)
        return -ENOMEM;
    add_head(&w);
    if (o->grouped)
        r = add_groups(&w);
    else
        add_threads(&w);
    if (r == 0)
        r = add_stacks(&w);
    buf_add_str(out, "}\n");
    return r;
}
