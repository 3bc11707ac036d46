/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/calls.h"

#include "base/clock.h"
#include "event/event_form.h"
#include "event/events.h"
#include "symbolize/function_find.h"

static struct called *find(struct calls *all, const struct proc_id *id, uint32_t set)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->all[i].set == set && proc_id_equal(&all->all[i].id, id))
            return &all->all[i];
    }
    return NULL;
}

/* Why the function of @form was not found in @p. Returns @r. */
static int explain(int r, const struct process *p, const struct event_form *form,
                   const struct function_found *found, struct error *err)
{
    int file_n = (int)form->group.n, name_n = (int)form->name.n;
    const char *file = form->group.p, *name = form->name.p;

    if (r == -ENXIO) {
        error_set(err, r, "process %d has no file %.*s with code mapped", p->id.host_pid, file_n,
                  file);
        error_remedy(err, "write the name of the file alone; /proc/%d/maps lists them",
                     p->id.host_pid);
    } else if (r == -ENOENT) {
        error_set(err, r, "%.*s of process %d has no function %.*s", file_n, file, p->id.host_pid,
                  name_n, name);
        error_remedy(err, "nm -D lists those that it exports; others need symbols or a debug file, "
                          "and those of C++ are there by their mangled names, too");
    } else if (r == -ENOTUNIQ) {
        error_set(err, r, "%.*s of process %d has several functions %.*s", file_n, file,
                  p->id.host_pid, name_n, name);
        error_remedy(err, "name one by its mangled name, such as %s", found->symbol);
    } else if (r == -E2BIG) {
        error_set(err, r, "%.*s of process %d has more than %d symbols that may be %.*s", file_n,
                  file, p->id.host_pid, FUNCTION_SYMBOLS_MAX, name_n, name);
        error_remedy(err, "name one by its mangled name; nm -D lists them");
    } else {
        error_set(err, r, "%.*s of process %d cannot be read", file_n, file, p->id.host_pid);
    }
    return r;
}

static int put(const struct calls_env *env, struct process *p, const struct wanted_calls *wanted,
               struct mallocs *rate, struct error *err)
{
    struct function_found found;
    struct event_form form;
    uint32_t set = wanted->set;
    uint32_t flags;
    int r = event_form_parse(span_of(wanted->event), &form, err);

    if (r < 0)
        return r;
    flags = events_row(form.kind)->flags;
    if (flags & EVENT_MALLOCS)
        return mallocs_put(rate, env->broker, env->symbolizer, p, set, flags & EVENT_BLOCKS, err);
    r = symbolizer_function(env->symbolizer, p, form.group, form.name, &found);
    if (r == -EAGAIN)
        return r;
    if (r < 0)
        return explain(r, p, &form, &found, err);
    r = broker_call(env->broker, &p->id, found.start, found.end, set, found.offset + form.address,
                    err);
    if (r == -EPERM || r == -ENOEXEC)
        error_remedy(err, "choose another function: only the first instruction of one can have a "
                          "probe, and only if it is push or a no-op");
    return r > 0 ? error_set(err, -ESRCH, "it has ended") : r;
}

/* Takes out the probes of @one, also those that are being installed. */
static void take_out(struct called *one, struct broker *b)
{
    if (asked_probes_stand(&one->asked))
        broker_uncall(b, one->id.host_pid, one->set, NULL);
    one->asked.there = false;
}

/* After an exec: takes out the probes of the image before. */
static void drop_before(struct calls *all, struct broker *b, const struct process *p, uint32_t set)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->all[i].set == set && all->all[i].id.host_pid == p->id.host_pid)
            take_out(&all->all[i], b);
    }
}

/* Asks the broker for the probes of @one; those that it has stay. As calls_put(). */
static int try_put(const struct calls_env *env, struct process *p, struct called *one,
                   const struct wanted_calls *wanted, struct error *err)
{
    int r = asked_probes_coming(&one->asked, env->broker, p->id.host_pid, err);

    if (r < 0)
        return r;
    one->rate = (struct mallocs){ 0 };
    r = put(env, p, wanted, &one->rate, err);
    return r == -EAGAIN ? ASKED_PROBES_READING : r;
}

int calls_put(const struct calls_env *env, struct process *p, const struct wanted_calls *wanted,
              uint64_t until_ns, struct error *err)
{
    struct calls *all = env->calls;
    uint32_t set = wanted->set;
    struct called *one = find(all, &p->id, set);
    uint64_t now_ns = clock_monotonic_ns();
    struct error reason = ERROR_NULL;
    int r;

    if (!one && all->count == CALLS_MAX)
        return error_set(err, -E2BIG, "functions are probed at %d places already", CALLS_MAX);
    if (!one) {
        drop_before(all, env->broker, p, set);
        one = &all->all[all->count++];
        *one = (struct called){ .id = p->id, .set = set, .since_ns = clock_monotonic_ns() };
    }
    if (wanted->forced && one->asked.reason.code == -EDQUOT)
        one->asked.again_ns = 0;
    one->forced |= wanted->forced;
    if (asked_probes_want(&one->asked))
        return 0;
    if (now_ns >= one->asked.again_ns || (until_ns > now_ns && one->asked.again_ns != UINT64_MAX)) {
        r = try_put(env, p, one, wanted, &reason);
        if (r == -ENOENT) {
            symbolizer_read_maps(env->symbolizer, p);
            r = try_put(env, p, one, wanted, &reason);
        }
        asked_probes_note(&one->asked, r, &reason);
    }
    return asked_probes_answer(&one->asked, until_ns, err);
}

void calls_want(struct calls *all, const struct proc_id *id, uint32_t set)
{
    struct called *one = find(all, id, set);

    if (one)
        one->asked.wanted = true;
}

void calls_look(struct calls *all)
{
    for (size_t i = 0; i < all->count; i++)
        all->all[i].asked.wanted = all->all[i].forced = false;
}

/* Takes out the probes of @one if it calls malloc too often for those that want it. */
static void look_at(struct called *one, struct broker *b)
{
    int r = one->asked.there && one->rate.begun_ns
                ? mallocs_look(&one->rate, b, one->id.host_pid, one->forced, &one->asked.reason)
                : 0;

    if (r == 0)
        return;
    broker_uncall(b, one->id.host_pid, one->set, NULL);
    one->asked.there = false;
    one->cut = true;
    one->asked.reason.code = r;
    one->asked.again_ns = UINT64_MAX;
}

void calls_looked(struct calls *all, struct broker *b)
{
    for (size_t i = all->count; i-- > 0;) {
        if (all->all[i].asked.wanted) {
            look_at(&all->all[i], b);
            continue;
        }
        take_out(&all->all[i], b);
        all->all[i] = all->all[--all->count];
    }
}

struct called *calls_take_cut(struct calls *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->all[i].cut) {
            all->all[i].cut = false;
            return &all->all[i];
        }
    }
    return NULL;
}

uint64_t calls_since_ns(struct calls *all, const struct proc_id *id, uint32_t set)
{
    const struct called *one = find(all, id, set);

    return !one || (!one->asked.there && one->asked.reason.code == -EDQUOT) ? UINT64_MAX
                                                                            : one->since_ns;
}

void calls_forget(struct calls *all, uint32_t set)
{
    for (size_t i = all->count; i-- > 0;) {
        if (all->all[i].set == set)
            all->all[i] = all->all[--all->count];
    }
}
