/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fds.h"

#include "base/macros.h"
#include "base/old_kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FEW 64          /* up to this many numbers are closed without a look into /proc/self/fd */
#define MOST (1u << 20) /* at most this many numbers are tried, however high the limit is */
#define ENTRIES_BYTES 4096

/* Parses a name in /proc/self/fd as a number; false for "." and "..". */
static bool parse_number(const char *name, unsigned *ret)
{
    uint64_t v = 0;

    if (!*name)
        return false;
    for (; *name; name++) {
        if (*name < '0' || *name > '9')
            return false;
        v = v * 10 + (uint64_t)(*name - '0');
        if (v > INT32_MAX)
            return false;
    }
    *ret = (unsigned)v;
    return true;
}

/* Closes the descriptors in one block of folder entries, except @dir. Returns how many. */
static unsigned close_entries(const char *entries, long n, int dir, unsigned first, unsigned last)
{
    unsigned closed = 0;

    for (long at = 0; at < n;) {
        const struct dirent64 *d = (const void *)(entries + at);
        unsigned fd;

        if (parse_number(d->d_name, &fd) && fd >= first && fd <= last && (int)fd != dir &&
            close((int)fd) == 0)
            closed++;
        at += d->d_reclen;
    }
    return closed;
}

/* Closes the descriptors that /proc/self/fd lists. Reads it again until it lists none to close:
 * closing one during a read may move the entries after it. Returns false if it cannot be read. */
static bool close_listed(unsigned first, unsigned last)
{
    int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _Alignas(struct dirent64) char entries[ENTRIES_BYTES];
    unsigned closed;
    long n;

    if (dir < 0)
        return false;
    do {
        closed = 0;
        lseek(dir, 0, SEEK_SET);
        while ((n = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0)
            closed += close_entries(entries, n, dir, first, last);
    } while (n == 0 && closed);
    close(dir);
    return n == 0;
}

static void close_each(unsigned first, unsigned last)
{
    for (unsigned fd = first; fd <= last && fd < MOST; fd++)
        close((int)fd);
}

static void close_some(unsigned first, unsigned last)
{
    struct rlimit limit = { .rlim_cur = MOST };

    if (last - first < FEW) {
        close_each(first, last);
    } else if (!close_listed(first, last)) {
        getrlimit(RLIMIT_NOFILE, &limit);
        close_each(first, (unsigned)MIN((rlim_t)last, limit.rlim_cur));
    }
}

void fds_close(unsigned first, unsigned last)
{
    int saved = errno;

    if (first <= last &&
        (old_kernel_pretended("close_range") || syscall(SYS_close_range, first, last, 0) < 0))
        close_some(first, last);
    errno = saved;
}

uint64_t fds_raise_limit(uint64_t wanted)
{
    struct rlimit limit, raised;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    raised = (struct rlimit){ MIN((rlim_t)wanted, limit.rlim_max), limit.rlim_max };
    if (raised.rlim_cur > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        return raised.rlim_cur;
    return limit.rlim_cur;
}
