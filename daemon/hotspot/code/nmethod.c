/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CodeBlobs and nmethods. Places of an nmethod's parts:
 *   JDK 8        offsets from the blob (all of them)
 *   JDK 9..22    pointers to code and scopes, offsets from the blob for the rest
 *   JDK 23 up    code by offsets; scopes in a block of their own (immutable data)
 *   JDK 25 up    metadata behind the relocations in another block (mutable data)
 * The fields in a JVM's tables show which of these it has.
 */
#include "hotspot/code/code.h"

#define BLOB_BYTES_MAX ((uint64_t)256 << 20)

/* Checks whether the CodeBlob's name is @literal. Caches the address of the name if it lies in
 * libjvm: constants do not move there. Returns 1, 0 or -errno. */
static int blob_is_named(struct hotspot_vm *vm, uint64_t name, const char *literal, uint64_t *known)
{
    char text[32];
    ssize_t n;

    if (*known && name == *known)
        return 1;
    n = memory_string(&vm->memory, name, text, sizeof(text));
    if (n < 0)
        return (int)n;
    if (strcmp(text, literal) != 0)
        return 0;
    if (name >= vm->layout.image_start && name < vm->layout.image_end)
        *known = name;
    return 1;
}

static int blob_kind(struct hotspot_vm *vm, const uint8_t *p, size_t n, struct blob *b)
{
    const struct hotspot_layout *l = &vm->layout;
    int r;

    b->kind = HOTSPOT_CODE_STUB;
    if (n < l->sizeof_nmethod ||
        (layout_has(l->blob_kind) && layout_get(l->blob_kind, p, n) != l->blob_kind_nmethod))
        return 0;
    r = blob_is_named(vm, b->name, "nmethod", &vm->code.nmethod_name);
    if (r > 0)
        b->kind = HOTSPOT_CODE_COMPILED;
    if (r == 0) {
        r = blob_is_named(vm, b->name, "native nmethod", &vm->code.native_name);
        if (r > 0)
            b->kind = HOTSPOT_CODE_NATIVE;
    }
    return MIN(r, 0);
}

/* Sets the range to [begin, end) if that lies in [low, high), else to an empty one. */
static void range_set(uint64_t begin, uint64_t end, uint64_t low, uint64_t high,
                      uint64_t *ret_begin, uint64_t *ret_end)
{
    bool good = begin >= low && begin <= end && end <= high && end - begin <= NMETHOD_DATA_MAX;

    *ret_begin = good ? begin : 0;
    *ret_end = good ? end : 0;
}

/* Finds the tables of exceptions. They have offsets from @base, and both end before @end. Immutable
 * data has the handlers behind the implicit exceptions. Earlier releases have them before. */
static void nmethod_read_tables(const struct hotspot_layout *l, const uint8_t *p, size_t n,
                                uint64_t base, uint64_t end, struct blob *b)
{
    bool last = layout_has(l->nmethod_immutable_data);
    uint64_t handlers, implicit;

    if (!l->run || !layout_has(l->nmethod_handlers_offset) ||
        !layout_has(l->nmethod_implicit_offset))
        return;
    handlers = base + (uint32_t)layout_get(l->nmethod_handlers_offset, p, n);
    implicit = base + (uint32_t)layout_get(l->nmethod_implicit_offset, p, n);
    range_set(handlers, last ? end : implicit, base, end, &b->handlers, &b->handlers_end);
    range_set(implicit, last ? handlers : end, base, end, &b->implicit, &b->implicit_end);
}

/* Finds scopes and metadata of JDK 8..22: they lie in the blob, in this order. */
static void nmethod_read_inside(const struct hotspot_layout *l, const uint8_t *p, size_t n,
                                struct blob *b)
{
    uint64_t metadata = b->address + (uint64_t)layout_get(l->nmethod_metadata_offset, p, n);
    uint64_t data = layout_has(l->nmethod_scopes_data_begin)
                        ? (uint64_t)layout_get(l->nmethod_scopes_data_begin, p, n)
                        : b->address + (uint64_t)layout_get(l->nmethod_scopes_data_offset, p, n);
    uint64_t pcs = b->address + (uint64_t)layout_get(l->nmethod_scopes_pcs_offset, p, n);
    uint64_t dependencies = b->address + (uint64_t)layout_get(l->nmethod_dependencies_offset, p, n);

    range_set(metadata, data, b->address, b->end, &b->metadata, &b->metadata_end);
    range_set(data, pcs, b->address, b->end, &b->scopes_data, &b->scopes_data_end);
    range_set(pcs, dependencies, b->address, b->end, &b->scopes_pcs, &b->scopes_pcs_end);
    nmethod_read_tables(l, p, n, b->address, b->end, b);
}

/* Finds scopes and metadata of JDK 23 and up. Immutable data holds the tables of exceptions, then
 * pcs, then scopes. Since JDK 25, mutable data holds relocations, then metadata. */
static void nmethod_read_outside(const struct hotspot_layout *l, const uint8_t *p, size_t n,
                                 struct blob *b)
{
    uint64_t data = (uint64_t)layout_get(l->nmethod_immutable_data, p, n);
    uint64_t end = data + (uint32_t)layout_get(l->nmethod_immutable_data_size, p, n);
    uint64_t pcs = data + (uint32_t)layout_get(l->nmethod_scopes_pcs_offset, p, n);
    uint64_t scopes = data + (uint32_t)layout_get(l->nmethod_scopes_data_offset, p, n);
    uint64_t mutable = (uint64_t)layout_get(l->blob_mutable_data, p, n);

