/* SPDX-License-Identifier: Apache-2.0 */
/* The least that can be exec'ed: it ends at once. Built without a C library. */
#include <sys/syscall.h>

void _start(void);

void _start(void)
{
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_exit, status __asm__("x0") = 0;

    __asm__ volatile("svc 0" : : "r"(number), "r"(status) : "memory");
#endif
    __builtin_unreachable();
}
