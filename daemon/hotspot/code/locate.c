/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps a pc of compiled code to Java frames.
 *
 * The PcDesc of a call is at its return address. With -XX:+DebugNonSafepoints the compilers add
 * others for profilers, each at the END of the instructions that it describes. So a return address
 * takes the PcDesc at that address, and an interrupted pc takes the first one BEHIND it, as
 * HotSpot's own AsyncGetCallTrace does. Without that option, the record behind a pc in a loop may
 * belong to the code after the loop. So leaf_map.h places such a pc.
 * tests/unit/hotspot/test_hotspot_live.c proves both rules with loops at known lines.
 */
#include "base/list.h"
#include "hotspot/code/leaf_map.h"
#include "hotspot/code/scopes.h"

#define RANGE_SCOPES_MAX (1u << 18) /* scopes of one nmethod: 5,000 records with 50 each */

/* Finds the first PcDesc at or behind code offset @pc. The last PcDesc is a sentinel and does not
 * count. Return: 0 and *ret (scope 0: no debug information); -ENOENT; -errno. */
static int pc_desc_find(struct hotspot_vm *vm, const struct blob *b, int64_t pc,
                        struct pc_desc *ret)
{
    uint64_t low = 0, count = pc_descs_count(vm, b);
    uint64_t high = count;
    struct pc_desc d;
    int r;

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

/* Reads the blob of @code, if it is still in place. Return: 1 and *ret; 0: the code is gone;
 * -errno. */
static int scopes_blob(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc,
                       struct blob *ret)
{
    uint64_t blob, end;
    int r;

    if (code->kind != HOTSPOT_CODE_COMPILED && code->kind != HOTSPOT_CODE_NATIVE)
        return -EINVAL;
    memory_continue(&vm->memory);
    r = codecache_block(vm, code->start, &blob, &end) ?: blob_read(vm, blob, end, ret);
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

/* Locates by HotSpot's own rule: the first record at or behind @offset. @exact: only a record at
 * @offset counts. Returns the number of frames; 0: none; -errno. */
static int locate_by_record(struct hotspot_vm *vm, const struct blob *b, int64_t offset, bool exact,
                            struct hotspot_location ret[HOTSPOT_INLINE_MAX])
{
    struct pc_desc d;
    int r = pc_desc_find(vm, b, offset, &d);

    if (r == 0 && d.scope > 0 && (!exact || d.pc == offset))
        return scopes_walk(vm, b, (uint32_t)d.scope, ret);
    return r == -ENOENT ? 0 : r;
}

/* Locates by the loop around @offset. Returns the number of frames; 0: in no loop; -errno. */
static int locate_in_loop(struct hotspot_vm *vm, const struct hotspot_code *code,
                          const struct blob *b, uint32_t offset,
                          struct hotspot_location ret[HOTSPOT_INLINE_MAX])
{
    struct leaf_spot spot;
    int r = leaf_map_find(vm, code, b, offset, &spot), n = 0;

    if (r <= 0)
        return r;
    if (spot.scope)
        n = scopes_walk(vm, b, spot.scope, ret);
    if (n < 0)
        return n;
    if (n <= spot.drop) {
        ret[0] = (struct hotspot_location){ .method = b->method, .bci = -1 };
        n = 1;
    } else {
        n -= spot.drop;
        memmove(ret, ret + spot.drop, (size_t)n * sizeof(*ret));
    }
    if (spot.bci != LEAF_BCI_KEPT)
        ret[0].bci = spot.bci;
    if (spot.callee && n < HOTSPOT_INLINE_MAX) {
        memmove(ret + 1, ret, (size_t)n++ * sizeof(*ret));
        ret[0] = (struct hotspot_location){ .method = spot.callee,
                                            .bci = spot.callee_bci,
                                            .inlined = true };
    }
    ret[0].leaf = spot.verdict == LEAF_UNSURE ? HOTSPOT_LEAF_UNSURE : HOTSPOT_LEAF_INFERRED;
    return n;
}

/* Locates @offset of compiled code. A call of a VM stub (arraycopy, nanoTime) has no record of its
 * own; its caller is found as for an interrupted pc. Returns the number of frames; 0: none;
 * -errno. */
static int locate_compiled(struct hotspot_vm *vm, const struct hotspot_code *code,
                           const struct blob *b, int64_t offset, bool is_return_address,
                           struct hotspot_location ret[HOTSPOT_INLINE_MAX])
{
    int n = is_return_address ? locate_by_record(vm, b, offset, true, ret) : 0;

    if (n == 0 && offset >= is_return_address)
        n = locate_in_loop(vm, code, b, (uint32_t)(offset - is_return_address), ret);
    return n ? n : locate_by_record(vm, b, offset + !is_return_address, false, ret);
}

static int locate(struct hotspot_vm *vm, void *arg)
{
    struct locate *l = arg;
    const struct hotspot_code *code = &l->code;
    struct hotspot_location *ret = l->at;
    uint64_t pc = l->pc;
    struct blob b;
    int r = scopes_blob(vm, code, pc, &b), n = 0;

    if (r != 1)
        return r;
    /* A native wrapper has debug information only for its one call out. It is always one frame. */
    if (b.kind == HOTSPOT_CODE_COMPILED && b.scopes_pcs && b.scopes_data && b.metadata) {
        n = locate_compiled(vm, code, &b, (int64_t)(pc - b.code_begin), l->is_return_address, ret);
        if (n == -ESRCH || n == -EAGAIN)
            return n;
    }
    r = code_still(vm, code); /* the code may have been replaced during the read */
    if (r <= 0)
        return r;
    if (n <= 0) {
        ret[0] = (struct hotspot_location){ .method = b.method, .bci = -1 };
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
    return a_n == b_n && ALL_OF(i, a_n, a[i].method == b[i].method);
}

/* Reads the frames of the PcDesc at @index, and the end of its code. *last: the pc of the PcDesc
 * before it. Returns the number of frames; 0: no information; -ERANGE: the table does not ascend;
 * -errno. */
static int range_read(struct hotspot_vm *vm, const struct blob *b, uint64_t index, int64_t *last,
                      uint64_t *ret_end, struct hotspot_location ret[HOTSPOT_INLINE_MAX])
{
    struct pc_desc d;
    int r = pc_desc_read(vm, b, index, &d);

    if (r < 0)
        return r;
    if (d.pc <= *last)
        return -ERANGE;
    *last = d.pc;
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
    uint64_t start, end, to = 0, count = 0, scopes = 0;
    int64_t last = INT64_MIN;
    struct blob b;
    int r = vm_is_left(vm) ? -ETIMEDOUT : scopes_blob(vm, code, code->start, &b), n, before_n = 0;

    if (r != 1)
        return r < 0 ? r : -ENOENT;
    start = end = b.code_begin;
    if (b.kind == HOTSPOT_CODE_COMPILED && b.scopes_pcs && b.scopes_data && b.metadata)
        count = pc_descs_count(vm, &b);
    for (uint64_t i = 0; i < count; i++) {
        n = range_read(vm, &b, i, &last, &to, now);
        scopes += (uint64_t)MAX(n, 1);
        if (n == -ESRCH || n == -ETIMEDOUT || n == -ERANGE)
            return n;
        if (scopes > RANGE_SCOPES_MAX)
            return -E2BIG;
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
    before[0] = (struct hotspot_location){ .method = b.method, .bci = -1 };
    return end < b.code_end ? fn(cookie, end, b.code_end, before, 1) : 0;
}
