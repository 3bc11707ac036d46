/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reading_turn.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool taken;

void reading_turn_begin(void)
{
    pthread_mutex_lock(&turn);
    atomic_store(&taken, true);
}

void reading_turn_end(void)
{
    atomic_store(&taken, false);
    pthread_mutex_unlock(&turn);
}

bool reading_turn_taken(void)
{
    return atomic_load(&taken);
}
