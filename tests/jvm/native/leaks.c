/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates at 20 places, in threads, and frees all of it but for a share of what place LEAKING
 * allocates. Each line of its input says how often each thread allocates at each place, and the
 * share: "run 1000 100" keeps one of 100 for good. It writes the bytes that stayed. "all 1000 100"
 * keeps as many of each place, and writes the bytes of each. Places grow their blocks by realloc,
 * or ask for aligned ones. "cost 1000 50" has 50 bytes allocated and freed, and writes the CPU time
 * of 1000 such pairs, in ns. "hold 1000 0" has the place LEAKING allocate so many blocks, and "drop
 * 0 0" frees all of these. "remap 10 0" has that many mappings grow by realloc. "exec 0 0" has the
 * program replace itself. With
 * -DHOSTILE its threads have what looks like glibc's list of their free blocks, and says of live
 * blocks that they are free.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLACES 20
#define THREADS 4
#define HELD 64 /* blocks that a thread frees later, in any order */
#define PAUSE_NS 20000000
#define A_PAUSE 64 /* calls */

static const size_t BYTES[PLACES] = {
    24,   40,   100,  200,  256,  300,  400,   512, 700,   1000,
    1024, 1100, 2000, 3000, 5000, 9000, 20000, 64,  70000, 150000
};
#define LEAKING 6

static unsigned long rounds, share;
static bool all_leak;
static unsigned long stayed[PLACES]; /* bytes */

/* What another thread is to free. */
static void *_Atomic shared[HELD];

