/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a pc of compiled code to Java frames. An nmethod has a table of PcDescs, sorted by pc
 * offset, with a sentinel at each end; each leads to a chain of scopes, innermost first, that ends
 * at the compiled method (sender offset 0).
 *
 * Which PcDesc: that of a call stands at its return address; one that the compilers add for
 * profilers
 * (-XX:+DebugNonSafepoints) stands at the END of the instructions that it describes. So a return
 * address takes the PcDesc that is there, and a pc that was interrupted the first one BEHIND it, as
 * HotSpot's own AsyncGetCallTrace does. tests/unit/hotspot/test_hotspot_live.c proves it with loops
 * at known lines. What it cannot give: without that option a loop of C1 code, or one without a
 * safepoint, may show the line of what follows.
 */
#include "hotspot/code/code.h"

#define PC_DESC_MAX 64     /* sizeof(PcDesc) is 16 */
#define SCOPE_BYTES_MAX 15 /* three numbers of at most five digits */

struct pc_desc {
    int32_t pc, scope;
};

static int pc_desc_read(struct hotspot_vm *vm, const struct blob *b, uint64_t index,
                        struct pc_desc *ret)
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

/* The first PcDesc at or behind code offset @pc (the last is a sentinel and does not count). 0 and
 * *ret (scope 0: no debug information); -ENOENT. */
static int pc_desc_find(struct hotspot_vm *vm, const struct blob *b, int64_t pc,
                        struct pc_desc *ret)
{
    uint64_t low = 0, count = (b->scopes_pcs_end - b->scopes_pcs) / vm->layout.sizeof_PcDesc;
    uint64_t high = count;
    struct pc_desc d;
    int r;

    if (vm->layout.sizeof_PcDesc > PC_DESC_MAX)
        return -EBADMSG;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;

        r = pc_desc_read(vm, b, mid, &d);
        if (r < 0)
            return r;
        if (d.pc < pc)
            low = mid + 1;
        else
            high = mid;
    }
    if (low >= count)
        return -ENOENT;
    r = pc_desc_read(vm, b, low, &d);
    if (r < 0)
        return r;
    if (d.pc < 0 || d.pc == INT32_MAX || d.scope < 0)
        return -ENOENT;
    *ret = d;
    return 0;
}

struct scope {
    uint32_t sender, method; /* offset of the caller's scope; index of the method */
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
    ret->bci = (int32_t)bci - 1; /* InvocationEntryBci is -1 */
    return 0;
}

/* Methods are counted from 1 in the nmethod's metadata. */
static int scope_method(struct hotspot_vm *vm, const struct blob *b, uint32_t index, uint64_t *ret)
{
    if (index == 0 || index > (b->metadata_end - b->metadata) / 8)
        return -EBADMSG;
    return memory_u64(&vm->memory, b->metadata + (uint64_t)(index - 1) * 8, ret);
}

/* Fills @ret with the chain that starts at @offset. Number of frames, or -errno. */
static int scopes_walk(struct hotspot_vm *vm, const struct blob *b, uint32_t offset,
                       struct hotspot_location *ret)
{
    for (int n = 0; n < HOTSPOT_INLINE_MAX; n++) {
        struct scope s;
        int r = scope_read(vm, b, offset, &s);

        if (r == 0)
            r = scope_method(vm, b, s.method, &ret[n].method);
        if (r != 0)
            return r;
        ret[n].bci = s.bci;
        ret[n].inlined = s.sender != 0;
        if (s.sender == 0)
            return ret[n].method == b->method ? n + 1 : -EBADMSG;
        if (s.sender >= offset) /* callers are written before those they call */
            return -EBADMSG;
        offset = s.sender;
    }
    /* Deeper than we show: the compiled method takes the last place. */
    ret[HOTSPOT_INLINE_MAX - 1] = (struct hotspot_location){ b->method, -1, false };
    return HOTSPOT_INLINE_MAX;
}

/* The blob of @code, if it still is that. 1 and *ret; 0: it is gone; -errno. */
static int scopes_blob(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc,
                       struct blob *ret)
{
    uint64_t blob, end;
    int r;

    if (code->kind != HOTSPOT_CODE_COMPILED && code->kind != HOTSPOT_CODE_NATIVE)
        return -EINVAL;
    memory_continue(&vm->memory);
    r = codecache_block(vm, code->start, &blob, &end);
    if (r == 0)
        r = blob_read(vm, blob, end, ret);
    if (r != 0)
        return r == -ESRCH ? r : 0;
    if (blob != code->blob || ret->kind != code->kind || ret->compile_id != code->compile_id ||
        ret->method != code->method)
        return 0;
    return pc < ret->code_begin || pc > ret->code_end ? -EINVAL : 1;
}

struct locate {
    struct hotspot_code code;
    uint64_t pc;
    bool is_return_address;
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
};

