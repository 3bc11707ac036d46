/* SPDX-License-Identifier: Apache-2.0 */
/* Classification of the calls in compiled code. Thread: as the VM's. */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/code/code.h"
#include "hotspot/leaf/instruction.h"

/* Returns the flow of a call to @target: LEAF_CALL, LEAF_SLOW or LEAF_TRAP. @stubs caches the flows
 * of the VM's stubs; stubs live as long as the VM. */
uint8_t leaf_call_flow(struct hotspot_vm *vm, struct u64_cache *stubs, uint64_t target);
/* Returns the flow of a call to the stub of that name, in any JDK from 8 on. Pure. */
uint8_t leaf_stub_flow(const char *name);
