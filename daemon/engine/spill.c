/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/spill.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/shares.h"
#include "base/trusted_clock.h"
#include "capture/profile_process.h"
#include "engine/minute_clock.h"
#include "store/jvm_options.h"

#include <pthread.h>
#include <sys/resource.h>

#define SPILL_RETRY_S 10
#define SPILL_IMAGES_MAX 2048               /* JVMs of a minute; payers share them */
#define SPILL_STRINGS_MAX ((size_t)8 << 20) /* bytes: 4 KiB for each of these JVMs */

/* A minute to write; owns everything. */
struct minute {
    struct minute *next;
    struct history_minute m;
    struct profile **slices;
    size_t slice_cap;
    struct history_image *images;
    size_t image_cap;
    struct frame_table *strings; /* strings of the images; no frames */
};

struct spill {
    struct spill_opts o;
    struct minute *now;   /* the minute under way; NULL: out of memory */
    struct shares images; /* shares of `now` */
    struct minute_clock clock;
    uint64_t dropped; /* flight_stats.dropped at its begin */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct minute *queue; /* oldest first; the first stays queued while it is written */
    struct spill_stats stats;
    bool writing, stopping;
};

static struct minute *minute_free(struct minute *m)
{
    if (!m)
        return NULL;
    for (size_t i = 0; i < m->m.slice_count; i++)
        profile_unref(m->slices[i]);
    free(m->slices);
    free(m->images);
    frame_table_free(m->strings);
    free(m);
    return NULL;
}

static struct minute *minute_new(void)
{
    struct minute *m = calloc(1, sizeof(*m));

    if (m && frame_table_new(/* max_entries= */ 16, SPILL_STRINGS_MAX, &m->strings) < 0)
        m = minute_free(m);
    return m;
}

/* ---- the engine's side ---- */

/* Adds a finished slice to the current minute. */
static void spill_slice(void *cookie, struct profile *p)
{
    struct spill *s = cookie;
    struct minute *m = s->now;

    if (!m || m->m.slice_count == HISTORY_SLICES_MAX ||
        !array_grow(&m->slices, &m->slice_cap, m->m.slice_count + 1, 8)) {
        if (m)
            m->m.lost += p->total;
        return;
    }
    m->slices[m->m.slice_count++] = profile_ref(p);
}

static const char *text_of(const struct minute *m, uint32_t string)
{
    return string ? frame_table_get_string(m->strings, string).p : "";
}

static const char *kept(struct minute *m, const char *text)
{
    uint32_t id = 0;

    m->m.names_left_out += frame_table_string(m->strings, span_of(text), &id) < 0; /* then "" */
    return text_of(m, id);
}

/* Copies the value of @key from @attributes ("key=value" on a line each); "": no such key. */
static const char *attribute_of(struct minute *m, uint32_t attributes, const char *key)
{
    char value[128];

    return kept(
        m, span_copy(span_find_line(span_of(text_of(m, attributes)), key), value, sizeof(value)));
}

/* Returns a hash of the JVM's options, which differs if they do. Values of masked options are not
 * in @text. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return hash >> 1; /* fits a column of SQLite as it is */
}

/* Returns the options in @args; NULL: too many. */
static const char *options_of(struct minute *m, const char *args)
{
    _cleanup_buf_ struct buf options = BUF_UPTO(JVM_OPTIONS_MAX_BYTES);
    uint32_t id = 0;

    jvm_options_of_args(span_of(args), &options);
    if (!options.error)
        m->m.names_left_out += frame_table_string(m->strings, buf_span(&options), &id) < 0;
    return id ? text_of(m, id) : NULL;
}

/* Adds @p, running or ended, to the images of the minute under way of @cookie, a struct spill. JVMs
 * beyond their payer's share are left out; the history then knows them by their samples only. */