static int locate(struct hotspot_vm *vm, void *arg)
{
    struct locate *l = arg;
    const struct hotspot_code *code = &l->code;
    struct hotspot_location *ret = l->at;
    uint64_t pc = l->pc;
    struct pc_desc d;
    struct blob b;
    int r = scopes_blob(vm, code, pc, &b), n = 0;

    if (r != 1)
        return r;
    /* A native wrapper has debug information only for its one call out; it is one frame everywhere.
     */
    if (b.kind == HOTSPOT_CODE_COMPILED && b.scopes_pcs && b.scopes_data && b.metadata) {
        int64_t offset = (int64_t)(pc - b.code_begin);

        r = pc_desc_find(vm, &b, l->is_return_address ? offset : offset + 1, &d);
        if (r == 0 && d.scope > 0)
            n = scopes_walk(vm, &b, (uint32_t)d.scope, ret);
        if (r == -ESRCH || n == -ESRCH)
            return -ESRCH;
    }
    r = code_still(vm, code); /* it may have been replaced while we read */
    if (r <= 0)
        return r;
    if (n <= 0) {
        ret[0] = (struct hotspot_location){ b.method, -1, false };
        n = 1;
    }
    for (int i = 0; vm->memory.in_moment && i < n; i++)
        method_keep(vm, ret[i].method, ret[i].bci);
    return n;
}

void location_keep(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc,
                   bool is_return_address)
{
    struct locate l = { .code = *code, .pc = pc, .is_return_address = is_return_address };

    locate(vm, &l);
}

int hotspot_code_locate(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc,
                        bool is_return_address, struct hotspot_location ret[HOTSPOT_INLINE_MAX])
{
    struct locate l = { .code = *code, .pc = pc, .is_return_address = is_return_address };
    int n = vm_ask(vm, locate, &l, sizeof(l));

    if (n > 0)
        memcpy(ret, l.at, (size_t)n * sizeof(*ret));
    return n;
}

static bool same_methods(const struct hotspot_location *a, size_t a_n,
                         const struct hotspot_location *b, size_t b_n)
{
    if (a_n != b_n)
        return false;
    for (size_t i = 0; i < a_n; i++) {
        if (a[i].method != b[i].method)
            return false;
    }
    return true;
}

/* Frames of the PcDesc at @index, whose code ends at *ret_end. Number of them; 0: it says nothing.
 */
static int range_read(struct hotspot_vm *vm, const struct blob *b, uint64_t index,
                      uint64_t *ret_end, struct hotspot_location ret[HOTSPOT_INLINE_MAX])
{
    struct pc_desc d;
    int r = pc_desc_read(vm, b, index, &d);

    if (r < 0)
        return r;
    if (d.pc < 0 || d.pc == INT32_MAX || d.scope <= 0)
        return 0;
    *ret_end = MIN(b->code_begin + (uint64_t)d.pc, b->code_end);
    r = scopes_walk(vm, b, (uint32_t)d.scope, ret);
    return r == -EBADMSG ? 0 : r;
}

int hotspot_code_ranges(struct hotspot_vm *vm, const struct hotspot_code *code, hotspot_range_fn fn,
                        void *cookie)
{
    struct hotspot_location now[HOTSPOT_INLINE_MAX], before[HOTSPOT_INLINE_MAX];
    uint64_t start, end, to = 0, count = 0;
    struct blob b;
    int r = vm_is_left(vm) ? -ETIMEDOUT : scopes_blob(vm, code, code->start, &b), n, before_n = 0;

    if (r != 1)
        return r < 0 ? r : -ENOENT;
    start = end = b.code_begin;
    if (b.kind == HOTSPOT_CODE_COMPILED && b.scopes_pcs && b.scopes_data && b.metadata &&
        vm->layout.sizeof_PcDesc && vm->layout.sizeof_PcDesc <= PC_DESC_MAX)
        count = MIN((b.scopes_pcs_end - b.scopes_pcs) / vm->layout.sizeof_PcDesc,
                    b.code_end - b.code_begin + 2); /* a byte each, and both sentinels */
    for (uint64_t i = 0; i < count; i++) {
        n = range_read(vm, &b, i, &to, now);
        if (n == -ESRCH)
            return n;
        if (n <= 0 || to <= end)
            continue;
        if (before_n && !same_methods(now, (size_t)n, before, (size_t)before_n)) {
            r = fn(cookie, start, end, before, (size_t)before_n);
            if (r)
                return r;
            start = end;
        }
        memcpy(before, now, (size_t)n * sizeof(*now));
        before_n = n;
        end = to;
    }
    if (before_n && start < end) {
        r = fn(cookie, start, end, before, (size_t)before_n);
        if (r)
            return r;
    }
    before[0] = (struct hotspot_location){ b.method, -1, false };
    return end < b.code_end ? fn(cookie, end, b.code_end, before, 1) : 0;
}
