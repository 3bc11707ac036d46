/* SPDX-License-Identifier: Apache-2.0 */
/* Runs below a deep stack, without end: a sample of it takes long. */
#include <stdio.h>

#define DEPTH 1900

static volatile unsigned long turns;

/* @above: a variable of the caller. Its use gives each call its own frame. */
static __attribute__((noinline)) int below(int depth, volatile int *above)
{
    volatile int here = *above + 1;

    while (depth == 0 && turns % 2 == 0)
        turns += 2;
    return depth ? below(depth - 1, &here) + here : here;
}

int main(void)
{
    volatile int first = 0;

    puts("started");
    fflush(stdout);
    return below(DEPTH, &first);
}
