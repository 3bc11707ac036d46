/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope-bound cleanup. Declare the variable initialised (NULL, -1); hand it over with TAKE_PTR() or
 * take_fd() when it outlives the scope.
 */
#pragma once

#include "base/macros.h"

#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

static inline void cleanup_freep(void *p)
{
    free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(cleanup_freep)

/* Defines the function @name for _cleanup_(): it hands the `struct @type *` of a scope to @free. */
#define CLEANUP_FUNCTION(name, type, free)                                                         \
    static inline void name(struct type **p)                                                       \
    {                                                                                              \
        free(*p);                                                                                  \
    }

/* Closes *fd if it is open, and keeps errno. */
static inline void cleanup_closep(int *fd)
{
    if (*fd >= 0) {
        int saved = errno;

        close(*fd);
        errno = saved;
    }
}
#define _cleanup_close_ _cleanup_(cleanup_closep)

/* Hands a file descriptor over: returns *@fd and sets *@fd to -1. */
static inline int take_fd(int *fd)
{
    int r = *fd;

    *fd = -1;
    return r;
}

/* Closes @fd unless negative and returns -1, so that `fd = close_fd(fd)` cannot close twice. */
static inline int close_fd(int fd)
{
    cleanup_closep(&fd);
    return -1;
}
