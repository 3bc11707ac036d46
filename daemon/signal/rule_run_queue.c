/* SPDX-License-Identifier: Apache-2.0 */
/* Threads wait for a processor of the node. */
#include "signal/rule.h"

/* Share that threads wait of the time in which they could run. One half means that the node has
 * twice the work that it can do. */
#define WAITED_FIRES 0.3
#define BUSY 0.05      /* CPUs used; a process with less is hardly delayed */
#define STEAL 0.05     /* part of a CPU; the sentence names more than this */
#define THROTTLED 0.25 /* share of throttled periods; above it, the CPU limit is the cause */

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double waited = numbers_sum(n, NUMBER_RUNNABLE_NS, RULE_WINDOW_S);
    double ran = numbers_sum(n, NUMBER_RAN_NS, RULE_WINDOW_S);
    double pressure = numbers_share(n, NUMBER_NODE_CPU_PRESSURE_NS, RULE_WINDOW_S);
    double steal = numbers_share(n, NUMBER_NODE_STEAL_NS, RULE_WINDOW_S);
    double cpus = numbers_last(n, NUMBER_NODE_CPUS), share = waited / (waited + ran);
    double throttled = numbers_sum(n, NUMBER_PERIODS_THROTTLED, RULE_WINDOW_S) /
                       numbers_sum(n, NUMBER_PERIODS, RULE_WINDOW_S);

    if (isnan(share) || throttled >= THROTTLED ||
        !(numbers_share(n, NUMBER_CPU_NS, RULE_WINDOW_S) >= BUSY)) {
        f->strength = 0; /* threads' times are read only while processors are short */
        return;
    }
    f->strength = share / WAITED_FIRES;
    f->value = share * 100;
    f->severity = rule_cost(share);
    rule_say(f,
             "its threads waited %.0f %% of the time in which they could run for one of %.0f CPUs; "
             "on the node something waited %.0f %% of the last %.0f s",
             f->value, cpus, pressure * 100, RULE_WINDOW_S);
    if (steal >= STEAL)
        rule_say(f,
                 "its threads waited %.0f %% of the time in which they could run for one of %.0f "
                 "CPUs; the hypervisor took %.2f CPUs from this node",
                 f->value, cpus, steal);
}

const struct signal_rule rule_run_queue = {
    .name = "run-queue",
    .unit = "percent",
    .evidence = "/profile?from={from}&to={to}",
    .remedy =
        "see what else runs on the node (the profile of the whole node), and move or limit it",
    .hold_s = 10,
    .look = look,
};
