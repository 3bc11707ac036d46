/* SPDX-License-Identifier: Apache-2.0 */
/* What the unwinder needs to read frames of virtual threads from the heap. */
#include "base/list.h"
#include "hotspot/vm.h"

static bool fits(const struct virtual_layout *v)
{
    const uint32_t offsets[] = { v->cont,         v->tail,         v->chunk_size,
                                 v->chunk_sp,     v->chunk_bottom, v->chunk_argsize,
                                 v->chunk_parent, v->chunk_cont,   v->chunk_words };

    return ALL_OF(i, ARRAY_SIZE(offsets), offsets[i] <= UINT16_MAX);
}

static int find_frozen(struct hotspot_vm *vm, struct unwind_frozen *ret)
{
    const struct virtual_layout *v = &vm->virtual_layout;

    if (!fits(v) || !layout_has(vm->layout.thread_vthread))
        return -ENOENT;
    if (vm->names.coloured_oops && !vm->zgc.known)
        return vm->zgc.unusable ? -ENOENT : -EAGAIN;
    *ret = (struct unwind_frozen){
        .thread_class = vm_class_word(vm, v->klass[CLASS_VIRTUAL_THREAD]),
        .cont_class = vm_class_word(vm, v->klass[CLASS_CONTINUATION]),
        .chunk_class = vm_class_word(vm, v->klass[CLASS_CHUNK]),
        .cont = (uint16_t)v->cont,
        .tail = (uint16_t)v->tail,
        .size = (uint16_t)v->chunk_size,
        .sp = (uint16_t)v->chunk_sp,
        .bottom = (uint16_t)(v->chunk_bottom ? v->chunk_bottom : v->chunk_argsize),
        .argsize = !v->chunk_bottom,
        .parent = (uint16_t)v->chunk_parent,
        .chunk_cont = (uint16_t)v->chunk_cont,
        .words = (uint16_t)v->chunk_words,
        .mark_shift = (uint8_t)vm->names.mark_shift,
    };
    return 0;
}

static int run_frozen(struct hotspot_vm *vm, void *arg)
{
    int r;

    memory_begin(&vm->memory);
    r = virtual_layout_ready(vm, /* age_ns= */ 0);
    return r == 0 ? find_frozen(vm, arg) : r > 0 ? -EAGAIN : r;
}

int hotspot_vm_frozen(struct hotspot_vm *vm, struct unwind_frozen *ret)
{
    struct unwind_frozen found = { 0 };
    int r;

    if (vm->layout.jdk < 21 || vm->virtual_layout.unusable)
        return -ENOENT;
    r = vm_call(vm, run_frozen, &found, sizeof(found));
    if (r == 0)
        *ret = found;
    if (r == -ESRCH)
        return HOTSPOT_GONE;
    return r == 0 || r == -ENOENT ? r : -EAGAIN;
}
