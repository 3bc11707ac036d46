/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument list of a program that the supervisor starts. Formatted arguments live in the
 * struct, others are borrowed. The size is fixed, so that the list can be built between fork and
 * exec. Thread: the caller's.
 */
#pragma once

#include "base/macros.h"

#define ARGUMENTS_OWN_MAX 16    /* formatted arguments */
#define ARGUMENTS_EXTRA_MAX 128 /* arguments of the user */
#define ARGUMENT_MAX 256        /* bytes of one formatted argument, with NUL */

/* A list of arguments. Initialise it with { .count = 0 }. argv ends with NULL, as execv() expects.
 */
struct arguments {
    char text[ARGUMENTS_OWN_MAX][ARGUMENT_MAX];
    char *argv[ARGUMENTS_OWN_MAX + ARGUMENTS_EXTRA_MAX + 3]; /* and two paths */
    int count, texts;
};

/* Appends a formatted argument, cut at ARGUMENT_MAX. Callers append at most ARGUMENTS_OWN_MAX. */
void arguments_add(struct arguments *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Appends @arg, which must live until the exec. Return: 0, or -E2BIG when the list is full. */
int arguments_borrow(struct arguments *a, const char *arg);
