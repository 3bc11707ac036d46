/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time and waiting of each operation of a JVM, by its samples in the flight recorder. The
 * target chooses the names, so their number is bounded for each JVM; further operations share one.
 * Pure; thread: the owner's.
 */
#pragma once

#include "profile/profile.h"

#define RECORDED_OPERATIONS_MAX 50 /* operations of a JVM: the first ones */

struct recorded_operation {
    char *name; /* owned */
    uint64_t cpu_ns, wait_ns;
};

struct recorded_operations {
    struct recorded_operation *items; /* owned; the last may stand for all others */
    size_t count, cap;
};

void recorded_operations_deinit(struct recorded_operations *o);
/* Adds @ns to operation @name, which is clean: to its CPU time (@cpu) or to its waits. Returns 0 or
 * -ENOMEM. */
int recorded_operations_add(struct recorded_operations *o, struct span name, bool cpu, uint64_t ns);
