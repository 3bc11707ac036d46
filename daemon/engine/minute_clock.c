/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/minute_clock.h"

#include "store/history.h"

/* A shorter sleep counts as running time: the clocks are read one after the other. */
#define LEAST_SLEEP_NS NSEC_PER_SEC

void minute_clock_begin(struct minute_clock *c, const struct clock_times *now)
{
    c->begun = *now;
}

/* Returns how long the system slept in the minute. */
static uint64_t slept_ns(const struct minute_clock *c, const struct clock_times *now)
{
    uint64_t took_ns = now->boot_ns - c->begun.boot_ns,
             ran_ns = now->monotonic_ns - c->begun.monotonic_ns,
             slept_ns = took_ns - MIN(ran_ns, took_ns);

    return slept_ns < LEAST_SLEEP_NS ? 0 : slept_ns;
}

bool minute_clock_is_over(const struct minute_clock *c, const struct clock_times *now)
{
    uint64_t took_ns = now->monotonic_ns - c->begun.monotonic_ns;

    if (took_ns < NSEC_PER_MSEC)
        return false; /* the clock is set repeatedly */
    return now->real_ns / HISTORY_MINUTE_NS != c->begun.real_ns / HISTORY_MINUTE_NS ||
           took_ns >= HISTORY_MINUTE_NS || slept_ns(c, now);
}

void minute_clock_end(struct minute_clock *c, const struct clock_times *now, uint64_t *ret_start_ns,
                      uint64_t *ret_end_ns, int64_t *ret_jump_ns)
{
    uint64_t took_ns = now->monotonic_ns - c->begun.monotonic_ns,
             end_ns = now->real_ns - MIN(slept_ns(c, now), now->real_ns);

    *ret_end_ns = end_ns;
    *ret_start_ns = end_ns - MIN(end_ns, took_ns);
    *ret_jump_ns = (int64_t)(*ret_start_ns - c->begun.real_ns);
    c->past[c->ended++ % MINUTE_CLOCK_KEPT] =
        (struct minute_offset){ .begun_ns = c->begun.monotonic_ns,
                                .offset_ns = end_ns - now->monotonic_ns };
}

uint64_t minute_clock_real_of(const struct minute_clock *c, uint64_t monotonic_ns)
{
    uint64_t offset_ns = 0;

    for (size_t back = 1; back <= MIN(c->ended, (size_t)MINUTE_CLOCK_KEPT); back++) {
        const struct minute_offset *minute = &c->past[(c->ended - back) % MINUTE_CLOCK_KEPT];

        offset_ns = minute->offset_ns;
        if (minute->begun_ns <= monotonic_ns)
            break;
    }
    return monotonic_ns + offset_ns;
}
