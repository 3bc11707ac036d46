/* SPDX-License-Identifier: Apache-2.0 */
/* What the unwinder needs to know of this VM, from the layouts in the VM's own tables. */
#include "hotspot/vm.h"

#include "unwind/frames.h"

static uint16_t offset_in(struct layout_field outer, struct layout_field inner)
{
    struct layout_field f = { outer.offset + inner.offset, inner.width, false };

    return layout_has(outer) && layout_has(inner) ? layout_offset(f) : 0;
}

int hotspot_vm_unwinding(const struct hotspot_vm *vm, struct unwind_vm *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    struct unwind_vm u = {
        .code_low = vm->code.low,
        .code_high = vm->code.high,
        .interpreter_low = vm->code.interpreter_start,
        .interpreter_high = vm->code.interpreter_end,
        .call_stub_return = vm->code.call_stub_return,
        .block_header_bytes = (uint16_t)l->sizeof_HeapBlock,
        .block_used = offset_in(l->heap_block_header, l->block_used),
        .blob_name = layout_offset(l->blob_name),
        .blob_frame_size = layout_offset(l->blob_frame_size),
        .blob_frame_complete = layout_offset(l->blob_frame_complete),
        .nmethod_orig_pc = layout_offset(l->nmethod_orig_pc),
        .nmethod_compile_id = layout_offset(l->nmethod_compile_id),
        .method_const = layout_offset(l->method_const),
        .thread_anchor_sp = offset_in(l->thread_anchor, l->anchor_sp),
        .thread_anchor_pc = offset_in(l->thread_anchor, l->anchor_pc),
        .thread_anchor_fp = offset_in(l->thread_anchor, l->anchor_fp),
        .thread_cont_entry = layout_offset(l->thread_cont_entry),
        .cont_entry_bytes = (uint16_t)l->sizeof_ContinuationEntry,
        .frame_complete_bytes = l->blob_frame_complete.width,
        .bcp_slot = l->jdk == 8 ? UNWIND_BCP_SLOT_8 : UNWIND_BCP_SLOT,
        .virtual_threads = l->jdk >= 21,
        .jvmci = vm->jvmci,
    };

    if (!u.cont_entry_bytes) /* the unwinder needs to know where the entry ends */
        u.thread_cont_entry = 0;
    if (vm->code.heap_count > UNWIND_HEAPS_MAX)
        return -EOPNOTSUPP;
    for (size_t i = 0; i < vm->code.heap_count; i++)
        u.heaps[i] = (struct unwind_heap){ .low = vm->code.heaps[i].low,
                                           .high = vm->code.heaps[i].high,
                                           .segmap = vm->code.heaps[i].segmap,
                                           .shift = vm->code.heaps[i].log2_segment };
    u.heap_count = (uint32_t)vm->code.heap_count;
    u.blob_code_pointer = layout_has(l->blob_code_begin);
    u.blob_code = layout_offset(u.blob_code_pointer ? l->blob_code_begin : l->blob_code_offset);
    u.deopt_pointer = layout_has(l->nmethod_deopt_begin);
    u.nmethod_deopt =
        layout_offset(u.deopt_pointer ? l->nmethod_deopt_begin : l->nmethod_deopt_offset);
    u.nmethod_deopt_mh =
        layout_offset(u.deopt_pointer ? l->nmethod_deopt_mh_begin : l->nmethod_deopt_mh_offset);
    *ret = u;
    return 0;
}
