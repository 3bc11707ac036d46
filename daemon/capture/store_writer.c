/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/store_writer.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/trusted_clock.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#define STORE_WRITER_RETAIN_NS (60 * NSEC_PER_SEC)
/* Interval of malloc_trim(). Without it, long-lived names among short-lived profiles would keep the
 * heap at its largest size. */
#define STORE_WRITER_TRIM_NS (10 * NSEC_PER_SEC)

struct kept {
    struct kept *next;
    struct profile *profile;    /* a reference; NULL: the item is a history */
    struct store_runs *history; /* owned; NULL: the item is a profile */
    char schedule[STORE_WRITER_SCHEDULE_BYTES];
    uint64_t max_age_s;
    enum store_writer_turn turn;
    uint64_t answer_ns;   /* CLOCK_MONOTONIC by which `done` is called, stored or not */
    capture_done_fn done; /* NULL: no caller waits */
    void *cookie;
    bool dropped; /* it is not to be stored */
    bool settled; /* it is stored, or not, for good */
};

struct store_writer {
    struct store *store; /* borrowed; NULL: none */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct kept *queue; /* by turn, then age; the first item stays while it is stored */
    size_t waiting;     /* profiles in the queue */
    bool runs_failed;   /* for store_writer_take_failed_runs() */
    bool stopping;
};

/* Calls `done` of @item, once. @err: why @item could not be stored. The caller holds the lock,
 * which this function releases for the call. After that @item may be freed, except on the writer's
 * thread. */
static void tell(struct store_writer *k, struct kept *item, const struct error *err)
{
    capture_done_fn done = TAKE_PTR(item->done);
    struct profile *p = profile_ref(item->profile);
    void *cookie = item->cookie;

    pthread_mutex_unlock(&k->lock);
    done(cookie, 0, p, err);
    pthread_mutex_lock(&k->lock);
}

/* Returns whether @item was dropped until now. If not, and it is stored, it can no longer be. */
static bool is_dropped(struct store_writer *k, struct kept *item, bool stored)
{
    LOCK_SCOPE(&k->lock);

    item->settled = stored;
    return item->dropped;
}

static int put(struct store_writer *k, struct kept *item, struct error *err)
{
    struct profile *p = item->profile;
    bool dropped = is_dropped(k, item, /* stored= */ false);
    int r = 0;

    if (k->store && !dropped) {
        r = store_put(k->store, p, item->schedule[0] ? item->schedule : NULL, item->max_age_s, err);
        if (r < 0)
            store_put_failed(k->store, p->id, p, err->msg, NULL);
        dropped = is_dropped(k, item, /* stored= */ true);
    }
    if (!dropped)
        return r;
    if (k->store)
        store_delete_patiently(k->store, p->id); /* also the note that it ran */
    return error_set(err, -ECANCELED, "the capture was deleted");
}

static void keep(struct store_writer *k, struct kept *item)
{
    struct error err = ERROR_NULL;
    int r = put(k, item, &err);
    LOCK_SCOPE(&k->lock);

    if (item->done)
        tell(k, item, r < 0 ? &err : NULL);
}

static void keep_runs(struct store_writer *k, const struct kept *item)
{
    int r = store_put_runs(k->store, item->schedule, item->history, NULL);
    LOCK_SCOPE(&k->lock);

    k->runs_failed |= r < 0;
}

static struct kept *kept_free(struct kept *item)
{
    profile_unref(item->profile);
    free(item->history);
    free(item);
    return NULL;
}

static struct kept *store_writer_next(struct store_writer *k)
{
    uint64_t until_ns = clock_monotonic_ns() + STORE_WRITER_RETAIN_NS;

    while (!k->queue && !k->stopping && clock_wait(&k->wake, &k->lock, until_ns))
        ;
    return k->queue;
}

