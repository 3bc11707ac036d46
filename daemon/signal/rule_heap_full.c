/* SPDX-License-Identifier: Apache-2.0 */
/* Collections free hardly any of the heap, and the memory in use after them does not grow any
 * more. */
#include "signal/rule.h"

#define HOLD_S 40.0 /* a collector may need some collections to free a burst of garbage */
/* The JVM then collects all the time, or throws OutOfMemoryError at the next larger request. */
#define FULL_FIRES 0.92
#define FULL_SOON 0.95
#define FULL_NOW 0.98
#define QUIET_S 60.0

#define CLEARLY 0.01 /* more of the old generation than of the heap */

struct rule_heap rule_heap_of(const struct numbers *n)
{
    double heap = numbers_last(n, NUMBER_HEAP_BYTES) / numbers_last(n, NUMBER_HEAP_MAX_BYTES),
           left = numbers_last(n, NUMBER_OLD_LEFT);
    bool old = left > heap + CLEARLY;

    return (struct rule_heap){ old ? left : heap, old };
}

void rule_heap_say(const struct numbers *n, struct rule_finding *f)
{
    struct rule_heap heap = rule_heap_of(n);
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT];

    if (heap.old)
        rule_add(f, "the last collection of the old generation left %.1f %% of it in use",
                 heap.part * 100);
    else
        rule_add(f, "%s of the heap's %s stay in use after collections",
                 rule_bytes(numbers_last(n, NUMBER_HEAP_BYTES), a),
                 rule_bytes(numbers_last(n, NUMBER_HEAP_MAX_BYTES), b));
}

/* Appends that nothing is collected any more: nothing more is allocated then, such as after an
 * OutOfMemoryError. */
static void add_quiet(const struct numbers *n, struct rule_finding *f)
{
    char text[RULE_BYTES_TEXT];
    double quiet_s = 0;

    for (size_t k = 0; k < n->count; k++) {
        const struct number_point *p = numbers_at(n, n->count - 1 - k);

        if (!(p->v[NUMBER_COLLECTIONS] == 0))
            break;
        quiet_s += (double)p->seconds;
    }
    if (quiet_s >= QUIET_S)
        rule_add(f, "; there was no collection in the last %s", rule_duration(quiet_s, text));
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double room = numbers_last(n, NUMBER_HEAP_MAX_BYTES) - numbers_last(n, NUMBER_HEAP_BYTES);
    struct rule_heap heap = rule_heap_of(n);
    struct rule_growth g;

    f->strength = heap.part / FULL_FIRES;
    f->value = heap.part * 100;
    f->severity = heap.part >= FULL_NOW ? 3 : heap.part >= FULL_SOON ? 2 : 1;
    if (heap.part >= FULL_FIRES * RULE_RELEASE &&
        rule_growth_find(n, NUMBER_HEAP_BYTES, NUMBER_COLLECTIONS, room, 0, &g))
        f->strength = 0; /* heap-growing reports that */
    rule_heap_say(n, f);
    add_quiet(n, f);
}

const struct signal_rule rule_heap_full = {
    .name = "heap-full",
    .unit = "percent",
    .evidence = "/api/v1/jvms/{pid}/heap",
    .remedy =
        "give it a larger heap (-Xmx), or see what stays "
        "(/profile?pid={pid}&event=live&seconds=60), and who holds it; if nothing is allocated "
        "any more, jcmd {pid} GC.class_histogram counts what stays",
    .hold_s = HOLD_S,
    .look = look,
};
