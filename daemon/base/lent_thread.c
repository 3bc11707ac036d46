/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lent_thread.h"

#include "base/lock.h"

void lent_init(struct lent *l)
{
    *l = (struct lent){ .fn = NULL };
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
}

void lent_deinit(struct lent *l)
{
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
}

void lent_serve(struct lent *l)
{
    pthread_mutex_lock(&l->lock);
    while (!l->closed) {
        if (l->fn && !l->done) {
            pthread_mutex_unlock(&l->lock);
            l->fn(l->arg);
            pthread_mutex_lock(&l->lock);
            l->done = true;
            pthread_cond_broadcast(&l->changed);
        } else {
            pthread_cond_wait(&l->changed, &l->lock);
        }
    }
    pthread_mutex_unlock(&l->lock);
}

void lent_start(struct lent *l, void *(*fn)(void *arg), void *arg)
{
    LOCK_SCOPE(&l->lock);

    l->fn = fn;
    l->arg = arg;
    pthread_cond_broadcast(&l->changed);
}

void lent_join(struct lent *l)
{
    LOCK_SCOPE(&l->lock);

    while (l->fn && !l->done)
        pthread_cond_wait(&l->changed, &l->lock);
}

void lent_close(struct lent *l)
{
    LOCK_SCOPE(&l->lock);

    l->closed = true;
    pthread_cond_broadcast(&l->changed);
}
