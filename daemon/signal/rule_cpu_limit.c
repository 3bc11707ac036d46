/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU limit of the container stops its threads. */
#include "signal/rule.h"

/* Share of throttled periods. A smaller share means bursts, which continue in the next period. */
#define THROTTLED_FIRES 0.25
#define PERIODS_MIN 20.0 /* periods, 2 s of work; fewer are no evidence */
/* Used part of the limit. Below it, throttled periods come from bursts, and cost little. */
#define USED_MUCH 0.5

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double limit = numbers_last(n, NUMBER_CPU_LIMIT);
    double periods = numbers_sum(n, NUMBER_PERIODS, RULE_WINDOW_S);
    double throttled = numbers_sum(n, NUMBER_PERIODS_THROTTLED, RULE_WINDOW_S) / periods;
    double used = numbers_share(n, NUMBER_CPU_NS, RULE_WINDOW_S) / limit;

    if (isnan(limit) || isnan(throttled) || periods < PERIODS_MIN) {
        f->strength = isnan(limit) ? (double)NAN : 0;
        return;
    }
    f->strength = throttled / THROTTLED_FIRES;
    f->value = throttled * 100;
    f->severity = used < USED_MUCH ? 1 : rule_cost(throttled);
    rule_say(f,
             "its CPU limit of %.3g throttled it in %.0f %% of the periods of the last %.0f s; it "
             "used %.0f %% of the limit",
             limit, f->value, RULE_WINDOW_S, used * 100);
}

const struct signal_rule rule_cpu_limit = {
    .name = "cpu-limit",
    .unit = "percent",
    .evidence = "/profile?pid={pid}&from={from}&to={to}",
    .remedy = "raise the CPU limit of the container, or see what uses the CPU; fewer threads of "
              "the collector and the compiler help too (-XX:ActiveProcessorCount)",
    .hold_s = 10,
    .look = look,
};
