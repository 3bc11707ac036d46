/* SPDX-License-Identifier: Apache-2.0 */
/* Formats sentences, and computes severities. */
#include "signal/rule.h"

#include <stdarg.h>

#define KIB 1024.0
#define MINUTE_S 60.0
#define HOUR_S 3600.0
/* The shares of lost time at which the severity rises. */
#define COST_MUCH 0.15
#define COST_MOST 0.4

/* Returns whether the sentence of @f may be shown: that of a weaker finding never is. */
static bool is_shown(const struct rule_finding *f)
{
    return f->strength >= RULE_RELEASE;
}

void rule_say(struct rule_finding *f, const char *fmt, ...)
{
    va_list ap;

    if (!is_shown(f))
        return;
    va_start(ap, fmt);
    vsnprintf(f->sentence, sizeof(f->sentence), fmt, ap);
    va_end(ap);
}

void rule_add(struct rule_finding *f, const char *fmt, ...)
{
    size_t at = strlen(f->sentence);
    va_list ap;

    if (!is_shown(f))
        return;
    va_start(ap, fmt);
    vsnprintf(f->sentence + at, sizeof(f->sentence) - at, fmt, ap);
    va_end(ap);
}

const char *rule_bytes(double bytes, char text[RULE_BYTES_TEXT])
{
    static const char *const UNITS[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;

    while (fabs(bytes) >= KIB && unit + 1 < ARRAY_SIZE(UNITS)) {
        bytes /= KIB;
        unit++;
    }
    snprintf(text, RULE_BYTES_TEXT, fabs(bytes) < 10 && unit ? "%.1f %s" : "%.0f %s", bytes,
             UNITS[unit]);
    return text;
}

const char *rule_duration(double seconds, char text[RULE_BYTES_TEXT])
{
    if (seconds < 2 * MINUTE_S)
        snprintf(text, RULE_BYTES_TEXT, "%.0f s", seconds);
    else if (seconds < 2 * HOUR_S)
        snprintf(text, RULE_BYTES_TEXT, "%.0f min", seconds / MINUTE_S);
    else
        snprintf(text, RULE_BYTES_TEXT, "%.0f h", fmin(seconds / HOUR_S, 9999));
    return text;
}

const char *rule_count(double count, const char *one, const char *more, char text[RULE_BYTES_TEXT])
{
    count = round(count);
    snprintf(text, RULE_BYTES_TEXT, "%.0f %s", count, count == 1 ? one : more);
    return text;
}

const char *rule_wait(const char *name)
{
    static const struct {
        const char *name, *words;
    } WAITS[] = {
#define WAIT(id, name, words) { name, words },
#include "profile/waits.def"
#undef WAIT
    };

    for (size_t i = 0; i < ARRAY_SIZE(WAITS); i++) {
        if (strcmp(WAITS[i].name, name) == 0)
            return WAITS[i].words;
    }
    return "something unknown";
}

unsigned rule_cost(double share)
{
    return share >= COST_MOST ? 3 : share >= COST_MUCH ? 2 : 1;
}
