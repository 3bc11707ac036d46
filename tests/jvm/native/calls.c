/* SPDX-License-Identifier: Apache-2.0 */
/* Calls functions as often as each line of its input says, and writes the line back: "counted
 * 1000", "malloc 1000", by two threads together. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long half;

__attribute__((noinline)) static void counted(unsigned long i)
{
    __asm__ volatile("" : : "r"(i) : "memory", "rbx"); /* which it saves first */
}

__attribute__((noinline)) static void allocates(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        void *p = malloc(24 + i % 1000);

        __asm__ volatile("" : : "r"(p) : "memory");
        free(p);
    }
}

static void *other(void *unused)
{
    allocates(half);
    return unused;
}

int main(void)
{
    unsigned long n;
    char word[16];
    pthread_t thread;

    while (scanf("%15s %lu", word, &n) == 2) {
        if (strcmp(word, "counted") == 0) {
            for (unsigned long i = 0; i < n; i++)
                counted(i);
        } else {
            half = n / 2;
            if (pthread_create(&thread, NULL, other, NULL) != 0)
                return 1;
            allocates(n - half);
            pthread_join(thread, NULL);
        }
        printf("%s %lu\n", word, n);
        fflush(stdout);
    }
    return 0;
}
