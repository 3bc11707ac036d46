/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/empty_text.h"

const char *empty_text(struct empty_reason reason, const char *name, uint64_t period,
                       char buf[EMPTY_TEXT_BYTES])
{
    unsigned long long number = event_period_number(period);
    const char *why = reason.why;
    size_t max = EMPTY_TEXT_BYTES;

    switch (event_is_paced(period) ? EMPTY_ONE_IN : reason.rest) {
    case EMPTY_IDLE:
        snprintf(buf, max,
                 "no samples: %s while it was sampled; event=cpu shows nothing of an idle service, "
                 "event=offcpu shows where it waits",
                 why);
        break;
    case EMPTY_LONGER:
        snprintf(buf, max, "no samples: %s while it was sampled; try more seconds", why);
        break;
    case EMPTY_BY_CHANCE:
        snprintf(
            buf, max,
            "no samples: %s, or none was sampled by chance; try more seconds or a smaller interval",
            why);
        break;
    case EMPTY_BYTES_BY_CHANCE:
        snprintf(buf, max,
                 "no samples: %s, or by chance none was sampled at an interval of %llu bytes; try "
                 "more seconds or a smaller interval",
                 why, number);
        break;
    case EMPTY_DRAWN:
        snprintf(buf, max,
                 "no samples: %s. It picks one object for each %llu bytes; try more seconds or a "
                 "smaller interval",
                 why, number);
        break;
    case EMPTY_NO_PAGE:
        snprintf(buf, max, "no samples: %s, or less than %llu bytes; try a smaller interval", why,
                 number);
        break;
    case EMPTY_NO_CALL:
        snprintf(buf, max,
                 "no samples of %s: %s, or no process of the target has that file mapped; on each "
                 "CPU one in %llu calls is sampled",
                 name, why, number);
        break;
    case EMPTY_ONE_IN:
        if (event_is_paced(period))
            snprintf(buf, max,
                     "no samples: the target had no %s while it was sampled; try more seconds",
                     name);
        else
            snprintf(buf, max,
                     "no samples: on each CPU %s are sampled one in %llu, and %s; try a smaller "
                     "interval",
                     name, number, why);
        break;
    }
    return buf;
}
