/* SPDX-License-Identifier: Apache-2.0 */
/* The memory in use after collections rises. */
#include "signal/rule.h"

#define WARM_S 120.0 /* least age; caches and pools fill when a program begins */
/* Share of the heap in use. Below it, the old generation has needed no collection yet, so it holds
 * garbage. */
#define USED_MUCH 0.5
/* Below USED_MUCH, a rise may be a leak if it lasts EARLY_S, and fills the heap within
 * EARLY_LEFT_S. */
#define EARLY_S 600.0
#define EARLY_LEFT_S 7200.0
#define LATELY (1.0 / 3) /* last part of the window of a rise */
#define OLD_APART 0.95   /* part of the heap; a smaller old generation has a limit of its own */

/* What fills up. */
struct filling {
    double used, max; /* bytes */
    const char *whose;
};

/* Returns the old generation if it has a fixed size (Serial, Parallel: slow once it is full), else
 * the heap. */
static struct filling filling_of(const struct numbers *n)
{
    double max = numbers_last(n, NUMBER_HEAP_MAX_BYTES),
           old_max = numbers_last(n, NUMBER_OLD_MAX_BYTES);

    if (old_max < OLD_APART * max)
        return (struct filling){ numbers_last(n, NUMBER_OLD_BYTES), old_max,
                                 "the old generation's " };
    return (struct filling){ numbers_last(n, NUMBER_HEAP_BYTES), max, "" };
}

/* Returns whether the heap lately rose at least half as fast as in all of @g. A full cache does
 * not. Returns true if there were too few collections lately. */
static bool still_rises(const struct numbers *n, const struct rule_growth *g)
{
    struct trend t;

    return !numbers_trend(n, NUMBER_HEAP_BYTES, NUMBER_COLLECTIONS, g->window_s * LATELY, &t) ||
           t.per_second >= g->trend.per_second / 2;
}

/* Returns the severity of @g; 0: it may be garbage. */
static unsigned severity_of(const struct numbers *n, const struct rule_growth *g, bool collected)
{
    bool much =
        numbers_last(n, NUMBER_HEAP_BYTES) >= USED_MUCH * numbers_last(n, NUMBER_HEAP_MAX_BYTES);

    if (collected && much)
        return rule_urgency(g->left_s);
    return collected || much ||
           (g->window_s >= EARLY_S && g->left_s <= EARLY_LEFT_S && still_rises(n, g));
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    struct filling of = filling_of(n);
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT], c[RULE_BYTES_TEXT], d[RULE_BYTES_TEXT];
    struct rule_growth g;
    bool collected;

    f->strength = isnan(of.used) || isnan(of.max) ? (double)NAN : 0;
    if (v->age_s < WARM_S || isnan(f->strength) || rule_heap_of(n).part >= RULE_FULL_PART ||
        !rule_growth_find(n, NUMBER_HEAP_BYTES, NUMBER_COLLECTIONS, of.max - of.used, 0, &g))
        return;
    collected = numbers_sum(n, NUMBER_OLD_COLLECTIONS, g.window_s) > 0;
    f->severity = severity_of(n, &g, collected);
    if (!f->severity)
        return;
    f->strength = g.strength;
    f->value = g.trend.per_second * 60;
    rule_say(f,
             "after collections %s more are in use each minute, for %s: %s of %s%s now, full in "
             "about %s%s",
             rule_bytes(f->value, a), rule_duration(g.trend.seconds, b), rule_bytes(of.used, c),
             of.whose, rule_bytes(of.max, d), rule_duration(g.left_s, (char[RULE_BYTES_TEXT]){ 0 }),
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
