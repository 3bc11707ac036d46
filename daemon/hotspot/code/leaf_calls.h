/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of compiled code are. Thread: as the VM's. */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/code/code.h"
#include "hotspot/leaf/instruction.h"

/* Returns what a call to @target is: LEAF_CALL, LEAF_SLOW or LEAF_TRAP. @stubs has those of the
 * VM's stubs, which stay as long as it. */
uint8_t leaf_call_flow(struct hotspot_vm *vm, struct u64_cache *stubs, uint64_t target);
