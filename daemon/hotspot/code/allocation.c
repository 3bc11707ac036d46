/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the functions of libjvm that Java code calls to allocate. A compiler makes one stub for
 * each kind of object, and the interpreter has one codelet for each bytecode. Their names are
 * known, and each calls its function (calls.c). A stub that seems to call two functions is left
 * out: no uncertain function is probed. The codelet of `new` first calls another function, for
 * DTrace; so the last call of a codelet counts.
 *
 * Names of stubs: "_new_array_Java", "new_type_array Runtime1 stub" (JDK 8, 11, 17, 21: seen), "C2
 * Runtime new_array", "C1 Runtime new_type_array_blob" (25 and 26: seen), "new_array_blob (C2
 * runtime)" (27 and 28: seen).
 */
#include "base/list.h"
#include "hotspot/code/code.h"

#define STUB_CODE_MAX 4096 /* bytes of a stub or codelet; 1,000 were seen */
#define BLOCKS_MAX 16384   /* blocks read per code heap: stubs come before most methods */

#define C2(name)                                                                                   \
    {                                                                                              \
        "_" name "_Java", "C2 Runtime " name, name "_blob (C2 runtime)"                            \
    }
#define C1(name)                                                                                   \
    {                                                                                              \
        name " Runtime1 stub", "C1 Runtime " name, name "_blob (C1 runtime)"                       \
    }

static const struct {
    const char *names[3]; /* the second name may end in "_blob" */
    enum alloc_kind kind;
} STUBS[] = {
    { C2("new_instance"), ALLOC_C2_INSTANCE },  { C2("new_array"), ALLOC_C2_ARRAY },
    { C2("new_array_nozero"), ALLOC_C2_ARRAY }, { C2("multianewarray2"), ALLOC_C2_MULTI2 },
    { C2("multianewarray3"), ALLOC_C2_MULTI3 }, { C2("multianewarray4"), ALLOC_C2_MULTI4 },
    { C2("multianewarray5"), ALLOC_C2_MULTI5 }, { C1("new_instance"), ALLOC_C1_INSTANCE },
    { C1("new_type_array"), ALLOC_C1_ARRAY },   { C1("new_object_array"), ALLOC_C1_ARRAY },
    { C1("new_multi_array"), ALLOC_C1_MULTI },  { C1("new_null_free_array"), ALLOC_C1_ARRAY },
};

static const struct {
    const char *name;
    enum alloc_kind kind;
} CODELETS[] = {
    { "new", ALLOC_INTERPRETER_INSTANCE },
    { "newarray", ALLOC_INTERPRETER_ARRAY },
    { "anewarray", ALLOC_INTERPRETER_OBJECTS },
};

/* ---- calls ---- */

/* Returns the function that the code at @start calls: the only one, or with @last the last one. 0:
 * none, or several. */
static uint64_t called(struct hotspot_vm *vm, uint64_t start, uint64_t end, bool last)
{
    uint8_t code[STUB_CODE_MAX];
    size_t n = (size_t)MIN(end - start, sizeof(code));
    uint64_t found = 0, target;

    if (memory_read(&vm->memory, start, code, n) < 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (!code_call_target(vm, code + i, n - i, start + i, &target) ||
            !code_is_function(vm, target))
            continue;
        if (found && found != target && !last)
            return 0;
        found = target;
    }
    return found;
}

static void add(struct hotspot_allocators *a, uint64_t function, enum alloc_kind kind)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->at[i].function == function)
            return;
    }
    if (!function || a->count == HOTSPOT_ALLOCATORS_MAX)
        return;
    a->at[a->count].function = function;
    a->at[a->count++].kind = kind;
}

/* ---- stubs and codelets ---- */

/* Returns whether @text is one of the three @names. */
static bool is_named(const char *text, const char *const *names)
{
    size_t n = strlen(names[1]);

    return strcmp(text, names[0]) == 0 || strcmp(text, names[2]) == 0 ||
           (strncmp(text, names[1], n) == 0 && (!text[n] || strcmp(text + n, "_blob") == 0));
}

/* Returns the kind of a C2 stub for arrays, by the register of the last argument, which is the
 * thread. That is the third argument, or the fourth in JDK 28. */
static enum alloc_kind kind_of_array(struct hotspot_vm *vm, uint64_t start, uint64_t end)
{
    static const uint8_t FOURTH[] = { 0x49, 0x8b, 0xcf };               /* mov rcx, r15 */
    static const uint8_t FOURTH_AARCH64[] = { 0xe3, 0x03, 0x1c, 0xaa }; /* mov x3, x28 */
    struct span move = vm->layout.aarch64
                           ? (struct span){ (const char *)FOURTH_AARCH64, sizeof(FOURTH_AARCH64) }
                           : (struct span){ (const char *)FOURTH, sizeof(FOURTH) };
    uint8_t code[64];
    size_t n = (size_t)MIN(end - start, sizeof(code));

