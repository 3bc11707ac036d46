/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that runs a function for another thread. It is for the main thread, which keeps a
 * priority that new threads do not get.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct lent {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void *(*fn)(void *arg); /* NULL: nothing has been handed over */
    void *arg;
    bool done, closed; /* it has returned; nothing more will come */
};

void lent_init(struct lent *l);
void lent_deinit(struct lent *l);

/* Runs the function that is handed over, and returns after lent_close(). Thread: the one that is
 * lent. */
void lent_serve(struct lent *l);

/* Hands over @fn; callable once. Thread: another one, as for the next two functions. */
void lent_start(struct lent *l, void *(*fn)(void *arg), void *arg);
/* Waits until the function has returned. */
void lent_join(struct lent *l);
/* Makes lent_serve() return. */
void lent_close(struct lent *l);
