/* SPDX-License-Identifier: Apache-2.0 */
/* Two functions that no dynamic symbol names. */
#include <stdint.h>
#include <stdio.h>

volatile uint64_t sink;

static __attribute__((noinline)) void first_of_two(void)
{
    uint64_t s = sink | 1;

    for (int i = 0; i < 20000; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
    }
    sink = s;
}

static __attribute__((noinline)) void second_of_two(void)
{
    uint64_t s = sink | 1;

    for (int i = 0; i < 20000; i++)
        s = s * 6364136223846793005u + (s >> 33);
    sink = s;
}

int main(void)
{
    puts("started");
    fflush(stdout);
    for (;;) {
        first_of_two();
        second_of_two();
    }
}
