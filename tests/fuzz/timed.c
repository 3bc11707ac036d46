/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs between libFuzzer, or replay.c, and a target. An input may take 10 ms of CPU time per KB,
 * and half a second in addition, for sanitizers and for work at the first input. Otherwise the
 * target is aborted, and libFuzzer keeps the input. The time is that of the thread, so a busy
 * machine does not count.
 */
#include "base/macros.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define FLOOR_MS 500
#define MS_A_KB 10

/* The target's function, with the name that CMakeLists.txt gives it. */
int fuzz_one_input(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void too_slow(int number)
{
    static const char TEXT[] = "timed.c: the input takes more than 500 ms and 10 ms a KB of CPU\n";

    (void)number;
    if (write(STDERR_FILENO, TEXT, sizeof(TEXT) - 1) < 0)
        _exit(3);
    abort();
}

static timer_t make_timer(void)
{
    const struct sigaction action = { .sa_handler = too_slow };
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGXCPU };
    timer_t timer;

    if (sigaction(SIGXCPU, &action, NULL) < 0 ||
        timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) < 0)
        abort();
    return timer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    static timer_t timer;
    uint64_t ms = FLOOR_MS + size * MS_A_KB / 1024;
    struct itimerspec limit = { .it_value = { .tv_sec = (time_t)(ms / 1000),
                                              .tv_nsec = (long)(ms % 1000 * NSEC_PER_MSEC) } };
    int r;

    if (!made)
        timer = make_timer();
    made = true;
    timer_settime(timer, 0, &limit, NULL);
    r = fuzz_one_input(data, size);
    limit = (struct itimerspec){ 0 };
    timer_settime(timer, 0, &limit, NULL);
    return r;
}
