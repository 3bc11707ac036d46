/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execstorm PROGRAM RATE SECONDS: starts and reaps RATE processes a second, each an exec of
 * PROGRAM, evenly paced, so that what it costs others can be told; RATE 0: as many as this machine
 * can, one after the other. Prints how many it started.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static char *const ARGV[] = { "stormchild", NULL }, *const ENVP[] = { NULL };
    double rate, seconds, start;
    unsigned long started = 0;

    if (argc != 4)
        return 2;
    rate = strtod(argv[2], NULL);
    seconds = strtod(argv[3], NULL);
    start = now();
    for (;;) {
        double elapsed = now() - start;
        pid_t pid;

        if (elapsed >= seconds)
            break;
        if (rate > 0 && (double)started > elapsed * rate) {
            struct timespec pause = { .tv_nsec = 200000 };

            nanosleep(&pause, NULL);
            continue;
        }
        pid = vfork(); /* nothing is copied: the exec is what it costs */
        if (pid == 0) {
            execve(argv[1], ARGV, ENVP);
            _exit(127);
        }
        if (pid < 0)
            return 1;
        started++;
        if (rate > 0) {
            while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        } else {
            waitpid(pid, NULL, 0);
        }
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
    printf("%lu\n", started);
    return 0;
}