static int spill_image(void *cookie, struct process *p)
{
    struct spill *s = cookie;
    struct minute *m = s->now;
    struct profile_process pp;

    if (!process_runs_java(p))
        return 0;
    if (!shares_take(&s->images, process_payer(p), 1)) {
        m->m.names_left_out++;
        return 0;
    }
    if (!array_grow(&m->images, &m->image_cap, m->m.image_count + 1, 32))
        return 1;
    profile_process_of(m->strings, p, &pp);
    m->m.names_left_out += !pp.name || !pp.service; /* every JVM has a name and a service */
    m->images[m->m.image_count++] = (struct history_image){
        .host_pid = p->id.host_pid,
        .start_ticks = p->id.start_ticks,
        .exec_no = p->id.exec_no,
        .owner = p->owner,
        .payer = process_payer(p),
        .name = text_of(m, pp.name),
        .container = text_of(m, pp.container),
        .pod = text_of(m, pp.pod),
        .pod_namespace = text_of(m, pp.pod_namespace),
        .service = text_of(m, pp.service),
        .version = text_of(m, pp.version),
        .environment = attribute_of(m, pp.attributes, "deployment.environment.name="),
        .java = kept(m, p->java_version),
        .attributes = text_of(m, pp.attributes),
        .flags = p->args && p->args[0] ? hash_of(p->args) : 0,
        .options = options_of(m, p->args ? p->args : ""),
        .started_ns = p->start_realtime_ns,
        .ended_ns = p->exited ? p->exited_ns : 0, /* CLOCK_MONOTONIC until the minute ends */
        .running = !p->exited,
        .stopped = s->o.stopped ? s->o.stopped(s->o.cookie, p) : (struct history_stopped){ 0 },
    };
    return 0;
}

void spill_ended(struct spill *s, struct process *p)
{
    if (s && s->now)
        spill_image(s, p);
}

static struct clock_times read_clocks(void)
{
    return (struct clock_times){ .monotonic_ns = clock_monotonic_ns(),
                                 .boot_ns = clock_ns(CLOCK_BOOTTIME),
                                 .real_ns = clock_realtime_ns() };
}

static void spill_begin(struct spill *s, const struct clock_times *now)
{
    struct flight_stats stats;

    flight_stats(s->o.flight, &stats);
    s->dropped = stats.dropped;
    minute_clock_begin(&s->clock, now);
    shares_init(&s->images, SPILL_IMAGES_MAX);
    s->now = minute_new();
}

/* Queues @m for the thread. A full queue drops the oldest minute that is not being written. */
static void spill_queue(struct spill *s, struct minute *m)
{
    struct minute **at = &s->queue, *drop = NULL;

    pthread_mutex_lock(&s->lock);
    if (s->stats.waiting == SPILL_WAITING_MAX) {
        struct minute **oldest = s->writing ? &s->queue->next : &s->queue;

        drop = *oldest;
        *oldest = drop->next;
        s->stats.waiting--;
        s->stats.dropped_minutes++;
    }
    while (*at)
        at = &(*at)->next;
    *at = m;
    s->stats.waiting++;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    minute_free(drop);
}

static void spill_end(struct spill *s, const struct clock_times *now)
{
    uint64_t start_ns, end_ns;
    int64_t jump_ns;
    struct minute *m;
    struct flight_stats stats;

    minute_clock_end(&s->clock, now, &start_ns, &end_ns, &jump_ns);
    flight_cut(s->o.flight, history_minute_of(start_ns, end_ns));
    flight_stats(s->o.flight, &stats);
    if (s->now)
        discover_each(s->o.discover, spill_image, s);
    m = TAKE_PTR(s->now);
    if (!m) {
        pthread_mutex_lock(&s->lock);
        s->stats.dropped_minutes++;
        pthread_mutex_unlock(&s->lock);
        return;
    }
    for (size_t i = 0; i < m->m.image_count; i++) {
        if (m->images[i].ended_ns)
            m->images[i].ended_ns = minute_clock_real_of(&s->clock, m->images[i].ended_ns);
    }
    m->m.end_ns = end_ns;
    m->m.start_ns = start_ns;
    m->m.jump_ns = jump_ns;
    m->m.lost += stats.dropped - s->dropped;
    m->m.slices = m->slices;
    m->m.images = m->images;
    spill_queue(s, m);
}

