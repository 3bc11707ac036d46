/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/counted.h"

#include "base/list.h"
#include "base/text.h"
#include "capture/capture_impl.h"
#include "capture/recorder.h"

#define COUNTED_LOOK_NS (100 * NSEC_PER_MSEC) /* between looks at one JVM */
#define COUNTED_LOOKS_NS (20 * NSEC_PER_MSEC) /* between rounds over the JVMs that are due */
#define COUNTED_TELL_NS NSEC_PER_SEC          /* between two times that counts are delivered */
#define COUNTED_LIST_NS NSEC_PER_SEC          /* between listings of the wanted JVMs */
#define COUNTED_FAILED_NS (10 * NSEC_PER_SEC) /* until a failed read is repeated */
#define COUNTED_BUDGET_NS (NSEC_PER_MSEC / 2) /* time of a round */
/* Least time between looks for the recorder alone, which is always on: about half the time between
 * safepoints. */
#define COUNTED_REST_MIN_NS NSEC_PER_SEC
#define COUNTED_REST_MAX_NS (5 * NSEC_PER_SEC)
#define COUNTED_REST_STEP_NS NSEC_PER_SEC
#define COUNTED_RECORDED_LOOKS_NS (200 * NSEC_PER_MSEC)
#define COUNTED_RECORDED_AT_ONCE 2          /* JVMs per round for the recorder */
#define COUNTED_EDGE_NS (5 * NSEC_PER_MSEC) /* time of the round at a capture's begin or end */

/* ---- changes between two looks ---- */

/* Returns whether the last collection of @now ended after @before. A collection that the JVM was
 * writing during the read is not new; the counts include it. */
static bool is_new(const struct counted_collector *before, const struct counted_collector *now)
{
    return now->exit_ns > before->exit_ns && now->exit_ns > now->entry_ns &&
           now->entry_ns >= MAX(before->exit_ns, 0);
}

static size_t latest(const struct counters *c)
{
    size_t at = 0;

    for (size_t i = 1; i < COUNTERS_COLLECTORS_MAX; i++) {
        if (c->collectors[i].exit_ns > c->collectors[at].exit_ns)
            at = i;
    }
    return at;
}

void counted_collections(const struct counted_look *before, const struct counted_look *now,
                         uint64_t started_ns, counted_fn fn, void *cookie)
{
    char name[2 * COUNTERS_NAME_MAX + 8];
    bool over = strcmp(now->c.cause, COUNTERS_NO_CAUSE) == 0;

    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++) {
        const struct counted_collector *one = &now->c.collectors[i];
        struct profile_moment m = { .kind = MOMENT_IS_GC };
        uint64_t end_ns, ns;

        if (!is_new(&before->c.collectors[i], one))
            continue;
        end_ns = started_ns + (uint64_t)one->exit_ns;
        ns = (uint64_t)(one->exit_ns - one->entry_ns);
        m.end_ns = CLAMP(end_ns, before->at_ns, now->at_ns);
        m.start_ns = m.end_ns - MIN(ns, m.end_ns);
        if (over && i == latest(&now->c) && now->c.last_cause[0])
            snprintf(name, sizeof(name), "%s (%s)", one->name, now->c.last_cause);
        else
            snprintf(name, sizeof(name), "%s", one->name);
        fn(cookie, &m, name);
    }
}

static void tell(const struct counted_look *before, const struct counted_look *now,
                 enum profile_moment_kind kind, uint64_t count, uint64_t ns, counted_fn fn,
                 void *cookie)
{
    struct profile_moment m = { .kind = kind,
                                .start_ns = before->at_ns,
                                .end_ns = now->at_ns,
                                .reach_ns = ns,
                                .count = (uint32_t)MIN(count, (uint64_t)UINT32_MAX) };

    if (count || ns) /* a count rises when something begins, a time when it ends */
        fn(cookie, &m, "");
}

