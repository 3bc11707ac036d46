/* SPDX-License-Identifier: Apache-2.0 */
#include "signal/signal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "base/places.h"
#include "proc/stall_readers.h"
#include "signal/measures.h"
#include "signal/sleeps.h"
#include "signal/watched.h"

#define LIST_NS (10 * NSEC_PER_SEC)   /* time between two lists of JVMs, if no JVM was found */
#define POLL_NS (2 * NSEC_PER_MSEC)   /* time of a poll; the other JVMs wait for the next poll */
#define NODE_NS (2 * NSEC_PER_SEC)    /* numbers of the node are used for this long */
#define FILES_NS (120 * NSEC_PER_SEC) /* cgroups are looked up again after this long */
#define FILES_FAILED_NS (30 * NSEC_PER_SEC)
#define LIMITS_NS (60 * NSEC_PER_SEC)
#define PEERS_NS (250 * NSEC_PER_MSEC) /* time between two searches for a pool's server */
#define PEER_EVERY 6                   /* readings after which a known server is looked up again */
#define PRESSED 0.2                    /* pressure above which times of threads are read */
#define BUSY 0.05                      /* CPUs used; times of threads are not read with less */
#define THREADS_EVERY 2                /* readings of a JVM for one of its threads' times */

struct signals {
    struct signals_opts opts;
    struct watched **all; /* owned, with its elements */
    size_t count, room, next, next_peer;
    struct places places; /* owners' shares of `all` */
    uint64_t list_ns, node_ns;
    uint64_t peers_ns;  /* no server is looked up before this time */
    bool peers_refused; /* the broker's refusal was logged */
    uint64_t changed;   /* discover_jvms_changed() at the last list of JVMs */
    uint64_t due_ns;    /* nothing is due before this time, unless `changed` is old */
    struct number_reading node;
    struct sleeps sleeps;
    struct signals_stats stats;
};

static uint64_t sleep_offset_ns(void)
{
    return clock_ns(CLOCK_BOOTTIME) - clock_monotonic_ns();
}

int signals_new(const struct signals_opts *o, struct signals **ret)
{
    struct signals *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->opts = *o;
    sleeps_begin(&s->sleeps, sleep_offset_ns());
    *ret = s;
    return 0;
}

struct signals *signals_free(struct signals *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->count; i++)
        watched_free(s->all[i]);
    free(s->all);
    free(s);
    return NULL;
}

/* ---- which JVMs ---- */

static struct watched *find(const struct signals *s, const struct process *p)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->all[i]->p == p)
            return s->all[i];
    }
    return NULL;
}

static void drop(struct signals *s, size_t i)
{
    places_give(&s->places, s->all[i]->p->payer);
    watched_free(s->all[i]);
    s->all[i] = s->all[--s->count];
}

static uint64_t payer_of(const void *table, size_t i)
{
    const struct signals *s = table;

    return s->all[i]->p->payer;
}

/* Makes room for @p by dropping a JVM of an owner that has more JVMs. Returns whether there is
 * room. */
static bool has_room(struct signals *s, struct process *p)
{
    size_t i;

    if (s->count < SIGNAL_JVMS_MAX)
        return true;
    i = places_find(&s->places, process_payer(p), s->count, payer_of, s);
    if (i == s->count)
        return false;
    drop(s, i);
    s->stats.left_out++;
    return true;
}

static int list_one(void *cookie, struct process *p)
{
    struct signals *s = cookie;
    struct watched *w;

    if (p->exited || p->jvm == JVM_NO || find(s, p))
        return 0;
    if (!has_room(s, p) || !array_grow(&s->all, &s->room, s->count + 1, 16)) {
        s->stats.left_out++;
        return 0;
    }
    w = watched_new(p, s->opts.proc_fd);
    if (!w)
        return 0;
    places_take(&s->places, process_payer(p));
    s->all[s->count++] = w;
    return 0;
}

/* Returns whether @w can be dropped: it is no JVM, or it ended well, or it ended too long ago to be
 * shown. */
