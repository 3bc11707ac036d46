/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/rule.h"

#define RULE(id, name) extern const struct signal_rule rule_##name;
#include "signal/rules.def"
#undef RULE

static const struct signal_rule *const ALL[RULES] = {
#define RULE(id, name) [RULE_##id] = &rule_##name,
#include "signal/rules.def"
#undef RULE
};

const struct signal_rule *rule_of(enum rule_id id)
{
    return ALL[id];
}
