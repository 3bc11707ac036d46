/* SPDX-License-Identifier: Apache-2.0 */
/* The counters that a JVM keeps in its memory, and may keep as a file in
 * /tmp/hsperfdata_USER/PID: hostile bytes, at most 64 KiB. Facts: perfMemory.hpp, the same in JDK 8
 * to 25. Pure; thread: any. */
#pragma once

#include "base/span.h"

#define HSPERFDATA_MAX_BYTES ((size_t)64 << 10)

/* A counter: a number, or a text. */
struct hsperfdata_entry {
    struct span name; /* "sun.gc.metaspace.used"; points into the file */
    struct span text; /* up to its NUL, points into the file; .p NULL: a number */
    int64_t value;
    uint32_t at, value_at; /* where it begins in the file, and its number or text does */
};
/* Gets one entry, until the callback returns. False: no more are wanted. */
typedef bool (*hsperfdata_fn)(void *cookie, const struct hsperfdata_entry *e);
/* Calls @fn for each entry of @file, at most 4,096, until it returns false. False where the file is
 * no such file, or is broken; entries before the broken one were given to @fn. */
bool hsperfdata_each(struct span file, hsperfdata_fn fn, void *cookie);

/* Returns how many entries the head of @file promises; 0 if it is no such file. A JVM never moves
 * an entry, but may add some. */
uint32_t hsperfdata_count(struct span file);
/* Gets the entry that begins at @at, a place that hsperfdata_each() told. False: there is none that
 * can be read, any more; *ret is then undefined. */
bool hsperfdata_entry_at(struct span file, uint32_t at, struct hsperfdata_entry *ret);

/* Gets the string counter @key in @file. True and *ret pointing into @file. */
bool hsperfdata_string(struct span file, const char *key, struct span *ret);