    range_set(pcs, scopes, data, end, &b->scopes_pcs, &b->scopes_pcs_end);
    range_set(scopes, end, data, end, &b->scopes_data, &b->scopes_data_end);
    nmethod_read_tables(l, p, n, data, pcs, b);
    range_set(mutable + (uint32_t)layout_get(l->blob_relocation_size, p, n),
              mutable + (uint32_t)layout_get(l->blob_mutable_data_size, p, n), mutable,
              mutable + NMETHOD_DATA_MAX, &b->metadata, &b->metadata_end);
    if (!layout_has(l->blob_mutable_data)) /* 23 and 24: behind the code */
        range_set(b->code_end + (uint32_t)layout_get(l->nmethod_metadata_offset, p, n), b->end,
                  b->code_end, b->end, &b->metadata, &b->metadata_end);
}

static void nmethod_read(const struct hotspot_layout *l, const uint8_t *p, size_t n, struct blob *b)
{
    b->method = (uint64_t)layout_get(l->nmethod_method, p, n);
    b->compile_id = (int32_t)layout_get(l->nmethod_compile_id, p, n);
    b->level = (int32_t)layout_get(l->nmethod_level, p, n);
    b->state = (int32_t)layout_get(l->nmethod_state, p, n);
    b->entry_bci = (int32_t)layout_get(l->nmethod_entry_bci, p, n);
    b->orig_pc_offset = (int32_t)layout_get(l->nmethod_orig_pc, p, n);
    if (layout_has(l->nmethod_verified_entry_offset))
        b->verified_entry =
            b->code_begin + (uint32_t)layout_get(l->nmethod_verified_entry_offset, p, n);
    else
        b->verified_entry = (uint64_t)layout_get(l->nmethod_verified_entry, p, n);
    if (layout_has(l->nmethod_deopt_begin))
        b->deopt_handler = (uint64_t)layout_get(l->nmethod_deopt_begin, p, n);
    else
        b->deopt_handler = b->address + (uint64_t)layout_get(l->nmethod_deopt_offset, p, n);
    if (b->deopt_handler < b->address || b->deopt_handler >= b->end)
        b->deopt_handler = 0;
    b->constants = MIN(b->address + l->sizeof_nmethod, b->code_begin);
    if (layout_has(l->nmethod_immutable_data))
        nmethod_read_outside(l, p, n, b);
    else
        nmethod_read_inside(l, p, n, b);
}

int blob_read(struct hotspot_vm *vm, uint64_t address, uint64_t end, struct blob *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint8_t p[NMETHOD_HEADER_MAX];
    struct blob b = { .address = address };
    uint64_t size;
    size_t n;
    int r;

    if (end <= address || end - address < l->sizeof_CodeBlob || end - address > BLOB_BYTES_MAX)
        return -EBADMSG;
    n = (size_t)MIN(end - address, (uint64_t)MAX(l->sizeof_nmethod, l->sizeof_CodeBlob));
    n = MIN(n, sizeof(p)); /* the JVM's tables may claim a larger CodeBlob */
    r = memory_read(&vm->memory, address, p, n);
    if (r < 0)
        return r;
    size = (uint32_t)layout_get(l->blob_size, p, n);
    if (size < l->sizeof_CodeBlob || size > end - address)
        return -EBADMSG;
    b.end = address + size;
    n = (size_t)MIN(n, size);
    b.name = (uint64_t)layout_get(l->blob_name, p, n);
    b.frame_size = (int32_t)layout_get(l->blob_frame_size, p, n);
    b.frame_complete = (int32_t)layout_get(l->blob_frame_complete, p, n);
    if (layout_has(l->blob_code_begin)) {
        b.code_begin = (uint64_t)layout_get(l->blob_code_begin, p, n);
        b.code_end = (uint64_t)layout_get(l->blob_code_end, p, n);
    } else {
        b.code_begin = address + (uint64_t)layout_get(l->blob_code_offset, p, n);
        b.code_end = address + (uint64_t)layout_get(l->blob_data_offset, p, n);
    }
    if (b.code_begin < address || b.code_begin > b.code_end || b.code_end > b.end)
        return -EBADMSG;
    r = blob_kind(vm, p, n, &b);
    if (r < 0)
        return r;
    if (b.kind != HOTSPOT_CODE_STUB)
        nmethod_read(l, p, n, &b);
    *ret = b;
    return 0;
}

/* nmethod::_state is 0 in use. "Not entrant" is 1 in JDK 8 and in 21 and up, and 2 in between. A
 * greater state is dead. -1 (not installed yet) exists since JDK 9. */
bool nmethod_is_alive(const struct hotspot_vm *vm, const struct blob *b)
{
    int not_entrant = vm->layout.jdk >= 9 && vm->layout.jdk <= 20 ? 2 : 1;

    return b->kind != HOTSPOT_CODE_STUB && b->state >= 0 && b->state <= not_entrant &&
           b->method != 0;
}
