/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that is lent: what another thread hands over runs on it. The main thread is the only one
 * that keeps a priority which new threads do not get.
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

/* Runs what is handed over, and returns once the loan is closed. Thread: the one that is lent. */
void lent_serve(struct lent *l);

/* Hands over @fn, once. Thread: another, as of what follows. */
void lent_start(struct lent *l, void *(*fn)(void *arg), void *arg);
/* Waits until that has returned. */
void lent_join(struct lent *l);
/* Closes the loan. */
void lent_close(struct lent *l);
