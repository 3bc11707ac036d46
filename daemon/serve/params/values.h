/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How single values of parameters are read: numbers with units, names. Strict: the
 * whole text, or nothing. Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

struct value_name {
    const char *name;
    unsigned value;
};

/* Parses a decimal number without sign or exponent ("2.5") times @scale (a power of ten), cut to an
 * integer. False when it is none or the result has more than 63 bits. */
bool value_scaled(struct span text, uint64_t scale, uint64_t *ret);
/* Parses a time with its unit: "100us", "10ms", "0.5s". */
bool value_interval(struct span text, uint64_t *ret_ns);
/* Parses a number of things, from 1: "32", "10k", "1.5m". */
bool value_count(struct span text, uint64_t *ret);
/* Parses a number of bytes, from 1: "4096", "128k", "1m"; of 1,024 and 1,048,576. */
bool value_bytes(struct span text, uint64_t *ret);
bool value_named(struct span text, const struct value_name *names, size_t count, unsigned *ret);
/* Returns the one of @count names that @word is most likely meant to be, or NULL when none is near.
 */
const char *value_nearest(struct span word, const char *const *names, size_t count);