void counted_counts(const struct counted_look *before, const struct counted_look *now,
                    counted_fn fn, void *cookie)
{
    const struct counters *a = &before->c, *b = &now->c;
    uint64_t count = 0, ns = 0;

    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++) {
        count += counters_risen(a->collectors[i].count, b->collectors[i].count);
        ns += counters_risen(a->collectors[i].time_ns, b->collectors[i].time_ns);
    }
    tell(before, now, MOMENT_COUNTS_COLLECTIONS, count, ns, fn, cookie);
    tell(before, now, MOMENT_COUNTS_SAFEPOINTS, counters_risen(a->safepoints, b->safepoints),
         counters_risen(counters_pause_ns(a, before->jdk), counters_pause_ns(b, now->jdk)), fn,
         cookie);
    tell(before, now, MOMENT_COUNTS_COMPILATIONS, counters_risen(a->compiled, b->compiled),
         counters_risen(a->compile_ns, b->compile_ns), fn, cookie);
    tell(before, now, MOMENT_COUNTS_CLASSES_LOADED,
         counters_risen(a->classes_loaded, b->classes_loaded) +
             counters_risen(a->shared_classes_loaded, b->shared_classes_loaded),
         0, fn, cookie);
    tell(before, now, MOMENT_COUNTS_CLASSES_UNLOADED,
         counters_risen(a->classes_unloaded, b->classes_unloaded) +
             counters_risen(a->shared_classes_unloaded, b->shared_classes_unloaded),
         0, fn, cookie);
}

uint64_t counted_rest_ns(uint64_t rest_ns, const struct counters *before,
                         const struct counters *now)
{
    uint64_t safepoints = counters_risen(before->safepoints, now->safepoints);

    if (!safepoints && now->safepoints != COUNTERS_UNKNOWN)
        return MIN(rest_ns + COUNTED_REST_STEP_NS, COUNTED_REST_MAX_NS);
    return safepoints == 1 && rest_ns > COUNTED_REST_MIN_NS ? rest_ns - COUNTED_REST_STEP_NS
                                                            : COUNTED_REST_MIN_NS;
}

/* ---- the list of JVMs ---- */

static uint64_t owner_of(const void *table, size_t i)
{
    const struct counted *all = table;

    return all->all[i].owner;
}

/* Returns the entry's owner, but 0 for an entry that a capture wants. */
static uint64_t owner_of_recorded(const void *table, size_t i)
{
    const struct counted *all = table;

    return all->all[i].wanted ? 0 : all->all[i].owner;
}

/* Returns the place for a new entry of @owner, or all->count if there is no room. A capture's entry
 * displaces one of the recorder. */
static size_t find_place(struct counted *all, uint64_t owner, bool recorded)
{
    size_t at;

    if (all->count < COUNTED_JVMS_MAX) {
        all->all[all->count].owner = 0;
        return all->count++;
    }
    at = places_find(&all->places, owner, all->count, owner_of_recorded, all);
    for (size_t i = all->count; at == all->count && !recorded && i-- > 0;) {
        if (!all->all[i].wanted)
            at = i;
    }
    return at == all->count && !recorded
               ? places_find(&all->places, owner, all->count, owner_of, all)
               : at;
}

static struct counted_jvm *new_entry(struct counted *all, const struct proc_id *id, uint64_t owner,
                                     bool recorded)
{
    size_t at = find_place(all, owner, recorded);

    if (at == all->count)
        return NULL;
    if (all->all[at].owner) /* replaces the entry of another JVM */
        places_give(&all->places, all->all[at].owner);
    places_take(&all->places, owner);
    all->all[at] = (struct counted_jvm){ .id = *id, .owner = owner };
    return &all->all[at];
}

const struct counted_jvm *counted_of(const struct counted *all, const struct proc_id *id)
{
    return FIRST_OF(i, all->all, all->count, proc_id_equal(&all->all[i].id, id));
}

void counted_list_begin(struct counted *all)
{
    all->adding = false;
    for (size_t i = 0; i < all->count; i++)
        all->all[i].wanted = all->all[i].recorded = false;
}

void counted_list_add(struct counted *all)
{
    all->adding = true;
    id_table_init(&all->claimed, sizeof(struct proc_id), DISCOVER_PROCESSES_MAX);
    for (size_t i = all->count; i-- > 0;) {
        if (all->all[i].wanted || all->all[i].recorded)
            continue;
        places_give(&all->places, all->all[i].owner);
        all->all[i] = all->all[--all->count];
    }
}

