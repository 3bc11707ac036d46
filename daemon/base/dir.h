/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the names in a folder. Thread: any. */
#pragma once

#include "base/cleanup.h"

#include <dirent.h>
#include <fcntl.h>

/* Lists the folder @fd; owns @fd in every case. The caller frees the list by closedir(). Returns
 * NULL with errno if @fd is negative or the list cannot be opened. */
static inline DIR *dir_take(int fd)
{
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir)
        close_fd(fd);
    return dir;
}

/* Lists the folder @path below @at like dir_take(). */
static inline DIR *dir_open(int at, const char *path)
{
    return dir_take(openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Frees the list of a scope. */
static inline void cleanup_closedirp(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}
#define _cleanup_closedir_ _cleanup_(cleanup_closedirp)
