// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Finds which object a function is about to allocate for Java code (alloc_abi.h), from the
 * arguments of the function. The object does not exist yet: its size follows from its class and,
 * for an array, from its length. All words are read from the target and may be garbage. They are
 * bounded, and read with the rights of the target.
 */
#pragma once

#include "sample/alloc_abi.h"
#include "sample/registers.bpf.h"

#define LENGTH_MAX 0x7fffffff /* limit of an array's length */
#define ARRAY_HEADER_BYTES 16 /* assumed for an array with an unread class; really 12 to 24 */
#define RESOLVED_DATA_BYTES 8 /* offset of the data in an Array<Klass*> */
#define TYPE_MIN 4            /* T_BOOLEAN */
#define TYPE_MAX 11           /* T_LONG */

struct allocated {
    __u64 klass, bytes, thread;
    __u32 outside; /* 1: outside of the thread's buffer */
    __u32 before;  /* 1: the object is not allocated yet */
    /* As in struct sample_record: */
    __u32 object, collections;
};

/* Reads a word of the target. */
static __always_inline bool read_word(__u64 *ret, __u64 at)
{
    return bpf_probe_read_user(ret, sizeof(*ret), (const void *)at) == 0;
}

/* Returns Klass::_layout_helper. Above 0: the bytes of an instance. Below 0: for an array, the
 * bytes before its first element, and the shift for the length. 0: unreadable. */
static __always_inline __s32 layout_of(const struct alloc_vm *vm, __u64 klass)
{
    __s32 layout = 0;

    bpf_probe_read_user(&layout, sizeof(layout), (const void *)(klass + vm->layout_helper));
    return layout;
}

/* Returns the bytes of an array of @length, with elements of 1 << @shift bytes. 0: no array has
 * this length. */
static __always_inline __u64 array_bytes(__u64 header, __u32 shift, __u64 length)
{
    return length > LENGTH_MAX ? 0 : (header + (length << (shift & 7)) + 7) & ~7ULL;
}

/* Returns the bytes of an array of @length with this layout; 0: the layout is not an array's. */
static __always_inline __u64 bytes_by_layout(__s32 layout, __u64 length)
{
    return layout < 0 ? array_bytes((__u32)layout >> 16 & 0xff, (__u32)layout & 0xff, length) : 0;
}

/* Describes an instance of @klass. */
static __always_inline void set_instance(const struct alloc_vm *vm, __u64 klass,
                                         struct allocated *ret)
{
    __s32 layout = layout_of(vm, klass);

    ret->klass = klass;
    ret->bytes = layout > 0 ? (__u32)layout & ~7U : 0;
}

/* Describes an array with the class @klass. */
static __always_inline void set_array(const struct alloc_vm *vm, __u64 klass, __u64 length,
                                      struct allocated *ret)
{
    ret->klass = klass;
    ret->bytes = bytes_by_layout(layout_of(vm, klass), (__u32)length);
}

/* Describes an array of arrays, with the bytes of all of its arrays together. */
static __always_inline void set_multi(const struct alloc_vm *vm, __u64 klass, __u32 rank,
                                      const __u32 *lengths, struct allocated *ret)
{
    __u64 count = 1, one;

    ret->klass = klass;
    UNWIND_LOOP
    for (__u32 i = 0; i < ALLOC_RANK_MAX; i++) {
        if (i >= rank)
            break;
        one = bytes_by_layout(layout_of(vm, klass), lengths[i]);
        if (!one || count > LENGTH_MAX)
            break;
        ret->bytes += count * one;
        count *= lengths[i];
        if (!read_word(&klass, klass + vm->element_klass))
            break;
    }
}

/* Returns the class at @index of a ConstantPool. 0: the class is not resolved. */
static __always_inline __u64 pool_class(const struct alloc_vm *vm, __u64 pool, __u64 index)
{
    __u64 slot = 0, array = 0, klass = 0;

    if (!read_word(&slot, pool + vm->pool_bytes + (index & 0xffff) * sizeof(slot)))
        return 0;
    if (!vm->resolved_klasses)
        return slot & 1 ? 0 : slot; /* with bit 0, the slot holds a name */
    if (read_word(&array, pool + vm->resolved_klasses) && array)
        read_word(&klass, array + RESOLVED_DATA_BYTES + (slot & 0xffff) * sizeof(klass));
    return klass;
}

