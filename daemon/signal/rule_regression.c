/* SPDX-License-Identifier: Apache-2.0 */
/* A release takes more CPU time, or waits more, than the release before it. */
#include "signal/rule.h"

#define PERCENT_FIRES 3.0 /* percent; a smaller rise seldom justifies another release */

static void look(const struct rule_view *v, struct rule_finding *f)
{
    f->strength = v->release->percent / PERCENT_FIRES;
    f->value = v->release->percent;
    f->severity = rule_cost(f->value / 100);
    rule_say(f, "%s", v->release->text);
}

const struct signal_rule rule_regression = {
    .name = "regression",
    .unit = "percent",
    .evidence = "/api/v1/changes?service={service}",
    .remedy = "compare the flame graphs of both releases: each change has the path of its diff "
              "(/api/v1/changes?service={service}); go back to the release before, or change "
              "that code",
    .look = look,
};
