/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program, it adds to CLOCK_REALTIME what the file SET_CLOCK holds: seconds, as a
 * 64-bit number, which a test changes while the program runs. The machine's clock stays as it is.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead_s;

/* Before the program's own main(), and so before it forbids itself to open files. */
__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("SET_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*ahead_s), PROT_READ, MAP_SHARED, fd, 0);

    if (p != MAP_FAILED)
        ahead_s = p;
    if (fd >= 0)
        close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    int r = (int)syscall(SYS_clock_gettime, clock, ts);

    if (r == 0 && clock == CLOCK_REALTIME && ahead_s)
        ts->tv_sec += *ahead_s;
    return r;
}
