/* SPDX-License-Identifier: Apache-2.0 */
/* Memory beside the heap rises: direct buffers, native libraries, malloc. */
#include "signal/rule.h"

#define WARM_S 180.0
#define PER_SECOND_FIRES (4 * 1048576.0 / 60) /* if no limit is known: 4 MiB a minute */

/* Returns the greatest heap in use before the last @window_s seconds; NAN: not known. */
static double heap_before(const struct numbers *n, double window_s)
{
    double most = (double)NAN;

    for (size_t i = 0; i + numbers_within(n, window_s) < n->count; i++)
        most = fmax(most, (double)numbers_at(n, i)->v[NUMBER_HEAP_BYTES]);
    return most;
}

/* Returns the growth of RSS, in bytes a second, from heap pages that were committed before and are
 * now touched. Native memory is RSS less the whole committed heap, so such pages look like native
 * growth. Pages that the heap commits in the same time do not. The heap touches new pages when it
 * is larger than ever, and keeps them after a collection. */
static double heap_filled(const struct numbers *n, double window_s)
{
    struct trend used, committed;
    double rise;

    if (!numbers_trend(n, NUMBER_HEAP_BYTES, NUMBERS, window_s, &used) ||
        !numbers_trend(n, NUMBER_HEAP_COMMITTED_BYTES, NUMBERS, window_s, &committed))
        return 0;
    rise = numbers_max(n, NUMBER_HEAP_BYTES, window_s) - fmax(heap_before(n, window_s), used.first);
    rise /= used.seconds;
    if (used.above_all)
        rise = fmax(rise, used.per_second);
    return fmax(rise - committed.per_second, 0);
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double outside = numbers_last(n, NUMBER_OUTSIDE_BYTES), rss = numbers_last(n, NUMBER_RSS_BYTES);
    double limit = numbers_last(n, NUMBER_MEMORY_LIMIT_BYTES);
    double room = isnan(limit) ? numbers_last(n, NUMBER_NODE_AVAILABLE_BYTES) : limit - rss;
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT], c[RULE_BYTES_TEXT], d[RULE_BYTES_TEXT];
    struct rule_growth g;
    double more;

    f->strength = isnan(outside) ? (double)NAN : 0;
    if (v->age_s < WARM_S || isnan(outside) || outside <= 0 ||
        !rule_growth_find(n, NUMBER_OUTSIDE_BYTES, NUMBERS, room, PER_SECOND_FIRES, &g))
        return;
    more = g.trend.per_second - heap_filled(n, g.window_s);
    f->strength = fmin(g.strength, more / PER_SECOND_FIRES);
    f->value = more * 60;
    f->severity = rule_urgency(g.left_s);
    rule_say(f,
             "native memory (all but the heap, metaspace and code) is at least %s, and %s more "
             "each minute, for %s; %s %s",
             rule_bytes(outside, a), rule_bytes(f->value, b), rule_duration(g.trend.seconds, c),
             isnan(limit) ? "the node's memory lasts about"
                          : "the memory limit is reached in about",
             rule_duration(g.left_s, d));
}

const struct signal_rule rule_native_growing = {
    .name = "native-growing",
    .unit = "bytes/min",
    .evidence = "/profile?pid={pid}&event=nativemem&seconds=30",
    .remedy = "see which code takes it (event=nativemem, or event=nativelive for what is not given "
              "back); direct buffers have a limit of their own (-XX:MaxDirectMemorySize)",
    .look = look,
};
