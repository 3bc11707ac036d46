/* SPDX-License-Identifier: Apache-2.0 */
/* The code cache is nearly full. When it is full, the JIT stops. */
#include "signal/rule.h"

#define FULL_FIRES 0.9
#define FULL_SOON 0.95
#define FULL_NOW 0.99

static void look(const struct rule_view *v, struct rule_finding *f)
{
    double used = numbers_last(v->numbers, NUMBER_CODE_CACHE_BYTES);
    double max = numbers_last(v->numbers, NUMBER_CODE_CACHE_MAX_BYTES), share = used / max;
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT];

    f->strength = share / FULL_FIRES;
    f->value = share * 100;
    f->severity = share >= FULL_NOW ? 3 : share >= FULL_SOON ? 2 : 1;
    rule_say(f, "%s of the %s of the code cache are taken: when it is full, the JIT stops",
             rule_bytes(used, a), rule_bytes(max, b));
}

const struct signal_rule rule_code_cache = {
    .name = "code-cache",
    .unit = "percent",
    .evidence = "/api/v1/jvms/{pid}/heap",
    .remedy = "give it more room (-XX:ReservedCodeCacheSize)",
    .look = look,
};