static bool is_over(const struct watched *w, uint64_t now_ns)
{
    return w->p->replaced || (w->p->jvm == JVM_NO && !w->p->exited) ||
           (w->ended &&
            (!w->past[RULE_ENDED] || now_ns - w->ended_ns > SIGNAL_ENDED_NS + SIGNAL_PAST_NS));
}

/* Returns the index of the ended JVM to drop, of the owner with most ended JVMs: a JVM with a
 * hidden end, else the one that ended first. @ended: the number of ended JVMs by owner. */
static size_t least_ended(const struct signals *s, const struct places *ended)
{
    size_t least = s->count;
    uint64_t most = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct watched *w = s->all[i];
        uint64_t has = w->ended ? shares_used(&ended->shares, w->p->payer) : 0;

        if (has > most || (has && has == most && ended_is_less(w, s->all[least]))) {
            most = has;
            least = i;
        }
    }
    return least;
}

/* Drops JVMs for which is_over(), and further ended JVMs if there are too many. */
static void sweep(struct signals *s, uint64_t now_ns)
{
    struct places ended = { .most = 0 };

    for (size_t i = s->count; i-- > 0;) {
        ended_turn_off(s->all[i], now_ns);
        if (is_over(s->all[i], now_ns))
            drop(s, i);
        else if (s->all[i]->ended)
            places_take(&ended, s->all[i]->p->payer);
    }
    while (ended.shares.used > SIGNAL_ENDED_MAX) {
        size_t i = least_ended(s, &ended);

        places_give(&ended, s->all[i]->p->payer);
        s->stats.ends_dropped += !ended_is_hidden(s->all[i]);
        drop(s, i);
    }
}

/* ---- reading ---- */

static void open_files(struct signals *s, struct watched *w, uint64_t now_ns)
{
    if (!s->opts.broker || (w->files_ns && now_ns < w->files_ns))
        return;
    cgroup_files_close(&w->files);
    w->files_ns = now_ns + FILES_NS;
    if (broker_cgroup_files(s->opts.broker, &w->p->id, &w->files, NULL) != 0)
        w->files_ns = now_ns + FILES_FAILED_NS;
}

static void read_node_if_old(struct signals *s, uint64_t now_ns)
{
    if (s->node_ns && now_ns - s->node_ns < NODE_NS)
        return;
    reading_clear(&s->node);
    read_node(s->opts.proc_fd, &s->node);
    s->node_ns = now_ns;
}

/* Returns whether to read the times of the JVM's threads. As threads may be many, this is so only
 * for a busy JVM while processors are short. */
static bool wants_threads(const struct watched *w)
{
    return w->readings % THREADS_EVERY == 0 &&
           numbers_share(&w->numbers, NUMBER_NODE_CPU_PRESSURE_NS, RULE_WINDOW_S) >= PRESSED &&
           numbers_share(&w->numbers, NUMBER_CPU_NS, RULE_WINDOW_S) >= BUSY;
}

/* Reads the numbers that seldom change, into w->fixed. */
static void read_seldom(struct signals *s, struct watched *w, uint64_t now_ns)
{
    if (!w->fixed_read)
        w->fixed_read = read_fixed(w->p, &w->fixed);
    if (!w->limits_ns || now_ns - w->limits_ns >= LIMITS_NS) {
        read_limits(s->opts.proc_fd, w->p, &w->fixed);
        w->limits_ns = now_ns;
    }
    open_files(s, w, now_ns);
}

