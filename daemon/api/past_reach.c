/* SPDX-License-Identifier: Apache-2.0 */
#include "api/past_reach.h"

#include "base/clock.h"
#include "base/macros.h"

#define REACH_SLACK_NS NSEC_PER_SEC /* shorter gaps get no sentence */

void past_time_text(uint64_t realtime_ns, char ret[PAST_TIME_BYTES])
{
    ret[0] = '\0';
    if (realtime_ns)
        utc_text(realtime_ns, ret);
}

/* Writes that the recorder begins later than requested, and how much of the earlier time the store
 * has. */
static void recorder_text(const struct past_reach *r, char ret[PAST_REACH_BYTES])
{
    char since[PAST_TIME_BYTES], why[80], before[100] = "";

    past_time_text(r->recorded_ns, since);
    if (r->recorder_full)
        snprintf(why, sizeof(why), "its memory is full (recorder_max_bytes)");
    else if (r->from_ns + r->recorder_keep_ns < clock_realtime_ns())
        snprintf(why, sizeof(why), "it keeps %llu s (recorder_seconds)",
                 (unsigned long long)(r->recorder_keep_ns / NSEC_PER_SEC));
    else
        snprintf(why, sizeof(why), "flamed began to record then");
    if (r->captures)
        snprintf(
            before, sizeof(before),
            ". For the time before, this answer has only %zu stored captures, of %.0f s together",
            r->captures, (double)r->captured_ns / NSEC_PER_SEC);
    else if (r->store_closed)
        snprintf(before, sizeof(before),
                 ". Stored captures of the time before cannot be read: see /readyz");
    else if (r->store_asked)
        snprintf(before, sizeof(before), ". For the time before, no capture is stored");
    snprintf(ret, PAST_REACH_BYTES,
             "the flight recorder begins at %s, %.0f s later than what was asked for: %s%s", since,
             (double)(r->recorded_ns - r->from_ns) / NSEC_PER_SEC, why, before);
}

/* Writes that the history begins later than requested. */
static void history_text(const struct past_reach *r, char ret[PAST_REACH_BYTES])
{
    char since[PAST_TIME_BYTES];

    past_time_text(r->kept_ns, since);
    snprintf(ret, PAST_REACH_BYTES,
             "the history begins at %s, %.0f s later than what was asked for: flamed began to keep "
             "it then, or has dropped what was older (history_max_age, history_max_bytes)",
             since, (double)(r->kept_ns - r->from_ns) / NSEC_PER_SEC);
}

bool past_reach_text(const struct past_reach *r, char ret[PAST_REACH_BYTES])
{
    uint64_t until_ns = r->kept_ns ? r->kept_ns : r->recorded_ns ? r->recorded_ns : r->to_ns;

    ret[0] = '\0';
    if (!r->from_ns || r->from_ns + r->captured_ns + REACH_SLACK_NS >= until_ns)
        return false;
    if (r->kept_ns)
        history_text(r, ret);
    else if (r->recorded_ns)
        recorder_text(r, ret);
    else
        snprintf(ret, PAST_REACH_BYTES,
                 "of the %.0f s that were asked for, this answer has %zu stored capture%s, of %.0f "
                 "s together: nothing else of that time is in it",
                 (double)(r->to_ns - r->from_ns) / NSEC_PER_SEC, r->captures,
                 r->captures == 1 ? "" : "s", (double)r->captured_ns / NSEC_PER_SEC);
    return true;
}