static void *store_writer_main(void *arg)
{
    struct store_writer *k = arg;
    struct steady clock = { 0 };
    uint64_t retained_ns = 0, trimmed_ns = 0;

    pthread_setname_np(pthread_self(), "flamed-store");
    setpriority(PRIO_PROCESS, 0, 0); /* normal priority, below the engine */
    pthread_mutex_lock(&k->lock);
    for (;;) {
        struct kept *item = store_writer_next(k);
        uint64_t now = clock_monotonic_ns();

        if (!item && k->stopping)
            break;
        pthread_mutex_unlock(&k->lock);
        if (item && item->history)
            keep_runs(k, item);
        else if (item)
            keep(k, item);
        if (now - trimmed_ns >= STORE_WRITER_TRIM_NS) {
            malloc_trim(0);
            trimmed_ns = now;
        }
        if (k->store && ((item && item->profile) || now - retained_ns >= STORE_WRITER_RETAIN_NS)) {
            store_retain(k->store, steady_now(&clock, now, clock_realtime_ns()), NULL);
            retained_ns = now;
        }
        pthread_mutex_lock(&k->lock);
        if (item) {
            k->queue = item->next;
            k->waiting -= item->profile != NULL;
            kept_free(item);
        }
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

int store_writer_start(struct store *store, struct store_writer **ret)
{
    struct store_writer *k = calloc(1, sizeof(*k));
    int r;

    if (!k)
        return -ENOMEM;
    k->store = store;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->wake, NULL);
    r = -pthread_create(&k->thread, NULL, store_writer_main, k);
    if (r < 0) {
        free(k);
        return r;
    }
    *ret = k;
    return 0;
}

struct store_writer *store_writer_stop(struct store_writer *k)
{
    if (!k)
        return NULL;
    pthread_mutex_lock(&k->lock);
    k->stopping = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    pthread_cond_destroy(&k->wake);
    pthread_mutex_destroy(&k->lock);
    free(k);
    return NULL;
}

static void enqueue(struct store_writer *k, struct kept *item)
{
    struct kept **at;
    LOCK_SCOPE(&k->lock);

    for (at = &k->queue; *at && (at == &k->queue || (*at)->turn <= item->turn);)
        at = &(*at)->next; /* not before the first item, which is being stored */
    item->next = *at;
    *at = item;
    k->waiting += item->profile != NULL;
    pthread_cond_signal(&k->wake);
}

void store_writer_put(struct store_writer *k, struct profile *p, const char *schedule,
                      uint64_t max_age_s, enum store_writer_turn turn, uint64_t answer_ns,
                      capture_done_fn done, void *cookie)
{
    struct kept *item = calloc(1, sizeof(*item));

    if (!item) {
        if (done)
            done(cookie, 0, p, NULL); /* delivered, but not stored */
        else
            profile_unref(p);
        return;
    }
    item->profile = p;
    item->max_age_s = max_age_s;
    item->turn = turn;
    item->answer_ns = MAX(answer_ns, clock_monotonic_ns() + STORE_WRITER_DELAY_NS);
    item->done = done;
    item->cookie = cookie;
    snprintf(item->schedule, sizeof(item->schedule), "%s", schedule ? schedule : "");
    enqueue(k, item);
}

static struct kept *find_due(struct store_writer *k, uint64_t now_ns)
{
    struct kept *item = k->queue;

    while (item && (!item->done || item->answer_ns > now_ns))
        item = item->next;
    return item;
}

void store_writer_hurry(struct store_writer *k, uint64_t now_ns)
{
    struct kept *item;
    LOCK_SCOPE(&k->lock);

    while ((item = find_due(k, now_ns)))
        tell(k, item, NULL);
}

size_t store_writer_waiting(struct store_writer *k)
{
    LOCK_SCOPE(&k->lock);

    return k->waiting;
}

int store_writer_check_room(struct store_writer *k, size_t max, struct error *err)
{
    if (store_writer_waiting(k) < max)
        return 0;
    error_set(err, -EAGAIN, "%zu finished captures wait to be written to the store", max);
    error_remedy(err, "ask again in a second, or for fewer captures");
    return BACKEND_TOO_MANY;
}

void store_writer_put_runs(struct store_writer *k, const char *schedule, const struct store_runs *h)
{
    struct kept *item;

    if (!k->store)
        return;
    item = calloc(1, sizeof(*item));
    if (!item || !(item->history = malloc(sizeof(*h)))) {
        LOCK_SCOPE(&k->lock);

        k->runs_failed = true;
        free(item);
        return;
    }
    item->turn = STORE_WRITER_LAST;
    *item->history = *h;
    snprintf(item->schedule, sizeof(item->schedule), "%s", schedule);
    enqueue(k, item);
}

bool store_writer_take_failed_runs(struct store_writer *k)
{
    bool failed;
    LOCK_SCOPE(&k->lock);

    failed = k->runs_failed;
    k->runs_failed = false;
    return failed;
}

struct profile *store_writer_find(struct store_writer *k, const char *id,
                                  char ret_schedule[STORE_WRITER_SCHEDULE_BYTES])
{
    LOCK_SCOPE(&k->lock);

    for (struct kept *item = k->queue; item; item = item->next) {
        if (!item->profile || item->dropped || strcmp(item->profile->id, id) != 0)
            continue;
        if (ret_schedule)
            memcpy(ret_schedule, item->schedule, sizeof(item->schedule));
        return profile_ref(item->profile);
    }
    return NULL;
}

/* A capture as it was in the queue. */
struct queued {
    struct profile *profile; /* a reference */
    char schedule[STORE_WRITER_SCHEDULE_BYTES];
};

/* Copies the queue to a list, which the caller frees. *ret_count: its length. NULL: no memory. */
static struct queued *copy_queue(struct store_writer *k, size_t *ret_count)
{
    struct queued *list;
    LOCK_SCOPE(&k->lock);

    list = calloc(k->waiting + 1, sizeof(*list));
    for (struct kept *item = list ? k->queue : NULL; item; item = item->next) {
        if (!item->profile || item->dropped)
            continue;
        memcpy(list[*ret_count].schedule, item->schedule, sizeof(item->schedule));
        list[(*ret_count)++].profile = profile_ref(item->profile);
    }
    return list;
}

int store_writer_each(struct store_writer *k, store_writer_fn fn, void *cookie)
{
    size_t count = 0;
    _cleanup_free_ struct queued *list = copy_queue(k, &count);
    int r = list ? 0 : -ENOMEM;

    for (size_t i = 0; i < count; i++) {
        if (r == 0)
            r = fn(cookie, list[i].profile, list[i].schedule);
        profile_unref(list[i].profile);
    }
    return r;
}

bool store_writer_drop(struct store_writer *k, const char *id)
{
    bool dropped = false;
    LOCK_SCOPE(&k->lock);

    for (struct kept *item = k->queue; item && !dropped; item = item->next) {
        dropped =
            item->profile && !item->dropped && !item->settled && strcmp(item->profile->id, id) == 0;
        item->dropped |= dropped;
    }
    return dropped;
}
