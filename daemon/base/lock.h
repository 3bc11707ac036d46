/* SPDX-License-Identifier: Apache-2.0 */
/* Holding a mutex for the rest of a scope. */
#pragma once

#include "base/cleanup.h"

#include <pthread.h>

/* Unlocks *@m. */
static inline void lock_scope_end(pthread_mutex_t **m)
{
    pthread_mutex_unlock(*m);
}

/* Locks @mutex here, and unlocks it at the end of the scope, also on return. Write this once in a
 * scope, as the last declaration: initialisers before it run without the lock. */
#define LOCK_SCOPE(mutex)                                                                          \
    _cleanup_(lock_scope_end) pthread_mutex_t *lock_scope_ = (mutex);                              \
    pthread_mutex_lock(lock_scope_)
