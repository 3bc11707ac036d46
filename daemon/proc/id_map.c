/* SPDX-License-Identifier: Apache-2.0 */
/* Parses how a namespace maps ids and clocks: /proc/PID/uid_map, gid_map and timens_offsets. */
#include "proc/proc.h"

#define NSEC_PER_SEC_SIGNED INT64_C(1000000000)

int64_t id_map_inside(struct span text, uint32_t outside)
{
    struct span line;

    while (span_take_line(&text, &line)) {
        uint64_t inside, from, count;

        span_skip_blanks(&line);
        if (!span_take_dec(&line, &inside) || inside > UINT32_MAX)
            continue;
        span_skip_blanks(&line);
        if (!span_take_dec(&line, &from) || from > UINT32_MAX)
            continue;
        span_skip_blanks(&line);
        if (!span_take_dec(&line, &count) || count > UINT32_MAX)
            continue;
        if (outside >= from && outside - from < count && inside + (outside - from) <= UINT32_MAX)
            return (int64_t)(inside + (outside - from));
    }
    return -1;
}

static int64_t timens_ns(struct span text, const char *name)
{
    struct span line, clock;

    while (span_take_line(&text, &line)) {
        uint64_t sec, ns = 0;
        bool negative;

        if (!span_take_word(&line, &clock) || !span_eq_str(clock, name))
            continue;
        span_skip_blanks(&line);
        negative = span_take_char(&line, '-');
        if (!span_take_dec(&line, &sec) || sec > INT64_MAX / NSEC_PER_SEC - 1)
            return 0;
        span_skip_blanks(&line);
        if (span_take_dec(&line, &ns) && ns >= NSEC_PER_SEC)
            ns = 0;
        return (negative ? -1 : 1) * (int64_t)sec * NSEC_PER_SEC_SIGNED + (int64_t)ns;
    }
    return 0;
}

int64_t timens_boottime_ns(struct span text)
{
    return timens_ns(text, "boottime");
}

int64_t timens_monotonic_ns(struct span text)
{
    return timens_ns(text, "monotonic");
}
