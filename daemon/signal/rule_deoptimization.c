/* SPDX-License-Identifier: Apache-2.0 */
/* The JIT keeps compiling although no new classes are loaded: it discards code and compiles it
 * again. */
#include "signal/rule.h"

#define COMPILES_PER_S 3.0      /* a warm program compiles fewer than 3 methods in a minute */
#define COMPILES_PER_CLASS 20.0 /* loaded classes explain this many compilations each */
#define SHARE_FIRES 0.05        /* share of the time in which a thread compiled */
#define WARM_S 60.0

/* Returns the part of the time in which threads could run that they did run. The JVM's time of
 * compiling includes waits for a processor. */
static double ran_part(const struct numbers *n)
{
    double ran = numbers_sum(n, NUMBER_RAN_NS, RULE_WINDOW_S);
    double waited = numbers_sum(n, NUMBER_RUNNABLE_NS, RULE_WINDOW_S);

    return ran + waited > 0 ? ran / (ran + waited) : 1;
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double compiled = numbers_sum(n, NUMBER_COMPILED, RULE_WINDOW_S);
    double share = numbers_share(n, NUMBER_COMPILE_NS, RULE_WINDOW_S);
    double classes = numbers_sum(n, NUMBER_CLASSES_LOADED, RULE_WINDOW_S);
    double used = numbers_share(n, NUMBER_CPU_NS, RULE_WINDOW_S);
    char loaded[RULE_BYTES_TEXT];

    if (isnan(compiled) || isnan(share)) {
        f->strength = (double)NAN;
        return;
    }
    if (v->age_s < WARM_S || classes * COMPILES_PER_CLASS > compiled)
        return;
    f->strength = fmin(compiled / RULE_WINDOW_S / COMPILES_PER_S, share / SHARE_FIRES);
    f->value = compiled / RULE_WINDOW_S * 60;
    f->severity = rule_cost(fmin(share * ran_part(n) / used, 1));
    rule_say(f,
             "the JIT compiled %.0f methods in %.0f s of the last %.0f s, in which the JVM used "
             "%.0f s of CPU time, and %s loaded: code is thrown away and compiled again",
             compiled, share * RULE_WINDOW_S, RULE_WINDOW_S, used * RULE_WINDOW_S,
             rule_count(classes, "class was", "classes were", loaded));
}

const struct signal_rule rule_deoptimization = {
    .name = "deoptimization",
    .unit = "methods/min",
    .evidence = "/profile?pid={pid}&from={from}&to={to}",
    .remedy = "find the method that is compiled again (-Xlog:jit+compilation=debug, "
              "-Xlog:deoptimization=debug); often its types or branches change all the time",
    .hold_s = 10,
    .look = look,
};
