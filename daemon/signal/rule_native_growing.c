/* SPDX-License-Identifier: Apache-2.0 */
/* Memory beside the heap rises: direct buffers, native libraries, malloc. */
#include "signal/rule.h"

#define WARM_S 180.0
#define PER_SECOND_FIRES (4 * 1048576.0 / 60) /* where no limit is known: 4 MiB a minute */

/* Returns by how many bytes a second RSS grows because the heap touches pages that were committed
 * before. RSS less the whole committed heap counts as native memory, so such pages look like native
 * growth. Pages that the heap commits in the same time do not. */
static double heap_filled(const struct numbers *n, double window_s)
{
    struct trend used, committed;

    if (!numbers_trend(n, NUMBER_HEAP_BYTES, NUMBERS, window_s, &used) || !used.above_all ||
        !numbers_trend(n, NUMBER_HEAP_COMMITTED_BYTES, NUMBERS, window_s, &committed))
        return 0;
    return fmax(used.per_second - committed.per_second, 0);
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
