/* SPDX-License-Identifier: Apache-2.0 */
/* The counters file that a JVM may keep in /tmp/hsperfdata_USER/PID: a hostile file of at most 64
 * KiB. Facts: perfMemory.hpp, the same in JDK 8 to 25. Pure; thread: any. */
#pragma once

#include "base/span.h"

#define HSPERFDATA_MAX_BYTES ((size_t)64 << 10)

/* The string counter @key in @file. True and *ret pointing into @file. */
bool hsperfdata_string(struct span file, const char *key, struct span *ret);
/* The 64-bit counter @key. */
bool hsperfdata_long(struct span file, const char *key, int64_t *ret);
