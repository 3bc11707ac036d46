/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the counters that a JVM keeps in its memory, and may keep in the file
 * /tmp/hsperfdata_USER/PID. The bytes are hostile, and at most 64 KiB. Source: perfMemory.hpp, the
 * same in JDK 8 to 25. Pure; thread: any.
 */
#pragma once

#include "base/span.h"

#define HSPERFDATA_MAX_BYTES ((size_t)64 << 10)

/* A counter: a number or a text. */
struct hsperfdata_entry {
    struct span name; /* "sun.gc.metaspace.used"; points into the file */
    struct span text; /* up to its NUL, points into the file; .p NULL: a number */
    int64_t value;
    uint32_t at, value_at; /* offsets in the file: of the entry; of its number or text */
};
/* Gets one entry, valid until it returns. Returns false to stop. */
typedef bool (*hsperfdata_fn)(void *cookie, const struct hsperfdata_entry *e);
/* Calls @fn for each entry of @file, at most 4,096, until @fn returns false. Returns false if @file
 * is no such file, or an entry is broken; @fn has then got the entries before the broken one. */
bool hsperfdata_each(struct span file, hsperfdata_fn fn, void *cookie);

/* Returns the number of bytes that the head of @file states to be used; 0: no such file. */
uint32_t hsperfdata_used(struct span file);
/* Returns the number of entries that the head of @file states; 0: no such file. A JVM never moves
 * an entry, but may add some. */
uint32_t hsperfdata_count(struct span file);
/* Gets the entry at the offset @at, which is from hsperfdata_each(). Returns false, with *ret
 * undefined, if no readable entry of a known kind is there. */
bool hsperfdata_entry_at(struct span file, uint32_t at, struct hsperfdata_entry *ret);

/* Gets the text of counter @key in @file. Returns true and *ret, which points into @file. */
bool hsperfdata_string(struct span file, const char *key, struct span *ret);
