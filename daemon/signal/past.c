/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps signals for an hour after they went off, so that users see them later. A signal that was on
 * several times is kept once, so a JVM has at most RULES past signals. */
#include "signal/watched.h"

#define NS_PER_S 1e9

static bool is_worse(const struct rule_finding *a, const struct rule_finding *b)
{
    return a->severity != b->severity ? a->severity > b->severity : !(a->strength < b->strength);
}

static void note_on(struct signal_past *p, const struct signal_state *state, uint64_t now_ns)
{
    bool is_old = p->times && now_ns - p->worst_ns >= SIGNAL_PAST_NS;

    if (is_old && p->until_ns)
        *p = (struct signal_past){ .since_ns = state->strong_ns };
    if (!p->times || p->until_ns)
        p->times++;
    p->until_ns = 0;
    if (!is_old && (state->weak_ns || !is_worse(&state->finding, &p->worst)))
        return;
    p->worst = state->finding;
    p->worst_ns = now_ns;
}

static bool is_flicker(const struct signal_past *p)
{
    return p->times == 1 && (double)(p->until_ns - p->since_ns) / NS_PER_S < SIGNAL_FLICKER_S;
}

void signal_past_end(struct signal_past *past, uint64_t at_ns)
{
    if (past && !past->until_ns)
        past->until_ns = MAX(at_ns, past->since_ns);
}

void signal_past_note(struct signal_past **past, const struct signal_state *state, uint64_t now_ns)
{
    struct signal_past *p = *past;

    if (state->on && !p) {
        p = *past = calloc(1, sizeof(*p));
        if (p)
            p->since_ns = state->strong_ns;
    }
    if (!p)
        return;
    if (state->on) {
        note_on(p, state, now_ns);
        return;
    }
    signal_past_end(p, now_ns);
    if (is_flicker(p) || now_ns - MIN(now_ns, p->until_ns) >= SIGNAL_PAST_NS)
        free(TAKE_PTR(*past));
}
