/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/timetable.h"

#include "base/fnv1a.h"

#define JUMP_NS                                                                                    \
    (NSEC_PER_SEC / 2) /* jump of the wall clock between two calls, some 100 ms apart; slewing is  \
                        * slower */

uint64_t timetable_phase(struct span node, const char *name, uint64_t every_ns)
{
    static const uint8_t BETWEEN = 0xff; /* separates node and name; 0xff occurs in no text */
    uint64_t h = fnv1a(FNV1A_START, node.p, node.n);

    h = fnv1a(h, &BETWEEN, 1);
    h = fnv1a(h, name, strlen(name)); /* MurmurHash3's finalizer follows */
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (h ^ h >> 33) % every_ns;
}

/* Returns the first scheduled time at or after @from_ns. */
static uint64_t aligned(const struct slot *s, uint64_t from_ns)
{
    uint64_t ahead = (from_ns + s->every_ns - s->phase_ns) % s->every_ns;

    return ahead ? from_ns + s->every_ns - ahead : from_ns;
}

static void plan(struct slot *s, struct clocks now)
{
    uint64_t from = now.real_ns, gap = MAX(s->every_ns / 2, s->for_ns);

    if (s->started_ns && now.monotonic_ns < s->started_ns + gap)
        from += s->started_ns + gap - now.monotonic_ns;
    s->next_ns = aligned(s, from);
    s->retry_ns = 0;
}

void slot_init(struct slot *s, uint64_t every_ns, uint64_t for_ns, uint64_t phase_ns,
               struct clocks now)
{
    *s = (struct slot){ .every_ns = every_ns, .for_ns = for_ns, .phase_ns = phase_ns };
    s->offset_ns = now.real_ns - now.monotonic_ns;
    plan(s, now);
}

static bool has_jumped(struct slot *s, struct clocks now)
{
    uint64_t offset = now.real_ns - now.monotonic_ns, ahead = offset - s->offset_ns,
             back = s->offset_ns - offset;

    s->offset_ns = offset;
    return MIN(ahead, back) > JUMP_NS;
}

bool slot_due(struct slot *s, struct clocks now, uint64_t *ret_missed)
{
    uint64_t late_max = MIN(TIMETABLE_LATE_MAX_NS, s->every_ns / 2), passed;

    *ret_missed = 0;
    if (has_jumped(s, now))
        plan(s, now);
    if (now.real_ns < s->next_ns)
        return false;
    passed = (now.real_ns - s->next_ns) / s->every_ns;
    if (passed) {
        s->next_ns += passed * s->every_ns;
        s->retry_ns = 0;
    }
    if (now.real_ns - s->next_ns > late_max) {
        s->next_ns += s->every_ns;
        s->retry_ns = 0;
        *ret_missed = passed + 1;
        return false;
    }
    *ret_missed = passed;
    return now.monotonic_ns >= s->retry_ns;
}

void slot_skip(struct slot *s)
{
    s->next_ns += s->every_ns;
    s->retry_ns = 0;
}

void slot_started(struct slot *s, struct clocks now)
{
    s->started_ns = now.monotonic_ns;
    slot_skip(s);
}

void slot_retry(struct slot *s, struct clocks now)
{
    s->retry_ns = now.monotonic_ns + TIMETABLE_RETRY_NS;
}

uint64_t slot_wake_ns(const struct slot *s, struct clocks now)
{
    uint64_t at =
        s->next_ns > now.real_ns ? now.monotonic_ns + (s->next_ns - now.real_ns) : now.monotonic_ns;

    return MAX(at, s->retry_ns);
}