static void use(void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

static inline __attribute__((always_inline)) void *ask(int n)
{
    void *p = NULL;

    switch (n) {
    case 7: /* on 16 bytes: that is what malloc gives */
    case 12:
    case 16:
        return posix_memalign(&p, n == 7 ? 16 : 64, BYTES[n]) == 0 ? p : NULL;
    case 10:
        return aligned_alloc(64, BYTES[n]);
    case 14:
        return memalign(4096, BYTES[n]);
    default:
        return n % 5 == 3 ? calloc(1, BYTES[n]) : malloc(BYTES[n]);
    }
}

/* How much larger place @n has its blocks grow. */
static size_t growth(int n)
{
    return n == 3 || n == 11 ? 2 : 1;
}

#define PLACE(n)                                                                                   \
    __attribute__((noinline)) void *place_##n(void)                                                \
    {                                                                                              \
        void *p = ask(n);                                                                          \
                                                                                                   \
        use(p);                                                                                    \
        if (growth(n) > 1)                                                                         \
            p = realloc(p, BYTES[n] * growth(n));                                                  \
        use(p);                                                                                    \
        return p;                                                                                  \
    }
PLACE(0);
PLACE(1);
PLACE(2);
PLACE(3);
PLACE(4);
PLACE(5);
PLACE(6);
PLACE(7);
PLACE(8);
PLACE(9);
PLACE(10);
PLACE(11);
PLACE(12);
PLACE(13);
PLACE(14);
PLACE(15);
PLACE(16);
PLACE(17);
PLACE(18);
PLACE(19);
static void *(*const ALL[PLACES])(void) = {
    place_0,  place_1,  place_2,  place_3,  place_4,  place_5,  place_6,
    place_7,  place_8,  place_9,  place_10, place_11, place_12, place_13,
    place_14, place_15, place_16, place_17, place_18, place_19,
};

#ifdef HOSTILE
#define LIE_BYTES 0x290 /* of glibc's own list, 2.30 to 2.41 */
struct lie {
    size_t before, size; /* of the block that it would lie in */
    uint16_t counts[64];
    void *blocks[64];
} __attribute__((aligned(16)));
static __thread struct lie *_Atomic list; /* nearer to the thread's register than glibc's */
static struct lie lies[THREADS];

/* Has the next call for as much seem to get @p. */
static void lie(unsigned thread, void *p)
{
    struct lie *l = &lies[thread % THREADS];
    size_t size = ((size_t *)p)[-1] & ~(size_t)7;

    *l = (struct lie){ .size = LIE_BYTES | 1 };
    if (size >= 32 && (size - 32) / 16 < 64) {
        l->counts[(size - 32) / 16] = 7;
        l->blocks[(size - 32) / 16] = p;
    }
    list = (struct lie *)l->counts;
}
#else
static void lie(unsigned thread, void *p)
{
    (void)thread;
    (void)p;
}
#endif

static unsigned long next(unsigned long *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

/* Frees it, or what was held before it, or has another thread free it. */
static void let_go(void *p, void **held, unsigned long *random)
{
    unsigned long r = next(random);
    void **at = &held[r % HELD];

    if (r >> 20 & 1) {
        free(p);
    } else if (r >> 21 & 1) {
        free(*at);
        *at = p;
    } else {
        free(__atomic_exchange_n((void **)&shared[r % HELD], p, __ATOMIC_ACQ_REL));
    }
}

static void *work(void *seed)
{
    unsigned long random = (uintptr_t)seed * 0x9e3779b97f4a7c15 + 1, leaks[PLACES] = { 0 };
    void *held[HELD] = { 0 };

    for (unsigned long i = 0; i < rounds * PLACES; i++) {
        unsigned n = next(&random) % PLACES;
        void *p = ALL[n]();

        lie((unsigned)(uintptr_t)seed, p);
        if ((n == LEAKING || all_leak) && ++leaks[n] % share == 0)
            __atomic_add_fetch(&stayed[n], BYTES[n] * growth((int)n), __ATOMIC_RELAXED);
        else
            let_go(p, held, &random);
        if (i % A_PAUSE == 0)
            nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
    }
    for (int i = 0; i < HELD; i++)
        free(held[i]);
    return NULL;
}

static unsigned long cost(void)
{
    struct timespec before, after;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (unsigned long i = 0; i < rounds; i++) {
        void *p = malloc(share);

        use(p);
        free(p);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    return (unsigned long)(after.tv_sec - before.tv_sec) * 1000000000 +
           (unsigned long)after.tv_nsec - (unsigned long)before.tv_nsec;
}

#define ROOM 65536

static void *kept[ROOM];
static size_t kept_count;

static unsigned long hold(void)
{
    unsigned long before = kept_count;

    for (unsigned long i = 0; i < rounds && kept_count < ROOM; i++) {
        kept[kept_count++] = ALL[LEAKING]();
        if (i % A_PAUSE == 0)
            nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS / 4 }, NULL);
    }
    return (kept_count - before) * BYTES[LEAKING];
}

static unsigned long drop(void)
{
    while (kept_count > 0)
        free(kept[--kept_count]);
    return 0;
}

static unsigned long remap(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    for (unsigned long i = 0; i < rounds; i++) {
        void *p = malloc(2 << 20);

        use(p);
        p = realloc(p, 4 << 20);
        use(p);
        free(p);
    }
    return 0;
}

/* The new one goes on with the next line, and writes the answer to this one. */
static unsigned long again(void)
{
    execl("/proc/self/exe", "leaks", "again", (char *)NULL);
    return 1;
}

static unsigned long one(char command)
{
    if (command == 'e')
        return again();
    return command == 'c' ? cost() : command == 'h' ? hold() : command == 'd' ? drop() : remap();
}

int main(int argc, char **argv)
{
    void *mine = place_2();
    char word[16];

    (void)argv;
    if (argc > 1)
        printf("0\n");
    fflush(stdout);
    while (scanf("%15s %lu %lu", word, &rounds, &share) == 3) {
        pthread_t threads[THREADS];

        all_leak = strcmp(word, "all") == 0;
        if (strcmp(word, "run") != 0 && !all_leak) {
            printf("%lu\n", one(*word));
            fflush(stdout);
            continue;
        }
        lie(0, mine); /* this thread is the first that is looked at */
        memset(stayed, 0, sizeof(stayed));
        for (uintptr_t i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)(i + rounds)) != 0)
                return 1;
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < HELD; i++)
            free(__atomic_exchange_n((void **)&shared[i], NULL, __ATOMIC_ACQ_REL));
        for (int i = 0; all_leak && i < PLACES; i++)
            printf("%lu%c", stayed[i], i + 1 < PLACES ? ' ' : '\n');
        if (!all_leak)
            printf("%lu\n", stayed[LEAKING]);
        fflush(stdout);
    }
    return 0;
}
