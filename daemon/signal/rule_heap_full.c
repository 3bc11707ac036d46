/* SPDX-License-Identifier: Apache-2.0 */
/* Collections free hardly any of the heap, and the memory in use after them does not grow any
 * more. */
#include "signal/rule.h"

#define HOLD_S 40.0 /* a collector may need some collections to free a burst of garbage */
/* The JVM then collects all the time, or throws OutOfMemoryError at the next larger request. */
#define FULL_FIRES 0.92
#define FULL_SOON 0.95
#define FULL_NOW 0.98

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double max = numbers_last(n, NUMBER_HEAP_MAX_BYTES), used = numbers_last(n, NUMBER_HEAP_BYTES);
    double share = used / max;
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT];
    struct rule_growth g;

    f->strength = share / FULL_FIRES;
    f->value = share * 100;
    f->severity = share >= FULL_NOW ? 3 : share >= FULL_SOON ? 2 : 1;
    if (share >= FULL_FIRES * RULE_RELEASE &&
        rule_growth_find(n, NUMBER_HEAP_BYTES, NUMBER_COLLECTIONS, max - used, 0, &g))
        f->strength = 0; /* heap-growing reports that */
    rule_say(f, "%s of the heap's %s stay in use after collections", rule_bytes(used, a),
             rule_bytes(max, b));
}

const struct signal_rule rule_heap_full = {
    .name = "heap-full",
    .unit = "percent",
    .evidence = "/api/v1/jvms/{pid}/heap",
    .remedy = "give it a larger heap (-Xmx), or see what stays "
              "(/profile?pid={pid}&event=live&seconds=60), and who holds it",
    .hold_s = HOLD_S,
    .look = look,
};
