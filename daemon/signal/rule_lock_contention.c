/* SPDX-License-Identifier: Apache-2.0 */
/* Threads repeatedly wait for locks of one class. */
#include "signal/rule.h"

#include "profile/lock_words.h"
#include "profile/waits.h"

#define WAITERS_FIRES 2.0 /* waiting threads on average; fewer are no queue */
#define NEARLY_ALL 0.95   /* part of the looks; a greater part is not mentioned */
#define SHARE_FIRES 0.15  /* share of the busy threads that wait; above it the cost is high */

/* Appends the thread that held the lock, and what holders did, as earlier looks showed. */
static void say_owner(const struct waits_lock *w, struct rule_finding *f)
{
    if (w->owner[0])
        rule_add(f, "; %s held it", w->owner);
    else if (w->wait)
        rule_add(f, "; its holders vary");
    if (!w->wait)
        return;
    rule_add(f, ", and ");
    if (w->part > 0 && w->part < NEARLY_ALL)
        rule_add(f, "most often (%.0f %%) ", w->part * 100);
    if (!w->wait[0])
        rule_add(f, "ran or waited for a processor");
    else if (strcmp(w->wait, WAIT_NAMES[WAIT_SLEEP]) == 0)
        rule_add(f, "slept");
    else
        rule_add(f, "waited for %s", rule_wait(w->wait));
    if (w->wait[0] && w->code[0])
        rule_add(f, " in %s", w->code);
}

static void look(const struct rule_view *v, struct rule_finding *f)
{
    const struct numbers *n = v->numbers;
    double waiters = numbers_mean(n, NUMBER_LOCK_WAITERS, RULE_WINDOW_S);
    double busy = numbers_mean(n, NUMBER_BUSY_THREADS, RULE_WINDOW_S);
    double share = waiters / fmax(busy, 1);
    _cleanup_buf_ struct buf lock = BUF_UPTO(2 * WAITS_CODE_BYTES);

    f->strength = fmin(waiters / WAITERS_FIRES, share / SHARE_FIRES);
    f->value = waiters;
    f->severity = rule_cost(share);
    if (isnan(f->strength) || f->strength < RULE_RELEASE)
        return;
    lock_words(span_of(v->lock->name), &lock);
    rule_say(f, "%.1f of the %.1f threads that were busy in the last %.0f s waited for %.*s",
             waiters, busy, RULE_WINDOW_S, (int)lock.n, lock.p);
    say_owner(v->lock, f);
}

const struct signal_rule rule_lock_contention = {
    .name = "lock-contention",
    .unit = "threads",
    .evidence = "/profile?pid={pid}&event=lock&idle=0&from={from}&to={to}",
    .remedy = "hold the lock for less: take what waits, or works long, out of the "
              "synchronized block; or give each part of the data a lock of its own",
    .hold_s = 10,
    .look = look,
};
