/* SPDX-License-Identifier: Apache-2.0 */
/* Adds samples and pauses to the series of their steps. */
#include "profile/changes.h"

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/list.h"
#include "profile/category.h"
#include "profile/handlers.h"

/* State while a view is added. */
struct adding {
    struct change_set *set;
    const struct view *v;
    enum change_kind kind;
    uint32_t *found; /* owned: by string or other key, index of the series + 1, or LEFT_OUT */
    uint32_t *seen;  /* owned: by string, index + 1 of the last sample that contained it */
    uint8_t *stops;  /* owned: by row, see is_interrupt() */
    struct handlers *handlers; /* borrowed; for CHANGE_OPERATION only */
    int error;                 /* 0 or -ENOMEM */
};

#define LEFT_OUT UINT32_MAX
#define ALLOCATION_BYTES 1024 /* bytes of a class and a method; longer texts are left out */

/* The kernel's functions that serve an interrupt, or run before a thread returns to its code: when,
 * and for how long, depends on other work of the machine. Begins of their names, from Linux 5.10
 * on. */
static const char *const INTERRUPTS[] = {
    "asm_sysvec_",      "asm_common_interrupt", "irqentry_exit", "exit_to_user_mode", /* x86 */
    "el0t_64_irq",      "el1h_64_irq",          "el0_irq",       "el1_irq",           /* arm64 */
    "do_notify_resume",
};

/* Upkeep for the scheduler, which comes with its ticks, as task work of the interrupted thread. */
static const char *const UPKEEP[] = { "task_numa_work", "task_mm_cid_work",
                                      "throttle_cfs_rq_work" };

/* What of that a thread caused itself: freeing the files that it closed, and its signals. */
static const char *const OWN_WORK[] = { "task_work_run", "arch_do_signal", "do_signal",
                                        "get_signal" };

static bool starts_with_any(struct span name, const char *const *begins, size_t n)
{
    return ANY_OF(i, n, span_starts_with(name, begins[i]));
}

/* Returns whether samples of @row were taken while the kernel served an interrupt: the frame
 * nearest the leaf tells. */
static bool is_interrupt(struct adding *a, const struct view_row *row)
{
    enum { UNKNOWN, NO, YES };
    uint8_t *known = &a->stops[row - a->v->rows];

    for (uint32_t i = row->n; *known == UNKNOWN && i-- > row->roots;) {
        const struct view_frame *f = &a->v->frames[a->v->stack[row->first + i]];
        struct span name = view_string(a->v, f->name);

        if (f->kind != FRAME_KERNEL)
            continue;
        if (starts_with_any(name, INTERRUPTS, ARRAY_SIZE(INTERRUPTS)) ||
            starts_with_any(name, UPKEEP, ARRAY_SIZE(UPKEEP)))
            *known = YES;
        else if (starts_with_any(name, OWN_WORK, ARRAY_SIZE(OWN_WORK)))
            *known = NO;
    }
    *known = MAX(*known, (uint8_t)NO);
    return *known == YES;
}

static void add_to(struct adding *a, uint32_t key, struct span name, size_t step, double weight)
{
    if (!a->found[key]) {
        ptrdiff_t at = change_set_put(a->set, a->kind, name);

        a->error = at == -ENOMEM ? -ENOMEM : a->error;
        a->found[key] = at < 0 ? LEFT_OUT : (uint32_t)at + 1;
    }
    if (a->found[key] != LEFT_OUT)
        a->set->series[a->found[key] - 1].by_step[step] += weight;
}

/* Returns whether @f is a function. Marks of cut stacks and frames without a name are not: how many
 * there are changes with what flamed can read. */
static bool is_function(const struct view_frame *f)
{
    return f->kind != FRAME_TRUNCATED && (f->kind != FRAME_UNKNOWN || f->module);
}

/* Counts each function once per sample, also in a recursion. */
static void add_functions(struct adding *a, const struct view_row *row, size_t sample, size_t step,
                          double weight)
{
    for (uint32_t i = row->roots; i < row->n; i++) {
        const struct view_frame *f = &a->v->frames[a->v->stack[row->first + i]];
        uint32_t name = f->name;

        if (!is_function(f) || a->seen[name] == sample + 1)
            continue;
        a->seen[name] = (uint32_t)sample + 1;
        add_to(a, name, view_string(a->v, name), step, weight);
    }
}

