/* SPDX-License-Identifier: Apache-2.0 */
/* Classes keep being loaded. */
#include "signal/rule.h"

#define WARM_S 180.0                      /* least age; starting programs load classes */
#define PER_SECOND_FIRES (1048576.0 / 60) /* bytes, if no limit is known: 1 MiB a minute */

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double used = numbers_last(n, NUMBER_METASPACE_BYTES);
    double room = numbers_last(n, NUMBER_METASPACE_MAX_BYTES) - used, classes;
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT], c[RULE_BYTES_TEXT], loaded[RULE_BYTES_TEXT];
    struct rule_growth g;

    f->strength = isnan(used) ? (double)NAN : 0;
    if (v->age_s < WARM_S || isnan(used) ||
        !rule_growth_find(n, NUMBER_METASPACE_BYTES, NUMBERS, room, PER_SECOND_FIRES, &g))
        return;
    classes = numbers_sum(n, NUMBER_CLASSES_LOADED, g.window_s);
    f->strength = g.strength;
    f->value = g.trend.per_second * 60;
    f->severity = rule_urgency(g.left_s);
    rule_say(f, "metaspace takes %s more each minute, for %s, and %s loaded: %s now",
             rule_bytes(f->value, a), rule_duration(g.trend.seconds, b),
             rule_count(classes, "class was", "classes were", loaded), rule_bytes(used, c));
}

const struct signal_rule rule_metaspace_growing = {
    .name = "metaspace-growing",
    .unit = "bytes/min",
    .evidence = "/api/v1/jvms/{pid}/heap",
    .remedy = "see who loads classes (-Xlog:class+load): proxies, scripts or expressions that are "
              "compiled for each call, or class loaders that something holds",
    .look = look,
};
