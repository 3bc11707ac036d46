/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/java.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/u64_cache.h"
#include "symbolize/java_function.h"
#include "symbolize/java_methods.h"
#include "unwind/unwind.h"

#define JAVA_RETURN_BIT (UINT64_C(1) << 63) /* kinds of words in this file are below 4 */

/* The meaning of an address: frames [first, first + count) of the pool. */
struct java_pc {
    uint64_t key[2];      /* word with JAVA_RETURN_BIT and 0, or Method* and bcp */
    uint64_t blob, start; /* identifies the code */
    uint64_t checked_ns;  /* when the code was last seen to exist */
    int32_t compile_id;
    uint32_t first, function; /* function: for an interpreted method */
    uint16_t count;
    uint8_t kind;  /* enum hotspot_code_kind */
    bool for_good; /* a stub that the VM never frees */
    bool lacking;  /* no code, or no debug information, was found: a read may have failed */
};

struct java_names {
    struct frame_table *frames;
    struct u64_cache pc_index; /* mixed key -> pcs */
    struct java_pc *pcs;       /* [pc_count] */
    size_t pc_count, pc_cap;
    uint32_t *pool; /* [pool_count] frame ids */
    size_t pool_count, pool_cap;
    struct java_methods methods;
    struct u64_cache natives; /* functions that are native methods */
    uint64_t incomplete;      /* see java_names_incomplete() */
};

int java_names_new(struct frame_table *frames, struct java_names **ret)
{
    struct java_names *j = calloc(1, sizeof(*j));

    if (!j)
        return -ENOMEM;
    j->frames = frames;
    u64_cache_init(&j->pc_index, JAVA_PCS_MAX);
    java_methods_init(&j->methods, frames);
    u64_cache_init(&j->natives, JAVA_METHODS_MAX);
    *ret = j;
    return 0;
}

struct java_names *java_names_free(struct java_names *j)
{
    if (!j)
        return NULL;
    u64_cache_deinit(&j->pc_index);
    java_methods_deinit(&j->methods);
    u64_cache_deinit(&j->natives);
    free(j->pcs);
    free(j->pool);
    free(j);
    return NULL;
}

/* ---- addresses ---- */

static uint64_t java_key(uint64_t a, uint64_t b)
{
    uint64_t key = b ? a ^ (b * UINT64_C(0xff51afd7ed558ccd) >> 1) : a;

    return key ? key : 1;
}

static struct java_pc *java_pc_find(struct java_names *j, uint64_t a, uint64_t b)
{
    uint32_t at;

    if (!u64_cache_get(&j->pc_index, java_key(a, b), &at))
        return NULL;
    return j->pcs[at].key[0] == a && j->pcs[at].key[1] == b ? &j->pcs[at] : NULL;
}

/* Stores the meaning of @pc with its @frames, in place of an entry with the same key, unless a read
 * failed since hotspot_vm_unanswered() was @unanswered. Then a part may be missing, so the next
 * request reads the address again. */
static void java_pc_put(struct java_names *j, const struct hotspot_vm *vm, uint64_t unanswered,
                        struct java_pc pc, const uint32_t *frames)
{
    struct java_pc *slot;

    if (hotspot_vm_unanswered(vm) != unanswered) {
        j->incomplete++;
        return;
    }
    if (j->pc_count >= JAVA_PCS_MAX || j->pool_count >= (size_t)JAVA_PCS_MAX * 8) {
        u64_cache_clear(&j->pc_index);
        j->pc_count = j->pool_count = 0;
    }
    if (!array_grow(&j->pool, &j->pool_cap, j->pool_count + pc.count, 64) ||
        !array_grow(&j->pcs, &j->pc_cap, j->pc_count + 1, 64))
        return;
    slot = java_pc_find(j, pc.key[0], pc.key[1]); /* the entry's new place */
    if (!slot) {
        slot = &j->pcs[j->pc_count];
        u64_cache_put(&j->pc_index, java_key(pc.key[0], pc.key[1]), (uint32_t)j->pc_count++);
    }
    pc.first = (uint32_t)j->pool_count;
    if (pc.count)
        memcpy(j->pool + j->pool_count, frames, pc.count * sizeof(*frames));
    j->pool_count += pc.count;
    *slot = pc;
}