/* Reads what the threads of the JVM wait for. */
static void read_waits(const struct signals *s, struct watched *w, struct number_reading *r)
{
    const struct waits_now *now = &w->waits;

    if (!s->opts.waits || !s->opts.waits(s->opts.cookie, w->p, &w->waits))
        return;
    r->v[NUMBER_BUSY_THREADS] = now->busy;
    r->v[NUMBER_LOCK_WAITERS] = now->lock.waiters;
    r->v[NUMBER_POOL_HELD] = now->pool.waiting + now->pool.late;
    r->v[NUMBER_POOL_WAITING] = now->pool.waiting / fmax(now->pool.threads, 1);
    r->v[NUMBER_CARRIERS_PINNED] = now->carriers.pinned;
    r->v[NUMBER_VIRTUAL_QUEUED] = now->virtual.waiting;
    r->v[NUMBER_VIRTUAL_BUSY] = now->virtual.busy;
    r->v[NUMBER_VIRTUAL_RUNNABLE] = now->runnable;
    r->v[NUMBER_VIRTUAL_MOUNTED] = now->mounted;
    if (now->lock.name[0])
        lock_readings_note(&w->locks, &now->lock, clock_monotonic_ns(), &w->lock);
    if (now->pool.name[0]) {
        if (strcmp(w->pool.name, now->pool.name) != 0 || strcmp(w->pool.code, now->pool.code) != 0)
            w->peer = (struct rule_peer){ .looked = 0 };
        w->pool = now->pool;
    }
    if (now->carriers.pinned > 0)
        w->carriers = now->carriers;
    if (now->virtual.waiting > 0)
        w->virtual = now->virtual;
}

/* Reads all numbers: first those of the node, which the numbers of the process then replace. */
static void read_one(struct signals *s, struct watched *w, uint64_t now_ns)
{
    struct number_reading r;

    read_node_if_old(s, now_ns);
    read_seldom(s, w, now_ns);
    r = w->fixed;
    for (size_t i = 0; i < NUMBERS; i++) {
        if (isnan(r.v[i]))
            r.v[i] = s->node.v[i];
    }
    if (!read_cgroup(&w->files, &r)) { /* the cgroup is gone, or the process has moved to another */
        cgroup_files_close(&w->files);
        w->files_ns = now_ns + FILES_NS;
    }
    if (read_process(s->opts.proc_fd, w->p, &r) != 0)
        return;
    if (wants_threads(w))
        read_threads(s->opts.proc_fd, w->p, &r);
    read_jvm(s->opts.discover, w->p, &r);
    read_waits(s, w, &r);
    numbers_add(&w->numbers, now_ns, &r);
    w->readings++;
    watched_judge(w, now_ns);
    w->wants_peer = s->opts.broker && (!w->peer.text[0] || w->readings % PEER_EVERY == 0) &&
                    (w->states[RULE_POOL_EXHAUSTED].on || w->states[RULE_POOL_EXHAUSTED].strong_ns);
}

/* Returns when @w has to be read; UINT64_MAX: never again. */
static uint64_t due_ns(const struct watched *w)
{
    if (w->ended || w->p->replaced)
        return UINT64_MAX;
    return w->p->exited ? 0 : w->next_ns;
}

/* JVMs are read at the same times, so that they share the numbers of the node. */
static void look_at(struct signals *s, struct watched *w, uint64_t now_ns)
{
    if (w->p->exited) {
        ended_look(w, s->opts.broker, now_ns);
        return;
    }
    read_one(s, w, now_ns);
    w->next_ns = (now_ns / NUMBERS_STEP_NS + 1) * NUMBERS_STEP_NS;
    s->stats.readings++;
}

/* Returns whether JVMs have to be listed: a JVM is new, or ended. It must be listed at once: it may
 * end within a second, and its end is known only if its pidfd was open before. */
static bool is_list_due(const struct signals *s, uint64_t now_ns)
{
    return now_ns - s->list_ns >= LIST_NS || discover_jvms_changed(s->opts.discover) != s->changed;
}

static void list(struct signals *s, uint64_t now_ns)
{
    s->list_ns = now_ns;
    s->changed = discover_jvms_changed(s->opts.discover);
    s->stats.left_out = 0;
    discover_each(s->opts.discover, list_one, s);
    sweep(s, now_ns);
}

static void look_at_due(struct signals *s, uint64_t now_ns)
{
    uint64_t begun_ns = clock_monotonic_ns(), took_ns = 0;

    for (size_t i = 0; i < s->count && took_ns < POLL_NS; i++) {
        s->next = (s->next + 1) % s->count;
        if (now_ns < due_ns(s->all[s->next]))
            continue;
        look_at(s, s->all[s->next], now_ns);
        took_ns = clock_monotonic_ns() - begun_ns;
    }
}