/* Describes the object of a function of C2, which has the thread as its last argument. */
static __always_inline void set_by_compiler(const struct alloc_vm *vm, __u32 kind,
                                            const struct arguments *a, struct allocated *ret)
{
    __u32 lengths[ALLOC_RANK_MAX] = { (__u32)a->n[1], (__u32)a->n[2], (__u32)a->n[3],
                                      (__u32)a->n[4], (__u32)a->n[5] };

    switch (kind) {
    case ALLOC_C2_INSTANCE:
        ret->thread = a->n[1];
        set_instance(vm, a->n[0], ret);
        break;
    case ALLOC_C2_ARRAY:
        ret->thread = a->n[2];
        set_array(vm, a->n[0], a->n[1], ret);
        break;
    case ALLOC_C2_FILLED:
        ret->thread = a->n[3];
        set_array(vm, a->n[0], a->n[1], ret);
        break;
    case ALLOC_C2_MULTI2:
        ret->thread = a->n[3];
        break;
    case ALLOC_C2_MULTI3:
        ret->thread = a->n[4];
        break;
    case ALLOC_C2_MULTI4:
        ret->thread = a->n[5];
        break;
    case ALLOC_C2_MULTI5:
        take_seventh(a, &ret->thread);
        break;
    }
    if (kind >= ALLOC_C2_MULTI2 && kind <= ALLOC_C2_MULTI5)
        set_multi(vm, a->n[0], kind - ALLOC_C2_MULTI2 + 2, lengths, ret);
}

/* Describes the object of a function of C1 or the interpreter, which has the thread as its first
 * argument. */
static __always_inline void set_by_thread(const struct alloc_vm *vm, __u32 kind,
                                          const struct arguments *a, struct allocated *ret)
{
    __u32 lengths[ALLOC_RANK_MAX] = { 0 };

    ret->thread = a->n[0];
    switch (kind) {
    case ALLOC_C1_INSTANCE:
        set_instance(vm, a->n[1], ret);
        break;
    case ALLOC_C1_ARRAY:
        set_array(vm, a->n[1], a->n[2], ret);
        break;
    case ALLOC_C1_MULTI:
        UNWIND_LOOP
        for (__u32 i = 0; i < ALLOC_RANK_MAX; i++) {
            if (i < (__u32)a->n[2])
                bpf_probe_read_user(&lengths[i], sizeof(lengths[i]),
                                    (const void *)(a->n[3] + i * sizeof(lengths[i])));
        }
        set_multi(vm, a->n[1], (__u32)a->n[2], lengths, ret);
        break;
    case ALLOC_INTERPRETER_INSTANCE:
        set_instance(vm, pool_class(vm, a->n[1], a->n[2]), ret);
        break;
    case ALLOC_INTERPRETER_ARRAY: /* T_BOOLEAN and T_BYTE are one byte; the order repeats */
        if ((__u32)a->n[1] < TYPE_MIN || (__u32)a->n[1] > TYPE_MAX)
            break;
        ret->klass = (__u32)a->n[1];
        ret->bytes = array_bytes(ARRAY_HEADER_BYTES, (__u32)a->n[1] & 3, (__u32)a->n[2]);
        break;
    case ALLOC_INTERPRETER_OBJECTS:
        ret->klass = pool_class(vm, a->n[1], a->n[2]);
        if (!ret->klass)
            break;
        ret->klass |= ALLOC_KLASS_ARRAY_OF;
        ret->bytes =
            array_bytes(ARRAY_HEADER_BYTES, vm->reference_bytes == 8 ? 3 : 2, (__u32)a->n[3]);
        break;
    }
}

/* Describes the object of a function of HotSpot's AllocTracer, which exists already. */
static __always_inline void set_by_tracer(bool outside, const struct arguments *a,
                                          struct allocated *ret)
{
    ret->before = 0;
    ret->outside = outside;
    ret->klass = a->n[0];
    ret->bytes = outside ? a->n[2] : a->n[3];
    ret->thread = outside ? a->n[3] : a->n[4];
}

/* Describes the object of a function of @kind, by its arguments. bytes 0: unknown. */
static __always_inline void set_by_arguments(const struct alloc_vm *vm, __u32 kind,
                                             const struct arguments *a, struct allocated *ret)
{
    *ret = (struct allocated){ .before = 1 };
    if (kind < ALLOC_C2_INSTANCE)
        set_by_tracer(kind == ALLOC_OUTSIDE_TLAB, a, ret);
    else if (kind < ALLOC_C1_INSTANCE)
        set_by_compiler(vm, kind, a, ret);
    else
        set_by_thread(vm, kind, a, ret);
}
