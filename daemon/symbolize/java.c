/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/java.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fnv1a.h"
#include "base/u64_cache.h"
#include "symbolize/java_function.h"
#include "unwind/unwind.h"

#define JAVA_RETURN_BIT (UINT64_C(1) << 63) /* kinds of words that come here are below 4 */

/* The meaning of an address: frames [first, first + count) of the pool. */
struct java_pc {
    uint64_t key[2];      /* word with JAVA_RETURN_BIT and 0, or Method* and bcp */
    uint64_t blob, start; /* the code, to be recognised */
    uint64_t checked_ns;  /* when it was seen to be there last */
    int32_t compile_id;
    uint32_t first, function; /* function: of an interpreted method */
    uint16_t count;
    uint8_t kind;  /* enum hotspot_code_kind */
    bool for_good; /* a stub that the VM never frees */
};

/* The method at an address, and the one that was there before. */
struct java_method {
    uint64_t stamp, first_ns, checked_ns; /* when it was read first, and last */
    uint64_t before_ns;                   /* when @before was read last */
    uint64_t asked_ns;                    /* when the route of a method here was asked for last */
    uint32_t function, before;
    uint8_t route; /* enum route_state, of @function */
};

enum route_state { ROUTE_UNKNOWN, ROUTE_KNOWN, ROUTE_NONE /* for good */ };

struct java_names {
    struct frame_table *frames;
    struct u64_cache pc_index; /* mixed key -> pcs */
    struct java_pc *pcs;       /* [pc_count] */
    size_t pc_count, pc_cap;
    uint32_t *pool; /* [pool_count] frame ids */
    size_t pool_count, pool_cap;
    struct u64_cache method_index; /* Method* -> methods */
    struct java_method *methods;
    size_t method_count, method_cap;
    struct u64_cache natives; /* functions that are native methods */
    uint64_t named;
    uint64_t incomplete; /* see java_names_incomplete() */
    uint64_t unloads;    /* classes that the JVM had unloaded, as read first and last: */
    uint64_t steady_from_ns, steady_to_ns;
    bool uncounted; /* the JVM does not count unloaded classes, or may redefine classes */
};

int java_names_new(struct frame_table *frames, struct java_names **ret)
{
    struct java_names *j = calloc(1, sizeof(*j));

    if (!j)
        return -ENOMEM;
    j->frames = frames;
    u64_cache_init(&j->pc_index, JAVA_PCS_MAX);
    u64_cache_init(&j->method_index, JAVA_METHODS_MAX);
    u64_cache_init(&j->natives, JAVA_METHODS_MAX);
    *ret = j;
    return 0;
}

struct java_names *java_names_free(struct java_names *j)
{
    if (!j)
        return NULL;
    u64_cache_deinit(&j->pc_index);
    u64_cache_deinit(&j->method_index);
    u64_cache_deinit(&j->natives);
    free(j->pcs);
    free(j->pool);
    free(j->methods);
    free(j);
    return NULL;
}

/* ---- methods ---- */

static uint32_t java_function(struct java_names *j, const struct hotspot_method *m)
{
    const struct java_function_text text = {
        .class_name = { m->class_name, m->class_name_n },
        .name = { m->name, m->name_n },
        .signature = { m->signature, m->signature_n },
        .file = { m->file, m->file_n },
    };

    return java_function_id(j->frames, &text);
}

static uint64_t stamp_text(uint64_t h, const char *p, size_t n)
{
    static const uint8_t END = 0xff;

    return fnv1a(fnv1a(h, p, n), &END, 1);
}

/* Returns a hash of all names of a method. Its address does not identify it: the memory of an
 * unloaded class is given to the next class, which has the same layout. */
static uint64_t java_stamp(const struct hotspot_method *m)
{
    uint64_t h = FNV1A_START ^ m->const_method;

    h = stamp_text(h, m->class_name, m->class_name_n);
    h = stamp_text(h, m->name, m->name_n);
    return stamp_text(h, m->signature, m->signature_n);
}

/* Returns which of the methods at one address was there at @at_ns, by the readings before and
 * after. If these differ, the nearer one decides. */
