/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual threads keep their carriers while they wait, and other virtual threads need these
 * carriers. */
#include "signal/rule.h"

#define PART_FIRES 0.5 /* part of the carriers that are pinned, on average */
/* A pinned carrier harms nothing unless another virtual thread needs it. flamed cannot see this for
 * virtual threads in a timed wait, since from JDK 25 on a carrier ends such waits. Then all
 * carriers are pinned. */
#define WAITING_FIRES 1.0 /* virtual threads that could run */
#define ALL_FIRES 0.9     /* part of the carriers that the scheduler starts */

/* Returns the number of carriers that the scheduler starts by default: one for each processor that
 * the JVM may use. NAN: not known. */
static double most_carriers(const struct numbers *n)
{
    double limit = numbers_last(n, NUMBER_CPU_LIMIT), cpus = numbers_last(n, NUMBER_NODE_CPUS);

    return limit > 0 ? fmin(ceil(limit), cpus) : cpus;
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    const struct waits_carriers *c = v->carriers;
    double pinned = numbers_mean(n, NUMBER_CARRIERS_PINNED, RULE_WINDOW_S);
    double waiting = numbers_mean(n, NUMBER_VIRTUAL_RUNNABLE, RULE_WINDOW_S);
    double part = pinned / fmax(c->carriers, 1);

    f->strength = part / PART_FIRES;
    if (!isnan(waiting)) /* unknown for a JVM that does not list its virtual threads */
        f->strength =
            fmin(f->strength, fmax(waiting / WAITING_FIRES, pinned / most_carriers(n) / ALL_FIRES));
    f->value = pinned;
    f->severity = rule_cost(part);
    if (isnan(pinned) || f->strength < RULE_RELEASE)
        return;
    rule_say(f,
             "on average %.1f of %.0f carriers are pinned by virtual threads that wait for %s%s%s"
             "%s%s",
             pinned, c->carriers, rule_wait(c->wait ? c->wait : ""), c->code[0] ? " in " : "",
             c->code, c->place[0] ? ", pinned by " : "", c->place);
    if (waiting >= WAITING_FIRES)
        rule_add(f, "; %.1f others could run, but have no carrier", waiting);
}

const struct signal_rule rule_carriers_pinned = {
    .name = "carriers-pinned",
    .unit = "carriers",
    .evidence = "/profile?pid={pid}&event=offcpu&state=blocked&by=kind&from={from}&to={to}",
    .remedy = "before JDK 24 a virtual thread that waits within synchronized code keeps its "
              "carrier: use a ReentrantLock there, or a later JDK; native methods and class "
              "initializers that wait belong on platform threads",
    .hold_s = 10,
    .look = look,
};
