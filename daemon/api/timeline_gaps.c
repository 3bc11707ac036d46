/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a timeline in which flamed recorded nothing, from the history. */
#include "api/json.h"
#include "api/past_impl.h"

#define GAPS_SHOWN 500

struct gaps {
    json_t *list;
    uint64_t count;
};

static void add_gap(void *cookie, uint64_t from_ns, uint64_t to_ns)
{
    struct gaps *g = cookie;

    if (g->count++ < GAPS_SHOWN)
        json_array_append_new(
            g->list, json_pack("{s:o, s:o}", "from", json_time(from_ns), "to", json_time(to_ns)));
}

int timeline_gaps(struct api *api, const struct time_range *range, uint64_t recorded_ns,
                  json_t *answer, struct error *err)
{
    struct gaps g = { .list = json_array() };
    int r = 0;

    if (api->engine.history && recorded_ns && range->from_ns < recorded_ns)
        r = history_gaps(api->engine.history, range->from_ns, MIN(range->to_ns, recorded_ns),
                         add_gap, &g, err);
    json_object_set_new(answer, "gaps", g.list);
    json_object_set_new(answer, "gaps_left_out",
                        json_integer((json_int_t)(g.count - MIN(g.count, (uint64_t)GAPS_SHOWN))));
    return r;
}
