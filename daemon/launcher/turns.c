/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/turns.h"

#include <errno.h>

int turns_next(const struct turn *turns, size_t count, uint64_t owner, uint64_t now_ns, size_t *ret)
{
    size_t own = 0, free_at = count, longest = count;

    for (size_t i = 0; i < count; i++) {
        if (!turns[i].owner)
            free_at = i;
        else if (turns[i].owner == owner)
            own++;
        else if (longest == count || turns[i].since_ns < turns[longest].since_ns)
            longest = i;
    }
    if (own >= TURNS_PER_OWNER)
        return -EAGAIN;
    if (free_at < count) {
        *ret = free_at;
        return 0;
    }
    if (own || longest == count || now_ns - turns[longest].since_ns < TURNS_FAIR_NS)
        return -EAGAIN;
    *ret = longest;
    return 0;
}

int turns_interval(const struct turn *last, size_t count, uint64_t owner, uint64_t interval_ns,
                   uint64_t now_ns, size_t *ret)
{
    size_t oldest = 0;

    for (size_t i = 0; i < count; i++) {
        if (last[i].owner == owner) {
            oldest = i;
            break;
        }
        if (!last[i].owner || (last[oldest].owner && last[i].since_ns < last[oldest].since_ns))
            oldest = i;
    }
    if (last[oldest].owner && now_ns - last[oldest].since_ns < interval_ns)
        return -EAGAIN;
    *ret = oldest;
    return 0;
}
