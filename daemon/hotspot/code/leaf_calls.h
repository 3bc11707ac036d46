/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of compiled code are. Thread: as the VM's. */
#pragma once

#include "hotspot/code/code.h"
#include "hotspot/leaf/instruction.h"

/* Tells what a call to @target is: LEAF_CALL, LEAF_SLOW or LEAF_TRAP. */
uint8_t leaf_call_flow(struct hotspot_vm *vm, uint64_t target);
