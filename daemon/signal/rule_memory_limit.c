/* SPDX-License-Identifier: Apache-2.0 */
/* The process has nearly all the memory that its container may have. */
#include "signal/rule.h"

#define FULL_FIRES 0.9 /* part of the limit; a collection may need more than the rest */
#define FULL_SOON 0.95
#define KILLS_WINDOW_S 600.0
#define KILLS_LEAST_S 20.0
#define PRESSED 0.1 /* share of the time in which some thread waited for memory */

/* Returns how many processes of the JVM's container the kernel has killed, over the longest known
 * time. */
static double kills_of(const struct numbers *n)
{
    double kills = (double)NAN;

    for (double s = KILLS_WINDOW_S; isnan(kills) && s >= KILLS_LEAST_S; s /= 5)
        kills = numbers_sum(n, NUMBER_OOM_KILLS, s);
    return kills;
}

/* Returns the process's memory without pages of files, which the kernel drops when it needs room.
 * Returns its whole memory if that part is not known. */
static double used_of(const struct numbers *n)
{
    double kept = numbers_last(n, NUMBER_KEPT_BYTES);

    return isnan(kept) ? numbers_last(n, NUMBER_RSS_BYTES) : kept;
}

/* Returns whether the kernel has swapped out a part of the process, and the node and the container
 * have room to swap out more. Other processes use this room, too. Unknown room counts as enough. */
static bool may_swap(const struct numbers *n)
{
    double used = fmax(numbers_last(n, NUMBER_SWAP_BYTES), numbers_last(n, NUMBER_SWAP_USED_BYTES));
    double left = numbers_last(n, NUMBER_SWAP_LIMIT_BYTES) - used;
    double room = fmin(numbers_last(n, NUMBER_NODE_SWAP_FREE_BYTES), left); /* ignores a NAN */

    return rule_swapped(n) &&
           !(room < RULE_SWAP_LEAST * numbers_last(n, NUMBER_MEMORY_LIMIT_BYTES));
}

/* Returns the severity of using @share of the limit. The kernel swaps while it may, before it ends
 * the process. Pressure without reads from swap shows that it does not swap. */
static unsigned severity_of(const struct numbers *n, double share)
{
    bool pressed = numbers_share(n, NUMBER_MEMORY_PRESSURE_NS, RULE_WINDOW_S) >= PRESSED;

    if (share < FULL_SOON || (may_swap(n) && (!pressed || rule_swaps(n))))
        return 1;
    return pressed ? 3 : 2;
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double limit = numbers_last(n, NUMBER_MEMORY_LIMIT_BYTES), used = used_of(n);
    double swap = fmax(numbers_last(n, NUMBER_SWAP_BYTES), 0), kills = kills_of(n);
    double share = used / limit;
    char a[RULE_BYTES_TEXT], b[RULE_BYTES_TEXT], killed[RULE_BYTES_TEXT];

    f->strength = share / FULL_FIRES;
    f->value = share * 100;
    f->severity = severity_of(n, share);
    rule_say(f, "it uses %s of its container's limit of %s (%.0f %%)", rule_bytes(used, a),
             rule_bytes(limit, b), f->value);
    if (swap > 0)
        rule_add(f, "; %s more are swapped out", rule_bytes(swap, a));
    if (!(kills > 0))
        return;
    f->strength = fmax(f->strength, 1); /* fmax() ignores a share that is not known */
    f->severity = RULE_SEVERITY_MAX;
    rule_count(kills, "process", "processes", killed);
    rule_say(f, "the kernel ended %s of its container for want of memory; it has %s of %s", killed,
             rule_bytes(used, a), rule_bytes(limit, b));
    if (isfinite(f->value))
        return;
    f->value = kills;
    rule_say(f,
             "the kernel ended %s of its container for want of memory; the value is their number, "
             "since the limit is not known",
             killed);
}

const struct signal_rule rule_memory_limit = {
    .name = "memory-limit",
    .unit = "percent",
    .evidence = "/api/v1/jvms/{pid}/heap",
    .remedy = "give the container more memory, or the JVM a smaller heap (-XX:MaxRAMPercentage): "
              "threads, metaspace, code and direct buffers need room beside it",
    .look = look,
};
