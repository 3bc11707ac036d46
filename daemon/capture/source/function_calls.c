/* SPDX-License-Identifier: Apache-2.0 */
/* Events LIB:SYMBOL and malloc: calls of functions, at probes. */
#include "capture/source/function_calls.h"

#include "capture/capture_impl.h"

static struct wanted_calls wanted_calls(const struct capture_event *e)
{
    return (struct wanted_calls){ .set = e->sets[0].set,
                                  .event = e->name,
                                  .mallocs = e->source != &event_source_calls,
                                  .followed = e->source == &event_source_blocks,
                                  .forced = e->capture->wish.forced };
}

int function_calls_prepare(struct capture_event *e, struct process *p, struct error *err)
{
    struct captures *captures = e->capture->captures;
    const struct probe_env env = captures_probe_env(captures);
    const struct wanted_calls wanted = wanted_calls(e);
    int r = p ? calls_put(&captures->calls, &env, p, &wanted, /* until_ns= */ UINT64_MAX, err) : 0;

    return r == 0 || r == -EINPROGRESS ? r : BACKEND_CONFLICT;
}

void function_calls_hold(const struct capture_event *e, const struct proc_id *p)
{
    if (p)
        probe_table_want(&e->capture->captures->calls, p, e->sets[0].set);
}

/* Refuses @c if its one process calls malloc too often so that its profile would have little more
 * than the start. */
static void refuse_often(struct capture *c, const struct error *why, uint64_t now_ns)
{
    if (!target_single_pid(c->target) || c->event_count > 1 || c->refusal.code ||
        now_ns - MIN(c->start_ns, now_ns) >= MALLOCS_SURE_NS)
        return;
    error_set(&c->refusal, why->code, "mallocs of process %d are not sampled: %s",
              target_single_pid(c->target), why->msg);
    error_remedy(&c->refusal, "%s", why->remedy);
}

/* Probes @p; a process that has not mapped the file is skipped. */
void function_calls_want(struct capture_event *e, struct process *p, uint64_t now_ns)
{
    struct capture *c = e->capture;
    struct captures *captures = c->captures;
    const struct probe_env env = captures_probe_env(captures);
    const struct wanted_calls wanted = wanted_calls(e);
    struct error why = ERROR_NULL;
    int r;

    if (p->kernel_thread)
        return;
    r = calls_put(&captures->calls, &env, p, &wanted, /* until_ns= */ 0, &why);
    if (r == -EDQUOT)
        refuse_often(c, &why, now_ns);
    if (probe_put_failed(r) && r != -ENXIO)
        record_warn_process(c->record, "calls of %s in %d (%s) are not counted: %s", e->name,
                            p->id.host_pid, p->comm, why.msg);
}

const struct event_source event_source_calls = { .prepare = function_calls_prepare,
                                                 .hold = function_calls_hold,
                                                 .want = function_calls_want,
                                                 .empty = { "it was not called", EMPTY_NO_CALL } };

/* ---- event malloc ---- */

/* Warns of the cost of the probes of @functions to process @who, and of calls that they miss. */
static void warn_malloc(struct capture *c, const char *who, const char *functions,
                        const struct mallocs *m)
{
    char names[MALLOCS_LEFT_OUT_BYTES];

    if (m->per_second)
        record_warn_process(
            c->record,
            "%s hit probes of %s some %llu times a second, which cost about %.2g %% of a processor",
            who, functions, (unsigned long long)m->per_second,
            (double)m->per_second * MALLOCS_COST_NS / NSEC_PER_SEC * 100);
    if (m->left_out)
        record_warn_process(
            c->record,
            "memory that %s allocated by %s is not in this profile: no probe can be put there", who,
            mallocs_left_out(m, names));
    if (m->more)
        record_warn_process(c->record,
                            "%s has mapped more than %d libraries with a malloc: memory from the "
                            "others is not in this profile",
                            who, MALLOCS_LIBRARIES_MAX);
}

void function_calls_warn_mallocs(const struct capture_event *e, const char *functions)
{
    struct capture *c = e->capture;
    struct captures *captures = c->captures;
    char who[96] = "it";

    for (const struct probe_entry *entry = captures->calls.first; entry; entry = entry->next) {
        const struct call_probe *one = (const struct call_probe *)entry;
        const struct process *p = entry->asked.there && entry->set == e->sets[0].set
                                      ? discover_find(captures->discover, entry->id.host_pid)
                                      : NULL;

        if (!p || !proc_id_equal(&p->id, &entry->id) || !target_matches(c->target, p))
            continue;
        if (!target_single_pid(c->target))
            snprintf(who, sizeof(who), "%d (%s)", p->id.host_pid, p->comm);
        warn_malloc(c, who, functions, &one->rate);
    }
}

static void mallocs_warn(const struct capture_event *e)
{
    function_calls_warn_mallocs(e, "malloc");
}

const struct event_source event_source_mallocs = { .prepare = function_calls_prepare,
                                                   .hold = function_calls_hold,
                                                   .want = function_calls_want,
                                                   .warn = mallocs_warn,
                                                   .empty = { "malloc was not called",
                                                              EMPTY_BYTES_BY_CHANCE } };
