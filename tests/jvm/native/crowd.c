/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes, each with many threads that burn a little CPU now and then.
 *
 *   crowd PROCESSES THREADS MICROSECONDS
 *
 * Each thread burns MICROSECONDS of each ten seconds. Prints "started" once all are there. They end
 * with it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TURN_US 10000000
#define STACK_BYTES (64 << 10)

static long us;

static long long cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void rest(long for_us)
{
    struct timespec t = { .tv_sec = for_us / 1000000, .tv_nsec = for_us % 1000000 * 1000 };

    nanosleep(&t, NULL);
}

static void *burn(void *arg)
{
    uintptr_t i = (uintptr_t)arg;

    rest((long)(i * 7919 % 1000) * (TURN_US / 1000)); /* not all at once */
    for (;;) {
        long long until = cpu_ns() + us * 1000;

        while (cpu_ns() < until)
            ;
        rest(TURN_US);
    }
    return NULL;
}

static int live(int number, int threads, int ready)
{
    pthread_attr_t attr;
    pthread_t thread;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (int i = 1; i < threads; i++) {
        if (pthread_create(&thread, &attr, burn, (void *)(uintptr_t)(number * threads + i)) != 0)
            return 1;
    }
    if (write(ready, "", 1) != 1)
        return 1;
    burn((void *)(uintptr_t)(number * threads));
    return 0;
}

int main(int argc, char **argv)
{
    int ready[2], processes = argc == 4 ? (int)strtol(argv[1], NULL, 10) : 0;
    char byte;

    if (!processes || pipe(ready) < 0)
        return 1;
    us = strtol(argv[3], NULL, 10);
    for (int i = 0; i < processes; i++) {
        pid_t child = fork();

        if (child < 0)
            return 1;
        if (child == 0)
            return live(i, (int)strtol(argv[2], NULL, 10), ready[1]);
    }
    for (int i = 0; i < processes; i++) {
        if (read(ready[0], &byte, 1) != 1)
            return 1;
    }
    puts("started");
    fflush(stdout);
    pause();
    return 0;
}
