/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Include this first: no later system header may use the poisoned names.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* The lesser and the greater of two numbers. Each argument is evaluated once. A number in the names
 * of the variables lets an argument be MIN() or MAX(), too. Not for bit-fields. */
#define MIN(a, b) PICK_(<, a, b, __COUNTER__)
#define MAX(a, b) PICK_(>, a, b, __COUNTER__)
#define PICK_(is, a, b, number) PICK_AS_(is, a, b, number)
#define PICK_AS_(is, a, b, number)                                                                 \
    ({                                                                                             \
        __auto_type one_##number = (a);                                                            \
        __auto_type other_##number = (b);                                                          \
        one_##number is other_##number ? one_##number : other_##number;                            \
    })
#define CLAMP(v, lo, hi) MIN(MAX(v, lo), hi)
/* Compares numbers for qsort(3): yields below 0, 0 or above 0. For an order by several keys, join
 * comparisons by ?:. Arguments are evaluated twice. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))
/* Defines @name for qsort(3) and bsearch(3): orders x and y, two `const @type *`, by @order. */
#define ORDER_FUNCTION(name, type, order)                                                          \
    static int name(const void *x_, const void *y_)                                                \
    {                                                                                              \
        const type *x = x_;                                                                        \
        const type *y = y_;                                                                        \
                                                                                                   \
        return order;                                                                              \
    }

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_USEC UINT64_C(1000)

/* Hands a pointer over: yields its value and sets it to NULL. */
#define TAKE_PTR(p)                                                                                \
    ({                                                                                             \
        __auto_type take_ptr_ = (p);                                                               \
        (p) = NULL;                                                                                \
        take_ptr_;                                                                                 \
    })

#ifdef strcpy
#undef strcpy
#endif
#ifdef strcat
#undef strcat
#endif
#ifdef sprintf
#undef sprintf
#endif
#ifdef strtok
#undef strtok
#endif
#ifdef atoi
#undef atoi
#endif
#ifdef system
#undef system
#endif
#ifdef popen
#undef popen
#endif
#pragma GCC poison strcpy strcat sprintf strtok atoi system popen
