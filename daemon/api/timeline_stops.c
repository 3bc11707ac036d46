/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses and throttling of JVMs per bucket of a timeline, from the history. */
#include "api/json.h"
#include "api/past_impl.h"
#include "capture/process_selector.h"

#include "base/array.h"
#include "base/id_table.h"

#define STOPS_SHOWN 500 /* the longest entries of an answer */
/* The history has a minute once it is over and written. What is later comes from the readings. */
#define UNWRITTEN_NS (3 * HISTORY_MINUTE_NS)

/* Key of an entry, without padding since a table compares its bytes. */
struct stop_key {
    uint64_t start_ns; /* begin of the bucket */
    uint64_t host_pid;
};

/* The pauses and the throttling of one JVM in one bucket. */
struct stopped {
    struct stop_key key;
    struct history_stopped sum;
    uint64_t until_ns; /* its end; 0: that of the bucket */
    uint64_t ns;       /* time of the kind that write_kind() writes */
};

struct stops {
    uint64_t from_ns, to_ns; /* the range in whole minutes */
    uint64_t width_ns;       /* width of a bucket, in whole minutes */
    uint64_t recorded_ns;    /* from this time on the recorder has single collections */
    uint64_t written_ns;     /* the end of the newest minute of the history */
    struct id_table ids;     /* the id of a key is its index in list */
    struct stopped *list;    /* owned */
    size_t count, cap;
    int failed; /* -errno */
};

static int entry_of(struct stops *s, const struct stop_key *key, struct stopped **ret)
{
    uint32_t id;
    int r = array_grow(&s->list, &s->cap, s->count + 1, 64) ? 0 : -ENOMEM;

    if (r == 0)
        r = id_table_add(&s->ids, key, &id);
    if (r < 0)
        return r;
    if (r == 1)
        s->list[s->count++] = (struct stopped){ .key = *key };
    *ret = &s->list[id];
    return 0;
}

static void add_minute(void *cookie, int32_t host_pid, uint64_t start_ns,
                       const struct history_stopped *stopped)
{
    struct stops *s = cookie;
    const struct stop_key key = { start_ns - start_ns % s->width_ns, (uint64_t)host_pid };
    struct stopped *entry = NULL;
    int r = entry_of(s, &key, &entry);

    if (r < 0) {
        s->failed = r;
        return;
    }
    if (start_ns + HISTORY_MINUTE_NS <= s->recorded_ns) {
        entry->sum.pauses += stopped->pauses;
        entry->sum.pause_ns += MIN(stopped->pause_ns, HISTORY_MINUTE_NS);
    }
    entry->sum.throttled_ns += stopped->throttled_ns;
    s->written_ns = MAX(s->written_ns, start_ns + HISTORY_MINUTE_NS);
}

/* ---- what no minute of the history has yet ---- */

struct lately {
    struct stops *s;
    const struct target_selector *selector;
    struct target *target; /* owned */
    uint64_t to_ns;
    struct error *err;
};

static void add_throttled(void *cookie, const struct process *p, const struct signal_throttled *t)
{
    const struct lately *l = cookie;
    struct stops *s = l->s;

    if (!t->lately_ns || t->from_ns >= l->to_ns || !target_matches(l->target, p))
        return;
    if (!array_grow(&s->list, &s->cap, s->count + 1, 64)) {
        s->failed = -ENOMEM;
        return;
    }
    s->list[s->count++] = (struct stopped){ .key = { t->from_ns, (uint64_t)p->id.host_pid },
                                            .sum.throttled_ns = t->lately_ns,
                                            .until_ns = MIN(t->to_ns, l->to_ns) };
}

static int call_lately(struct api *api, void *arg)
{
    struct lately *l = arg;
    int r = target_new(l->selector, &l->target, l->err);

    if (r == 0)
        signals_throttled(api->engine.signals, l->s->written_ns, add_throttled, l);
    l->target = target_free(l->target);
    return r;
}

/* Adds the throttling between the newest minute of the history and the end of @range. */
static int add_lately(struct api *api, const struct target_selector *t,
                      const struct time_range *range, struct stops *s, struct error *err)
{
    struct lately l = { .s = s, .selector = t, .to_ns = range->to_ns, .err = err };
    uint64_t now_ns = clock_realtime_ns();

    s->written_ns = MAX(MAX(s->written_ns, now_ns - UNWRITTEN_NS), range->from_ns);
    return s->written_ns < MIN(range->to_ns, now_ns) ? api_ask(api, call_lately, &l, err) : 0;
}

