/* SPDX-License-Identifier: Apache-2.0 */
/* The memory in use after collections rises. */
#include "signal/rule.h"

#define WARM_S 120.0 /* caches and pools fill when a program begins */
/* Below this share the old generation needed no collection yet, so it holds garbage. */
#define USED_MUCH 0.5

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double max = numbers_last(n, NUMBER_HEAP_MAX_BYTES), used = numbers_last(n, NUMBER_HEAP_BYTES);
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT], c[RULE_BYTES_TEXT], d[RULE_BYTES_TEXT];
    struct rule_growth g;
    bool collected;

    f->strength = isnan(used) || isnan(max) ? (double)NAN : 0;
    if (v->age_s < WARM_S || isnan(f->strength) || rule_heap_of(n).part >= RULE_FULL_PART ||
        !rule_growth_find(n, NUMBER_HEAP_BYTES, NUMBER_COLLECTIONS, max - used, 0, &g))
        return;
    collected = numbers_sum(n, NUMBER_OLD_COLLECTIONS, g.window_s) > 0;
    if (!collected && used < USED_MUCH * max)
        return;
    f->strength = g.strength;
    f->value = g.trend.per_second * 60;
    f->severity = collected && used >= USED_MUCH * max ? rule_urgency(g.left_s) : 1;
    rule_say(f,
             "after collections %s more are in use each minute, for %s: %s of %s now, full in "
             "about %s%s",
             rule_bytes(f->value, a), rule_duration(g.trend.seconds, b), rule_bytes(used, c),
             rule_bytes(max, d), rule_duration(g.left_s, (char[RULE_BYTES_TEXT]){ 0 }),
             collected ? "" : ", unless a collection of the old generation frees it");
    rule_heap_classes(v, "a sample of the heap is", f);
}

const struct signal_rule rule_heap_growing = {
    .name = "heap-growing",
    .unit = "bytes/min",
    .evidence = "/api/v1/jvms/{pid}/heap",
    .remedy = "see which code allocates it (/profile?pid={pid}&event=alloc&seconds=30), or what "
              "stays (/profile?pid={pid}&event=live&seconds=60), and who holds it",
    .look = look,
};