static uint32_t java_method_then(const struct java_method *m, uint64_t at_ns)
{
    if (!m->before || at_ns >= m->first_ns)
        return m->function;
    return at_ns <= m->before_ns || at_ns - m->before_ns < m->first_ns - at_ns ? m->before
                                                                               : m->function;
}

/* Reads the route of the method at @method, with the names @m, unless its last answer still holds.
 */
static void java_route(struct java_names *j, struct hotspot_vm *vm, uint64_t method,
                       const struct hotspot_method *m, struct java_method *known)
{
    uint64_t holds_ns = known->route == ROUTE_KNOWN ? JAVA_ROUTE_TRUST_NS : JAVA_ROUTE_RETRY_NS;
    char text[HOTSPOT_ROUTE_MAX];
    uint32_t route = FUNCTION_ROUTE_NONE;
    int n;

    if (known->route == ROUTE_NONE ||
        (known->asked_ns && known->checked_ns < known->asked_ns + holds_ns))
        return;
    n = hotspot_method_route(vm, method, m, text);
    if (n != -ENOENT)
        known->asked_ns = known->checked_ns;
    if (n < 0 && n != -ENOENT)
        return;
    known->route = n > 0 ? ROUTE_KNOWN : ROUTE_NONE;
    if (n > 0)
        route = frame_table_clean(j->frames, (struct span){ text, (size_t)n }, TEXT_MODIFIED_UTF8);
    frame_table_set_route(j->frames, known->function, route);
}

static struct java_method *java_method_add(struct java_names *j, uint64_t method)
{
    uint32_t at;

    if (j->method_count >= JAVA_METHODS_MAX) {
        u64_cache_clear(&j->method_index);
        j->method_count = 0;
    }
    if (!array_grow(&j->methods, &j->method_cap, j->method_count + 1, 64))
        return NULL;
    at = (uint32_t)j->method_count++;
    u64_cache_put(&j->method_index, method, at);
    j->methods[at] = (struct java_method){ 0 };
    return &j->methods[at];
}

/* Returns true if a result read at @read_ns was also right at @at_ns, because no class was unloaded
 * between. */
static bool java_is_steady(const struct java_names *j, uint64_t read_ns, uint64_t at_ns)
{
    return read_ns >= j->steady_from_ns && at_ns <= j->steady_to_ns &&
           at_ns < read_ns + JAVA_STEADY_NS;
}

static bool java_method_trusted(const struct java_names *j, const struct java_method *m,
                                uint64_t at_ns)
{
    return at_ns < m->checked_ns + JAVA_METHOD_TRUST_NS || java_is_steady(j, m->checked_ns, at_ns);
}

/* Reads how many classes the JVM has unloaded, at @at_ns or later. Results read from @now_ns on are
 * then known to be of that time or later. */
static void java_check_steady(struct java_names *j, struct hotspot_vm *vm, uint64_t at_ns,
                              uint64_t now_ns)
{
    uint64_t unloads;
    int r = hotspot_vm_unloads(vm, at_ns, &now_ns, &unloads);

    j->uncounted = r == -ENOENT;
    if (r != 0)
        return;
    if (!j->steady_from_ns || unloads != j->unloads)
        j->steady_from_ns = now_ns;
    j->unloads = unloads;
    j->steady_to_ns = now_ns;
}

/* Returns the function id of the method at @method at @at_ns; 0: none. Reads the method again if
 * the last reading is not recent. Its names show whether the memory still is that method. */
