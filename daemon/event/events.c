/* SPDX-License-Identifier: Apache-2.0 */
#include "event/events.h"

#include "base/macros.h"

#include <string.h>

#define COST_SAMPLE "2 to 10 us of CPU time a sample"
/* Every one is looked at: a draw decides which one is sampled. */
#define COST_SOFTWARE "0.1 to 0.5 us for each on the whole machine, and " COST_SAMPLE
#define COST_HARDWARE COST_SAMPLE

static const struct event_info EVENTS[] = {
#define EVENT(id, name_, unit_, hz_, period_, type, config, description_)                          \
    { .kind = EVENT_##id,                                                                          \
      .name = name_,                                                                               \
      .description = description_,                                                                 \
      .unit = unit_,                                                                               \
      .default_hz = hz_,                                                                           \
      .default_period = period_,                                                                   \
      .cost = (hz_) > 0 ? COST_SAMPLE : COST_##type },
#include "event/events.def"
#undef EVENT
};

const struct event_info *events_table(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(EVENTS);
    return EVENTS;
}

const struct event_info *events_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(EVENTS); i++) {
        if (strcmp(EVENTS[i].name, name) == 0)
            return &EVENTS[i];
    }
    return NULL;
}

const struct event_info *events_default(void)
{
    return &EVENTS[0];
}
