/* SPDX-License-Identifier: Apache-2.0 */
/* The records (PcDescs) of an nmethod, one by one. Thread: as the VM's. */
#pragma once

#include "hotspot/code/code.h"

struct pc_desc {
    int32_t pc,
        scope; /* offset in the code; offset where its scope is encoded, 0: no information */
};

/* Returns the number of records of @b, with both sentinels; at most two more than its bytes of
 * code. */
uint64_t pc_descs_count(const struct hotspot_vm *vm, const struct blob *b);
/* Reads the record @index of @b. 0; -errno. */
int pc_desc_read(struct hotspot_vm *vm, const struct blob *b, uint64_t index, struct pc_desc *ret);
/* Reads the frames of the scope that is encoded at @offset, innermost first. Return: their number;
 * -EBADMSG: malformed; -errno. */
int scopes_walk(struct hotspot_vm *vm, const struct blob *b, uint32_t offset,
                struct hotspot_location ret[HOTSPOT_INLINE_MAX]);
