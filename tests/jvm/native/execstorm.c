/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execstorm RATE SECONDS: starts and reaps RATE processes a second, each an exec of this program
 * that ends at once. Prints how many it started. Evenly paced, so that what it costs others can be
 * told.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    char *const child_argv[] = { "stormchild", NULL };
    char *const child_envp[] = { NULL };
    double rate, seconds, start;
    unsigned long started = 0;

    if (argc != 3)
        return 0; /* one of the children */
    rate = strtod(argv[1], NULL);
    seconds = strtod(argv[2], NULL);
    start = now();
    for (;;) {
        double elapsed = now() - start;
        pid_t pid;

        if (elapsed >= seconds)
            break;
        if ((double)started > elapsed * rate) {
            struct timespec pause = { .tv_nsec = 200000 };

            nanosleep(&pause, NULL);
            continue;
        }
        if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child_argv, child_envp) != 0)
            return 1;
        started++;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
    printf("%lu\n", started);
    return 0;
}