/* Logs once that servers of pools stay unknown. Logs nothing if the process is gone, or is no
 * JVM. */
static void log_refusal(struct signals *s, const struct error *err)
{
    if (s->peers_refused || err->code == PROC_GONE || err->code == -EPERM)
        return;
    s->peers_refused = true;
    log_warn("signals do not name the server that a pool waits for: %s", err->msg);
}

/* Finds the server that the pool of one JVM waits for, if the signal pool-exhausted is on or about
 * to be. JVMs take turns. */
static void ask_peer(struct signals *s, uint64_t now_ns)
{
    for (size_t i = 0; i < s->count && now_ns >= s->peers_ns; i++) {
        struct watched *w = s->all[++s->next_peer % s->count];
        bool wants = w->wants_peer && !w->p->exited && !w->p->replaced;
        struct error err = ERROR_NULL;

        w->wants_peer = false;
        if (!wants)
            continue;
        s->peers_ns = now_ns + PEERS_NS;
        w->wants_peer = wait_peers_look(w, s->opts.broker, &err);
        if (!w->wants_peer && err.msg[0])
            log_refusal(s, &err);
        watched_judge(w, now_ns);
    }
}

/* Returns when something is due next, apart from a list. */
static uint64_t next_due_ns(const struct signals *s)
{
    uint64_t next_ns = UINT64_MAX;

    for (size_t i = 0; i < s->count; i++) {
        const struct watched *w = s->all[i];

        next_ns = MIN(next_ns, MIN(due_ns(w), heap_text_due_ns(w)));
        if (w->wants_peer)
            next_ns = MIN(next_ns, s->peers_ns);
    }
    return next_ns;
}

/* Returns the CPU time of this thread and of the readers that read for it. */
static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) + readers_cpu_ns();
}

void signals_poll(struct signals *s, uint64_t now_ns)
{
    bool listing = is_list_due(s, now_ns);
    uint64_t begun_ns;

    sleeps_look(&s->sleeps, now_ns, sleep_offset_ns());
    if (!listing && now_ns < s->due_ns)
        return;
    begun_ns = cpu_ns();
    if (listing)
        list(s, now_ns);
    look_at_due(s, now_ns);
    ask_peer(s, now_ns);
    heap_text_poll(s->all, s->count, s->opts.discover, now_ns);
    s->due_ns = next_due_ns(s);
    s->stats.cpu_ns += cpu_ns() - begun_ns;
}

/* ---- what is on, and was ---- */

/* Converts the past CLOCK_MONOTONIC time @at_ns to CLOCK_REALTIME. */
static uint64_t real_of(const struct signals *s, uint64_t at_ns)
{
    return sleeps_real_of(&s->sleeps, at_ns, clock_monotonic_ns(), clock_realtime_ns());
}

/* Makes the signal for the finding @f of the time @at_ns. */
static struct signal signal_of(const struct signals *s, const struct watched *w, size_t id,
                               const struct rule_finding *f, uint64_t since_ns, uint64_t at_ns)
{
    return (struct signal){ .rule = rule_of((enum rule_id)id),
                            .process = w->p,
                            .severity = f->severity,
                            .since_ns = real_of(s, since_ns),
                            .now_ns = real_of(s, at_ns),
                            .value = f->value,
                            .cause = { f->sentence, f->cause },
                            .sentence = f->sentence,
                            .remedy = f->remedy ? f->remedy : rule_of((enum rule_id)id)->remedy,
                            .ago_ns = (uint64_t)(f->ago_s * (double)NSEC_PER_SEC) };
}

static void give(const struct signals *s, const struct watched *w, size_t id, signal_fn fn,
                 void *cookie)
{
    const struct signal_state *state = &w->states[id];
    uint64_t last_ns = w->numbers.last_ns ? w->numbers.last_ns : clock_monotonic_ns();
    struct signal one =
        signal_of(s, w, id, &state->finding, state->strong_ns, w->ended ? w->ended_ns : last_ns);

    fn(cookie, &one);
}