static uint32_t java_frame(struct java_names *j, uint32_t function, uint32_t line,
                           enum frame_kind kind, enum frame_leaf leaf)
{
    struct frame f = { .function = function,
                       .line = line,
                       .kind = (uint8_t)kind,
                       .unknown = !function,
                       .leaf = (uint8_t)leaf };
    uint32_t id = 0;

    frame_table_frame(j->frames, &f, &id);
    return id;
}

static uint32_t java_stub_frame(struct java_names *j, const struct hotspot_code *code)
{
    struct span name = { code->name, strnlen(code->name, sizeof(code->name)) };
    uint32_t id = code->kind == HOTSPOT_CODE_INTERPRETER ? java_codelet_id(j->frames, name)
                                                         : java_stub_id(j->frames, name);

    return java_frame(j, id, 0, FRAME_STUB, FRAME_LEAF_RECORDED);
}

static enum frame_kind kind_of(const struct hotspot_vm *vm, const struct hotspot_code *code)
{
    if (code->level >= 1 && code->level <= 3)
        return FRAME_C1;
    return code->kind == HOTSPOT_CODE_COMPILED && hotspot_vm_uses_jvmci(vm) ? FRAME_JVMCI
                                                                            : FRAME_C2;
}

/* Gets the frames of @code at @pc. Returns their number; 0 if the code has been freed.
 * *ret_lacking: set if the frames inlined there could not be read. */
static size_t java_expand(struct java_names *j, struct hotspot_vm *vm,
                          const struct hotspot_code *code, uint64_t pc, bool is_return_address,
                          uint64_t now_ns, uint32_t ret[JAVA_EXPAND_MAX], bool *ret_lacking)
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    size_t count = 0;
    int n;

    if (code->kind == HOTSPOT_CODE_INTERPRETER || code->kind == HOTSPOT_CODE_STUB) {
        ret[0] = java_stub_frame(j, code);
        return 1;
    }
    n = hotspot_code_locate(vm, code, pc, is_return_address, at);
    *ret_lacking = n < 0;
    if (n < 0 && code->method) { /* without debug information, only the method is known */
        at[0] = (struct hotspot_location){ .method = code->method, .bci = -1 };
        n = 1;
    }
    for (int i = 0; i < n; i++) {
        uint32_t function = java_methods_function(&j->methods, vm, at[i].method, now_ns, now_ns),
                 line = 0;
        enum frame_kind kind = at[i].inlined ? FRAME_INLINED : kind_of(vm, code);

        if (function && code->kind == HOTSPOT_CODE_NATIVE)
            u64_cache_put(&j->natives, function, 1);
        else if (function && at[i].bci >= 0)
            line = hotspot_method_line(vm, at[i].method, at[i].bci);
        if (i == 0 && function && at[i].leaf == HOTSPOT_LEAF_UNSURE)
            ret[count++] = java_frame(j, function, 0, FRAME_INLINED, FRAME_LEAF_UNSURE);
        ret[count++] =
            java_frame(j, function, line, kind,
                       i == 0 && at[i].leaf == HOTSPOT_LEAF_INFERRED ? FRAME_LEAF_INFERRED
                                                                     : FRAME_LEAF_RECORDED);
    }
    return count;
}

static bool is_stub(const struct java_pc *known)
{
    return known->kind == HOTSPOT_CODE_STUB || known->kind == HOTSPOT_CODE_INTERPRETER;
}

/* Returns true if the code of @known at @pc is unchanged, or if the process is gone; false also if
 * the memory was not read. One small read of the compile id recognises a method; stubs have no
 * compile id. */
static bool java_pc_still(struct hotspot_vm *vm, const struct java_pc *known, uint64_t pc)
{
    struct hotspot_code code = { .kind = known->kind,
                                 .blob = known->blob,
                                 .start = known->start,
                                 .compile_id = known->compile_id };
    int r;

    if (!is_stub(known)) {
        r = hotspot_code_still(vm, &code);
        return r == 1 || r == -ESRCH;
    }
    r = hotspot_code_find(vm, pc, &code);
    return r == HOTSPOT_GONE || (r == 0 && code.kind == known->kind && code.blob == known->blob &&
                                 code.start == known->start);
}

/* Returns true if @known is valid without reading. A compile id always names the same code, but it
 * may have been found only in part. */
