/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the tables of base/shares.h the same in each run of a test. With a random seed, two of a
 * test's owners sometimes count as one: of thirteen owners, in 7 of 100 runs.
 */
#pragma once

#include <string.h>
#include <sys/random.h>

static int seed_byte = 0x5a;

/* Replaces the C library's function. */
ssize_t getrandom(void *bytes, size_t n, unsigned flags)
{
    (void)flags;
    memset(bytes, seed_byte, n);
    return (ssize_t)n;
}
