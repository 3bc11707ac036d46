/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much CPU time and waiting went to each operation of a JVM, by its samples in the flight
 * recorder. Names are the target's: a JVM has some of its own, and the others share one. Pure;
 * thread: the owner's.
 */
#pragma once

#include "profile/profile.h"

#define RECORDED_OPERATIONS_MAX 50 /* of a JVM: those that it had first */

struct recorded_operation {
    char *name; /* owned */
    uint64_t cpu_ns, wait_ns;
};

struct recorded_operations {
    struct recorded_operation *items; /* owned; behind so many, one stands for all others */
    size_t count, cap;
};

void recorded_operations_deinit(struct recorded_operations *o);
/* Adds @ns to operation @name, which is clean: to its CPU time, or else to its waits. 0 or
 * -ENOMEM. */
int recorded_operations_add(struct recorded_operations *o, struct span name, bool cpu, uint64_t ns);
