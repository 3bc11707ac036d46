/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json.h"

#include "base/utc_text.h"

json_t *json_time(uint64_t realtime_ns)
{
    char text[UTC_TEXT_BYTES];

    return json_string(utc_text_ns(realtime_ns, text));
}

json_t *json_string_or_null(const char *s)
{
    return s && s[0] ? json_string(s) : json_null();
}
