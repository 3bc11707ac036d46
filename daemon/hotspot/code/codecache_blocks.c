/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the block of a code heap that holds an address, by the segment map (codecache.c). */
#include "base/list.h"
#include "hotspot/code/code.h"

#define SEGMENT_FREE 0xff
#define HEAP_BLOCK_MAX 64 /* sizeof(HeapBlock) is 8 or 16 */

bool hotspot_vm_in_code_cache(const struct hotspot_vm *vm, uint64_t pc)
{
    return pc >= vm->code.low && pc < vm->code.high;
}

static const struct code_heap *codecache_heap(const struct hotspot_vm *vm, uint64_t pc)
{
    return FIRST_OF(i, vm->code.heaps, vm->code.heap_count,
                    pc >= vm->code.heaps[i].low && pc < vm->code.heaps[i].high);
}

int codecache_header(struct hotspot_vm *vm, const struct code_heap *h, uint64_t block,
                     uint64_t *ret_end, bool *ret_used)
{
    const struct hotspot_layout *l = &vm->layout;
    struct layout_field length = l->block_length, used = l->block_used;
    uint8_t header[HEAP_BLOCK_MAX];
    uint64_t segments;
    int r;

    if (l->sizeof_HeapBlock > sizeof(header))
        return -EBADMSG;
    r = memory_read(&vm->memory, block, header, l->sizeof_HeapBlock);
    if (r < 0)
        return r;
    length.offset += l->heap_block_header.offset;
    used.offset += l->heap_block_header.offset;
    segments = (uint64_t)layout_get(length, header, l->sizeof_HeapBlock);
    if (segments == 0 || segments > (h->high - block) >> h->log2_segment)
        return -EBADMSG;
    *ret_end = block + (segments << h->log2_segment);
    *ret_used = layout_get(used, header, l->sizeof_HeapBlock) != 0;
    return 0;
}

int codecache_start(struct hotspot_vm *vm, const struct code_heap *h, uint64_t pc,
                    uint64_t *ret_block)
{
    uint64_t segment = (pc - h->low) >> h->log2_segment;

    for (unsigned hop = 0; hop < CODE_HOPS_MAX; hop++) {
        uint64_t tag;
        int r = memory_number(&vm->memory, h->segmap + segment, 1, &tag);

        if (r < 0)
            return r;
        if (tag == SEGMENT_FREE || tag > segment)
            return -ENOENT;
        if (tag == 0) {
            *ret_block = h->low + (segment << h->log2_segment);
            return 0;
        }
        segment -= tag;
    }
    return -ENOENT;
}

int codecache_block(struct hotspot_vm *vm, uint64_t pc, uint64_t *ret_blob, uint64_t *ret_end)
{
    const struct code_heap *h = codecache_heap(vm, pc);
    uint64_t block, end;
    bool used;
    int r = h ? codecache_start(vm, h, pc, &block) : -ENOENT;

    if (r < 0)
        return r;
    r = codecache_header(vm, h, block, &end, &used);
    if (r < 0)
        return r;
    if (!used || pc >= end)
        return -ENOENT;
    *ret_blob = block + vm->layout.sizeof_HeapBlock;
    *ret_end = end;
    return 0;
}
