/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the layout of methods by all methods of java.lang.Object, String and Thread. Some of their
 * names are known. Their bytecodes must end in an instruction that leaves the method. Their lines
 * must be those of one file, and the file must have the name of the class.
 */
#include "hotspot/proof.h"

#define METHODS_MAX 512 /* of a class */
#define LINES_APART_MAX 4000
#define BYTECODE_GOTO 0xa7
#define BYTECODE_IRETURN 0xac
#define BYTECODE_RETURN 0xb1
#define BYTECODE_ATHROW 0xbf
#define BYTECODE_GOTO_W 0xc8
#define BYTECODE_BREAKPOINT 0xca
#define BYTECODES 203 /* higher numbers are the VM's own */

static const struct {
    const char *class_name, *method, *signature;
} KNOWN[] = {
    { "java/lang/Object", "hashCode", "()I" },
    { "java/lang/Object", "equals", "(Ljava/lang/Object;)Z" },
    { "java/lang/String", "length", "()I" },
    { "java/lang/String", "charAt", "(I)C" },
    { "java/lang/Thread", "run", "()V" },
    { "java/lang/Thread", "getName", "()Ljava/lang/String;" },
};

static bool is(const char *text, uint16_t n, const char *name)
{
    return span_eq_str((struct span){ text, n }, name);
}

/* Returns whether the @n bytes of @text can be a name: without control characters and characters
 * that the class file forbids. */
static bool is_name(const char *text, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++) {
        if ((uint8_t)text[i] <= ' ' || text[i] == 0x7f || text[i] == ';' || text[i] == '[')
            return false;
    }
    return n > 0;
}

static bool names_can_be(const struct hotspot_method *m)
{
    return is_name(m->class_name, m->class_name_n) && is_name(m->name, m->name_n) &&
           m->signature_n >= 3 && m->signature[0] == '(' &&
           memchr(m->signature, ')', m->signature_n);
}

int proof_method(struct hotspot_vm *vm, uint64_t method, uint32_t *ret_code_bytes)
{
    struct hotspot_method m;
    uint64_t bytes = 0;
    int r = hotspot_method_read(vm, method, &m)
                ?: field_number(vm, m.const_method, vm->layout.const_code_size, 2, &bytes);

    *ret_code_bytes = (uint32_t)bytes;
    if (r == HOTSPOT_GONE || r == -ESRCH)
        return -ESRCH;
    return r == 0 && names_can_be(&m);
}

/* Returns whether @bytecode can be the last of a method: control never continues behind it. */
static bool ends(uint8_t bytecode)
{
    return bytecode == BYTECODE_GOTO || bytecode == BYTECODE_ATHROW ||
           (bytecode >= BYTECODE_IRETURN && bytecode <= BYTECODE_RETURN) ||
           bytecode == BYTECODE_GOTO_W || bytecode == BYTECODE_BREAKPOINT || bytecode >= BYTECODES;
}

/* Returns whether the file of @m has the name of its class, such as "String.java". An empty name
 * was stripped. */
static bool file_can_be(const struct hotspot_method *m)
{
    struct span simple = span_base_name((struct span){ m->class_name, m->class_name_n });

    return !m->file_n ||
           (m->file_n == simple.n + strlen(".java") && memcmp(m->file, simple.p, simple.n) == 0 &&
            memcmp(m->file + simple.n, ".java", strlen(".java")) == 0);
}

/* Returns whether the @bytes > 0 of bytecodes of @m and their lines are plausible. */
static bool body_can_be(struct hotspot_vm *vm, uint64_t method, const struct hotspot_method *m,
                        uint64_t bytes)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t last = 0, words = 0, first_line, last_line;

    if (memory_number(&vm->memory, m->const_method + l->sizeof_ConstMethod + bytes - 1, 1, &last) <
            0 ||
        field_number(vm, m->const_method, l->const_size, 4, &words) < 0 ||
        words * 8 < l->sizeof_ConstMethod + bytes || !ends((uint8_t)last))
        return false;
    first_line = hotspot_method_line(vm, method, 0);
    last_line = hotspot_method_line(vm, method, (int32_t)bytes - 1);
    return file_can_be(m) && !first_line == !last_line &&
           MAX(first_line, last_line) - MIN(first_line, last_line) <= LINES_APART_MAX;
}

/* ---- three classes ---- */

struct class_proof {
    struct check *names, *bodies;
    const char *name;
    unsigned known; /* bits: members of KNOWN that were seen */
};

static int see_method(struct hotspot_vm *vm, uint64_t method, struct class_proof *p)
{
    struct hotspot_method m;
    uint64_t bytes = 0;
    int r = hotspot_method_read(vm, method, &m);

    if (r == HOTSPOT_GONE || r == -ESRCH)
        return -ESRCH;
    check_add(p->names, r == 0 && is(m.class_name, m.class_name_n, p->name) && names_can_be(&m));
    if (r != 0)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(KNOWN); i++) {
        if (strcmp(KNOWN[i].class_name, p->name) == 0 && is(m.name, m.name_n, KNOWN[i].method) &&
            is(m.signature, m.signature_n, KNOWN[i].signature))
            p->known |= 1U << i;
    }
    if (field_number(vm, m.const_method, vm->layout.const_code_size, 2, &bytes) == 0 && bytes > 0)
        check_add(p->bodies, body_can_be(vm, method, &m, bytes));
    return 0;
}

static int see_class(struct hotspot_vm *vm, uint64_t klass, struct class_proof *p)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t array = 0, method = 0;
    uint32_t count = 0;
    int r = field_u64(vm, klass, l->instance_methods, &array)
                ?: field_u32(vm, array, l->metadata_array_length, &count);

    for (uint32_t i = 0; r == 0 && i < MIN(count, (uint32_t)METHODS_MAX); i++) {
        r = memory_u64(&vm->memory,
                       array + (uint64_t)l->array_methods_data.offset + (uint64_t)i * 8, &method);
        if (r == 0)
            r = see_method(vm, method, p);
    }
    for (size_t i = 0; r != -ESRCH && i < ARRAY_SIZE(KNOWN); i++) {
        if (strcmp(KNOWN[i].class_name, p->name) == 0)
            check_add(p->names, p->known & 1U << i);
    }
    return r == -ESRCH ? r : 0;
}

int proof_methods(struct hotspot_vm *vm, struct check *names, struct check *bodies)
{
    const struct hotspot_layout *l = &vm->layout;
    struct class_proof string = { names, bodies, "java/lang/String", 0 },
                       thread = { names, bodies, "java/lang/Thread", 0 },
                       object = { names, bodies, "java/lang/Object", 0 };
    uint64_t klass = 0;
    int r;

    if (!layout_has(l->instance_methods) || !layout_has(l->array_methods_data) ||
        !layout_has(l->klass_super))
        return 0; /* no method was checked, so the check fails */
    r = memory_u64(&vm->memory, l->thread_klass_at, &klass) ?: see_class(vm, klass, &thread) ?:
        memory_u64(&vm->memory, l->string_klass_at, &klass) ?: see_class(vm, klass, &string) ?:
        field_u64(vm, klass, l->klass_super, &klass) ?: see_class(vm, klass, &object);
    return r == -ESRCH ? r : 0;
}