void signals_each(const struct signals *s, const struct process *p, signal_fn fn, void *cookie)
{
    for (size_t i = 0; s && i < s->count; i++) {
        const struct watched *w = s->all[i];

        if (p && w->p != p)
            continue;
        for (unsigned severity = RULE_SEVERITY_MAX; severity > 0; severity--) {
            for (size_t id = 0; id < RULES; id++)
                if (w->states[id].on && w->states[id].finding.severity == severity)
                    give(s, w, id, fn, cookie);
        }
    }
}

void signals_each_past(const struct signals *s, signal_fn fn, void *cookie)
{
    uint64_t now_ns = clock_monotonic_ns();

    for (size_t i = 0; s && i < s->count; i++) {
        for (size_t id = 0; id < RULES; id++) {
            const struct signal_past *past = s->all[i]->past[id];
            struct signal one;

            if (!past || !past->until_ns || !past->worst.severity ||
                now_ns - MIN(now_ns, past->until_ns) > SIGNAL_PAST_NS)
                continue;
            one = signal_of(s, s->all[i], id, &past->worst, past->since_ns, past->worst_ns);
            one.until_ns = real_of(s, past->until_ns);
            one.times = past->times;
            fn(cookie, &one);
        }
    }
}

void signals_set_releases(struct signals *s, signal_release_fn fn, void *cookie)
{
    for (size_t i = 0; s && i < s->count; i++) {
        struct watched *w = s->all[i];

        w->release = (struct rule_release){ 0 };
        if (ended_by_sigterm(w))
            fn(cookie, w->p, real_of(s, w->ended_ns), &w->release);
        else if (!w->ended && !w->p->exited && !w->p->replaced)
            fn(cookie, w->p, /* ended_ns= */ 0, &w->release);
        if (w->release.replaced)
            ended_hide(w);
    }
}

void signals_measure(const struct signals *s, signal_measures_fn fn, void *cookie)
{
    for (size_t i = 0; s && i < s->count; i++) {
        const struct watched *w = s->all[i];
        double v[MEASURES];

        if (w->ended || w->p->exited || w->p->replaced)
            continue;
        measures_of(&w->numbers, v);
        fn(cookie, w->p, v);
    }
}

void signals_throttled(const struct signals *s, uint64_t since_ns, signal_throttled_fn fn,
                       void *cookie)
{
    for (size_t i = 0; s && i < s->count; i++) {
        const struct watched *w = s->all[i];
        double ns = w->numbers.last.v[NUMBER_THROTTLED_NS];
        struct signal_throttled t = { .ns = ns >= 0 ? (uint64_t)ns : 0 };

        if (!w->numbers.last_ns || w->ended || w->p->exited || w->p->replaced || !(ns >= 0))
            continue;
        t.lately_ns = watched_throttled(w, clock_monotonic_of(since_ns), &t.from_ns, &t.to_ns);
        t.from_ns = real_of(s, t.from_ns);
        t.to_ns = real_of(s, t.to_ns);
        fn(cookie, w->p, &t);
    }
}

struct signal_stops signals_take_stops(struct signals *s, const struct process *p)
{
    struct watched *w = s ? find(s, p) : NULL;

    if (!w)
        return (struct signal_stops){ 0 };
    return (struct signal_stops){ .pauses = watched_take_rise(w, NUMBER_COLLECTIONS),
                                  .pause_ns = watched_take_rise(w, NUMBER_COLLECTION_NS),
                                  .throttled_ns = watched_take_rise(w, NUMBER_THROTTLED_NS) };
}

void signals_stats(const struct signals *s, struct signals_stats *ret)
{
    *ret = s->stats;
    ret->jvms = s->count;
    ret->bytes = ret->threads_left_out = 0;
    for (size_t i = 0; i < s->count; i++) {
        ret->bytes += s->all[i]->numbers.room * sizeof(struct number_point);
        ret->threads_left_out += s->all[i]->ended ? 0 : s->all[i]->waits.left_out;
    }
}
