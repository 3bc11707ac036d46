/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/rule.h"

#define URGENT_S 600.0
#define SOON_S 3600.0
/* A trend is extrapolated at most this many times its window: a minute is little evidence for an
 * hour. */
#define HORIZON 20.0

static const struct {
    double window_s, agreement; /* a shorter window needs more agreement */
} WINDOWS[] = { { 1800, 0.75 }, { 600, 0.85 }, { 300, 0.85 }, { 60, 0.95 } };

bool rule_growth_find(const struct numbers *n, enum number which, enum number only, double room,
                      double per_second, struct rule_growth *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(WINDOWS); i++) {
        struct rule_growth g = { .window_s = WINDOWS[i].window_s, .left_s = INFINITY };

        if (!numbers_trend(n, which, only, g.window_s, &g.trend) || g.trend.per_second <= 0 ||
            g.trend.agreement < WINDOWS[i].agreement || !g.trend.above_all)
            continue;
        if (!isnan(room))
            g.left_s = fmax(room, 0) / g.trend.per_second;
        g.strength = isnan(room) ? g.trend.per_second / per_second
                                 : HORIZON * g.window_s / fmax(g.left_s, 1);
        *ret = g;
        return true;
    }
    return false;
}

unsigned rule_urgency(double left_s)
{
    return left_s < URGENT_S ? 3 : left_s < SOON_S ? 2 : 1;
}
