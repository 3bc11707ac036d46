/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probe/calls.h"

#include "base/clock.h"
#include "event/event_form.h"
#include "symbolize/function_find.h"

/* Sets @err to why the function of @form was not found in @p. Returns @r. */
static int explain(int r, const struct process *p, const struct event_form *form,
                   const struct function_found *found, struct error *err)
{
    int file_n = (int)form->group.n, name_n = (int)form->name.n;
    const char *file = form->group.p, *name = form->name.p;

    if (r == -ENXIO) {
        error_parameter(err, "event", r, "process %d has no file %.*s with code mapped",
                        p->id.host_pid, file_n, file);
        error_remedy(err, "write the name of the file alone; /proc/%d/maps lists them",
                     p->id.host_pid);
    } else if (r == -ENOENT) {
        error_parameter(err, "event", r, "%.*s of process %d has no function %.*s", file_n, file,
                        p->id.host_pid, name_n, name);
        error_remedy(err, "nm -D lists those that it exports; others need symbols or a debug file, "
                          "and those of C++ are there by their mangled names, too");
    } else if (r == -ENOTUNIQ) {
        error_parameter(err, "event", r, "%.*s of process %d has several functions %.*s", file_n,
                        file, p->id.host_pid, name_n, name);
        error_remedy(err, "name one by its mangled name, such as %s", found->symbol);
    } else if (r == -E2BIG) {
        error_parameter(err, "event", r,
                        "%.*s of process %d has more than %d symbols that may be %.*s", file_n,
                        file, p->id.host_pid, FUNCTION_SYMBOLS_MAX, name_n, name);
        error_remedy(err, "name one by its mangled name; nm -D lists them");
    } else {
        error_parameter(err, "event", r, "%.*s of process %d cannot be read", file_n, file,
                        p->id.host_pid);
    }
    return r;
}

static int put(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
               struct process *p, const void *what, struct error *err)
{
    struct call_probe *one = (struct call_probe *)e;
    const struct wanted_calls *wanted = what;
    struct function_found found;
    struct event_form form;
    int r = event_form_parse(span_of(wanted->event), &form, err);

    (void)t;
    if (r < 0)
        return r;
    one->rate = (struct mallocs){ 0 };
    if (wanted->mallocs)
        r = mallocs_put(&one->rate, env->broker, env->symbolizer, p, e->set, wanted->followed, err);
    else
        r = symbolizer_function(env->symbolizer, p, form.group, form.name, &found);
    if (r == -EAGAIN)
        return ASKED_PROBES_READING;
    if (wanted->mallocs)
        return r;
    if (r < 0)
        return explain(r, p, &form, &found, err);
    r = broker_probe_put(
        env->broker, &p->id, found.start, found.end,
        &(struct broker_probes){ .program = BROKER_PROBED_CALL,
                                 .set = e->set,
                                 .count = 1,
                                 .places = { broker_place_of(found.offset + form.address, 0) } },
        err);
    if (r == -EPERM || r == -ENOEXEC)
        error_remedy(err, "choose another function: flamed puts a probe only at a function's first "
                          "instruction, and only if that is push or a no-op");
    return r;
}

static void take_out(struct broker *b, const struct probe_entry *e)
{
    broker_probe_drop(b, e->id.host_pid, BROKER_PROBED_CALL, e->set, NULL);
}

/* Removes the probes of @e for good if its process calls malloc too often, unless a capture forces
 * them. */
static void look(struct broker *b, struct probe_entry *e)
{
    struct call_probe *one = (struct call_probe *)e;
    int r = one->rate.begun_ns
                ? mallocs_look(&one->rate, b, e->id.host_pid, one->forced, &e->asked.reason)
                : 0;

    one->forced = false;
    if (r == 0)
        return;
    take_out(b, e);
    e->asked.there = false;
    e->asked.reason.code = r;
    e->asked.again_ns = UINT64_MAX;
    one->cut = true;
    one->cut_ns = clock_monotonic_ns();
}

const struct probe_kind CALLS = { .entry_bytes = sizeof(struct call_probe),
                                  .entries_max = CALLS_MAX,
                                  .standing_max = CALLS_MAX,
                                  .have_all = "functions are probed",
                                  .keeps_gone = true,
                                  .put = put,
                                  .take_out = take_out,
                                  .look = look };

int calls_put(struct probe_table *t, const struct probe_env *env, struct process *p,
              const struct wanted_calls *wanted, uint64_t until_ns, struct error *err)
{
    struct call_probe *one = (struct call_probe *)probe_table_find(t, &p->id, wanted->set);
    int r;

    if (one && wanted->forced && one->entry.asked.reason.code == -EDQUOT)
        one->entry.asked.again_ns = 0;
    r = probe_table_put(t, env, p, wanted->set, wanted, until_ns, err);
    one = (struct call_probe *)probe_table_find(t, &p->id, wanted->set);
    if (one)
        one->forced |= wanted->forced;
    return r;
}

bool calls_take_cut(struct probe_table *t, struct proc_id *ret_id, uint32_t *ret_set)
{
    if (probe_table_take_gone(t, ret_id, ret_set))
        return true;
    for (struct probe_entry *e = t->first; e; e = e->next) {
        struct call_probe *one = (struct call_probe *)e;

        if (one->cut) {
            one->cut = false;
            *ret_id = e->id;
            *ret_set = e->set;
            return true;
        }
    }
    return false;
}

uint64_t calls_since_ns(const struct probe_table *t, const struct proc_id *id, uint32_t set)
{
    const struct probe_entry *e = probe_table_find(t, id, set);

    return !e || (!e->asked.there && e->asked.reason.code == -EDQUOT) ? UINT64_MAX : e->since_ns;
}

uint64_t calls_cut_ns(const struct probe_table *t, const struct proc_id *id, uint32_t set)
{
    const struct call_probe *one = (const struct call_probe *)probe_table_find(t, id, set);

    return one ? one->cut_ns : 0;
}
