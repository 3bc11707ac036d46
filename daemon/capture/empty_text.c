/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/empty_text.h"

#include "base/macros.h"

/* Beside enum event_flag: a timer takes its samples; an agent tells what is allocated. */
#define BY_TIMER (UINT32_C(1) << 30)
#define BY_AGENT (UINT32_C(1) << 31)

/* How the sentence goes on: with the name of the event, or with its period. */
enum rest {
    IDLE,
    LONGER,
    BY_CHANCE,
    BYTES_BY_CHANCE,
    DRAWN,
    NO_PAGE,
    NO_CALL,
    ONE_IN,
};

/* The first row counts whose bits are all true of the event. */
static const struct {
    uint32_t traits;
    const char *why;
    enum rest rest;
} ROWS[] = {
    { EVENT_MOMENTS, "no JVM of the target had a safepoint", LONGER },
    { BY_TIMER, "the target used no CPU time", IDLE },
    { EVENT_WAITS | EVENT_RUNS, "no thread of the target ran or waited", BY_CHANCE },
    { EVENT_WAITS | EVENT_OF_JVM, "no Java thread of the target waited for a lock or a condition",
      BY_CHANCE },
    { EVENT_WAITS | EVENT_THREADS, "no native code of the target waited for a futex", BY_CHANCE },
    { EVENT_WAITS, "no thread of the target waited", BY_CHANCE },
    { EVENT_HEAP | BY_AGENT, "the JVM drew none of the objects that it allocated", DRAWN },
    { EVENT_OBJECTS, "none of the objects that the JVM drew was reachable any more", DRAWN },
    { EVENT_HEAP, "no Java thread of the target filled its buffer (TLAB)", BYTES_BY_CHANCE },
    { EVENT_BLOCKS, "all that was allocated was freed", BYTES_BY_CHANCE },
    { EVENT_MALLOCS, "nobody called malloc", BYTES_BY_CHANCE },
    { EVENT_CALLS, "nobody called it", NO_CALL },
    { EVENT_PAGES, "the target touched no memory that was new to it", NO_PAGE },
    { 0, "none was the target's", ONE_IN },
};

const char *empty_text(const struct event_info *info, const char *name, uint64_t period,
                       bool by_agent, char buf[EMPTY_TEXT_BYTES])
{
    uint32_t traits =
        info->flags | (event_has_timer(info) ? BY_TIMER : 0) | (by_agent ? BY_AGENT : 0);
    unsigned long long number = event_period_number(period);
    size_t max = EMPTY_TEXT_BYTES, i = 0;
    const char *why;

    while (ROWS[i].traits & ~traits)
        i++;
    why = ROWS[i].why;
    switch (event_is_paced(period) ? ONE_IN : ROWS[i].rest) {
    case IDLE:
        snprintf(buf, max,
                 "no samples: %s in this while; an idle service shows nothing with event=cpu, and "
                 "where it waits with event=offcpu",
                 why);
        break;
    case LONGER:
        snprintf(buf, max, "no samples: %s in this while; try more seconds", why);
        break;
    case BY_CHANCE:
        snprintf(buf, max,
                 "no samples: %s, or by chance none of that was taken; try more seconds or a "
                 "smaller interval",
                 why);
        break;
    case BYTES_BY_CHANCE:
        snprintf(buf, max,
                 "no samples: %s, or by chance none of %llu bytes was taken; try more seconds or a "
                 "smaller interval",
                 why, number);
        break;
    case DRAWN:
        snprintf(buf, max,
                 "no samples: %s. It draws one for each %llu bytes; try more seconds or a smaller "
                 "interval",
                 why, number);
        break;
    case NO_PAGE:
        snprintf(buf, max, "no samples: %s, or less than %llu bytes; try a smaller interval", why,
                 number);
        break;
    case NO_CALL:
        snprintf(buf, max,
                 "no samples of %s: %s, or no process of the target has that file mapped; of the "
                 "calls on each CPU one in %llu is sampled",
                 name, why, number);
        break;
    case ONE_IN:
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
