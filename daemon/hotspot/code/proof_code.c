/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the layout of code: the blobs of the code cache, compiled methods, the methods inlined in
 * them, and the codelets of the interpreter.
 */
#include "hotspot/code/code.h"
#include "hotspot/proof.h"

#define BLOCKS_MAX 2048  /* blocks to read of a code heap */
#define SCOPES_MAX 200   /* compiled methods to check for inlined ones */
#define RANGES_MAX 32    /* ranges of one method */
#define PLACES_MAX 1024  /* debug records of one method */
#define METHODS_MAX 8192 /* methods to check in all */
#define LEVEL_MAX 4
#define ENTRY_BCI_MIN (-2) /* -2: a loop that may not be entered any more; -1: the method */
#define FRAME_WORDS_MAX 65536

struct code_proof {
    struct check *code, *scopes;
    struct hotspot_vm *vm;
    uint64_t method; /* method of the code in check */
    unsigned looked, ranges, methods;
};

/* Returns whether the code of @b makes a frame of its stated size at the stated offset. On x86-64,
 * that is "sub rsp, n", plus the return address, or the return address and the old rbp. */
static bool frame_can_be(struct hotspot_vm *vm, const struct blob *b)
{
#ifdef __x86_64__
    static const uint8_t SUB8[] = { 0x48, 0x83, 0xec }, SUB32[] = { 0x48, 0x81, 0xec };
    uint8_t code[128];
    int64_t bytes = (int64_t)b->frame_size * 8, n = b->frame_complete;
    uint64_t start = b->code_begin;

    if (n < 4 || (uint64_t)n > b->code_end - b->code_begin || b->frame_size <= 0 ||
        b->frame_size > FRAME_WORDS_MAX)
        return false;
    if (n > (int64_t)sizeof(code)) {
        start += (uint64_t)n - sizeof(code);
        n = sizeof(code);
    }
    if (memory_read(&vm->memory, start, code, (size_t)n) < 0)
        return false;
    for (int64_t i = n - 4; i >= 0; i--) {
        int32_t taken = 0;

        if (memcmp(code + i, SUB8, sizeof(SUB8)) == 0)
            taken = (int8_t)code[i + 3];
        else if (i + 7 <= n && memcmp(code + i, SUB32, sizeof(SUB32)) == 0)
            memcpy(&taken, code + i + 3, sizeof(taken));
        if (taken && (bytes == taken + 8 || bytes == taken + 16))
            return true;
    }
    return false;
#else
    (void)vm;
    return b->frame_size > 0 && b->frame_size <= FRAME_WORDS_MAX;
#endif
}

/* Returns whether the fields of @b are plausible, apart from its method. */
static bool code_can_be(struct hotspot_vm *vm, const struct blob *b)
{
    bool compiled = b->kind == HOTSPOT_CODE_COMPILED;

    if (b->compile_id <= 0 || b->level < 0 || b->level > LEVEL_MAX ||
        b->entry_bci < ENTRY_BCI_MIN || b->entry_bci > UINT16_MAX ||
        b->verified_entry < b->code_begin || b->verified_entry >= b->code_end)
        return false;
    if (!compiled)
        return true;
    return b->level > 0 && b->deopt_handler > b->code_begin && b->deopt_handler < b->end &&
           b->orig_pc_offset >= 0 && b->orig_pc_offset % 8 == 0 &&
           b->orig_pc_offset < (int64_t)b->frame_size * 8 && frame_can_be(vm, b);
}

/* Returns whether the debug records of @b ascend: the first is before the code, the last behind
 * it. */
static bool places_can_be(struct hotspot_vm *vm, const struct blob *b)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t bytes = b->scopes_pcs_end - b->scopes_pcs, pc = 0;
    int32_t last = INT32_MIN;

    if (!l->sizeof_PcDesc || bytes % l->sizeof_PcDesc != 0)
        return false;
    for (uint64_t at = 0, n = 0; at < bytes; at += l->sizeof_PcDesc, n++) {
        if (n == PLACES_MAX)
            return true;
        if (field_number(vm, b->scopes_pcs + at, l->pc_desc_pc, 4, &pc) < 0 ||
            (int32_t)pc <= last || (at == 0 && (int32_t)pc >= 0))
            return false;
        last = (int32_t)pc;
    }
    return bytes == 0 || last > (int64_t)(b->code_end - b->code_begin);
}

static int see_range(void *cookie, uint64_t start, uint64_t end, const struct hotspot_location *at,
                     size_t n)
{
    struct code_proof *p = cookie;
    bool good = at[n - 1].method == p->method;
    int r = 1;

    (void)start;
    (void)end;
    if (n == 1 && at[0].bci < 0) /* what code_locate() gives if nothing is known */
        return 0;
    for (size_t i = 0; i < n && good; i++) {
        uint32_t bytes = 0;

        if (++p->methods >= METHODS_MAX)
            return 1;
        r = proof_method(p->vm, at[i].method, &bytes);
        good = r > 0 && at[i].bci < (int64_t)bytes;
    }
    if (r == -ESRCH)
        return r;
    check_add(p->scopes, good);
    return ++p->ranges >= RANGES_MAX;
}

static int see_code(void *cookie, struct hotspot_vm *vm, uint64_t address, uint64_t end)
{
    struct code_proof *p = cookie;
    struct hotspot_code code;
    uint32_t bytes = 0;
    struct blob b;
    int r = blob_read(vm, address, end, &b);

    if (r == -ESRCH)
        return r;
    if (r < 0 || b.kind == HOTSPOT_CODE_STUB || !nmethod_is_alive(vm, &b))
        return 0;
    if (++p->methods >= METHODS_MAX)
        return 1;
    r = proof_method(vm, b.method, &bytes);
    if (r == -ESRCH)
        return r;
    check_add(p->code, r > 0 && code_can_be(vm, &b));
    if (r <= 0 || b.kind != HOTSPOT_CODE_COMPILED || p->looked >= SCOPES_MAX)
        return 0;
    p->looked++;
    check_add(p->scopes, places_can_be(vm, &b));
    p->method = b.method;
    p->ranges = 0;
    r = code_read(vm, address, end, /* live= */ true, &code)
            ?: hotspot_code_ranges(vm, &code, see_range, p);
    return r == -ESRCH ? r : 0;
}

/* Returns whether @text can be the name of a bytecode or an entry in libjvm. */
static bool is_text(const char *text)
{
    size_t n = 0;

    for (; text[n]; n++) {
        if (text[n] < ' ' || text[n] > '~')
            return false;
    }
    return n >= 3;
}

int proof_code(struct hotspot_vm *vm, struct check *code, struct check *scopes,
               struct check *pieces)
{
    struct code_proof p = { .code = code, .scopes = scopes, .vm = vm };
    int r = codecache_blocks(vm, BLOCKS_MAX, see_code, &p);

    if (r < 0)
        return r == -ESRCH ? r : 0;
    r = codelets_read(vm);
    for (size_t i = 0; r == 0 && i < vm->code.codelet_count; i++)
        check_add(pieces, is_text(vm->code.codelets[i].name));
    return r == -ESRCH ? r : 0;
}
