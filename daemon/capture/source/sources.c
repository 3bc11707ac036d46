/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/source/source.h"

#include "capture/capture_impl.h"

static const struct event_source *const SOURCES[] = {
#define SOURCE(id, name) [SOURCE_##id] = &event_source_##name,
#include "event/events.def"
};

const struct event_source *event_source_of(const struct event_info *info)
{
    return SOURCES[info->source];
}

void event_sources_drain(struct captures *captures)
{
    for (size_t i = 0; i < ARRAY_SIZE(SOURCES); i++) {
        if (SOURCES[i]->drain)
            SOURCES[i]->drain(captures);
    }
}

void event_sources_swept(struct captures *captures)
{
    for (size_t i = 0; i < ARRAY_SIZE(SOURCES); i++) {
        if (SOURCES[i]->swept)
            SOURCES[i]->swept(captures);
    }
}

void event_sources_replaced(struct captures *captures, const struct process *p)
{
    for (size_t i = 0; i < ARRAY_SIZE(SOURCES); i++) {
        if (SOURCES[i]->replaced)
            SOURCES[i]->replaced(captures, p);
    }
}

uint64_t source_value(const struct capture_event *e, const struct sample_record *rec)
{
    return MAX(rec->value, e->period);
}

double source_share(const struct capture_event *e, const struct sample_record *rec)
{
    const struct event_set *set = e->sets;
    uint64_t from, to = event_period_number(e->period);

    while (set < &e->sets[EVENT_SETS_MAX - 1] && set->set != rec->set)
        set++;
    from = event_period_number(set->period);
    if (rec->wait_ns) {
        from = MAX(from, MIN(rec->wait_ns, to));
        to = MAX(to, from);
    } else if (event_is_valued(e->info) && rec->value) { /* sampled with a chance of value/I, too */
        from = MIN(rec->value, to);
    }
    return from >= to ? 1.0 : (double)from / (double)to;
}

double source_set_share(const struct capture_event *e, uint32_t set)
{
    double from = (double)event_period_number(e->sets[0].period),
           to = (double)event_period_number(e->period);

    return set == e->sets[0].set && !event_is_valued(e->info) && from < to ? from / to : 1;
}

/* Returns the value of a sample taken at a pace: the number of events that it stands for. */
static uint64_t counted(const struct capture_event *e, const struct sample_record *rec)
{
    double events = (double)MAX(rec->value, UINT64_C(1)) / source_share(e, rec);

    return (uint64_t)(events * (double)event_worth(e->info) + 0.5);
}

void source_weigh(struct capture_event *e, const struct sample_record *rec, struct seen_run *run,
                  struct profile_sample *sample)
{
    if (e->source->weight)
        e->source->weight(e, rec, run, sample);
    else if (event_is_valued(e->info))
        sample->value = source_value(e, rec);
    else if (event_is_paced(e->period))
        sample->value = counted(e, rec);
}

int source_prepare_jvm(struct capture_event *e, struct probe_table *t, struct process *p,
                       const struct source_texts *texts, struct error *err)
{
    struct capture *c = e->capture;
    const struct probe_env env = captures_probe_env(c->captures);
    struct error why = ERROR_NULL;
    int r = p ? probe_table_put(t, &env, p, PROBE_NO_SET, /* what= */ NULL,
                                /* until_ns= */ UINT64_MAX, &why)
              : 0;

    if (r == -EAGAIN)
        record_warn(c->record, "the JVM was still starting: %s not in this profile", texts->first);
    if (r == 0 || r == -EAGAIN)
        return 0;
    if (r == -EINPROGRESS)
        return error_set(err, r, "%s", why.msg);
    error_set(err, r, "%s process %d%s: %s", texts->what, p->id.host_pid, texts->cannot, why.msg);
    error_remedy(err, "%s", why.remedy);
    return BACKEND_CONFLICT;
}

bool source_want_jvm(struct capture_event *e, struct probe_table *t, struct process *p,
                     const struct source_texts *texts)
{
    struct capture *c = e->capture;
    const struct probe_env env = captures_probe_env(c->captures);
    struct error why = ERROR_NULL;
    int r = p->jvm == JVM_NO ? -EAGAIN
                             : probe_table_put(t, &env, p, PROBE_NO_SET, /* what= */ NULL,
                                               /* until_ns= */ 0, &why);

    if (probe_put_failed(r))
        record_warn_process(c->record, "%s %d (%s)%s not in this profile: %s", texts->what,
                            p->id.host_pid, process_title(p), texts->is, why.msg);
    return r == 0;
}
