/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

static int base64_value(char c)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(DIGITS, c) : NULL;

    return at ? (int)(at - DIGITS) : -1;
}

bool base64_decode(struct span in, char *ret, size_t max, size_t *ret_n)
{
    size_t padding = 0, n = 0;

    if (!in.n || in.n % 4)
        return false;
    while (padding < 2 && in.p[in.n - 1] == '=') {
        padding++;
        in.n--;
    }
    for (size_t i = 0; i < in.n; i += 4) {
        size_t digits = MIN(in.n - i, (size_t)4);
        uint32_t v = 0;

        for (size_t k = 0; k < 4; k++) {
            int d = k < digits ? base64_value(in.p[i + k]) : 0;

            if (d < 0)
                return false;
            v = v << 6 | (uint32_t)d;
        }
        if (v & ((1u << 8 * (4 - digits)) - 1) || n + digits - 1 > max)
            return false;
        for (size_t k = 0; k + 1 < digits; k++)
            ret[n++] = (char)(v >> (16 - 8 * k));
    }
    *ret_n = n;
    return true;
}
