/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the code at an address. Reads struct hotspot_code from a blob, and the interpreter's
 * codelets.
 */
#include "hotspot/code/code.h"

#define CODELET_BYTES_MAX 64 /* sizeof(InterpreterCodelet) is 16 or 24 */

/* Reads the codelet at @at. Return: 0; -EBADMSG: none is there; another -errno. */
static int codelet_read(struct hotspot_vm *vm, uint64_t at, struct codelet *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint8_t head[CODELET_BYTES_MAX];
    uint64_t description;
    int64_t size;
    int r = memory_read(&vm->memory, at, head, l->sizeof_InterpreterCodelet);

    if (r < 0)
        return r;
    size = layout_get(l->codelet_size, head, l->sizeof_InterpreterCodelet);
    if (size < l->sizeof_InterpreterCodelet || (uint64_t)size > vm->code.interpreter_end - at)
        return -EBADMSG;
    description = (uint64_t)layout_get(l->codelet_description, head, l->sizeof_InterpreterCodelet);
    ret->start = at;
    ret->end = at + (uint64_t)size;
    ret->bytecode =
        layout_has(l->codelet_bytecode)
            ? (int32_t)layout_get(l->codelet_bytecode, head, l->sizeof_InterpreterCodelet)
            : -1;
    ret->name[0] = '\0';
    if (!description)
        return 0;
    return (int)MIN(memory_string(&vm->memory, description, ret->name, sizeof(ret->name)), 0);
}

/* The codelets lie one after the other from the start of the stub queue. They are made before the
 * first class is loaded and do not change. If a read fails, the incomplete list is dropped. */
int codelets_read(struct hotspot_vm *vm)
{
    _cleanup_free_ struct codelet *all = NULL;
    uint64_t at = vm->code.interpreter_start;
    size_t n = 0;
    int r = 0;

    if (vm->code.codelets)
        return 0;
    if (vm_reads_nothing(vm))
        return -EAGAIN;
    if (vm->layout.sizeof_InterpreterCodelet > CODELET_BYTES_MAX)
        return -EBADMSG;
    all = calloc(CODELETS_MAX, sizeof(*all));
    if (!all)
        return -ENOMEM;
    while (n < CODELETS_MAX && at < vm->code.interpreter_end) {
        r = codelet_read(vm, at, &all[n]);
        if (r < 0)
            break;
        at = all[n++].end;
    }
    if (r < 0 && r != -EBADMSG)
        return r;
    vm->code.codelets = TAKE_PTR(all);
    vm->code.codelet_count = n;
    return 0;
}

static void code_refine_interpreter(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *code)
{
    code->kind = HOTSPOT_CODE_INTERPRETER;
    if (codelets_read(vm) < 0)
        return;
    for (size_t i = 0; i < vm->code.codelet_count; i++) {
        const struct codelet *c = &vm->code.codelets[i];

        if (pc >= c->start && pc < c->end) {
            code->start = c->start;
            code->end = c->end;
            if (c->name[0])
                memcpy(code->name, c->name, sizeof(c->name));
            return;
        }
    }
}

int code_read(struct hotspot_vm *vm, uint64_t blob, uint64_t end, bool live,
              struct hotspot_code *ret)
{
    struct hotspot_code code = { .blob = blob };
    struct blob b;
    int r = blob_read(vm, blob, end, &b);

    if (r < 0)
        return r;
    code.kind = b.kind;
    code.start = b.code_begin;
    code.end = b.code_end;
    if (b.kind == HOTSPOT_CODE_STUB) {
        if (memory_string(&vm->memory, b.name, code.name, sizeof(code.name)) < 0)
            code.name[0] = '\0';
        if (b.code_begin < vm->code.interpreter_end && b.code_end > vm->code.interpreter_start)
            code.kind = HOTSPOT_CODE_INTERPRETER;
    } else {
        if (live && !nmethod_is_alive(vm, &b))
            return -ENOENT;
        code.method = b.method;
        code.compile_id = b.compile_id;
        code.level = (uint8_t)CLAMP(b.level, 0, 15);
    }
    *ret = code;
    return 0;
}

struct find {
    uint64_t pc;
    struct hotspot_code code;
};

int code_find(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *ret)
{
    struct hotspot_code code;
    uint64_t blob, end;
    int r;

    memory_continue(&vm->memory);
    r = codecache_block(vm, pc, &blob, &end) ?: code_read(vm, blob, end, /* live= */ false, &code);
    if (r == 0 && (pc < code.start || pc >= code.end))
        r = -ENOENT;
    if (r != 0)
        return r == -ESRCH ? (int)HOTSPOT_GONE : (int)HOTSPOT_NO_CODE;
    if (code.kind == HOTSPOT_CODE_INTERPRETER)
        code_refine_interpreter(vm, pc, &code);
    else if (code.kind == HOTSPOT_CODE_STUB && !vm_reads_nothing(vm))
        stubs_refine(vm, pc, &code);
    *ret = code;
    return 0;
}

static int find(struct hotspot_vm *vm, void *arg)
{
    struct find *f = arg;

    return code_find(vm, f->pc, &f->code);
}

int hotspot_code_find(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *ret)
{
    struct find f = { .pc = pc };
    int r = vm_ask(vm, find, &f, sizeof(f));

    if (r == 0)
        *ret = f.code;
    return r < 0 ? (int)HOTSPOT_NO_CODE : r;
}

/* Checks @code with one read: the block's header lies right before the blob. */
static int look(struct hotspot_vm *vm, const struct hotspot_code *code)
{
    const struct hotspot_layout *l = &vm->layout;
    struct layout_field used = l->block_used;
    uint8_t p[NMETHOD_HEADER_MAX + 64];
    size_t n = l->sizeof_HeapBlock;
    int r;

    if (code->kind == HOTSPOT_CODE_INTERPRETER)
        return 1;
    if (l->sizeof_HeapBlock > 64 || code->blob < n)
        return 0;
    if (code->kind != HOTSPOT_CODE_STUB)
        n += (size_t)l->nmethod_compile_id.offset + l->nmethod_compile_id.width;
    r = memory_read_direct(&vm->memory, code->blob - l->sizeof_HeapBlock, p, n);
    if (r < 0)
        return r == -EFAULT ? 0 : r;
    used.offset += l->heap_block_header.offset;
    if (layout_get(used, p, n) == 0)
        return 0;
    return code->kind == HOTSPOT_CODE_STUB ||
           layout_get(l->nmethod_compile_id, p + l->sizeof_HeapBlock, n - l->sizeof_HeapBlock) ==
               code->compile_id;
}

int code_still(struct hotspot_vm *vm, const struct hotspot_code *code)
{
    struct code_check *c = &vm->code.checks[(code->blob >> 6) % CODE_CHECKS];
    int r;

    if (vm->memory.in_moment && c->epoch == vm->memory.epoch && c->blob == code->blob &&
        c->compile_id == code->compile_id)
        return 1;
    r = look(vm, code);
    if (r == 1 && vm->memory.in_moment)
        *c = (struct code_check){ vm->memory.epoch, code->blob, code->compile_id };
    return r;
}

static int run_still(struct hotspot_vm *vm, void *arg)
{
    const struct hotspot_code *code = arg;

    return code_still(vm, code);
}

int hotspot_code_still(struct hotspot_vm *vm, const struct hotspot_code *code)
{
    struct hotspot_code copy = *code;

    return vm_ask(vm, run_still, &copy, sizeof(copy));
}
