/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each operation of a JVM has used, by its samples in the flight recorder. The target chooses
 * the names, so their number is bounded for each JVM; further operations share one. Pure; thread:
 * the owner's.
 */
#pragma once

#include "profile/profile.h"

#define RECORDED_OPERATIONS_MAX 50 /* operations of a JVM: the first ones */

enum recorded_use { RECORDED_CPU_NS, RECORDED_WAIT_NS, RECORDED_ALLOC_BYTES, RECORDED_USES };

struct recorded_operation {
    char *name; /* owned */
    uint64_t used[RECORDED_USES];
};

struct recorded_operations {
    struct recorded_operation *items; /* owned; the last may stand for all others */
    size_t count, cap;
};

void recorded_operations_deinit(struct recorded_operations *o);
/* Adds @value to what operation @name, which is clean, has used of @use. Returns 0 or -ENOMEM. */
int recorded_operations_add(struct recorded_operations *o, struct span name, enum recorded_use use,
                            uint64_t value);
