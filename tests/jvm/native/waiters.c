/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what each line of its input says, and writes the line back.
 *   blocks N   N more threads wait without end
 *   sleeps N   N more threads sleep for an hour
 *   dozes S    one more thread sleeps for S seconds, once
 *   naps N     N more threads sleep some milliseconds at a time
 *   computes N N more threads compute
 *   plays      two threads wake one another as fast as they can, on the processor of the first
 *   turns      writes back how often those did
 *   executes   another thread has the process become sleep(1), while all others wait
 *   exits      another thread ends the process, while all others wait
 *   leaves     the first thread ends, and the others go on
 * Threads are called after what they do.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic bool over; /* never */
static _Atomic unsigned turn;
static _Atomic unsigned long turns;
static unsigned doze_s;

static void pause_us(long us)
{
    struct timespec ts = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

    nanosleep(&ts, NULL);
}

static void *blocks(void *name)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;

    pthread_setname_np(pthread_self(), name);
    pthread_mutex_lock(&mutex);
    while (pthread_cond_wait(&never, &mutex) == 0)
        ;
    return NULL;
}

static void *sleeps(void *name)
{
    pthread_setname_np(pthread_self(), name);
    pause_us(3600 * 1000000L);
    return NULL;
}

static void *dozes(void *name)
{
    pthread_setname_np(pthread_self(), name);
    pause_us(doze_s * 1000000L);
    return NULL;
}

static void *naps(void *name)
{
    unsigned seed = (unsigned)gettid();

    pthread_setname_np(pthread_self(), name);
    while (!over)
        pause_us(1000 + rand_r(&seed) % 100000);
    return NULL;
}

static void *computes(void *name)
{
    pthread_setname_np(pthread_self(), name);
    while (!over)
        ;
    return NULL;
}

static void play(unsigned mine)
{
    unsigned now;

    while (!over) {
        while ((now = turn) != mine)
            syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
        turns++;
        turn = 1 - mine;
        syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void *plays(void *name)
{
    unsigned mine = strcmp(name, "plays-0") != 0;
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof(one), &one);
    pthread_setname_np(pthread_self(), name);
    play(mine);
    return NULL;
}

static void *executes(void *name)
{
    pause_us(300000);
    execl("/bin/sleep", "sleep", "60", (char *)NULL);
    return name;
}

static void *exits(void *name)
{
    pause_us(300000);
    _exit(0);
    return name;
}

static void start(void *(*run)(void *), const char *kind, unsigned count)
{
    static unsigned started;
    pthread_attr_t attr;
    pthread_t thread;
    char *name;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 10);
    for (unsigned i = 0; i < count; i++) {
        if (asprintf(&name, "%s-%u", kind, run == plays ? i : started++) < 0 ||
            pthread_create(&thread, &attr, run, name) != 0)
            exit(1);
    }
}

int main(void)
{
    char line[64], word[16];
    unsigned n;

    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof(line), stdin)) {
        n = 1;
        if (sscanf(line, "%15s %u", word, &n) < 1)
            return 1;
        if (strcmp(word, "turns") == 0) {
            printf("%lu\n", turns);
            continue;
        }
        if (strcmp(word, "leaves") == 0) {
            fputs(line, stdout);
            pthread_exit(NULL);
        }
        if (strcmp(word, "blocks") == 0)
            start(blocks, word, n);
        else if (strcmp(word, "sleeps") == 0)
            start(sleeps, word, n);
        else if (strcmp(word, "dozes") == 0) {
            doze_s = n;
            start(dozes, word, 1);
        } else if (strcmp(word, "naps") == 0)
            start(naps, word, n);
        else if (strcmp(word, "computes") == 0)
            start(computes, word, n);
        else if (strcmp(word, "plays") == 0)
            start(plays, word, 2);
        else if (strcmp(word, "executes") == 0)
            start(executes, word, 1);
        else if (strcmp(word, "exits") == 0)
            start(exits, word, 1);
        else
            return 1;
        fputs(line, stdout);
    }
    return 0;
}
