/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json.h"

#include <time.h>

json_t *json_time(uint64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / NSEC_PER_SEC);
    char text[64], day[32];
    struct tm tm;

    if (!gmtime_r(&seconds, &tm))
        return json_null();
    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, sizeof(text), "%s.%09uZ", day, (unsigned)(realtime_ns % NSEC_PER_SEC));
    return json_string(text);
}

json_t *json_string_or_null(const char *s)
{
    return s && s[0] ? json_string(s) : json_null();
}
