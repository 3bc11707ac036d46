/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of compiled code are. Thread: as the VM's. */
#pragma once

#include "hotspot/code/code.h"
#include "hotspot/leaf/instruction.h"

#define LEAF_STUBS_MAX 256 /* of the VM that code calls: they stay as long as it */

struct leaf_stub {
    uint64_t target;
    uint8_t flow;
};

struct leaf_stubs {
    struct leaf_stub at[LEAF_STUBS_MAX];
    size_t count;
};

/* Tells what a call to @target is: LEAF_CALL, LEAF_SLOW or LEAF_TRAP. */
uint8_t leaf_call_flow(struct hotspot_vm *vm, struct leaf_stubs *stubs, uint64_t target);
