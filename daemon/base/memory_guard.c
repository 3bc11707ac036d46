/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory_guard.h"

#include "base/span.h"

#include <fcntl.h>
#include <unistd.h>

static int statm_fd = -1;
static uint64_t limit;

static _Thread_local bool guarded;
static _Thread_local size_t free_left; /* rest of the request's MEMORY_GUARD_FREE */
static _Thread_local size_t unchecked; /* bytes admitted since the last comparison with the limit */
static _Thread_local bool refused;

int memory_guard_open(uint64_t limit_bytes)
{
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (statm_fd >= 0)
        close(statm_fd);
    statm_fd = fd;
    limit = limit_bytes;
    return 0;
}

void memory_guard_thread(bool guards)
{
    guarded = guards;
    free_left = MEMORY_GUARD_FREE;
    unchecked = 0;
    refused = false;
}

/* Returns the process's resident memory in bytes; 0: unknown. */
static uint64_t resident_bytes(void)
{
    uint64_t size, pages = 0;
    char text[96];
    ssize_t n = pread(statm_fd, text, sizeof(text), 0);
    struct span s = { text, n > 0 ? (size_t)n : 0 };

    return span_take_dec(&s, &size) && span_take_char(&s, ' ') && span_take_dec(&s, &pages)
               ? pages * (uint64_t)sysconf(_SC_PAGESIZE)
               : 0;
}

bool memory_guard_admits(size_t more)
{
    if (!guarded || statm_fd < 0)
        return true;
    if (more <= free_left) {
        free_left -= more;
        return true;
    }
    unchecked += more;
    if (unchecked < MEMORY_GUARD_PIECE)
        return true;
    unchecked = 0;
    if (resident_bytes() + more <= limit)
        return true;
    refused = true;
    return false;
}

bool memory_guard_refused(void)
{
    return refused;
}
