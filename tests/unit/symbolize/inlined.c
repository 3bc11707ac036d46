/* SPDX-License-Identifier: Apache-2.0 */
/* A program with functions inlined into each other, compiled in several ways for test_dwarf.c. */
#define IN static inline __attribute__((always_inline))

volatile unsigned long sink;
volatile unsigned char table[256];

IN unsigned long mix(unsigned long x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15;
    return x ^ x >> 29;
}

IN unsigned long step(unsigned long x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        x = mix(x + table[i & 255]);
    return x;
}

IN unsigned long choose(unsigned long x, unsigned n)
{
    if (x & 1)
        return step(x, n);
    return mix(x) + step(x >> 1, n / 2);
}

__attribute__((noinline)) unsigned long outer(unsigned long x, unsigned n)
{
    unsigned long sum = 0;

    while (n--) {
        unsigned long part = choose(x + n, n);

        if (__builtin_expect(part == 42, 0))
            __builtin_trap();
        sum += part;
    }
    return sum;
}

#ifdef __clang__ /* clang has no nested functions */
__attribute__((noinline)) unsigned long nesting(unsigned long x)
{
    return mix(x);
}
#else
/* A nested function that is not inlined. */
__attribute__((noinline)) unsigned long nesting(unsigned long x)
{
    __extension__ __attribute__((noinline)) unsigned long inner(unsigned long y)
    {
        return mix(y) + x;
    }

    return inner(x) + inner(x + sink);
}
#endif

/* Code in two places: the cold part lies far away. */
__attribute__((noinline, cold)) unsigned long seldom(unsigned long x)
{
    return choose(x, 3);
}

static unsigned long either(unsigned long x)
{
    return x > 1000 ? seldom(x) : step(x, 2);
}

int main(int argc, char **argv)
{
    (void)argv;
    sink = outer((unsigned long)argc, 100) + either((unsigned long)argc);
    sink += nesting(sink);
    return 0;
}