static bool java_pc_trusted(const struct java_pc *known, uint64_t word, uint64_t now_ns)
{
    if (word >> UNWIND_KIND_SHIFT == UNWIND_COMPILED)
        return !known->lacking || now_ns - known->checked_ns < JAVA_STUB_TRUST_NS;
    if (!is_stub(known))
        return now_ns - known->checked_ns < JAVA_CODE_TRUST_NS;
    return now_ns - known->checked_ns < (known->for_good ? JAVA_STEADY_NS : JAVA_STUB_TRUST_NS);
}

static size_t copy(const uint32_t *frames, size_t count, uint32_t *ret, size_t room)
{
    size_t n = MIN(count, room);

    if (n)
        memcpy(ret, frames, n * sizeof(*ret));
    return n;
}

size_t java_names_code(struct java_names *j, struct hotspot_vm *vm, uint64_t word,
                       bool is_return_address, uint64_t now_ns, uint32_t *ret, size_t room)
{
    uint64_t pc = word & UNWIND_PC_MASK, key = word | (is_return_address ? JAVA_RETURN_BIT : 0);
    bool has_id = word >> UNWIND_KIND_SHIFT == UNWIND_COMPILED;
    struct java_pc *known = java_pc_find(j, key, 0);
    uint32_t frames[JAVA_EXPAND_MAX];
    struct hotspot_code code;
    uint64_t unanswered;
    bool lacking = false;
    size_t n = 0;
    int r;

    if (known && (!vm || java_pc_trusted(known, word, now_ns)))
        return copy(j->pool + known->first, known->count, ret, room);
    if (!vm)
        return 0;
    if (known && !known->lacking && java_pc_still(vm, known, pc)) {
        known->checked_ns = now_ns;
        return copy(j->pool + known->first, known->count, ret, room);
    }
    unanswered = hotspot_vm_unanswered(vm);
    r = hotspot_code_find(vm, pc, &code);
    if (r != 0 && r != HOTSPOT_NO_CODE)
        return known && known->lacking ? copy(j->pool + known->first, known->count, ret, room) : 0;
    if (r == 0 && has_id &&
        ((uint64_t)code.compile_id & UNWIND_ID_MASK) != (word >> UNWIND_PC_BITS & UNWIND_ID_MASK))
        r = HOTSPOT_NO_CODE; /* other code is at that address now */
    if (r == 0)
        n = java_expand(j, vm, &code, pc, is_return_address, now_ns, frames, &lacking);
    if (has_id && n == 0 && known && known->count) { /* its code has been freed since */
        known->checked_ns = now_ns;
        return copy(j->pool + known->first, known->count, ret, room);
    }
    if (n || has_id) {
        java_pc_put(j, vm, unanswered,
                    (struct java_pc){ .key = { key, 0 },
                                      .blob = r == 0 ? code.blob : 0,
                                      .start = r == 0 ? code.start : 0,
                                      .checked_ns = now_ns,
                                      .compile_id = r == 0 ? code.compile_id : 0,
                                      .count = (uint16_t)n,
                                      .kind = r == 0 ? (uint8_t)code.kind : 0,
                                      .for_good = r == 0 && hotspot_code_is_kept(&code),
                                      .lacking = lacking || n == 0 },
                    frames);
    }
    return copy(frames, n, ret, room);
}

uint32_t java_names_interpreted(struct java_names *j, struct hotspot_vm *vm, uint64_t method,
                                uint64_t bcp, uint64_t at_ns, uint64_t now_ns)
{
    uint32_t function = java_methods_function(&j->methods, vm, method, at_ns, now_ns), line = 0,
             frame, now;
    struct java_pc *known = java_pc_find(j, method, bcp ? bcp : 1);
    uint64_t unanswered;
    int32_t bci;

    if (!function)
        return 0;
    if (known && known->function == function)
        return j->pool[known->first];
    now = java_methods_function(&j->methods, NULL, method, UINT64_MAX, now_ns);
    if (!vm || function != now) /* the method has been unloaded, with its bytecode */
        return java_frame(j, function, 0, FRAME_INTERPRETED, FRAME_LEAF_RECORDED);
    unanswered = hotspot_vm_unanswered(vm);
    bci = !bcp ? 0 : hotspot_method_bci(vm, method, bcp); /* 0: at the method's entry */
    if (bci >= 0)
        line = hotspot_method_line(vm, method, bci);
    if (!line && hotspot_method_is_native(vm, method))
        u64_cache_put(&j->natives, function, 1);
    frame = java_frame(j, function, line, FRAME_INTERPRETED, FRAME_LEAF_RECORDED);
    java_pc_put(j, vm, unanswered,
                (struct java_pc){ .key = { method, bcp ? bcp : 1 },
                                  .function = function,
                                  .checked_ns = now_ns,
                                  .count = 1 },
                &frame);
    return frame;
}

