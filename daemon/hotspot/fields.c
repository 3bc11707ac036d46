/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the offset of a Java class's field by the class's own description. An instance field has an
 * offset in its objects, a static field one in the class's mirror. JDK 8..20: an array of six u2
 * per field, the offset packed in the last two. JDK 21 up: a stream of UNSIGNED5.
 */
#include "hotspot/code/code.h"

#define FIELDS_MAX 512 /* fields of one class; the wanted classes have about 20 */
#define FIELD_SLOTS_MAX 8
#define FIELD_SUPERS_MAX 16 /* superclasses to search */
#define FIELD_STREAM_MAX 4096
#define FIELD_TEXT_MAX 256   /* bytes of a name or signature */
#define FIELD_STATIC 0x8     /* JVM_ACC_STATIC */
#define FIELD_INTERNAL 0x400 /* JVM_ACC_FIELD_INTERNAL: the class's constants lack its name */
#define FIELD_TAG_OFFSET 1   /* FIELDINFO_TAG_OFFSET: the packed number is an offset */

/* Returns whether constant @index is the text @text. Returns 1, 0 or -errno. */
static int constant_is(struct hotspot_vm *vm, uint64_t pool, uint32_t index, const char *text)
{
    char bytes[FIELD_TEXT_MAX];
    uint64_t symbol;
    uint16_t n = 0;
    int r =
        pool_symbol(vm, pool, index, &symbol) ?: symbol_read(vm, symbol, bytes, sizeof(bytes), &n);

    return r < 0 ? r : span_eq_str((struct span){ bytes, n }, text);
}

/* Returns whether @f is the field with this name and signature. Returns 1, 0 or -errno. */
static int field_is(struct hotspot_vm *vm, uint64_t pool, uint32_t name, uint32_t signature,
                    const struct field_wanted *f)
{
    int r = constant_is(vm, pool, name, f->name);

    return r > 0 && f->signature ? constant_is(vm, pool, signature, f->signature) : r;
}

static int field_in_array(struct hotspot_vm *vm, uint64_t array, uint64_t pool,
                          const struct field_wanted *wanted, uint32_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t at = array + (uint64_t)l->array_u2_data.offset;
    unsigned slots = (unsigned)l->field_slots, tag = (unsigned)l->field_tag_bits;
    uint32_t length;
    int r = field_u32(vm, array, l->metadata_array_length, &length);

    if (r < 0)
        return r;
    if (slots < 6 || slots > FIELD_SLOTS_MAX || tag < 1 || tag > 8)
        return -EBADMSG;
    for (uint32_t i = 0; i < MIN(length / slots, (uint32_t)FIELDS_MAX); i++) {
        uint16_t f[FIELD_SLOTS_MAX];
        uint32_t packed;

        r = memory_read(&vm->memory, at + (uint64_t)i * slots * 2, f, (size_t)slots * 2);
        if (r < 0)
            return r;
        packed = f[4] | (uint32_t)f[5] << 16;
        if (((f[0] & FIELD_STATIC) != 0) != wanted->is_static || (f[0] & FIELD_INTERNAL) ||
            (packed & ((1U << tag) - 1)) != FIELD_TAG_OFFSET)
            continue;
        r = field_is(vm, pool, f[1], f[2], wanted);
        if (r > 0)
            *ret = packed >> tag;
        if (r != 0)
            return MIN(r, 0);
    }
    return -ENOENT;
}

struct field {
    uint32_t name, signature, offset, access, flags;
};

/* Returns whether the flag is set that has number @bit in this VM. */
static bool field_flag(const struct field *f, int32_t bit)
{
    return bit >= 0 && bit < 32 && (f->flags >> bit & 1);
}

/* Takes a field from the stream. Five numbers describe it; some flags add one number. */
static bool field_take(const struct hotspot_layout *l, struct span *s, unsigned excluded,
                       struct field *f)
{
    const int32_t more[] = { l->field_initialized, l->field_generic, l->field_contended,
                             l->field_flat, l->field_null_marker };
    uint32_t skipped;
    bool good = unsigned5_take(s, excluded, &f->name) &&
                unsigned5_take(s, excluded, &f->signature) &&
                unsigned5_take(s, excluded, &f->offset) &&
                unsigned5_take(s, excluded, &f->access) && unsigned5_take(s, excluded, &f->flags);

    for (size_t i = 0; good && i < ARRAY_SIZE(more); i++)
        good = !field_flag(f, more[i]) || unsigned5_take(s, excluded, &skipped);
    return good;
}

static int field_in_stream(struct hotspot_vm *vm, uint64_t array, uint64_t pool,
                           const struct field_wanted *wanted, uint32_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    unsigned excluded = unsigned5_excluded(vm);
    uint32_t length, fields, injected, seen = 0;
    char bytes[FIELD_STREAM_MAX];
    struct span s = { bytes, 0 };
    int r = field_u32(vm, array, l->metadata_array_length, &length);

    if (r < 0)
        return r;
    s.n = MIN(length, sizeof(bytes));
    r = memory_read(&vm->memory, array + (uint64_t)l->array_u1_data.offset, bytes, s.n);
    if (r < 0)
        return r;
    if (!unsigned5_take(&s, excluded, &fields) || !unsigned5_take(&s, excluded, &injected))
        return -EBADMSG;
    fields = MIN(fields, (uint32_t)FIELDS_MAX) + MIN(wanted->injected, injected);
    for (uint32_t i = 0; i < fields; i++) {
        struct field f;

        if (!field_take(l, &s, excluded, &f))
            return -EBADMSG;
        if (wanted->injected) {
            seen += field_flag(&f, l->field_injected);
            if (seen == wanted->injected) {
                *ret = f.offset;
                return 0;
            }
            continue;
        }
        if (((f.access & FIELD_STATIC) != 0) != wanted->is_static ||
            field_flag(&f, l->field_injected))
            continue;
        r = field_is(vm, pool, f.name, f.signature, wanted);
        if (r > 0)
            *ret = f.offset;
        if (r != 0)
            return MIN(r, 0);
    }
    return -ENOENT;
}

int field_find(struct hotspot_vm *vm, uint64_t klass, const struct field_wanted *wanted,
               uint32_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    bool stream = layout_has(l->instance_field_stream);
    struct layout_field f = stream ? l->instance_field_stream : l->instance_fields;
    uint64_t array = 0, pool = 0;
    uint32_t offset;
    int r = field_u64(vm, klass, f, &array) ?: field_u64(vm, klass, l->instance_constants, &pool);

    if (r < 0)
        return r;
    r = stream ? field_in_stream(vm, array, pool, wanted, &offset)
               : field_in_array(vm, array, pool, wanted, &offset);
    if (r == 0 && (offset < 8 || offset > UINT16_MAX))
        return -EBADMSG;
    if (r == 0)
        *ret = offset;
    return r;
}

int field_offset(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret)
{
    return field_find(vm, klass, &(struct field_wanted){ .name = name }, ret);
}

int field_inherited(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret)
{
    int r = -ENOENT;

    for (unsigned i = 0; i < FIELD_SUPERS_MAX && klass && r == -ENOENT; i++) {
        r = field_offset(vm, klass, name, ret);
        if (r == -ENOENT && field_u64(vm, klass, vm->layout.klass_super, &klass) < 0)
            return -EFAULT;
    }
    return r;
}

int field_static(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret)
{
    return field_find(vm, klass, &(struct field_wanted){ .name = name, .is_static = true }, ret);
}
