/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UNSIGNED5, the coding of HotSpot's debug information, line tables and (JDK 21 up) field lists. A
 * number has up to five bytes, the lowest first. A byte of 192 or more is followed by another byte.
 * Each further byte counts 64 times more. Since JDK 20 no byte is 0: each byte counts one less than
 * its value.
 */
#include "hotspot/code/code.h"

#define UNSIGNED5_MORE 192
#define UNSIGNED5_LENGTH 5

bool unsigned5_take(struct span *s, unsigned excluded, uint32_t *ret)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < UNSIGNED5_LENGTH && i < s->n; i++) {
        unsigned digit = (uint8_t)s->p[i];

        if (digit < excluded)
            return false;
        sum += (uint32_t)(digit - excluded) << (6 * i);
        if (digit < UNSIGNED5_MORE || i == UNSIGNED5_LENGTH - 1) {
            *s = span_from(*s, i + 1);
            *ret = sum;
            return true;
        }
    }
    return false;
}

bool unsigned5_take_signed(struct span *s, unsigned excluded, int32_t *ret)
{
    uint32_t v;

    if (!unsigned5_take(s, excluded, &v))
        return false;
    *ret = (int32_t)((v >> 1) ^ (0U - (v & 1)));
    return true;
}
