/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/watch.h"

#include "base/cleanup.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

struct watch {
    pthread_t thread;
    int proc_fd, end_fd;
    void (*held)(void *cookie, const struct touch_stand *s);
    void *cookie;
};

static void *watch_main(void *arg)
{
    struct watch *w = arg;
    struct pollfd end = { .fd = w->end_fd, .events = POLLIN };
    struct touch_stand s;

    pthread_setname_np(pthread_self(), "flamed-watch");
    setpriority(PRIO_PROCESS, 0, 0); /* not in the way of the engine */
    while (poll(&end, 1, (int)(TOUCH_LOOK_NS / NSEC_PER_MSEC)) == 0) {
        if (touch_look(w->proc_fd, &s) && w->held)
            w->held(w->cookie, &s);
    }
    return NULL;
}

int watch_start(int proc_fd, void (*held)(void *cookie, const struct touch_stand *s), void *cookie,
                struct watch **ret)
{
    struct watch *w = calloc(1, sizeof(*w));
    int r;

    if (!w)
        return -ENOMEM;
    *w = (struct watch){ .proc_fd = proc_fd, .held = held, .cookie = cookie };
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
