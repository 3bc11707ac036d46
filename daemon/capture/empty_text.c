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
                 "no samples: %s in this while; an idle service shows nothing with event=cpu, and "
                 "where it waits with event=offcpu",
                 why);
        break;
    case EMPTY_LONGER:
        snprintf(buf, max, "no samples: %s in this while; try more seconds", why);
        break;
    case EMPTY_BY_CHANCE:
        snprintf(buf, max,
                 "no samples: %s, or by chance none of that was taken; try more seconds or a "
                 "smaller interval",
                 why);
        break;
    case EMPTY_BYTES_BY_CHANCE:
        snprintf(buf, max,
                 "no samples: %s, or by chance none of %llu bytes was taken; try more seconds or a "
                 "smaller interval",
                 why, number);
        break;
    case EMPTY_DRAWN:
        snprintf(buf, max,
                 "no samples: %s. It draws one for each %llu bytes; try more seconds or a smaller "
                 "interval",
                 why, number);
        break;
    case EMPTY_NO_PAGE:
        snprintf(buf, max, "no samples: %s, or less than %llu bytes; try a smaller interval", why,
                 number);
        break;
    case EMPTY_NO_CALL:
        snprintf(buf, max,
                 "no samples of %s: %s, or no process of the target has that file mapped; of the "
                 "calls on each CPU one in %llu is sampled",
                 name, why, number);
        break;
    case EMPTY_ONE_IN:
        if (event_is_paced(period))
            snprintf(buf, max, "no samples: the target had no %s in this while; try more seconds",
                     name);
        else
            snprintf(buf, max,
                     "no samples: of %s one in %llu is sampled on each CPU, and %s; try a smaller "
                     "interval",
                     name, number, why);
        break;
    }
    return buf;
}
