/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection takes a large share of the time. */
#include "signal/rule.h"

/* G1 sizes its heap for at most 8 % (GCTimeRatio=12), Parallel for 1 %: above this share the
 * collector misses its own goal. */
#define SHARE_FIRES 0.10
#define FULL 0.85 /* part of the heap in use after a collection: it is too small */
#define MS_PER_S 1e3

static void add_why(const struct numbers *n, struct rule_finding *f)
{
    double rate = numbers_last(n, NUMBER_ALLOCATED_PER_SECOND);
    char a[RULE_BYTES_TEXT];
    double max = numbers_last(n, NUMBER_HEAP_MAX_BYTES);

    if (!isnan(rate) && rate > 0)
        rule_add(f, "; %s a second are allocated", rule_bytes(rate, a));
    if (rule_swaps(n))
        rule_add(f, "; %s of its memory are swapped out, so that pauses are long",
                 rule_bytes(numbers_max(n, NUMBER_SWAP_BYTES, RULE_WINDOW_S), a));
    else if (rule_heap_of(n).part >= FULL) {
        rule_add(f, "; ");
        rule_heap_say(n, f);
    } else if (max > 0) {
        rule_add(f, "; the heap has at most %s", rule_bytes(max, a));
    }
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double share = numbers_share(n, NUMBER_COLLECTION_NS, RULE_WINDOW_S);
    /* A long pause is counted when it begins, and its time when it ends, maybe in a later window.
     */
    double count = fmax(numbers_sum(n, NUMBER_COLLECTIONS, RULE_WINDOW_S), 1);
    double pause_s =
        numbers_sum(n, NUMBER_COLLECTION_NS, RULE_WINDOW_S) / count / (double)NSEC_PER_SEC;
    char pauses[RULE_BYTES_TEXT];

    f->strength = share / SHARE_FIRES;
    f->value = share * 100;
    f->severity = rule_swaps(n) ? 1 : rule_cost(share); /* swapping is the cause */
    if (!(share > 0))
        return;
    rule_say(f, "%.0f %% of the last %.0f s went to %s for garbage collection of %.1f %s",
             share * 100, RULE_WINDOW_S, rule_count(count, "pause", "pauses", pauses),
             pause_s < 1 ? pause_s * MS_PER_S : pause_s, pause_s < 1 ? "ms" : "s");
    add_why(n, f);
    if (!rule_swaps(n))
        rule_heap_classes(v, "a sample of the heap is", f);
}

const struct signal_rule rule_gc_pauses = {
    .name = "gc-pauses",
    .unit = "percent",
    .evidence = "/api/v1/jvms/{pid}/heap",
    .remedy = "see which code allocates (/profile?pid={pid}&event=alloc) or, if the heap is full, "
              "what stays (/profile?pid={pid}&event=live&seconds=60); or give the heap more room "
              "(-Xmx)",
    .hold_s = 10,
    .look = look,
};
