/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/watchdog.h"

#include "base/cleanup.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#define LOOK_NS NSEC_PER_SEC

struct watch {
    pthread_t thread;
    int end_fd;
    unsigned (*stands_s)(void *engine);
    void *engine;
    void (*look)(void *cookie, unsigned stands_s);
    void *cookie;
};

static void *watch_main(void *arg)
{
    struct watch *w = arg;
    struct pollfd end = { .fd = w->end_fd, .events = POLLIN };

    pthread_setname_np(pthread_self(), "flamed-watch");
    setpriority(PRIO_PROCESS, 0, 0); /* normal priority, below the engine */
    while (poll(&end, 1, (int)(LOOK_NS / NSEC_PER_MSEC)) == 0) {
        if (w->look)
            w->look(w->cookie, w->stands_s(w->engine));
    }
    return NULL;
}

int watch_start(unsigned (*stands_s)(void *engine), void *engine,
                void (*look)(void *cookie, unsigned stands_s), void *cookie, struct watch **ret)
{
    struct watch *w = calloc(1, sizeof(*w));
    int r;

    if (!w)
        return -ENOMEM;
    *w = (struct watch){ .stands_s = stands_s, .engine = engine, .look = look, .cookie = cookie };
    w->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = w->end_fd < 0 ? -errno : -pthread_create(&w->thread, NULL, watch_main, w);
    if (r < 0) {
        close_fd(w->end_fd);
        free(w);
        return r;
    }
    *ret = w;
    return 0;
}

struct watch *watch_stop(struct watch *w)
{
    if (!w)
        return NULL;
    eventfd_write(w->end_fd, 1);
    pthread_join(w->thread, NULL);
    close_fd(w->end_fd);
    free(w);
    return NULL;
}
