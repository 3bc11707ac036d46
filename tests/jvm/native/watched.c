/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the addresses of a variable and of a function. Then it does what each line of its input
 * says as often ("write 1000", "read 1000", "call 1000"), and writes the line back. */
#include <stdio.h>
#include <string.h>

static volatile long watched;

__attribute__((noinline)) static void writes(unsigned long n)
{
    while (n--)
        watched = (long)n;
}

__attribute__((noinline)) static void reads(unsigned long n)
{
    while (n--)
        (void)watched;
}

__attribute__((noinline)) static void called(unsigned long i)
{
    __asm__ volatile("" : : "r"(i) : "memory");
}

int main(void)
{
    unsigned long n;
    char word[16];

    printf("%p %p\n", (void *)&watched, (void *)called);
    fflush(stdout);
    while (scanf("%15s %lu", word, &n) == 2) {
        if (strcmp(word, "write") == 0)
            writes(n);
        else if (strcmp(word, "read") == 0)
            reads(n);
        else
            for (unsigned long i = 0; i < n; i++)
                called(i);
        printf("%s %lu\n", word, n);
        fflush(stdout);
    }
    return 0;
}
