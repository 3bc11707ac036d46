/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execstorm PROGRAM RATE SECONDS: starts and reaps RATE processes a second, each an exec of
 * PROGRAM, evenly paced, so that what it costs others can be told; RATE 0: as many as this machine
 * can. Several spawners share the work, because one waits in vfork() until its child has become
 * PROGRAM: in that time the others start theirs, and earlier children end. Prints how many were
 * started.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPAWNERS 4
/* Children of one spawner that have not been reaped: beyond, it waits for one. */
#define UNREAPED_MAX 16

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void rest(double seconds)
{
    struct timespec pause = { .tv_nsec = (long)(seconds * 1e9) };

    nanosleep(&pause, NULL);
}

static pid_t start_one(const char *program)
{
    static char *const ARGV[] = { "stormchild", NULL }, *const ENVP[] = { NULL };
    pid_t pid = vfork(); /* nothing is copied: the exec is what it costs */

    if (pid == 0) {
        execve(program, ARGV, ENVP);
        _exit(127);
    }
    return pid;
}

/* Starts @rate processes a second, from @start on, for @seconds. Returns the number of started
 * processes; -1: one could not be started. */
static long spawn(const char *program, double rate, double start, double seconds)
{
    long started = 0, unreaped = 0;
    double elapsed;
    int status;

    while ((elapsed = now() - start) < seconds) {
        if (rate > 0 && (double)started > elapsed * rate) {
            rest(0.0002);
            continue;
        }
        if (start_one(program) < 0)
            return -1;
        started++;
        unreaped++;
        while (waitpid(-1, &status, unreaped > UNREAPED_MAX ? 0 : WNOHANG) > 0) {
            if (status)
                return -1;
            unreaped--;
        }
    }
    while (waitpid(-1, &status, 0) > 0) {
        if (status)
            return -1;
    }
    return started;
}

int main(int argc, char **argv)
{
    long *counts = mmap(NULL, SPAWNERS * sizeof(*counts), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    long total = 0;
    double start = now();

    if (argc != 4 || counts == MAP_FAILED)
        return 2;
    for (int i = 0; i < SPAWNERS; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return 1;
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            counts[i] =
                spawn(argv[1], strtod(argv[2], NULL) / SPAWNERS, start, strtod(argv[3], NULL));
            _exit(0);
        }
    }
    while (wait(NULL) > 0)
        ;
    for (int i = 0; i < SPAWNERS; i++) {
        if (counts[i] < 0)
            return 1;
        total += counts[i];
    }
    printf("%ld\n", total);
    return 0;
}
