/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses single values of parameters: numbers with units, names. Strict: the whole text must match.
 * Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

struct value_name {
    const char *name;
    unsigned value;
};

/* Parses a decimal number without sign or exponent ("2.5"), multiplies it by @scale (a power of
 * ten) and truncates it to an integer. False if @text is no such number or the result exceeds 63
 * bits. */
bool value_scaled(struct span text, uint64_t scale, uint64_t *ret);
/* Parses a duration with its unit: "100us", "10ms", "0.5s". */
bool value_interval(struct span text, uint64_t *ret_ns);
/* Parses a count, at least 1: "32", "10k", "1.5m". */
bool value_count(struct span text, uint64_t *ret);
/* Parses a number of bytes, at least 1: "4096", "128k", "1m"; k is 1,024 and m 1,048,576. */
bool value_bytes(struct span text, uint64_t *ret);
bool value_named(struct span text, const struct value_name *names, size_t count, unsigned *ret);
/* Returns the one of @count names that @word is most likely a misspelling of; NULL: none is
 * close. */
const char *value_nearest(struct span word, const char *const *names, size_t count);
