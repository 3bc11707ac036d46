/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that runs a function for another thread. The main thread is lent this way, because it
 * keeps a priority that new threads do not get.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct lent {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void *(*fn)(void *arg); /* NULL: no function has been handed over */
    void *arg;
    bool done, closed; /* the function has returned; no further function will come */
};

void lent_init(struct lent *l);
void lent_deinit(struct lent *l);

/* Waits for a function, runs it, and returns after lent_close(). Thread: the lent one. */
void lent_serve(struct lent *l);

/* Hands over @fn. Call it once. Thread: another than the lent one, as for the next two functions.
 */
void lent_start(struct lent *l, void *(*fn)(void *arg), void *arg);
/* Waits until the function has returned. */
void lent_join(struct lent *l);
/* Makes lent_serve() return. */
void lent_close(struct lent *l);
