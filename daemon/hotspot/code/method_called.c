/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves the calls, fields and constants of a method's bytecodes. Up to JDK 21, the operand of a
 * call is an index of the constant pool's cache. f1 of the entry has the Method of a static or
 * special call. f2 has the Method of a virtual call that has the flag for final. Since JDK 22, the
 * operand is an index of an array of ResolvedMethodEntry or ResolvedFieldEntry. The first word of a
 * ResolvedMethodEntry is the Method.
 */
#include "hotspot/code/code.h"

#define INVOKE_VIRTUAL 182
#define INVOKE_SPECIAL 183
#define INVOKE_STATIC 184
#define FAST_INVOKE_VFINAL 227
#define ENTRY_IS_VFINAL (UINT64_C(1) << 20) /* in the flags */
#define ENTRY_BYTES_MAX 64
#define RESOLVED_FIELD_OFFSET 8 /* behind the field's class; the JVM's tables lack this offset */

/* Reads entry @index of the cache, at most ENTRY_BYTES_MAX bytes. Returns 0, -ENOENT if there is no
 * such entry, or -errno. */
static int read_entry(struct hotspot_vm *vm, uint64_t cache, uint16_t index,
                      uint8_t ret[ENTRY_BYTES_MAX])
{
    const struct hotspot_layout *l = &vm->layout;
    size_t n = l->sizeof_ConstantPoolCacheEntry;
    uint32_t length;
    int r = field_u32(vm, cache, l->cache_length, &length);

    if (r < 0)
        return r;
    if (index >= length || n == 0 || n > ENTRY_BYTES_MAX)
        return -ENOENT;
    return memory_read(&vm->memory, cache + l->sizeof_ConstantPoolCache + (uint64_t)index * n, ret,
                       n);
}

static int called_by_entry(struct hotspot_vm *vm, uint64_t cache, uint8_t opcode, uint16_t index,
                           uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    size_t n = l->sizeof_ConstantPoolCacheEntry;
    uint8_t entry[ENTRY_BYTES_MAX];
    bool vfinal;
    int r = read_entry(vm, cache, index, entry);

    if (r < 0)
        return r;
    vfinal = layout_get(l->cache_entry_flags, entry, n) & ENTRY_IS_VFINAL;
    if (opcode == INVOKE_SPECIAL || opcode == INVOKE_STATIC)
        memcpy(ret, entry + MIN((size_t)l->cache_entry_f1.offset, n - 8), 8);
    else if (opcode == FAST_INVOKE_VFINAL || vfinal)
        *ret = (uint64_t)layout_get(l->cache_entry_f2, entry, n);
    return 0;
}

/* Gets the address of element @index, of @size bytes, in the array at @field of the cache. */
static int array_entry(struct hotspot_vm *vm, uint64_t cache, struct layout_field field,
                       uint16_t index, uint32_t size, uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t array;
    uint32_t length;
    int r = field_u64(vm, cache, field, &array)
                ?: field_u32(vm, array, l->metadata_array_length, &length);

    if (r < 0)
        return r;
    if (index >= length || size < 8)
        return -ENOENT;
    *ret = array + 8 + (uint64_t)index * size;
    return 0;
}

static int read_pool(struct hotspot_vm *vm, uint64_t method, uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t constants;
    int r = field_u64(vm, method, l->method_const, &constants);

    return r < 0 ? r : field_u64(vm, constants, l->const_constants, ret);
}

static int read_cache(struct hotspot_vm *vm, uint64_t method, uint64_t *ret)
{
    uint64_t pool;
    int r = layout_has(vm->layout.pool_cache) ? read_pool(vm, method, &pool) : -ENOENT;

    return r < 0 ? r : field_u64(vm, pool, vm->layout.pool_cache, ret);
}

int method_called(struct hotspot_vm *vm, uint64_t method, uint8_t opcode, uint16_t index,
                  uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t cache, at, found = 0;
    int r;

    if ((opcode < INVOKE_VIRTUAL || opcode > INVOKE_STATIC) && opcode != FAST_INVOKE_VFINAL)
        return -ENOENT;
    r = read_cache(vm, method, &cache);
    if (r < 0)
        return r;
    if (layout_has(l->cache_resolved)) {
        r = array_entry(vm, cache, l->cache_resolved, index, l->sizeof_ResolvedMethodEntry, &at);
        if (r == 0)
            r = memory_u64(&vm->memory, at, &found);
    } else if (layout_has(l->cache_length) && layout_has(l->cache_entry_f1)) {
        r = called_by_entry(vm, cache, opcode, index, &found);
    }
    if (r < 0 || found == 0)
        return r < 0 ? r : -ENOENT;
    *ret = found;
    return 0;
}

int method_field(struct hotspot_vm *vm, uint64_t method, uint16_t index, uint32_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint8_t entry[ENTRY_BYTES_MAX];
    uint64_t cache, at;
    int r = read_cache(vm, method, &cache);

    if (r < 0)
        return r;
    if (layout_has(l->cache_resolved_fields)) {
        r = array_entry(vm, cache, l->cache_resolved_fields, index, l->sizeof_ResolvedFieldEntry,
                        &at);
        return r < 0 ? r : memory_u32(&vm->memory, at + RESOLVED_FIELD_OFFSET, ret);
    }
    if (!layout_has(l->cache_length) || !layout_has(l->cache_entry_f2))
        return -ENOENT;
    r = read_entry(vm, cache, index, entry);
    if (r == 0)
        *ret = (uint32_t)layout_get(l->cache_entry_f2, entry, l->sizeof_ConstantPoolCacheEntry);
    return r;
}

int method_constant(struct hotspot_vm *vm, uint64_t method, uint16_t index, uint64_t *ret)
{
    uint64_t pool;
    uint32_t length;
    int r = read_pool(vm, method, &pool) ?: field_u32(vm, pool, vm->layout.pool_length, &length);

    if (r == 0 && index >= length)
        r = -ENOENT;
    return r < 0 ? r
                 : memory_u64(&vm->memory,
                              pool + vm->layout.sizeof_ConstantPool + (uint64_t)index * 8, ret);
}
