/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for memory as often as each line of its input says, and writes the line back. "all 1000" has
 * each function asked by a caller of its own, "align 1000" has blocks on 16 bytes, "storm 1" has a
 * thread ask without end. "split 1" has the library mapped in pieces, "write 1" makes the code of
 * malloc writable, "patch 1" has it jump to another function. */
#define _GNU_SOURCE
#include <pthread.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CALLER __attribute__((noinline)) static void

static void take(void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
    free(p);
}

CALLER by_malloc(void)
{
    take(malloc(1000));
}

CALLER by_calloc(void)
{
    take(calloc(10, 30));
}

CALLER by_realloc(void)
{
    void *none = NULL;

    __asm__ volatile("" : "+r"(none)); /* else the compiler calls malloc */
    take(realloc(none, 200));
}

CALLER by_growing(void *old)
{
    take(realloc(old, 5000));
}

CALLER by_posix_memalign(void)
{
    void *p = NULL;

    if (posix_memalign(&p, 64, 700) == 0)
        take(p);
}

CALLER by_aligned(void) /* to what malloc gives anyway: glibc calls that */
{
    void *p = NULL;

    if (posix_memalign(&p, 16, 500) == 0)
        take(p);
    take(aligned_alloc(16, 512));
}

CALLER by_large(void)
{
    take(malloc(100000));
}

/* As who patches code does: the page of a function gets other rights than those around it. */
static int make_writable(uintptr_t function)
{
    return mprotect((void *)(function & ~(uintptr_t)4095), 4096,
                    PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void *other_malloc(size_t n)
{
    return calloc(1, n);
}

/* As tools for hooks do it: when that is over the code cannot be written to. */
static int patch_malloc(void)
{
    char *at = (char *)malloc, *page = (char *)((uintptr_t)at & ~(uintptr_t)4095);
    void *(*to)(size_t) = other_malloc;

    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return -1;
    memcpy(at, "\xff\x25\0\0\0\0", 6); /* jmp to what the next eight bytes say */
    memcpy(at + 6, &to, sizeof(to));
    return mprotect(page, 8192, PROT_READ | PROT_EXEC);
}

static void *storm(void *unused)
{
    for (;;)
        by_malloc();
    return unused;
}

int main(void)
{
    unsigned long n;
    char word[16];
    pthread_t thread;

    while (scanf("%15s %lu", word, &n) == 2) {
        if (strcmp(word, "storm") == 0 && pthread_create(&thread, NULL, storm, NULL) != 0)
            return 1;
        if (strcmp(word, "split") == 0 && make_writable((uintptr_t)regcomp) != 0)
            return 1;
        if (strcmp(word, "write") == 0 && make_writable((uintptr_t)malloc) != 0)
            return 1;
        if (strcmp(word, "patch") == 0 && patch_malloc() != 0)
            return 1;
        for (unsigned long i = 0; strcmp(word, "all") == 0 && i < n; i++) {
            by_malloc();
            by_calloc();
            by_realloc();
            by_growing(malloc(100));
            by_posix_memalign();
        }
        for (unsigned long i = 0; strcmp(word, "large") == 0 && i < n; i++)
            by_large();
        for (unsigned long i = 0; strcmp(word, "align") == 0 && i < n; i++)
            by_aligned();
        printf("%s %lu\n", word, n);
        fflush(stdout);
    }
    return 0;
}
