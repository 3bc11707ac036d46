/* SPDX-License-Identifier: Apache-2.0 */
#include "api/lookout.h"

#include "api/api_impl.h"
#include "api/deploys.h"
#include "api/pulls.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"

#include <pthread.h>
#include <sys/resource.h>

#define DEPLOYS_EVERY 6 /* releases are checked in one of this many passes over triggers */

struct lookout {
    struct api *api;
    struct deploys *deploys; /* owned; NULL: there is no history */
    struct pulls *pulls;     /* owned */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping; /* guarded by lock */
    bool failed;   /* the last comparison of releases failed */
};

/* Waits until the next pass is due. Returns false at the end. */
static bool wait_for_next(struct lookout *w)
{
    uint64_t until_ns = clock_monotonic_ns() + PULLS_LOOK_S * NSEC_PER_SEC;
    LOCK_SCOPE(&w->lock);

    while (!w->stopping && clock_wait(&w->wake, &w->lock, until_ns))
        ;
    return !w->stopping;
}

static void release_of(void *cookie, const struct process *p, uint64_t ended_ns,
                       struct rule_release *ret)
{
    deploys_release(cookie, p, ended_ns, ret);
}

/* Passes to the signals what releases changed. */
static int call_releases(struct api *api, void *arg)
{
    signals_set_releases(api->engine.signals, release_of, arg);
    return 0;
}

static void look_at_deploys(struct lookout *w)
{
    struct error err = ERROR_NULL;
    int r = deploys_look(w->deploys, clock_realtime_ns(), &err);

    if (r < 0 && !w->failed)
        log_warn("flamed cannot compare releases: %s", err.msg);
    w->failed = r < 0;
    api_ask(w->api, call_releases, w->deploys, NULL);
}

static void *lookout_main(void *arg)
{
    struct lookout *w = arg;

    pthread_setname_np(pthread_self(), "flamed-lookout");
    setpriority(PRIO_PROCESS, 0, 0); /* normal priority, below the engine */
    for (unsigned looks = 1; wait_for_next(w); looks++) {
        pulls_look(w->pulls);
        if (w->deploys && looks % DEPLOYS_EVERY == 0)
            look_at_deploys(w);
    }
    return NULL;
}

static int lookout_make(struct api *api, struct lookout *w)
{
    int r = pulls_new(api, &w->pulls);

    w->api = api;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    if (r == 0 && api->engine.history)
        r = deploys_new(api, &w->deploys);
    if (r == 0)
        r = -pthread_create(&w->thread, NULL, lookout_main, w);
    w->started = r == 0;
    return r;
}

int lookout_start(struct api *api, struct lookout **ret)
{
    struct lookout *w = calloc(1, sizeof(*w));
    int r = w ? lookout_make(api, w) : -ENOMEM;

    if (r < 0)
        w = lookout_stop(w);
    *ret = w;
    return r;
}

struct lookout *lookout_stop(struct lookout *w)
{
    if (!w)
        return NULL;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    deploys_stop(w->deploys);
    if (w->started)
        pthread_join(w->thread, NULL);
    deploys_free(w->deploys);
    pulls_free(w->pulls);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

void lookout_note(struct lookout *w, const struct process *p, char ret[DEPLOYS_NOTE_BYTES])
{
    deploys_note(w ? w->deploys : NULL, p, clock_realtime_ns(), ret);
}

void lookout_metrics(struct lookout *w, const struct viewer *v, struct buf *out)
{
    if (!w)
        return;
    deploys_metrics(w->deploys, v, out);
    if (v->whole)
        pulls_metrics(w->pulls, out);
}
