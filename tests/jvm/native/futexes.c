/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait for two mutexes, a condition variable and a semaphore, and keep a record of it.
 * At first it prints "NAME ADDRESS" for each, and a line with a dot. For each line "FROM TO"
 * (CLOCK_MONOTONIC, ns) of its input it prints how long each thread waited in that time: "THREAD
 * NANOSECONDS", and a dot. Threads are called after what they wait for.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WAITS_MAX 100000
#define THREADS_MAX 16

struct waiter {
    char name[16];
    void (*once)(struct waiter *w);
    pthread_mutex_t *mutex;
    uint64_t *from, *to;
    _Atomic size_t begun, ended;
};

static pthread_mutex_t short_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static unsigned turns;
static struct waiter waiters[THREADS_MAX];
static size_t waiter_count;

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void pause_us(long us)
{
    struct timespec ts = { .tv_nsec = us * 1000 };

    nanosleep(&ts, NULL);
}

static void begin(struct waiter *w)
{
    w->from[w->begun] = now_ns();
    w->begun++;
}

static void end(struct waiter *w)
{
    w->to[w->ended] = now_ns();
    w->ended++;
}

static void locks(struct waiter *w)
{
    begin(w);
    pthread_mutex_lock(w->mutex);
    end(w);
    pause_us(w->mutex == &short_mutex ? 2000 : 7000);
    pthread_mutex_unlock(w->mutex);
    pause_us(1000);
}

static void waits(struct waiter *w)
{
    unsigned turn;

    pthread_mutex_lock(&guard);
    turn = turns;
    begin(w);
    while (turn == turns)
        pthread_cond_wait(&condition, &guard);
    end(w);
    pthread_mutex_unlock(&guard);
}

static void takes(struct waiter *w)
{
    begin(w);
    sem_wait(&semaphore);
    end(w);
}

static void holds(struct waiter *w)
{
    pthread_mutex_lock(w->mutex);
    begin(w);
    for (;;)
        pthread_cond_wait(&never, w->mutex);
}

static void *run(void *arg)
{
    struct waiter *w = arg;

    while (w->ended < WAITS_MAX)
        w->once(w);
    return NULL;
}

static void start(const char *name, void (*once)(struct waiter *w), pthread_mutex_t *mutex)
{
    struct waiter *w = &waiters[waiter_count++];
    pthread_t thread;

    snprintf(w->name, sizeof(w->name), "%s", name);
    w->once = once;
    w->mutex = mutex;
    w->from = calloc(WAITS_MAX + 1, sizeof(*w->from));
    w->to = calloc(WAITS_MAX + 1, sizeof(*w->to));
    if (!w->from || !w->to || pthread_create(&thread, NULL, run, w))
        exit(1);
    pthread_setname_np(thread, w->name);
}

/* Every 5 ms lets the threads go that wait for the condition, and one at the semaphore. */
static void *turn_on(void *arg)
{
    for (;;) {
        pause_us(5000);
        pthread_mutex_lock(&guard);
        turns++;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&guard);
        sem_post(&semaphore);
    }
    return arg;
}

static uint64_t waited(const struct waiter *w, uint64_t from, uint64_t to)
{
    size_t begun = w->begun;
    uint64_t sum = 0;

    for (size_t i = 0; i < begun; i++) {
        uint64_t b = w->from[i] > from ? w->from[i] : from, e = i < w->ended ? w->to[i] : to;

        if (e > to)
            e = to;
        if (e > b)
            sum += e - b;
    }
    return sum;
}

int main(void)
{
    static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t *heap = malloc(sizeof(*heap));
    unsigned long long from, to;
    pthread_t thread;

    if (!heap || pthread_mutex_init(heap, NULL) || sem_init(&semaphore, 0, 0))
        return 1;
    printf("short %p\nlong %p\ncondition %p\nsemaphore %p\n.\n", (void *)&short_mutex, (void *)heap,
           (void *)&condition, (void *)&semaphore);
    fflush(stdout);
    for (int i = 0; i < 3; i++)
        start(i == 0 ? "short-0" : i == 1 ? "short-1" : "short-2", locks, &short_mutex);
    for (int i = 0; i < 3; i++)
        start(i == 0 ? "long-0" : i == 1 ? "long-1" : "long-2", locks, heap);
    start("condition-0", waits, NULL);
    start("condition-1", waits, NULL);
    start("semaphore-0", takes, NULL);
    start("held-0", holds, &held);
    if (pthread_create(&thread, NULL, turn_on, NULL))
        return 1;
    while (scanf("%llu %llu", &from, &to) == 2) {
        for (size_t i = 0; i < waiter_count; i++)
            printf("%s %llu\n", waiters[i].name, (unsigned long long)waited(&waiters[i], from, to));
        printf(".\n");
        fflush(stdout);
    }
    return 0;
}
