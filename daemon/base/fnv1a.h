/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, 64 bits: a quick hash for tables, and for numbers that must stay the same. It has no key:
 * a program that chooses the input can choose the hash. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FNV1A_START UINT64_C(0xcbf29ce484222325)
#define FNV1A_PRIME UINT64_C(0x100000001b3)

/* Continues the hash @h of earlier bytes with @n bytes. Returns the new hash. */
static inline uint64_t fnv1a(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * FNV1A_PRIME;
    return h;
}
