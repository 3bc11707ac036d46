/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the process come back from a disk while threads wait. */
#include "signal/rule.h"

#define WARM_S 60.0             /* least age; a starting program reads its files */
#define FAULTS_PER_S_FIRES 50.0 /* 5 ms each on a disk: a quarter of one thread's time */
#define SWAPPED_PER_S_FIRES                                                                        \
    10.0 /* where part of it is swapped out: a collection touches it all                           \
          */
#define FAULT_S 0.005

static double faults_of(const struct numbers *n)
{
    return numbers_rate(n, NUMBER_MAJOR_FAULTS, RULE_WINDOW_S);
}

bool rule_swapped(const struct numbers *n)
{
    double swap =
        fmax(numbers_last(n, NUMBER_SWAP_BYTES), numbers_max(n, NUMBER_SWAP_BYTES, RULE_WINDOW_S));

    return swap > 0 && swap >= RULE_SWAP_LEAST * numbers_last(n, NUMBER_RSS_BYTES);
}

/* Faults alone do not show swapping: they also read pages of files. */
bool rule_swaps(const struct numbers *n)
{
    return rule_swapped(n) && faults_of(n) >= SWAPPED_PER_S_FIRES;
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double faults = faults_of(n);
    double swap = numbers_last(n, NUMBER_SWAP_BYTES);
    double pressure = fmax(numbers_share(n, NUMBER_MEMORY_PRESSURE_NS, RULE_WINDOW_S), 0);
    double lost = isnan(pressure) ? faults * FAULT_S : fmin(faults * FAULT_S, pressure);
    char a[RULE_BYTES_TEXT];

    if (isnan(faults) || v->age_s < WARM_S) {
        f->strength = isnan(faults) ? (double)NAN : 0;
        return;
    }
    f->strength = faults / (rule_swapped(n) ? SWAPPED_PER_S_FIRES : FAULTS_PER_S_FIRES);
    f->value = faults;
    f->severity = rule_cost(lost);
    rule_say(f,
             "%.0f pages a second came from a disk; %s of it are swapped out, and for %.0f %% of "
             "the last %.0f s something waited for memory",
             faults, rule_bytes(fmax(swap, 0), a), pressure * 100, RULE_WINDOW_S);
}

const struct signal_rule rule_swapping = {
    .name = "swapping",
    .unit = "faults/s",
    .evidence = "/profile?pid={pid}&event=major-faults&seconds=10",
    .remedy = "give the node or the container more memory, or make the heap smaller; swap and a "
              "heap that is collected do not go together",
    .hold_s = 10,
    .look = look,
};