static uint32_t java_method_function(struct java_names *j, struct hotspot_vm *vm, uint64_t method,
                                     uint64_t at_ns, uint64_t now_ns)
{
    struct java_method *known = NULL;
    struct hotspot_method m;
    uint64_t stamp;
    uint32_t at;

    if (u64_cache_get(&j->method_index, method, &at))
        known = &j->methods[at];
    if (known && (!vm || java_method_trusted(j, known, at_ns)))
        return java_method_then(known, at_ns);
    if (!vm || !method)
        return 0;
    if (hotspot_method_read(vm, method, &m) != 0) /* gone: a moment ago it may have been there */
        return known && at_ns - known->checked_ns < now_ns - at_ns ? known->function : 0;
    stamp = java_stamp(&m);
    if (known && known->stamp == stamp) {
        known->checked_ns = now_ns;
        java_route(j, vm, method, &m, known);
        return known->function;
    }
    if (!known)
        known = java_method_add(j, method);
    if (!known)
        return 0;
    *known = (struct java_method){ .stamp = stamp,
                                   .first_ns = now_ns,
                                   .checked_ns = now_ns,
                                   .before_ns = known->checked_ns,
                                   .asked_ns = known->asked_ns,
                                   .before = known->function,
                                   .function = java_function(j, &m) };
    j->named++;
    java_route(j, vm, method, &m, known);
    return java_method_then(known, at_ns);
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

/* Stores the meaning of @pc with its @frames, in place of an entry with the same key, unless a call
 * since @unanswered has had no answer: then a part may be missing, and is read again next time. */
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

/* The frames of @code at @pc; 0 when it is gone. */
static size_t java_expand(struct java_names *j, struct hotspot_vm *vm,
                          const struct hotspot_code *code, uint64_t pc, bool is_return_address,
                          uint64_t now_ns, uint32_t ret[JAVA_EXPAND_MAX])
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    size_t count = 0;
    int n;

    if (code->kind == HOTSPOT_CODE_INTERPRETER || code->kind == HOTSPOT_CODE_STUB) {
        ret[0] = java_stub_frame(j, code);
        return 1;
    }
    n = hotspot_code_locate(vm, code, pc, is_return_address, at);
    if (n < 0 && code->method) { /* without debug information only the method is known */
        at[0] = (struct hotspot_location){ .method = code->method, .bci = -1 };
        n = 1;
    }
    for (int i = 0; i < n; i++) {
        uint32_t function = java_method_function(j, vm, at[i].method, now_ns, now_ns), line = 0;
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

/* Returns true if the code of @known at @pc is unchanged, or if the process is gone; false also
 * without an answer. Methods are recognised by their compile id with one small read; a stub has
 * none. */
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

/* Returns true if @known is valid without reading. A compile id always names the same code. */
static bool java_pc_trusted(const struct java_pc *known, uint64_t word, uint64_t now_ns)
{
    if (word >> UNWIND_KIND_SHIFT == UNWIND_COMPILED)
        return true;
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
    size_t n = 0;
    int r;

    if (known && (!vm || java_pc_trusted(known, word, now_ns)))
        return copy(j->pool + known->first, known->count, ret, room);
    if (!vm)
        return 0;
    if (known && java_pc_still(vm, known, pc)) {
        known->checked_ns = now_ns;
        return copy(j->pool + known->first, known->count, ret, room);
    }
    unanswered = hotspot_vm_unanswered(vm);
    r = hotspot_code_find(vm, pc, &code);
    if (r != 0 && r != HOTSPOT_NO_CODE)
        return 0;
    if (r == 0 && has_id &&
        ((uint64_t)code.compile_id & UNWIND_ID_MASK) != (word >> UNWIND_PC_BITS & UNWIND_ID_MASK))
        r = HOTSPOT_NO_CODE; /* other code lies there now */
    if (r == 0)
        n = java_expand(j, vm, &code, pc, is_return_address, now_ns, frames);
    if (n || has_id) {
        java_pc_put(j, vm, unanswered,
                    (struct java_pc){ .key = { key, 0 },
                                      .blob = r == 0 ? code.blob : 0,
                                      .start = r == 0 ? code.start : 0,
                                      .checked_ns = now_ns,
                                      .compile_id = r == 0 ? code.compile_id : 0,
                                      .count = (uint16_t)n,
                                      .kind = r == 0 ? (uint8_t)code.kind : 0,
                                      .for_good = r == 0 && hotspot_code_is_kept(&code) },
                    frames);
    }
    return copy(frames, n, ret, room);
}

uint32_t java_names_interpreted(struct java_names *j, struct hotspot_vm *vm, uint64_t method,
                                uint64_t bcp, uint64_t at_ns, uint64_t now_ns)
{
    uint32_t function = java_method_function(j, vm, method, at_ns, now_ns), line = 0, frame, now;
    struct java_pc *known = java_pc_find(j, method, bcp ? bcp : 1);
    uint64_t unanswered;
    int32_t bci;

    if (!function)
        return 0;
    if (known && known->function == function)
        return j->pool[known->first];
    now = java_method_function(j, NULL, method, UINT64_MAX, now_ns);
    if (!vm || function != now) /* the method is gone, and its bytecode with it */
        return java_frame(j, function, 0, FRAME_INTERPRETED, FRAME_LEAF_RECORDED);
    unanswered = hotspot_vm_unanswered(vm);
    bci = !bcp ? 0 : hotspot_method_bci(vm, method, bcp); /* 0: at its entry */
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

/* Whether a known result must be read again. */
enum want { KNOWN, EXPIRED, UNKNOWN };

/* Returns the same for the code at @pc of @word. */
static enum want wants_code(struct java_names *j, struct hotspot_vm *vm, uint64_t word,
                            bool is_return_address, uint64_t now_ns)
{
    uint64_t kind = word >> UNWIND_KIND_SHIFT;
    const struct java_pc *known;

    if (kind == UNWIND_NATIVE && !hotspot_vm_in_code_cache(vm, word & UNWIND_PC_MASK))
        return KNOWN;
    if (kind != UNWIND_NATIVE && kind != UNWIND_COMPILED && kind != UNWIND_STUB)
        return KNOWN;
    known = java_pc_find(j, word | (is_return_address ? JAVA_RETURN_BIT : 0), 0);
    return known && java_pc_trusted(known, word, now_ns) ? KNOWN : UNKNOWN;
}

static enum want wants_method(struct java_names *j, uint64_t method, uint64_t bcp, uint64_t at_ns)
{
    uint32_t at;

    if (!u64_cache_get(&j->method_index, method, &at) || !java_pc_find(j, method, bcp ? bcp : 1))
        return UNKNOWN;
    if (java_method_trusted(j, &j->methods[at], at_ns))
        return KNOWN;
    return at_ns < j->methods[at].checked_ns + JAVA_STEADY_NS ? EXPIRED : UNKNOWN;
}

/* Fills @places with the places of @words that must be read. Returns their number. *ret_want: the
 * most urgent need. */
static size_t java_places(struct java_names *j, struct hotspot_vm *vm, const uint64_t *words,
                          size_t count, uint64_t at_ns, uint64_t now_ns,
                          struct hotspot_place places[HOTSPOT_PREPARE_MAX], enum want *ret_want)
{
    bool exact = true; /* like add_user() of symbolize.c */
    size_t n = 0;

    *ret_want = KNOWN;
    for (size_t i = 0; i < count && n < HOTSPOT_PREPARE_MAX; i++) {
        uint64_t word = words[i], kind = word >> UNWIND_KIND_SHIFT, pc = word & UNWIND_PC_MASK;
        struct hotspot_place place = { .pc = pc, .is_return_address = !exact };
        enum want want = KNOWN;

        if (kind == UNWIND_INTERPRETED) {
            place = (struct hotspot_place){ .method = pc, .bcp = ++i < count ? words[i] : 0 };
            want = pc ? wants_method(j, pc, place.bcp, at_ns) : KNOWN;
        } else {
            want = wants_code(j, vm, word, !exact, now_ns);
        }
        if (want != KNOWN)
            places[n++] = place;
        *ret_want = MAX(*ret_want, want);
        exact = kind == UNWIND_SIGNAL;
    }
    return n;
}

void java_names_prepare(struct java_names *j, struct hotspot_vm *vm, const uint64_t *words,
                        size_t count, uint64_t at_ns, uint64_t now_ns)
{
    struct hotspot_place places[HOTSPOT_PREPARE_MAX];
    enum want want;
    size_t n = java_places(j, vm, words, count, at_ns, now_ns, places, &want);

    if (want == EXPIRED && !j->uncounted) { /* one small read may confirm all of them */
        java_check_steady(j, vm, at_ns, now_ns);
        n = java_places(j, vm, words, count, at_ns, now_ns, places, &want);
    }
    if (n > 0)
        hotspot_prepare(vm, places, n);
}

uint64_t java_names_incomplete(const struct java_names *j)
{
    return j->incomplete;
}

uint64_t java_names_methods(const struct java_names *j)
{
    return j->named;
}
