/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/arguments.h"

#include <stdarg.h>

void arguments_add(struct arguments *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(a->text[a->texts], ARGUMENT_MAX, fmt, ap);
    va_end(ap);
    a->argv[a->count++] = a->text[a->texts++];
}

int arguments_borrow(struct arguments *a, const char *arg)
{
    if ((size_t)a->count == ARRAY_SIZE(a->argv) - 1)
        return -E2BIG;
    a->argv[a->count++] = (char *)(uintptr_t)arg; /* execv() does not change the strings */
    return 0;
}
