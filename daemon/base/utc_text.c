/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utc_text.h"

#include "base/clock.h"

const char *utc_text(uint64_t realtime_ns, char ret[UTC_TEXT_BYTES])
{
    time_t seconds = (time_t)(realtime_ns / NSEC_PER_SEC);
    struct tm tm = { 0 };

    gmtime_r(&seconds, &tm);
    strftime(ret, UTC_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return ret;
}

const char *utc_text_ns(uint64_t realtime_ns, char ret[UTC_TEXT_BYTES])
{
    size_t n = strlen(utc_text(realtime_ns, ret)) - 1; /* up to the Z */

    snprintf(ret + n, UTC_TEXT_BYTES - n, ".%09lluZ",
             (unsigned long long)(realtime_ns % NSEC_PER_SEC));
    return ret;
}
