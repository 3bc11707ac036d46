/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a finished capture that waits for the store, as the store has them later. Thread:
 * any. */
#include "api/api_impl.h"

#define WAITING_PROCESSES_MAX 256 /* as many as the store shows: those with most samples */

static int most_samples_first(const void *a, const void *b)
{
    const struct store_process *x = a, *y = b;

    return COMPARE(y->samples, x->samples);
}

/* Makes the list of processes of @p that have samples. Its texts point into @p. NULL: no memory. */
static struct store_process *waiting_processes(const struct profile *p, size_t *ret_count)
{
    struct store_process *list = calloc(p->process_count + 1, sizeof(*list));
    size_t count = 0;

    if (!list)
        return NULL;
    for (size_t i = 0; i < p->sample_count; i++)
        list[p->threads[p->samples[i].thread].process].samples += p->samples[i].count;
    for (size_t i = 0; i < p->process_count; i++) {
        const struct profile_process *process = &p->processes[i];

        if (!list[i].samples)
            continue;
        list[count++] = (struct store_process){
            .host_pid = process->host_pid,
            .name = intern_get(p->strings, process->name).p,
            .container = intern_get(p->strings, process->container).p,
            .pod = intern_get(p->strings, process->pod).p,
            .pod_namespace = intern_get(p->strings, process->pod_namespace).p,
            .service = intern_get(p->strings, process->service).p,
            .samples = list[i].samples,
        };
    }
    qsort(list, count, sizeof(*list), most_samples_first);
    *ret_count = MIN(count, (size_t)WAITING_PROCESSES_MAX);
    return list;
}

int waiting_facts(const struct profile *p, const char *schedule, store_capture_fn fn, void *cookie)
{
    size_t count = 0;
    _cleanup_free_ struct store_process *processes = waiting_processes(p, &count);
    char names[PROFILE_EVENT_NAMES_BYTES];
    struct store_capture facts = {
        .state = STORE_RUNNING,
        .start_ns = p->start_realtime_ns,
        .end_ns = p->start_realtime_ns + (p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0),
        .event = names,
        .target = p->target,
        .symbols = p->symbols,
        .schedule = schedule,
        .failure = "",
        .scope = p->scope,
        .events = p->events,
        .event_count = p->event_count,
        .samples = p->total,
        .lost = p->lost,
        .unknown = p->unknown,
        .truncated = p->truncated,
        .warnings = (const char *const *)p->warnings,
        .warning_count = p->warning_count,
        .processes = processes,
        .process_count = count,
    };

    if (!processes)
        return -ENOMEM;
    profile_event_names(p, names);
    snprintf(facts.id, sizeof(facts.id), "%s", p->id);
    return fn(cookie, &facts);
}
