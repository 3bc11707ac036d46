/* SPDX-License-Identifier: Apache-2.0 */
/* References in the Java heap, the classes of objects, and arrays, in the codings of this VM. */
#include "hotspot/vm.h"

/* Generational ZGC keeps the address above colour bits. On x86-64, the one "remapped" bit that is
 * set (12..15) gives the shift. On aarch64, the shift is always 16. */
uint64_t oop_uncolour(uint64_t raw)
{
#ifdef __x86_64__
    unsigned remapped = (raw >> 12) & 0xf;

    return remapped ? raw >> (13 + (unsigned)__builtin_ctz(remapped)) : 0;
#else
    return raw >> 16;
#endif
}

unsigned heap_reference_bytes(const struct hotspot_vm *vm)
{
    return vm->names.compressed_oops ? 4 : 8;
}

/* Returns the current address of the object that @raw, a reference of eight bytes, leads to. */
static uint64_t decode_wide(struct hotspot_vm *vm, uint64_t raw)
{
    uint64_t object = vm->names.coloured_oops ? oop_uncolour(raw) : raw;

    return object ? zgc_forward(vm, raw, object) : 0;
}

uint64_t heap_decode(struct hotspot_vm *vm, uint64_t raw)
{
    const struct name_layout *n = &vm->names;

    if (raw && n->compressed_oops)
        return n->oop_base + (raw << n->oop_shift);
    return decode_wide(vm, raw);
}

static int decode(struct hotspot_vm *vm, uint64_t raw, uint64_t *ret)
{
    uint64_t object = heap_decode(vm, raw);

    if (!object)
        return -ENOENT;
    *ret = object;
    return 0;
}

int heap_load(struct hotspot_vm *vm, uint64_t at, uint64_t *ret)
{
    uint64_t raw;
    int r = memory_number(&vm->memory, at, heap_reference_bytes(vm), &raw);

    return r < 0 ? r : decode(vm, raw, ret);
}

int heap_handle(struct hotspot_vm *vm, uint64_t at, uint64_t *ret)
{
    uint64_t raw;
    int r = memory_u64(&vm->memory, at, &raw);

    if (r < 0)
        return r;
    raw = decode_wide(vm, raw);
    if (!raw)
        return -ENOENT;
    *ret = raw;
    return 0;
}

uint64_t heap_klass(const struct hotspot_vm *vm, const void *header)
{
    const struct hotspot_layout *l = &vm->layout;
    const struct name_layout *n = &vm->names;
    const uint8_t *p = header;
    uint64_t klass = 0;
    uint32_t narrow;

    if (n->compact_headers) {
        memcpy(&klass, p, sizeof(klass));
        klass >>= n->mark_shift;
    } else if (n->compressed_klass) {
        memcpy(&narrow, p + l->oop_compressed_klass.offset, sizeof(narrow));
        klass = narrow;
    } else {
        memcpy(&klass, p + l->oop_klass.offset, sizeof(klass));
        return klass;
    }
    return klass ? n->klass_base + (klass << n->klass_shift) : 0;
}

int object_klass(struct hotspot_vm *vm, uint64_t oop, uint64_t *ret)
{
    uint8_t header[HEAP_HEADER_BYTES];
    int r = memory_read(&vm->memory, oop, header, sizeof(header));

    if (r == 0)
        *ret = heap_klass(vm, header);
    return r;
}

unsigned heap_length_at(const struct hotspot_vm *vm)
{
    return vm->names.compact_headers ? 8 : vm->names.compressed_klass ? 12 : 16;
}

int heap_array(struct hotspot_vm *vm, uint64_t array, unsigned element_bytes, uint32_t *ret_length,
               uint64_t *ret_data)
{
    uint64_t length_at = heap_length_at(vm);
    uint64_t align = vm->layout.jdk < 23 ? 8 : element_bytes; /* of the first element */

    *ret_data = array + ((length_at + 4 + align - 1) & ~(align - 1));
    return memory_u32(&vm->memory, array + length_at, ret_length);
}
