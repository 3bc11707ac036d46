/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of 500 frames, of another order each time: naming its samples is work. */
#include <stdint.h>
#include <stdio.h>

#define DEPTH 250

volatile uint64_t sink;

static void deep_turn(unsigned depth);

static __attribute__((noinline)) void deep_one(unsigned depth)
{
    deep_turn(depth);
    sink += 1; /* no tail call */
}

static __attribute__((noinline)) void deep_two(unsigned depth)
{
    deep_turn(depth);
    sink += 2;
}

static __attribute__((noinline)) void deep_turn(unsigned depth)
{
    if (!depth) {
        for (int i = 0; i < 20000; i++)
            sink = sink * 6364136223846793005u + 1;
        return;
    }
    if ((sink >> 60 ^ depth) & 1)
        deep_one(depth - 1);
    else
        deep_two(depth - 1);
    sink += 3;
}

int main(void)
{
    puts("started");
    fflush(stdout);
    for (;;)
        deep_turn(DEPTH);
}
