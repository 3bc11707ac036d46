/* SPDX-License-Identifier: Apache-2.0 */
/* Letters and digits of ASCII, and numbers made of them. Thread: any. */
#pragma once

#include "base/span.h"

/* Returns @c as a small letter if it is a capital letter. */
static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Returns whether @c is a decimal digit. */
static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns whether @c is a digit or one of 'a' to 'f'. */
static inline bool ascii_is_lower_hex(char c)
{
    return ascii_is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Skips blanks, then takes the digits of a number up to @max. Even on failure @s may advance. */
static inline bool ascii_take_number(struct span *s, uint64_t max, uint64_t *ret)
{
    span_skip_blanks(s);
    return span_take_dec(s, ret) && *ret <= max;
}