static void add_busy(struct adding *a, size_t step, double ns)
{
    a->set->whole[CHANGE_LOCK][step] += ns;
    a->set->whole[CHANGE_WAIT][step] += ns;
}

/* Keeps the method of @handler with its operation, whose series add_to() found for @key. */
static void keep_method(struct adding *a, uint32_t key, uint32_t handler)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(2 * HANDLERS_NAME_BYTES);
    struct change_series *of;

    if (!a->found[key] || a->found[key] == LEFT_OUT)
        return;
    of = &a->set->series[a->found[key] - 1];
    if (of->method)
        return;
    handlers_method(a->handlers, handler, &text);
    of->method = text.error ? NULL : buf_take(&text, NULL);
}

/* Adds a sample to the series of its operation. Without an operation it counts in the total
 * only. */
static void add_operation(struct adding *a, const struct profile_sample *s, size_t step,
                          double weight)
{
    const struct profile *p = a->v->profile;
    uint32_t name = s->context < p->context_count ? p->contexts[s->context].operation : 0,
             handler = name ? 0 : handlers_of(a->handlers, s);
    _cleanup_buf_ struct buf text = BUF_UPTO(HANDLERS_TEXT_MAX);

    if (name) {
        add_to(a, s->context, intern_get(p->strings, name), step, weight);
    } else if (handler) {
        handlers_name(a->handlers, handler, &text);
        add_to(a, (uint32_t)p->context_count + handler, buf_span(&text), step, weight);
        keep_method(a, (uint32_t)p->context_count + handler, handler);
    }
}

/* Adds a wait for a lock to the series of its class, which is the leaf. A wait for a notification
 * does not count: threads that are idle in the application's own code wait in that way. */
static void add_lock(struct adding *a, const struct view_row *row, size_t step, double weight)
{
    const struct view_frame *leaf =
        row->n > row->roots ? &a->v->frames[a->v->stack[row->first + row->n - 1]] : NULL;

    if (leaf && leaf->kind != FRAME_WAIT_NOTIFY)
        add_to(a, leaf->name, view_string(a->v, leaf->name), step, weight);
}

/* Writes the class that @row allocates, and the Java method that allocates: "byte[] in
 * shop.Orders.place". */
static void write_place(const struct view *v, const struct view_row *row, struct buf *out)
{
    uint32_t at = row->n;
    const struct view_frame *f = NULL;

    if (at > row->roots && v->frames[v->stack[row->first + at - 1]].kind == FRAME_CLASS)
        buf_add_span(out, view_string(v, v->frames[v->stack[row->first + --at]].name));
    else
        buf_add_str(out, "objects");
    while (at > row->roots && !(f && frame_kind_is_java(f->kind)))
        f = &v->frames[v->stack[row->first + --at]];
    if (f && frame_kind_is_java(f->kind)) {
        buf_add_str(out, " in ");
        buf_add_span(out, view_string(v, f->name));
    }
}

/* Adds the bytes of a sample to the series of its place, and to that of all objects. */
static void add_allocation(struct adding *a, uint32_t row, size_t step, double weight)
{
    _cleanup_buf_ struct buf place = BUF_UPTO(ALLOCATION_BYTES);

    add_to(a, 0, SPAN(CHANGE_ALL_OBJECTS), step, weight);
    if (!a->found[row + 1])
        write_place(a->v, &a->v->rows[row], &place);
    if (!place.error)
        add_to(a, row + 1, buf_span(&place), step, weight);
}

