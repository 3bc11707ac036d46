/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a program that we start: our own are printed here, those of the user are
 * borrowed. Of a fixed size, so that they can be built between fork and exec. Thread: the caller's.
 */
#pragma once

#include "base/macros.h"

#define ARGUMENTS_OWN_MAX 16    /* printed by us */
#define ARGUMENTS_EXTRA_MAX 128 /* the user's */
#define ARGUMENT_MAX 256        /* bytes of one of our own, with the NUL */

/* .argv ends with NULL, as execv() wants it. Begin with { .count = 0 }. */
struct arguments {
    char text[ARGUMENTS_OWN_MAX][ARGUMENT_MAX];
    char *argv[ARGUMENTS_OWN_MAX + ARGUMENTS_EXTRA_MAX + 3]; /* and two paths */
    int count, texts;
};

/* At most ARGUMENTS_OWN_MAX times; a longer text is cut. */
void arguments_add(struct arguments *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* @arg must live until the exec. -E2BIG when there are too many. */
int arguments_borrow(struct arguments *a, const char *arg);