void spill_tick(struct spill *s)
{
    struct clock_times now;

    if (!s)
        return;
    now = read_clocks();
    if (!minute_clock_is_over(&s->clock, &now))
        return;
    spill_end(s, &now);
    spill_begin(s, &now);
}

/* ---- the thread ---- */

/* Waits for a minute to write; NULL: the thread ends. @again: the first minute could not be
 * written, so waits SPILL_RETRY_S before the next try. */
static struct minute *spill_next(struct spill *s, bool again)
{
    uint64_t until_ns = clock_monotonic_ns() + SPILL_RETRY_S * NSEC_PER_SEC;

    while (again && !s->stopping && clock_wait(&s->wake, &s->lock, until_ns))
        ;
    while (!s->queue && !s->stopping)
        pthread_cond_wait(&s->wake, &s->lock);
    return s->queue;
}

static void spill_done(struct spill *s)
{
    struct minute *m = s->queue;

    s->queue = m->next;
    s->stats.waiting--;
    minute_free(m);
}

/* Rolls up the history. Logs an error if the last call had none: @worked. Returns whether this one
 * has none. */
static bool roll(struct history *h, uint64_t now_ns, bool worked)
{
    struct error err = ERROR_NULL;
    int r = history_roll(h, now_ns, &err);

    if (r < 0 && worked)
        log_warn("parts of the history are neither summed nor dropped: %s",
                 err.msg[0] ? err.msg : strerrordesc_np(-r));
    return r == 0;
}

static void *spill_main(void *arg)
{
    struct spill *s = arg;
    struct steady clock = { 0 };
    struct minute *m;
    bool failed = false, rolled = true;

    pthread_setname_np(pthread_self(), "flamed-history");
    setpriority(PRIO_PROCESS, 0, 0); /* normal priority, below the engine */
    pthread_mutex_lock(&s->lock);
    while ((m = spill_next(s, failed))) {
        struct error err = ERROR_NULL;
        bool last;

        s->writing = true;
        pthread_mutex_unlock(&s->lock);
        if (history_put(s->o.history, &m->m, &err) < 0) {
            if (!failed)
                log_warn("a minute of the history waits: %s", err.msg);
            failed = true;
        } else {
            failed = false;
            if (s->o.counters)
                service_counters_add(s->o.counters, history_minute_of(m->m.start_ns, m->m.end_ns),
                                     m->m.slices, m->m.slice_count);
            rolled = roll(s->o.history,
                          steady_now(&clock, clock_monotonic_ns(), clock_realtime_ns()), rolled);
        }
        pthread_mutex_lock(&s->lock);
        s->writing = false;
        last = s->stopping && failed;
        if (!failed)
            spill_done(s);
        if (last)
            break;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- start and stop ---- */

int spill_start(const struct spill_opts *o, struct spill **ret)
{
    struct spill *s = calloc(1, sizeof(*s));
    struct clock_times now;
    int r;

    if (!s)
        return -ENOMEM;
    s->o = *o;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    r = -pthread_create(&s->thread, NULL, spill_main, s);
    if (r < 0) {
        free(s);
        return r;
    }
    now = read_clocks();
    spill_begin(s, &now);
    flight_on_finish(o->flight, FLIGHT_TO_HISTORY, spill_slice, s);
    *ret = s;
    return 0;
}

struct spill *spill_stop(struct spill *s)
{
    struct clock_times now;

    if (!s)
        return NULL;
    discover_drain(s->o.discover); /* JVMs that have just ended get the second of their end */
    now = read_clocks();
    spill_end(s, &now);
    flight_on_finish(s->o.flight, FLIGHT_TO_HISTORY, NULL, NULL);
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    while (s->queue)
        spill_done(s);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

void spill_stats(struct spill *s, struct spill_stats *ret)
{
    LOCK_SCOPE(&s->lock);

    *ret = s->stats;
}
