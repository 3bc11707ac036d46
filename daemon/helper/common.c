/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by several steps of flamed-attach. */
#include "agent/raw.h"
#include "helper/become.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

uint64_t attach_now_ns(void)
{
    struct timespec t = { 0 };

    raw2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int wait_for(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd p = { .fd = fd, .events = events };
    long r;

    do {
        uint64_t ms = attach_deadline_left_ms(deadline_ns, attach_now_ns());
        struct timespec t = { .tv_sec = (time_t)(ms / 1000),
                              .tv_nsec = (long)(ms % 1000 * 1000000) };

        if (!ms)
            return 0;
        r = raw5(SYS_ppoll, &p, 1, &t, NULL, 8);
    } while (r == -EINTR);
    return r > 0;
}

void pause_ms(uint64_t ms)
{
    struct timespec t = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000) };

    raw5(SYS_ppoll, NULL, 0, &t, NULL, 8);
}

char *add_text(char *to, const char *s)
{
    while ((*to = *s++))
        to++;
    return to;
}

char *add_number(char *to, long n)
{
    char digits[24];
    int count = 0;

    do {
        digits[count++] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    while (count)
        *to++ = digits[--count];
    *to = '\0';
    return to;
}
