/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/duration.h"

#define SECOND_MS UINT64_C(1000)
#define DAY_MS (86400 * SECOND_MS)
#define DURATION_MAX_MS (UINT64_C(36525) * DAY_MS)

/* Units, the largest first. Parsing begins at the end of the table, so that "ms" is tried before
 * "m". */
static const struct {
    const char *name;
    uint64_t ms;
} UNITS[] = {
    { "w", 7 * DAY_MS },     { "d", DAY_MS },    { "h", 3600 * SECOND_MS },
    { "m", 60 * SECOND_MS }, { "s", SECOND_MS }, { "ms", 1 },
};

/* Takes a unit off the front of @s. Returns its index, or ARRAY_SIZE(UNITS) if there is none. */
static size_t take_unit(struct span *s)
{
    size_t i = ARRAY_SIZE(UNITS);

    while (i-- > 0) {
        if (span_take_str(s, UNITS[i].name))
            return i;
    }
    return ARRAY_SIZE(UNITS);
}

bool duration_parse(struct span text, uint64_t *ret_ns)
{
    size_t last = 0, unit;
    uint64_t ms = 0, n;
    bool first = true;

    if (text.n == 0)
        return false;
    while (text.n) {
        if (!span_take_dec(&text, &n))
            return false;
        unit = take_unit(&text);
        if (unit == ARRAY_SIZE(UNITS) || (!first && unit <= last) ||
            n > DURATION_MAX_MS / UNITS[unit].ms)
            return false;
        ms += n * UNITS[unit].ms;
        last = unit;
        first = false;
    }
    if (ms > DURATION_MAX_MS)
        return false;
    *ret_ns = ms * NSEC_PER_MSEC;
    return true;
}

char *duration_text(uint64_t ns, char buf[DURATION_TEXT_BYTES])
{
    uint64_t ms = ns / NSEC_PER_MSEC;
    size_t n = 0;

    snprintf(buf, DURATION_TEXT_BYTES, "0s");
    for (size_t i = 1; i < ARRAY_SIZE(UNITS);
         i++) { /* begins with days, which are easier to read than weeks */
        uint64_t count = ms / UNITS[i].ms;

        if (count)
            n += (size_t)snprintf(buf + n, DURATION_TEXT_BYTES - n, "%llu%s",
                                  (unsigned long long)count, UNITS[i].name);
        ms -= count * UNITS[i].ms;
    }
    return buf;
}