ORDER_FUNCTION(longest_first, struct stopped,
               COMPARE(y->ns, x->ns) ?:
                   COMPARE(y->key.start_ns, x->key.start_ns) ?:
                   COMPARE(x->key.host_pid, y->key.host_pid))

/* Appends the longest entries of one kind to @moments. Entries end at @until_ns at the latest.
 * Returns how many are left out. */
static size_t write_kind(struct stops *s, const char *kind, bool counts, uint64_t until_ns,
                         json_t *moments)
{
    size_t left_out = 0;

    qsort(s->list, s->count, sizeof(*s->list), longest_first);
    for (size_t i = 0; i < s->count && s->list[i].ns; i++) {
        const struct stopped *e = &s->list[i];
        uint64_t from_ns = MAX(e->key.start_ns, s->from_ns),
                 to_ns = MIN(e->until_ns ?: e->key.start_ns + s->width_ns, until_ns);
        json_t *one;

        if (i >= STOPS_SHOWN) {
            left_out++;
            continue;
        }
        one = json_pack("{s:s, s:i, s:o, s:f, s:f}", "kind", kind, "pid", (int)e->key.host_pid,
                        "at", json_time(from_ns), "seconds", (double)(to_ns - from_ns) / 1e9,
                        "stopped_seconds", (double)e->ns / 1e9);
        if (counts)
            json_object_set_new(one, "count", json_integer((json_int_t)e->sum.pauses));
        json_array_append_new(moments, one);
    }
    return left_out;
}

static size_t write_stops(struct stops *s, json_t *moments)
{
    uint64_t until_ns = MIN(s->to_ns, s->recorded_ns - s->recorded_ns % HISTORY_MINUTE_NS);
    size_t left_out;

    for (size_t i = 0; i < s->count; i++)
        s->list[i].ns = s->list[i].sum.pause_ns;
    left_out = write_kind(s, "collections", /* counts= */ true, until_ns, moments);
    for (size_t i = 0; i < s->count; i++)
        s->list[i].ns = s->list[i].sum.throttled_ns;
    return left_out + write_kind(s, "throttled", /* counts= */ false, s->to_ns, moments);
}

int past_stops(struct api *api, const struct target_selector *t, const struct time_range *range,
               history_stop_fn fn, void *cookie, struct error *err)
{
    struct past_filter filter;
    const struct history_query q = {
        .from_ns = range->from_ns, .to_ns = range->to_ns, .wants = past_wants_of, .cookie = &filter
    };
    int r = past_filter_init(t, &filter, err);

    if (r == 0 && api->engine.history)
        r = history_stops(api->engine.history, &q, PAST_STOPS_MAX, fn, cookie, err);
    r = past_filter_refuse(&filter, r, err);
    past_filter_deinit(&filter);
    return r;
}

int timeline_stops(struct api *api, const struct target_selector *t, const struct time_range *range,
                   size_t buckets, uint64_t recorded_ns, json_t *moments, size_t *left_out,
                   struct error *err)
{
    uint64_t bucket_ns = (range->to_ns - range->from_ns) / buckets;
    struct stops s = {
        .from_ns = range->from_ns - range->from_ns % HISTORY_MINUTE_NS,
        .to_ns = MIN(range->to_ns, UINT64_MAX - HISTORY_MINUTE_NS) + HISTORY_MINUTE_NS - 1,
        .width_ns = MAX(bucket_ns - bucket_ns % HISTORY_MINUTE_NS, HISTORY_MINUTE_NS),
        .recorded_ns = recorded_ns,
    };
    const struct time_range minutes = { s.from_ns, range->to_ns };
    bool cut;
    int r;

    s.to_ns -= s.to_ns % HISTORY_MINUTE_NS;
    id_table_init(&s.ids, sizeof(struct stop_key), PAST_STOPS_MAX);
    r = past_stops(api, t, &minutes, add_minute, &s, err);
    cut = r == 1;
    if (r >= 0)
        r = s.failed ?: add_lately(api, t, range, &s, err) ?: s.failed;
    if (r == 0)
        *left_out += write_stops(&s, moments);
    id_table_deinit(&s.ids);
    free(s.list);
    return r < 0 ? r : cut;
}
