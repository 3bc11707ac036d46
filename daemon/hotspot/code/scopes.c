/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of an nmethod: a table of PcDescs, sorted by pc offset, with a sentinel at each end.
 * Each refers to a chain of scopes, innermost first, that ends at the compiled method (sender
 * offset 0).
 */
#include "hotspot/code/scopes.h"

#define PC_DESC_MAX 64     /* sizeof(PcDesc) is 16 */
#define SCOPE_BYTES_MAX 15 /* three numbers of at most five digits */

uint64_t pc_descs_count(const struct hotspot_vm *vm, const struct blob *b)
{
    uint32_t size = vm->layout.sizeof_PcDesc;

    if (size == 0 || size > PC_DESC_MAX)
        return 0;
    return MIN((b->scopes_pcs_end - b->scopes_pcs) / size, b->code_end - b->code_begin + 2);
}

int pc_desc_read(struct hotspot_vm *vm, const struct blob *b, uint64_t index, struct pc_desc *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint8_t p[PC_DESC_MAX];
    int r;

    r = memory_read(&vm->memory, b->scopes_pcs + index * l->sizeof_PcDesc, p, l->sizeof_PcDesc);
    if (r < 0)
        return r;
    ret->pc = (int32_t)layout_get(l->pc_desc_pc, p, l->sizeof_PcDesc);
    ret->scope = (int32_t)layout_get(l->pc_desc_scope, p, l->sizeof_PcDesc);
    return 0;
}

struct scope {
    uint32_t sender, method; /* sender: offset of the caller's scope; method: index of the method */
    int32_t bci;
};

static int scope_read(struct hotspot_vm *vm, const struct blob *b, uint32_t offset,
                      struct scope *ret)
{
    unsigned excluded = unsigned5_excluded(vm);
    uint64_t size = b->scopes_data_end - b->scopes_data;
    char bytes[SCOPE_BYTES_MAX];
    struct span s = { bytes, 0 };
    uint32_t bci;
    int r;

    if (offset >= size)
        return -EBADMSG;
    s.n = (size_t)MIN(size - offset, sizeof(bytes));
    r = memory_read(&vm->memory, b->scopes_data + offset, bytes, s.n);
    if (r < 0)
        return r;
    if (!unsigned5_take(&s, excluded, &ret->sender) ||
        !unsigned5_take(&s, excluded, &ret->method) || !unsigned5_take(&s, excluded, &bci) ||
        bci > UINT16_MAX + 1)
        return -EBADMSG;
    ret->bci = (int32_t)bci - 1; /* the coded number is the bci - InvocationEntryBci, which is -1 */
    return 0;
}

/* Gets the method at @index of the nmethod's metadata, counted from 1. */
static int scope_method(struct hotspot_vm *vm, const struct blob *b, uint32_t index, uint64_t *ret)
{
    if (index == 0 || index > (b->metadata_end - b->metadata) / 8)
        return -EBADMSG;
    return memory_u64(&vm->memory, b->metadata + (uint64_t)(index - 1) * 8, ret);
}

int scopes_walk(struct hotspot_vm *vm, const struct blob *b, uint32_t offset,
                struct hotspot_location ret[HOTSPOT_INLINE_MAX])
{
    for (int n = 0; n < HOTSPOT_INLINE_MAX; n++) {
        struct scope s;
        int r = scope_read(vm, b, offset, &s) ?: scope_method(vm, b, s.method, &ret[n].method);

        if (r != 0)
            return r;
        ret[n].bci = s.bci;
        ret[n].inlined = s.sender != 0;
        ret[n].leaf = HOTSPOT_LEAF_RECORDED;
        if (s.sender == 0)
            return ret[n].method == b->method ? n + 1 : -EBADMSG;
        if (s.sender >= offset) /* a caller's scope must lie before those of its callees */
            return -EBADMSG;
        offset = s.sender;
    }
    /* The chain is too deep: the compiled method takes the last place. */
    ret[HOTSPOT_INLINE_MAX - 1] = (struct hotspot_location){ .method = b->method, .bci = -1 };
    return HOTSPOT_INLINE_MAX;
}