static void add_sample(struct adding *a, size_t sample, size_t step)
{
    const struct profile_sample *s = &a->v->profile->samples[sample];
    const struct view_row *row = &a->v->rows[a->v->sample_rows[sample]];
    bool valued = a->kind == CHANGE_LOCK || a->kind == CHANGE_WAIT || a->kind == CHANGE_ALLOCATION;
    double weight = valued ? (double)s->value : s->count;
    uint32_t category = PROFILE_SAMPLE_CATEGORY(s->flags);

    if (a->kind == CHANGE_FUNCTION)
        add_busy(a, step, weight * (double)view_event(a->v)->period);
    if ((change_is_of_waits(a->kind) && row->idle) ||
        (a->kind == CHANGE_WAIT && row->state != STATE_BLOCKED) ||
        (!valued && is_interrupt(a, row)))
        return;
    a->set->drawn[a->kind].value += weight;
    a->set->drawn[a->kind].count += s->count;
    if (a->kind == CHANGE_WAIT)
        add_busy(a, step, weight);
    else if (a->kind != CHANGE_LOCK)
        a->set->whole[a->kind][step] += weight;
    if (a->kind == CHANGE_FUNCTION) {
        add_functions(a, row, sample, step, weight);
    } else if (a->kind == CHANGE_CATEGORY && category < CATEGORY_COUNT) {
        add_to(a, category, span_of(CATEGORY_NAMES[category]), step, weight);
    } else if (a->kind == CHANGE_WAIT) {
        add_to(a, row->wait, span_of(WAIT_NAMES[row->wait]), step, weight);
    } else if (a->kind == CHANGE_OPERATION) {
        add_operation(a, s, step, weight);
    } else if (a->kind == CHANGE_LOCK) {
        add_lock(a, row, step, weight);
    } else if (a->kind == CHANGE_ALLOCATION) {
        add_allocation(a, a->v->sample_rows[sample], step, weight);
    }
}

int change_set_add(struct change_set *s, const struct view *v, enum change_kind kind)
{
    const struct profile *p = v->profile;
    size_t keys = MAX((size_t)intern_count(v->strings) + p->context_count + p->function_count,
                      MAX((size_t)MAX(WAIT_COUNT, CATEGORY_COUNT), v->row_count)) +
                  1;
    _cleanup_(handlers_freep) struct handlers *handlers = NULL;
    _cleanup_free_ uint32_t *found = calloc(keys, sizeof(*found)),
                            *seen = calloc(keys, sizeof(*seen));
    _cleanup_free_ uint8_t *stops = calloc(v->row_count + 1, sizeof(*stops));
    struct adding a = {
        .set = s, .v = v, .kind = kind, .found = found, .seen = seen, .stops = stops
    };

    if (!found || !seen || !stops || (kind == CHANGE_OPERATION && handlers_new(p, &handlers) < 0))
        return -ENOMEM;
    a.handlers = handlers;
    for (size_t i = 0; i < p->sample_count && a.error == 0; i++) {
        size_t step =
            change_step(&s->steps, p->samples[i].time_ns - p->start_ns + p->start_realtime_ns);

        if (v->sample_rows[i] == VIEW_NO_ROW || step >= s->steps.a + s->steps.b)
            continue;
        s->samples[step >= s->steps.a] += kind == CHANGE_FUNCTION ? p->samples[i].count : 0;
        add_sample(&a, i, step);
    }
    return a.error;
}

int change_set_add_pauses(struct change_set *s, const struct change_pauses *p)
{
    size_t step = change_step(&s->steps, p->at_ns);
    ptrdiff_t time = change_set_put(s, CHANGE_PAUSE_TIME, span_of("garbage collection")),
              number = change_set_put(s, CHANGE_PAUSE_COUNT, span_of("garbage collections"));

    if (time < 0 || number < 0)
        return -ENOMEM;
    if (step >= s->steps.a + s->steps.b)
        return 0;
    s->series[time].by_step[step] += (double)p->ns;
    s->series[number].by_step[step] += (double)p->count;
    s->drawn[CHANGE_PAUSE_TIME].value += (double)p->ns;
    s->drawn[CHANGE_PAUSE_TIME].count += (double)p->count;
    s->drawn[CHANGE_PAUSE_COUNT].value += (double)p->count;
    s->drawn[CHANGE_PAUSE_COUNT].count += (double)p->count;
    change_set_pass(s, step, p->length_ns);
    return 0;
}
