/* SPDX-License-Identifier: Apache-2.0 */
/* All threads of a pool wait in the same place within their tasks, so that new tasks wait, too. Or
 * most virtual threads wait for a permit. */
#include "signal/rule.h"

#define PART_FIRES 0.9 /* waiting part of the pool, on average: a thread is seldom free */

#define QUEUED_FIRES 4.0 /* queued virtual threads; fewer wait only for moments */
#define QUEUED_PART 0.5  /* queued part of the busy virtual threads */

/* Appends for which server the threads wait. */
static void say_peer(const struct rule_peer *p, double waiting, struct rule_finding *f)
{
    const char *do_so = p->writes ? "write to" : "read from";

    if (!p->text[0])
        return;
    if (p->waiting == p->looked && waiting <= (double)p->looked)
        rule_add(f, "; they %s %s", do_so, p->text);
    else
        rule_add(f, "; %zu of %zu that were looked at %s %s", p->waiting, p->looked, do_so,
                 p->text);
}

static void look_at_threads(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    const struct waits_pool *w = v->pool;
    double part = numbers_mean(n, NUMBER_POOL_WAITING, RULE_WINDOW_S);
    double held = numbers_mean(n, NUMBER_POOL_HELD, RULE_WINDOW_S);
    double share = held / fmax(numbers_mean(n, NUMBER_BUSY_THREADS, RULE_WINDOW_S), 1);

    f->strength = part / PART_FIRES;
    f->value = part * 100;
    f->severity = rule_cost(share);
    if (isnan(f->strength) || f->strength < RULE_RELEASE)
        return;
    rule_say(f, "%.0f of %.0f threads of %s wait for the same: [%s]%s%s", w->waiting, w->threads,
             w->name[0] ? w->name : "a pool", w->wait ? w->wait : "blocked",
             w->code[0] ? " in " : "", w->code);
    say_peer(v->peer, w->waiting, f);
    if (w->late > 0)
        rule_add(f, "; %.0f threads of %s wait for results", w->late, w->late_name);
    rule_add(f, "; %.0f %% in the last %.0f s", f->value, RULE_WINDOW_S);
}

/* Judges virtual threads, which belong to no pool but wait for permits and connections. */
static void look_at_virtual(const struct rule_view *v, struct rule_finding *f)
{
    const struct waits_virtual *w = v->virtual;
    double queued = numbers_mean(v->numbers, NUMBER_VIRTUAL_QUEUED, RULE_WINDOW_S);
    double share = queued / fmax(numbers_mean(v->numbers, NUMBER_VIRTUAL_BUSY, RULE_WINDOW_S), 1);

    f->strength = fmin(queued / QUEUED_FIRES, share / QUEUED_PART);
    f->value = share * 100;
    f->severity = rule_cost(share);
    if (isnan(f->strength) || f->strength < RULE_RELEASE)
        return;
    rule_say(f,
             "%.1f virtual threads waited for %s in %s, %.0f %% of those that waited within their "
             "work, in the last %.0f s",
             queued, w->pooled ? "an object of a pool" : "a permit of a semaphore", w->code,
             f->value, RULE_WINDOW_S);
    if (w->having > 0)
        rule_add(f, "; %.0f others in %s wait for the same: [%s] in %s", w->having, w->code,
                 w->having_wait, w->having_code);
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    struct rule_finding of = { .severity = 1 };

    look_at_threads(v, f);
    look_at_virtual(v, &of);
    if (of.strength > f->strength || isnan(f->strength))
        *f = of;
}

const struct signal_rule rule_pool_exhausted = {
    .name = "pool-exhausted",
    .unit = "percent",
    .evidence = "/profile?pid={pid}&event=offcpu&idle=0&from={from}&to={to}",
    .remedy = "see why what they wait for is slow, and limit how long they wait for it; a larger "
              "pool helps only if that can do more at a time",
    .hold_s = 10,
    .look = look,
};