    return memory_read(&vm->memory, start, code, n) == 0 && memmem(code, n, move.p, move.n)
               ? ALLOC_C2_FILLED
               : ALLOC_C2_ARRAY;
}

static int see_block(void *cookie, struct hotspot_vm *vm, uint64_t blob, uint64_t end)
{
    struct hotspot_allocators *a = cookie;
    struct hotspot_code code;
    int r = code_read(vm, blob, end, /* live= */ false, &code);

    if (r < 0 || code.kind != HOTSPOT_CODE_STUB)
        return r == -ESRCH ? r : 0;
    for (size_t i = 0; i < ARRAY_SIZE(STUBS); i++) {
        if (is_named(code.name, STUBS[i].names))
            add(a, called(vm, code.start, code.end, /* last= */ false),
                STUBS[i].kind == ALLOC_C2_ARRAY ? kind_of_array(vm, code.start, code.end)
                                                : STUBS[i].kind);
    }
    return 0;
}

static void see_codelets(struct hotspot_vm *vm, struct hotspot_allocators *a)
{
    if (codelets_read(vm) < 0)
        return;
    for (size_t i = 0; i < vm->code.codelet_count; i++) {
        const struct codelet *c = &vm->code.codelets[i];

        for (size_t k = 0; k < ARRAY_SIZE(CODELETS); k++) {
            if (strcmp(c->name, CODELETS[k].name) == 0)
                add(a, called(vm, c->start, c->end, /* last= */ true), CODELETS[k].kind);
        }
    }
}

static int run_allocators(struct hotspot_vm *vm, void *arg)
{
    struct hotspot_allocators *a = arg;
    int r;

    memory_begin(&vm->memory);
    r = codecache_blocks(vm, BLOCKS_MAX, see_block, a);
    if (r == 0)
        see_codelets(vm, a);
    return r;
}

/* ---- public functions ---- */

static bool has(const struct hotspot_allocators *a, enum alloc_kind kind)
{
    return ANY_OF(i, a->count, a->at[i].kind == kind);
}

enum { FLAG_COMPRESSED, FLAG_COMPILES, FLAG_TIERED, FLAG_TOP, FLAG_JVMCI, FLAGS };

/* Returns whether the compilers that this VM runs have made their stubs. */
static bool is_complete(const struct hotspot_flag flags[FLAGS], const struct hotspot_allocators *a)
{
    bool compiles = flags[FLAG_COMPILES].value, tiered = flags[FLAG_TIERED].value;
    uint64_t top = flags[FLAG_TOP].value;
    bool c1 = compiles && tiered && top > 0,
         c2 = compiles && (!tiered || top == 4) && !flags[FLAG_JVMCI].value;

    return (!c1 || has(a, ALLOC_C1_INSTANCE)) && (!c2 || has(a, ALLOC_C2_INSTANCE));
}

int hotspot_vm_allocators(struct hotspot_vm *vm, struct hotspot_allocators *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    struct hotspot_allocators a = { .vm = ret->vm };
    struct hotspot_flag flags[FLAGS] = {
        [FLAG_COMPRESSED] = { .name = "UseCompressedOops", .value = 1 },
        [FLAG_COMPILES] = { .name = "UseCompiler", .value = 1 },
        [FLAG_TIERED] = { .name = "TieredCompilation", .value = 1 },
        [FLAG_TOP] = { .name = "TieredStopAtLevel", .value = 4 },
        [FLAG_JVMCI] = { .name = "UseJVMCICompiler" },
    };
    int r;

    if (vm->proof.allocation_off || !layout_has(l->klass_layout_helper) ||
        !layout_has(l->object_array_element) || (l->jdk > 8 && !layout_has(l->pool_resolved)))
        return -ENOENT;
    r = hotspot_vm_flags(vm, flags, FLAGS);
    if (r != 0)
        return r;
    a.vm.layout_helper = (uint32_t)l->klass_layout_helper.offset;
    a.vm.element_klass = (uint32_t)l->object_array_element.offset;
    a.vm.resolved_klasses = l->jdk > 8 ? (uint32_t)l->pool_resolved.offset : 0;
    a.vm.pool_bytes = l->sizeof_ConstantPool;
    a.vm.reference_bytes = flags[FLAG_COMPRESSED].value ? 4 : 8;
    r = vm_call(vm, run_allocators, &a, sizeof(a));
    if (r < 0)
        return r == -ESRCH ? (int)HOTSPOT_GONE : r;
    a.complete = is_complete(flags, &a);
    *ret = a;
    return 0;
}
