/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without a C library. The agent is loaded into JVMs with any libc; flamed-attach must
 * load no library of the target. Each call returns the kernel's result: >= 0, or -errno. Thread:
 * any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Makes system call @n with six arguments. */
static inline long raw6(long n, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long r;

    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error "which registers do system calls take here?"
#endif
}

#define raw0(n) raw6(n, 0, 0, 0, 0, 0, 0)
#define raw1(n, a) raw6(n, (long)(a), 0, 0, 0, 0, 0)
#define raw2(n, a, b) raw6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define raw3(n, a, b, c) raw6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define raw4(n, a, b, c, d) raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define raw5(n, a, b, c, d, e) raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* Functions that compilers call without being asked to; hidden. The including file is built with
 * -fno-builtin -fno-tree-loop-distribute-patterns, so that they do not become calls to
 * themselves. */
__attribute__((unused, visibility("hidden"))) void *memcpy(void *to, const void *from, size_t n);
__attribute__((unused, visibility("hidden"))) void *memset(void *to, int c, size_t n);

#ifdef RAW_DEFINE_MEMORY
/* As in the C library. */
void *memcpy(void *to, const void *from, size_t n)
{
    char *t = to;
    const char *f = from;

    for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t)) {
        __builtin_memcpy(t, f, sizeof(uint64_t)); /* a fixed size makes two instructions */
        t += sizeof(uint64_t);
        f += sizeof(uint64_t);
    }
    while (n--)
        *t++ = *f++;
    return to;
}

/* As in the C library. */
void *memset(void *to, int c, size_t n)
{
    char *t = to;

    while (n--)
        *t++ = (char)c;
    return to;
}
#endif