struct counted_jvm *counted_claim(struct counted *all, const struct proc_id *id, uint64_t owner,
                                  bool recorded)
{
    struct counted_jvm *j = (struct counted_jvm *)counted_of(all, id);
    uint32_t no;

    if (all->adding)
        id_table_add(&all->claimed, id, &no); /* without memory, the claim is not counted */
    if (!j && all->adding)
        j = new_entry(all, id, owner, recorded);
    if (j)
        *(recorded ? &j->recorded : &j->wanted) = true;
    return j;
}

void counted_list_end(struct counted *all)
{
    all->left_out = all->claimed.count - MIN((size_t)all->claimed.count, all->count);
    id_table_deinit(&all->claimed);
    all->adding = false;
}

static bool can_be_read(const struct process *p)
{
    return p->jvm == JVM_READY && !p->exited && !p->counters_off;
}

static void want(struct counted *all, struct process *p)
{
    struct counted_jvm *j =
        can_be_read(p) ? counted_claim(all, &p->id, process_payer(p), /* recorded= */ false) : NULL;

    /* The next look may be due for the recorder only, which is later. */
    if (j && j->next_ns <= j->last.at_ns + MAX(j->rest_ns, COUNTED_REST_MIN_NS))
        j->next_ns = MIN(j->next_ns, j->last.at_ns + COUNTED_LOOK_NS);
}

static void list_capture(struct captures *captures, const struct capture *c)
{
    int32_t pid = target_single_pid(c->target);
    struct process *p = pid ? discover_find(captures->discover, pid) : NULL;

    if (p)
        want(&captures->counted, p);
    for (uint32_t i = 0; !pid && i < c->members.processes.count; i++) {
        const struct proc_id *id = id_table_get(&c->members.processes, i);

        p = c->members.verdicts[i].wanted ? discover_known(captures->discover, id) : NULL;
        if (p)
            want(&captures->counted, p);
    }
}

/* Claims @p if the recorder has sampled it. */
static int want_recorded(void *cookie, struct process *p)
{
    struct captures *captures = cookie;

    if (can_be_read(p) && recorder_knows(captures->recording.recorder, &p->id))
        counted_claim(&captures->counted, &p->id, process_payer(p), /* recorded= */ true);
    return 0;
}

static void claim_all(struct captures *captures)
{
    for (const struct capture *c = captures->running; c; c = c->next)
        list_capture(captures, c);
    if (captures->recording.recorder)
        discover_each(captures->discover, want_recorded, captures);
}

static void list(struct captures *captures, uint64_t now_ns)
{
    struct counted *all = &captures->counted;

    if (!all->all)
        all->all = calloc(COUNTED_JVMS_MAX, sizeof(*all->all));
    if (!all->all)
        return;
    all->listed_ns = now_ns;
    counted_list_begin(all);
    claim_all(captures);
    counted_list_add(all);
    claim_all(captures);
    counted_list_end(all);
}

/* ---- looks ---- */

uint32_t capture_moment_name(struct captures *captures, const char *raw)
{
    return frame_table_clean(captures->frames, span_of(raw), TEXT_UTF8);
}

struct telling_to {
    struct captures *captures;
    struct process *p;
};

/* Returns whether @c takes @m. Clips the time of a count to the time of @c. */
static bool clip(const struct capture *c, struct profile_moment *m)
{
    if (!profile_moment_counts(m->kind)) /* probes report these moments in more detail */
        return !capture_has_moments(c) && m->end_ns >= c->start_ns && m->end_ns < c->end_ns;
    if (m->end_ns <= c->start_ns || m->start_ns >= c->end_ns)
        return false;
    m->start_ns = MAX(m->start_ns, c->start_ns);
    m->end_ns = MIN(m->end_ns, c->end_ns);
    return true;
}

static void hand_out(void *cookie, const struct profile_moment *m, const char *name)
{
    const struct telling_to *to = cookie;
    struct profile_moment kept = *m;

    if (to->captures->recording.recorder &&
        recorder_knows(to->captures->recording.recorder, &to->p->id)) {
        kept.name = capture_moment_name(to->captures, name);
        recorder_moment(to->captures->recording.recorder, to->p, &kept);
    }
    for (struct capture *c = to->captures->running; c; c = c->next) {
        struct profile_moment mine = *m;
        struct seen_verdict *v;

        if (!clip(c, &mine))
            continue;
        v = capture_verdict(to->captures, c, to->p, m->end_ns);
        if (!v || !v->wanted)
            continue;
        mine.process = v->process;
        mine.name = capture_moment_name(to->captures, name);
        record_moment(c->record, &mine);
    }
}

