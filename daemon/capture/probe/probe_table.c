/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probe/probe_table.h"

#include "base/clock.h"

static void free_all(struct probe_entry *first)
{
    while (first) {
        struct probe_entry *e = first;

        first = e->next;
        free(e);
    }
}

void probe_table_deinit(struct probe_table *t)
{
    free_all(TAKE_PTR(t->first));
    free_all(TAKE_PTR(t->gone));
    t->count = 0;
    t->places = (struct places){ .most = 0 };
}

struct probe_entry *probe_table_find(const struct probe_table *t, const struct proc_id *id,
                                     uint32_t set)
{
    struct probe_entry *e = t->first;

    while (e && (e->set != set || !proc_id_equal(&e->id, id)))
        e = e->next;
    return e;
}

static void take_out(const struct probe_table *t, struct broker *b, struct probe_entry *e)
{
    if (e->may_stand)
        t->kind->take_out(b, e);
    e->asked = (struct asked_probes){ .wanted = e->asked.wanted };
    e->may_stand = false;
}

/* Removes *@at from the table, with its probes. Returns it. */
static struct probe_entry *unlink_entry(struct probe_table *t, struct broker *b,
                                        struct probe_entry **at)
{
    struct probe_entry *e = *at;

    take_out(t, b, e);
    places_give(&t->places, e->owner);
    *at = e->next;
    t->count--;
    return e;
}

/* Removes *@at, which loses its place to another owner's entry. */
static void give_way(struct probe_table *t, struct broker *b, struct probe_entry **at)
{
    bool keep = t->kind->keeps_gone && (*at)->may_stand;
    struct probe_entry *e = unlink_entry(t, b, at);

    if (!keep) {
        free(e);
        return;
    }
    e->next = t->gone;
    t->gone = e;
}

bool probe_table_take_gone(struct probe_table *t, struct proc_id *ret_id, uint32_t *ret_set)
{
    struct probe_entry *e = t->gone;

    if (!e)
        return false;
    t->gone = e->next;
    *ret_id = e->id;
    *ret_set = e->set;
    free(e);
    return true;
}

/* Returns the number of entries of @owner. With @standing, counts only entries that have probes or
 * soon will. That number is exact, as owners that share a place in struct shares would lose probes
 * to others. */
static uint64_t entries_of(const struct probe_table *t, uint64_t owner, bool standing)
{
    uint64_t n = 0;

    if (!standing)
        return shares_used(&t->places.shares, owner);
    for (const struct probe_entry *e = t->first; e; e = e->next)
        n += e->owner == owner && asked_probes_stand(&e->asked);
    return n;
}

/* Returns whether the owner of @found loses no probes if @e gives way in its place. */
static bool costs_less(const struct probe_entry *e, const struct probe_entry *found)
{
    return e->owner == found->owner && asked_probes_stand(&found->asked) &&
           !asked_probes_stand(&e->asked);
}

/* Returns the entry to drop for a new entry of @owner: the newest entry of the owner with most
 * entries, or its newest without probes if it has one, if @owner still has fewer with the new
 * entry. @standing: only among entries that have probes or soon will. NULL: none. */
static struct probe_entry **gives_way(struct probe_table *t, uint64_t owner, bool standing)
{
    uint64_t least = entries_of(t, owner, standing) + 2, most = 0;
    struct probe_entry **found = NULL;

    if (!standing && t->places.most < least) /* keeps this cheap for many owners without room */
        return NULL;
    for (struct probe_entry **at = &t->first; *at; at = &(*at)->next) {
        uint64_t has = entries_of(t, (*at)->owner, standing);

        if ((has > most && (!standing || asked_probes_stand(&(*at)->asked))) ||
            (!standing && found && costs_less(*at, *found))) {
            most = has;
            found = at;
        }
    }
    if (!standing)
        t->places.most = most;
    return most >= least ? found : NULL;
}

/* Returns a new entry, for which an entry of another owner may be dropped. NULL: there is no
 * room. */
static struct probe_entry *new_entry(struct probe_table *t, struct broker *b, uint64_t owner)
{
    struct probe_entry **gives =
        t->count == t->kind->entries_max ? gives_way(t, owner, /* standing= */ false) : NULL;

    if (gives)
        give_way(t, b, gives);
    return t->count < t->kind->entries_max ? calloc(1, t->kind->entry_bytes) : NULL;
}

/* Returns the entry of @p and @set, made if needed. NULL: there is no room. */
static struct probe_entry *entry_of(struct probe_table *t, const struct probe_env *env,
                                    struct process *p, uint32_t set)
{
    struct probe_entry *e = probe_table_find(t, &p->id, set);

