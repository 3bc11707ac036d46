/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's own record of a call: its relocation, by which it would patch the call. A call that may
 * stop (of Java, or of the VM) has one kind, and a leaf call of an outside routine ("runtime_call")
 * another. JDK 25 and later, whose tables contain the place of relocations; x86-64. For the
 * benchmarks.
 */
#pragma once

#include "hotspot/code/code.h"

#define RELOCATIONS_BYTES_MAX (1u << 20)
#define RELOCATION_TYPES 32
#define RELOCATION_VIRTUAL_CALL 2 /* opt_virtual_call 3 */
#define RELOCATION_STATIC_CALL 4
#define RELOCATION_RUNTIME_CALL 6
#define RELOCATION_PREFIX 15

/* Returns the relocation type of the call at @at in @code; 0: it has none; -1: unknown. */
static inline int relocation_at(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t at)
{
    const struct hotspot_layout *l = &vm->layout;
    uint8_t blob[256];
    uint16_t *value = NULL;
    int32_t content;
    uint32_t bytes;
    uint64_t address;
    int type = 0;

    if (!layout_has(l->blob_mutable_data) ||
        memory_read(&vm->memory, code->blob, blob, sizeof(blob)) < 0)
        return -1;
    bytes = (uint32_t)layout_get(l->blob_relocation_size, blob, sizeof(blob));
    /* CodeBlob::_content_offset lies before _code_offset. */
    memcpy(&content, blob + l->blob_code_offset.offset - 4, sizeof(content));
    value = bytes && bytes <= RELOCATIONS_BYTES_MAX ? malloc(bytes) : NULL;
    if (!value ||
        memory_read(&vm->memory, (uint64_t)layout_get(l->blob_mutable_data, blob, sizeof(blob)),
                    value, bytes) < 0) {
        free(value);
        return -1;
    }
    address = code->blob + (uint64_t)(int64_t)content;
    for (uint32_t i = 0; i < bytes / 2 && address <= at; i++) {
        unsigned kind = value[i] >> 11;

        if (kind == RELOCATION_PREFIX) { /* followed by data, or with data inside */
            if (value[i] & 1u << 10)
                i += value[i] & ((1u << 10) - 1);
            continue;
        }
        address += value[i] & 0xff; /* preceded by three bits of format */
        if (address == at && ((kind >= RELOCATION_VIRTUAL_CALL && kind <= RELOCATION_STATIC_CALL) ||
                              kind == RELOCATION_RUNTIME_CALL))
            type = (int)kind;
    }
    free(value);
    return type;
}