/* Looks at @j. @edge: a capture begins or ends, so counts are delivered up to now. */
static void look(struct captures *captures, struct counted_jvm *j, bool edge)
{
    struct process *p = discover_known(captures->discover, &j->id);
    struct telling_to to = { captures, p };
    struct counted_look now;

    if (!p || discover_counters(captures->discover, p, /* asked= */ false) != 0) {
        j->next_ns = clock_monotonic_ns() + COUNTED_FAILED_NS;
        return;
    }
    now = (struct counted_look){ clock_monotonic_ns(), p->jdk, *p->counters };
    if (j->last.at_ns && now.at_ns - j->last.at_ns >= COUNTED_REST_MIN_NS) /* not by a capture */
        j->rest_ns = counted_rest_ns(j->rest_ns, &j->last.c, &now.c);
    if (j->last.at_ns) {
        uint64_t started_ns =
            (uint64_t)now.c.vm_begin_ms * NSEC_PER_MSEC - clock_realtime_ns() + now.at_ns;

        counted_collections(&j->last, &now, started_ns, hand_out, &to);
        pauses_add(&j->pauses, &j->last.c, &now.c, now.jdk);
    }
    if (j->pauses.whole.open || j->pauses.reach.open)
        j->rest_ns = COUNTED_REST_MIN_NS; /* some further looks may find the bucket */
    j->next_ns = now.at_ns + (j->wanted ? COUNTED_LOOK_NS : MAX(j->rest_ns, COUNTED_REST_MIN_NS));
    j->last = now;
    if (j->told.at_ns && (edge || now.at_ns - j->told.at_ns >= COUNTED_TELL_NS))
        counted_counts(&j->told, &now, hand_out, &to);
    else if (j->told.at_ns)
        return;
    j->told = now;
}

/* Looks at up to @most JVMs that are due, in turn, for @budget_ns. @edge: only at those that
 * captures want. */
static void look_at_all(struct captures *captures, bool edge, size_t most, uint64_t budget_ns)
{
    struct counted *all = &captures->counted;
    uint64_t begun_ns = clock_monotonic_ns();

    for (size_t i = 0; i < all->count && most; i++) {
        struct counted_jvm *j;

        all->next = (all->next + 1) % all->count;
        j = &all->all[all->next];
        if (edge ? !j->wanted || j->next_ns > begun_ns + COUNTED_LOOK_NS : j->next_ns > begun_ns)
            continue;
        look(captures, j, edge);
        most--;
        if (clock_monotonic_ns() - begun_ns >= budget_ns)
            break;
    }
}

void captures_look(struct captures *captures, uint64_t now_ns)
{
    struct counted *all = &captures->counted;
    bool running = captures->running;

    if (!running && !captures->recording.recorder)
        counted_deinit(all);
    else if (now_ns - all->looked_ns >= (running ? COUNTED_LOOKS_NS : COUNTED_RECORDED_LOOKS_NS)) {
        all->looked_ns = now_ns;
        if (now_ns - all->listed_ns >= COUNTED_LIST_NS)
            list(captures, now_ns);
        if (running)
            look_at_all(captures, /* edge= */ false, SIZE_MAX, COUNTED_BUDGET_NS);
        else /* no JVM is late because the first took long on a busy processor */
            look_at_all(captures, /* edge= */ false, COUNTED_RECORDED_AT_ONCE, UINT64_MAX);
    }
}

void captures_look_edge(struct captures *captures)
{
    list(captures, clock_monotonic_ns());
    look_at_all(captures, /* edge= */ true, SIZE_MAX, COUNTED_EDGE_NS);
}

void counted_deinit(struct counted *all)
{
    free(TAKE_PTR(all->all));
    id_table_deinit(&all->claimed);
    all->count = all->left_out = 0;
    all->places = (struct places){ .most = 0 };
}