    if (e)
        return e;
    e = new_entry(t, env->broker, process_payer(p));
    if (!e)
        return NULL;
    for (struct probe_entry *before = t->first; before; before = before->next) {
        if (before->set == set && before->id.host_pid == p->id.host_pid)
            take_out(t, env->broker, before);
    }
    e->next = t->first;
    e->id = p->id;
    e->set = set;
    e->owner = p->payer;
    places_take(&t->places, e->owner);
    e->since_ns = clock_monotonic_ns();
    t->first = e;
    t->count++;
    return e;
}

/* Returns the number of entries except @one that have probes, or soon will. */
static size_t standing_beside(const struct probe_table *t, const struct probe_entry *one)
{
    size_t n = 0;

    for (const struct probe_entry *e = t->first; e; e = e->next)
        n += e != one && asked_probes_stand(&e->asked);
    return n;
}

/* Returns whether @e may have probes. *@ret_gives: the entry that loses its probes once @e has
 * them; NULL: none. If @e has failed before, no entry loses its probes, as each further try would
 * cost another entry. */
static bool may_stand(struct probe_table *t, const struct probe_entry *e,
                      struct probe_entry **ret_gives)
{
    struct probe_entry **gives;

    *ret_gives = NULL;
    if (standing_beside(t, e) < t->kind->standing_max)
        return true;
    gives = asked_probes_failed(&e->asked) ? NULL : gives_way(t, e->owner, /* standing= */ true);
    if (gives)
        *ret_gives = *gives;
    return gives;
}

/* Requests the probes of @e. Returns as probe_kind.put. */
static int ask(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
               struct process *p, const void *what, struct error *err)
{
    int r = asked_probes_coming(&e->asked, env->broker, p->id.host_pid, err)
                ?: t->kind->put(t, env, e, p, what, err);

    if (r == -ENOENT) {
        symbolizer_read_maps(env->symbolizer, p);
        r = t->kind->put(t, env, e, p, what, err);
    }
    return r > 0 ? error_set(err, -ESRCH, "it has ended") : r;
}

/* Requests the probes of @e if it may have them, and stores the result. Returns false if the limit
 * is reached. */
static bool ask_for(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
                    struct process *p, const void *what)
{
    struct error reason = ERROR_NULL;
    struct probe_entry *gives;
    int r;

    if (!may_stand(t, e, &gives))
        return false;
    r = ask(t, env, e, p, what, &reason);
    asked_probes_note(&e->asked, r, &reason);
    e->may_stand |= asked_probes_stand(&e->asked);
    if (gives && asked_probes_stand(&e->asked))
        take_out(t, env->broker, gives);
    return true;
}

int probe_table_put(struct probe_table *t, const struct probe_env *env, struct process *p,
                    uint32_t set, const void *what, uint64_t until_ns, struct error *err)
{
    struct probe_entry *e = entry_of(t, env, p, set);
    uint64_t now_ns = clock_monotonic_ns();
    bool due, full;

    if (e && asked_probes_want(&e->asked))
        return 0;
    due = e &&
          (now_ns >= e->asked.again_ns || (until_ns > now_ns && e->asked.again_ns != UINT64_MAX));
    full = !e || (due && !ask_for(t, env, e, p, what));
    if (full && !(e && asked_probes_failed(&e->asked)))
        return error_set(err, -E2BIG, "%zu %s already", e ? t->kind->standing_max : t->count,
                         t->kind->have_all);
    return asked_probes_answer(&e->asked, until_ns, err);
}

void probe_table_want(struct probe_table *t, const struct proc_id *id, uint32_t set)
{
    struct probe_entry *e = probe_table_find(t, id, set);

    if (e)
        e->asked.wanted = true;
}

void probe_table_sweep_begin(struct probe_table *t)
{
    for (struct probe_entry *e = t->first; e; e = e->next)
        e->asked.wanted = false;
}

void probe_table_sweep_end(struct probe_table *t, struct broker *b)
{
    for (struct probe_entry **at = &t->first, *e; (e = *at);) {
        if (e->asked.wanted) {
            if (e->asked.there && t->kind->look)
                t->kind->look(b, e);
            at = &e->next;
            continue;
        }
        free(unlink_entry(t, b, at));
    }
}

void probe_table_lost(struct probe_table *t, uint32_t set)
{
    for (struct probe_entry *e = t->first; e; e = e->next) {
        if (e->set != set)
            continue;
        e->asked = (struct asked_probes){ 0 };
        e->may_stand &= set == PROBE_NO_SET;
    }
}
