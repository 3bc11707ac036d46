/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/confined_thread.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Arguments of the thread, on the stack of the caller, which waits until the thread is confined. */
struct start {
    const char *name;
    bool urgent;
    int (*confine)(struct error *err);
    void (*fn)(void *arg);
    void *arg;
    sem_t confined;
    int result;
    struct error err;
};

static void *thread_main(void *arg)
{
    struct start *s = arg;
    void (*fn)(void *arg) = s->fn;
    void *fn_arg = s->arg;
    bool done;

    prctl(PR_SET_NAME, s->name);
    if (!s->urgent)
        setpriority(PRIO_PROCESS, 0, 0); /* before the thread is confined, which forbids it */
    s->result = s->confine(&s->err);
    done = s->result < 0;
    sem_post(&s->confined); /* from here on, @s may be invalid */
    if (!done)
        fn(fn_arg);
    return NULL;
}

int confined_thread_start(const char *name, bool urgent, int (*confine)(struct error *err),
                          void (*fn)(void *arg), void *arg, struct error *err)
{
    struct start s = { .name = name, .urgent = urgent, .confine = confine, .fn = fn, .arg = arg };
    pthread_t thread;
    int r;

    sem_init(&s.confined, /* pshared= */ 0, 0);
    r = -pthread_create(&thread, NULL, thread_main, &s);
    if (r < 0)
        return error_code(err, r, "cannot start the thread %s", name);
    pthread_detach(thread);
    while (sem_wait(&s.confined) < 0)
        ;
    if (s.result < 0 && err)
        *err = s.err;
    return s.result;
}
