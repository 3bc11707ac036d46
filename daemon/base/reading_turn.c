/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reading_turn.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned next, reads; /* the next free ticket; the ticket of the thread that may read */

void reading_turn_begin(void)
{
    unsigned mine;

    pthread_mutex_lock(&lock);
    mine = next++;
    while (reads != mine)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

void reading_turn_end(void)
{
    pthread_mutex_lock(&lock);
    reads++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

bool reading_turn_taken(void)
{
    bool taken;

    pthread_mutex_lock(&lock);
    taken = reads != next;
    pthread_mutex_unlock(&lock);
    return taken;
}
