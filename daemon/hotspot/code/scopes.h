/* SPDX-License-Identifier: Apache-2.0 */
/* The records (PcDescs) of an nmethod, one by one. Thread: the VM's. */
#pragma once

#include "hotspot/code/code.h"

struct pc_desc {
    int32_t pc, scope; /* pc: offset in the code; scope: offset of its scope, 0: no information */
};

/* Returns the number of records of @b, with both sentinels. It is at most two more than the number
 * of bytes of code. */
uint64_t pc_descs_count(const struct hotspot_vm *vm, const struct blob *b);
/* Reads the record @index of @b. Returns 0 or -errno. */
int pc_desc_read(struct hotspot_vm *vm, const struct blob *b, uint64_t index, struct pc_desc *ret);
/* Reads the frames of the scope at @offset, innermost first. Returns their number, -EBADMSG if the
 * scope is malformed, or -errno. */
int scopes_walk(struct hotspot_vm *vm, const struct blob *b, uint32_t offset,
                struct hotspot_location ret[HOTSPOT_INLINE_MAX]);