bool java_names_is_native(const struct java_names *j, uint32_t function)
{
    uint32_t yes;

    return u64_cache_get(&j->natives, function, &yes);
}

static enum java_want wants_code(struct java_names *j, struct hotspot_vm *vm, uint64_t word,
                                 bool is_return_address, uint64_t now_ns)
{
    uint64_t kind = word >> UNWIND_KIND_SHIFT;
    const struct java_pc *known;

    if (kind == UNWIND_NATIVE && !hotspot_vm_in_code_cache(vm, word & UNWIND_PC_MASK))
        return JAVA_KNOWN;
    if (kind != UNWIND_NATIVE && kind != UNWIND_COMPILED && kind != UNWIND_STUB)
        return JAVA_KNOWN;
    known = java_pc_find(j, word | (is_return_address ? JAVA_RETURN_BIT : 0), 0);
    return known && java_pc_trusted(known, word, now_ns) ? JAVA_KNOWN : JAVA_UNKNOWN;
}

static enum java_want wants_method(struct java_names *j, uint64_t method, uint64_t bcp,
                                   uint64_t at_ns)
{
    return java_pc_find(j, method, bcp ? bcp : 1) ? java_methods_want(&j->methods, method, at_ns)
                                                  : JAVA_UNKNOWN;
}

/* Fills @places with the places of @words that must be read. Returns their number. *ret_want: the
 * most urgent of their needs. */
static size_t java_places(struct java_names *j, struct hotspot_vm *vm, const uint64_t *words,
                          size_t count, uint64_t at_ns, uint64_t now_ns,
                          struct hotspot_place places[HOTSPOT_PREPARE_MAX],
                          enum java_want *ret_want)
{
    bool exact = true; /* like add_user() of symbolize_stack.c */
    size_t n = 0;

    *ret_want = JAVA_KNOWN;
    for (size_t i = 0; i < count && n < HOTSPOT_PREPARE_MAX; i++) {
        uint64_t word = words[i], kind = word >> UNWIND_KIND_SHIFT, pc = word & UNWIND_PC_MASK;
        struct hotspot_place place = { .pc = pc, .is_return_address = !exact };
        enum java_want want = JAVA_KNOWN;

        if (kind == UNWIND_INTERPRETED) {
            place = (struct hotspot_place){ .method = pc, .bcp = ++i < count ? words[i] : 0 };
            want = pc ? wants_method(j, pc, place.bcp, at_ns) : JAVA_KNOWN;
        } else {
            want = wants_code(j, vm, word, !exact, now_ns);
        }
        if (want != JAVA_KNOWN)
            places[n++] = place;
        *ret_want = MAX(*ret_want, want);
        exact = kind == UNWIND_SIGNAL;
    }
    return n;
}

void java_names_see_unloads(struct java_names *j, uint64_t unloads, uint64_t at_ns)
{
    java_methods_see_unloads(&j->methods, unloads, at_ns);
}

void java_names_prepare(struct java_names *j, struct hotspot_vm *vm, const uint64_t *words,
                        size_t count, uint64_t at_ns, uint64_t now_ns)
{
    struct hotspot_place places[HOTSPOT_PREPARE_MAX];
    enum java_want want;
    size_t n = java_places(j, vm, words, count, at_ns, now_ns, places, &want);

    if (want == JAVA_EXPIRED && java_methods_check_steady(&j->methods, vm, at_ns, now_ns))
        n = java_places(j, vm, words, count, at_ns, now_ns, places, &want);
    if (n > 0)
        hotspot_prepare(vm, places, n);
}

uint64_t java_names_incomplete(const struct java_names *j)
{
    return j->incomplete;
}

uint64_t java_names_methods(const struct java_names *j)
{
    return j->methods.named;
}
