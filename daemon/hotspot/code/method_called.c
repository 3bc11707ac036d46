/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call of a method's bytecodes resolves to. Up to JDK 21 its operand counts entries of the
 * constant pool's cache: f1 has the Method of a static or special call, f2 that of a virtual one
 * whose flags say that it is final. Since 22 it counts an array of ResolvedMethodEntry, whose first
 * word is the Method.
 */
#include "hotspot/code/code.h"

#define INVOKE_VIRTUAL 182
#define INVOKE_SPECIAL 183
#define INVOKE_STATIC 184
#define FAST_INVOKE_VFINAL 227
#define ENTRY_IS_VFINAL (UINT64_C(1) << 20) /* of the flags */
#define ENTRY_BYTES_MAX 64

static int called_by_entry(struct hotspot_vm *vm, uint64_t cache, uint8_t opcode, uint16_t index,
                           uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    size_t n = l->sizeof_ConstantPoolCacheEntry;
    uint8_t entry[ENTRY_BYTES_MAX];
    uint32_t length;
    bool vfinal;
    int r = memory_u32(&vm->memory, cache + (uint64_t)l->cache_length.offset, &length);

    if (r < 0)
        return r;
    if (index >= length || n == 0 || n > sizeof(entry))
        return -ENOENT;
    r = memory_read(&vm->memory, cache + l->sizeof_ConstantPoolCache + (uint64_t)index * n, entry,
                    n);
    if (r < 0)
        return r;
    vfinal = layout_get(l->cache_entry_flags, entry, n) & ENTRY_IS_VFINAL;
    if (opcode == INVOKE_SPECIAL || opcode == INVOKE_STATIC)
        memcpy(ret, entry + MIN((size_t)l->cache_entry_f1.offset, n - 8), 8);
    else if (opcode == FAST_INVOKE_VFINAL || vfinal)
        *ret = (uint64_t)layout_get(l->cache_entry_f2, entry, n);
    return 0;
}

static int called_by_array(struct hotspot_vm *vm, uint64_t cache, uint16_t index, uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t array;
    uint32_t length;
    int r = memory_u64(&vm->memory, cache + (uint64_t)l->cache_resolved.offset, &array);

    if (r == 0)
        r = memory_u32(&vm->memory, array + (uint64_t)l->metadata_array_length.offset, &length);
    if (r < 0)
        return r;
    if (index >= length || l->sizeof_ResolvedMethodEntry < 8)
        return -ENOENT;
    return memory_u64(&vm->memory, array + 8 + (uint64_t)index * l->sizeof_ResolvedMethodEntry,
                      ret);
}

int method_called(struct hotspot_vm *vm, uint64_t method, uint8_t opcode, uint16_t index,
                  uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t constants, pool, cache, found = 0;
    int r;

    if (((opcode < INVOKE_VIRTUAL || opcode > INVOKE_STATIC) && opcode != FAST_INVOKE_VFINAL) ||
        !layout_has(l->pool_cache))
        return -ENOENT;
    r = memory_u64(&vm->memory, method + (uint64_t)l->method_const.offset, &constants);
    if (r == 0)
        r = memory_u64(&vm->memory, constants + (uint64_t)l->const_constants.offset, &pool);
    if (r == 0)
        r = memory_u64(&vm->memory, pool + (uint64_t)l->pool_cache.offset, &cache);
    if (r < 0)
        return r;
    if (layout_has(l->cache_resolved))
        r = called_by_array(vm, cache, index, &found);
    else if (layout_has(l->cache_length) && layout_has(l->cache_entry_f1))
        r = called_by_entry(vm, cache, opcode, index, &found);
    if (r < 0 || found == 0)
        return r < 0 ? r : -ENOENT;
    *ret = found;
    return 0;
}
