/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a profile from a tally of the history. */
#include "store/history_tally.h"

#include "base/cleanup.h"

static bool process_names_known(const struct profile_process *p, uint32_t strings)
{
    return p->name < strings && p->container < strings && p->pod < strings &&
           p->pod_namespace < strings && p->service < strings;
}

/* Returns a number below 0 from the name of a pool. It is the same in every profile, and so
 * identifies the pool. */
static int32_t pool_tid(const struct dictionary *e, uint32_t name)
{
    struct span s = frame_table_get_string(e->table, name);
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (uint8_t)s.p[i]) * 16777619u;
    return (int32_t)(hash | 0x80000000u);
}

static int profile_who(const struct tally *t, const struct dictionary *e, uint32_t strings,
                       struct record *record, uint32_t *ret_threads)
{
    int r = 0;

    for (uint32_t i = 0; i < t->threads.count && r == 0; i++) {
        const struct tally_thread *from = id_table_get(&t->threads, i);
        const struct profile_process *process = id_table_get(&t->processes, from->process);
        struct profile_thread to = { .host_tid = pool_tid(e, from->name), .name = from->name };

        if (!process_names_known(process, strings) || from->name >= strings)
            return -EBADMSG;
        r = record_process(record, process, &to.process);
        if (r == 0)
            r = record_thread(record, &to, &ret_threads[i]);
    }
    return r;
}

/* Gets the request of @key, of thread @thread, in @record; 0: none. */
static int profile_request(const struct tally *t, const struct tally_key *key,
                           const struct dictionary *e, struct record *record, uint32_t thread,
                           uint32_t *ret)
{
    const struct tally_request *request;
    struct profile_context context = { 0 };

    *ret = 0;
    if (!key->request)
        return 0;
    request = id_table_get(&t->requests, key->request);
    context.state = request->state;
    return record_context(record, thread, &context,
                          frame_table_get_string(e->table, request->operation), 0, ret);
}

static int profile_row(const struct tally *t, uint32_t i, struct dictionary_places *places,
                       const uint32_t *threads, const uint64_t *slots, size_t slot_count)
{
    const struct tally_key *key = id_table_get(&t->rows, i);
    uint64_t left = t->values[i].count, value = t->values[i].value;
    uint32_t request = 0;
    int r;

    if (key->slot >= slot_count)
        return -EBADMSG;
    r = profile_request(t, key, places->e, places->record, threads[key->thread], &request);
    while (left && r == 0) {
        struct profile_sample s = { .time_ns = slots[key->slot],
                                    .value = value,
                                    .thread = threads[key->thread],
                                    .count = (uint32_t)MIN(left, (uint64_t)UINT32_MAX),
                                    .mode = key->mode,
                                    .event = key->event,
                                    .context = request,
                                    .flags = key->flags };

        value = 0;
        left -= s.count;
        r = dictionary_sample(places, &s, key->node);
    }
    return r == -ENOSPC ? 0 : r; /* dictionary_sample() counts the drop */
}

int tally_profile(const struct tally *t, const struct dictionary *e, const uint64_t *slots,
                  size_t slot_count, const struct profile *meta, struct profile **ret)
{
    _cleanup_free_ uint32_t *threads = calloc((size_t)t->threads.count + 1, sizeof(*threads));
    _cleanup_(dictionary_places_deinit) struct dictionary_places places = { 0 };
    struct profile facts = *meta;
    struct frame_table_counts counts;
    struct record *record = NULL;
    int r = threads ? 0 : -ENOMEM;

    memcpy(facts.events, t->events, sizeof(facts.events));
    facts.event_count = t->event_count;
    facts.lost += t->dropped;
    frame_table_counts(e->table, &counts);
    if (r == 0)
        r = record_new(e->table, TALLY_ROWS_MAX, &record);
    if (r == 0)
        r = profile_who(t, e, counts.strings, record, threads);
    if (r == 0)
        r = dictionary_places_init(&places, e, record);
    for (uint32_t i = 0; i < t->rows.count && r == 0; i++)
        r = profile_row(t, i, &places, threads, slots, slot_count);
    dictionary_places_deinit(&places);
    if (r == 0) {
        record_seal(record);
        r = record_finish(record, &facts, ret);
    }
    record_free(record);
    return r;
}
