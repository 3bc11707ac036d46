/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads methods: Method -> ConstMethod -> ConstantPool -> Symbols. The constant pool's entries, 8
 * bytes each, follow its header; a Symbol is a length and raw modified UTF-8.
 */
#include "hotspot/code/code.h"

#define CLASS_BYTES_MAX 4096 /* a java.lang.Class without static fields has some 120 */

#define HEADER_MAX 256 /* Method 88, ConstMethod 48..56, ConstantPool 64..80 bytes */
#define LINE_TABLE_MAX ((size_t)256 << 10)

/* Puts "..." at the end of a name that was cut to the @max bytes of @buf, after a whole character.
 * Returns the new length. */
static size_t end_cut(char *buf, size_t max)
{
    size_t n = max - MIN(max, strlen("..."));

    while (n && ((unsigned char)buf[n] & 0xc0) == 0x80)
        n--;
    memcpy(buf + n, "...", MIN(max - n, strlen("...")));
    return n + MIN(max - n, strlen("..."));
}

/* Gets the bytes of a Symbol. Returns 0 or -errno. */
static int symbol_bytes(struct hotspot_vm *vm, uint64_t symbol, uint64_t *ret)
{
    struct layout_field f = vm->layout.symbol_length;
    uint64_t at = symbol + (uint64_t)f.offset;

    return memory_number(&vm->memory, f.width == 4 ? at + 2 : at, 2, ret);
}

int symbol_read(struct hotspot_vm *vm, uint64_t symbol, char *buf, size_t max, uint16_t *ret_n)
{
    uint64_t n;
    bool cut;
    int r = symbol_bytes(vm, symbol, &n);

    if (r < 0)
        return r;
    cut = n > max;
    n = MIN(n, max);
    r = memory_read(&vm->memory, symbol + (uint64_t)vm->layout.symbol_body.offset, buf, n);
    if (r < 0)
        return r;
    /* A name in a class file has no zero byte. A freed name has some: the upper bytes of the
     * allocator's pointers. */
    if (memchr(buf, '\0', n))
        return -EBADMSG;
    *ret_n = (uint16_t)(cut ? end_cut(buf, max) : n);
    return 0;
}

int symbol_end(struct hotspot_vm *vm, uint64_t symbol, char *buf, size_t n)
{
    uint64_t all, at = symbol + (uint64_t)vm->layout.symbol_body.offset;
    int r = symbol_bytes(vm, symbol, &all);

    if (r < 0 || all < n)
        return r < 0 ? r : -ENOENT;
    return memory_read(&vm->memory, at + all - n, buf, n);
}

int pool_symbol(struct hotspot_vm *vm, uint64_t pool, uint32_t index, uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t length, symbol;
    int r = field_number(vm, pool, l->pool_length, 4, &length);

    if (r < 0)
        return r;
    if (index == 0 || index >= length || length > UINT16_MAX)
        return -EBADMSG;
    r = memory_u64(&vm->memory, pool + l->sizeof_ConstantPool + (uint64_t)index * 8, &symbol);
    if (r == 0)
        *ret = symbol & ~UINT64_C(1); /* the VM uses the low bit as a mark */
    return r;
}

/* The members that all reads of a method need. */
struct method {
    uint64_t const_method, pool;
    uint8_t bytes[HEADER_MAX]; /* bytes of the ConstMethod */
};

static int method_open(struct hotspot_vm *vm, uint64_t at, struct method *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    int r;

    if (at % 8 != 0 || l->sizeof_ConstMethod > sizeof(ret->bytes))
        return -EBADMSG;
    r = field_u64(vm, at, l->method_const, &ret->const_method)
            ?: memory_read(&vm->memory, ret->const_method, ret->bytes, l->sizeof_ConstMethod);
    if (r == 0)
        ret->pool = (uint64_t)layout_get(l->const_constants, ret->bytes, l->sizeof_ConstMethod);
    return r;
}

static int method_symbol(struct hotspot_vm *vm, uint64_t pool, int64_t index, char *buf, size_t max,
                         uint16_t *ret_n)
{
    uint64_t symbol;
    int r = pool_symbol(vm, pool, (uint32_t)index, &symbol);

    return r != 0 ? r : symbol_read(vm, symbol, buf, max, ret_n);
}

/* Gets the source file's name. JDK 15 moved its index from InstanceKlass to ConstantPool. Index 0:
 * no name. */
static int method_file(struct hotspot_vm *vm, uint64_t pool, uint64_t holder,
                       struct hotspot_method *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t index;
    int r;

    if (layout_has(l->pool_source_file))
        r = field_number(vm, pool, l->pool_source_file, 2, &index);
    else
        r = field_number(vm, holder, l->instance_source_file, 2, &index);
    if (r < 0 || index == 0)
        return r;
    return method_symbol(vm, pool, (int64_t)index, ret->file, sizeof(ret->file), &ret->file_n);
}

/*
 * Returns whether a method is one of MethodHandle that HotSpot makes itself, a linkToStatic or an
 * invokeBasic for a signature. Each of these methods has its own pool, which holds only its name
 * and signature, and lives as long as the VM. Its class is checked against the class's own pool, as
 * for any other method.
 */
#define INTRINSIC_POOL_LENGTH 3
static bool is_intrinsic(struct hotspot_vm *vm, uint64_t pool, uint64_t holder, uint64_t constants,
                         const struct hotspot_method *m)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t length, back;

    return span_eq_str((struct span){ m->class_name, m->class_name_n },
                       "java/lang/invoke/MethodHandle") &&
           field_number(vm, pool, l->pool_length, 4, &length) == 0 &&
           length == INTRINSIC_POOL_LENGTH &&
           field_u64(vm, constants, l->pool_holder, &back) == 0 && back == holder;
}

int method_names(struct hotspot_vm *vm, uint64_t method, struct hotspot_method *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    size_t n = l->sizeof_ConstMethod;
    uint64_t holder, constants = 0, name;
    struct method m;
    int r;

    memory_continue(&vm->memory);
    ret->class_name_n = ret->name_n = ret->signature_n = ret->file_n = 0;
    r = method_open(vm, method, &m) ?:
        method_symbol(vm, m.pool, layout_get(l->const_name, m.bytes, n), ret->name,
                      sizeof(ret->name), &ret->name_n) ?:
        method_symbol(vm, m.pool, layout_get(l->const_signature, m.bytes, n), ret->signature,
                      sizeof(ret->signature), &ret->signature_n) ?:
        field_u64(vm, m.pool, l->pool_holder, &holder) ?:
        field_u64(vm, holder, l->instance_constants, &constants) ?:
        field_u64(vm, holder, l->klass_name, &name) ?:
        symbol_read(vm, name, ret->class_name, sizeof(ret->class_name), &ret->class_name_n);
    if (r == 0 && constants != m.pool && !is_intrinsic(vm, m.pool, holder, constants, ret))
        r = -EBADMSG; /* the class is gone, and its memory reused */
    if (r == 0)
        r = method_file(vm, constants, holder, ret);
    if (r == 0 && (ret->name_n == 0 || ret->class_name_n == 0))
        r = -EBADMSG;
    if (r < 0)
        return r == -ESRCH ? (int)HOTSPOT_GONE : -EBADMSG;
    ret->const_method = m.const_method;
    return 0;
}

struct names_question {
    uint64_t method;
    struct hotspot_method names;
};

static int run_names(struct hotspot_vm *vm, void *arg)
{
    struct names_question *q = arg;

    return method_names(vm, q->method, &q->names);
}

int hotspot_method_read(struct hotspot_vm *vm, uint64_t method, struct hotspot_method *ret)
{
    struct names_question q = { .method = method };
    int r = vm_ask(vm, run_names, &q, sizeof(q));

    if (r == 0)
        *ret = q.names;
    return r;
}

/*
 * The line table: a byte 0 ends it; 255 is followed by signed numbers for both steps; any other
 * byte steps the bci by its upper five bits and the line by its lower three. Several entries may
 * have the same bci: HotSpot takes the first exact match, else the nearest entry before.
 */
uint32_t lines_find(struct span table, unsigned excluded, int32_t wanted)
{
    int64_t bci = 0, line = 0, best_bci = -1;
    uint32_t best = 0;
    uint8_t byte;

    while (span_take_u8(&table, &byte) && byte != 0) {
        int32_t bci_step = byte >> 3, line_step = byte & 7;

        if (byte == 0xff && (!unsigned5_take_signed(&table, excluded, &bci_step) ||
                             !unsigned5_take_signed(&table, excluded, &line_step)))
            break;
        bci += bci_step;
        line += line_step;
        if (line < 0 || line > UINT16_MAX || bci < 0 || bci > UINT16_MAX)
            break;
        if (bci == wanted)
            return (uint32_t)line;
        if (bci < wanted && bci >= best_bci) {
            best_bci = bci;
            best = (uint32_t)line;
        }
    }
    return best;
}

static uint32_t line_read(struct hotspot_vm *vm, uint64_t method, int32_t bci)
{
    const struct hotspot_layout *l = &vm->layout;
    size_t n = l->sizeof_ConstMethod, bytes;
    _cleanup_free_ char *table = NULL;
    int64_t size, code;
    struct method m;

    memory_continue(&vm->memory);
    if (method_open(vm, method, &m) < 0)
        return 0;
    if (!(layout_get(l->const_flags, m.bytes, n) & l->has_line_numbers))
        return 0;
    size = layout_get(l->const_size, m.bytes, n) * 8;
    code = layout_get(l->const_code_size, m.bytes, n);
    if (bci >= code || size <= (int64_t)n + code)
        return 0;
    bytes = MIN((size_t)(size - (int64_t)n - code), LINE_TABLE_MAX);
    table = malloc(bytes);
    if (!table || memory_read(&vm->memory, m.const_method + n + (uint64_t)code, table, bytes) < 0)
        return 0;
    return lines_find((struct span){ table, bytes }, unsigned5_excluded(vm), bci);
}

ssize_t method_bytecodes(struct hotspot_vm *vm, uint64_t method, void *ret, size_t max)
{
    const struct hotspot_layout *l = &vm->layout;
    size_t n = l->sizeof_ConstMethod, code;
    struct method m;
    int r = method_open(vm, method, &m);

    if (r < 0)
        return r;
    code = (size_t)layout_get(l->const_code_size, m.bytes, n);
    if (code > max)
        return -E2BIG;
    r = memory_read(&vm->memory, m.const_method + n, ret, code);
    return r < 0 ? r : (ssize_t)code;
}

void method_keep(struct hotspot_vm *vm, uint64_t method, int32_t bci)
{
    struct hotspot_method m;

    if (method_names(vm, method, &m) == 0 && bci >= 0)
        line_read(vm, method, bci);
}

struct line_question {
    uint64_t method;
    int32_t bci;
};

static int run_line(struct hotspot_vm *vm, void *arg)
{
    struct line_question *q = arg;

    return (int)line_read(vm, q->method, q->bci); /* at most UINT16_MAX */
}

uint32_t hotspot_method_line(struct hotspot_vm *vm, uint64_t method, int32_t bci)
{
    struct line_question q = { method, bci };

    return bci < 0 ? 0 : (uint32_t)MAX(vm_ask(vm, run_line, &q, sizeof(q)), 0);
}

static int32_t bci_read(struct hotspot_vm *vm, uint64_t method, uint64_t bcp)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t start, code;
    struct method m;

    memory_continue(&vm->memory);
    if (method_open(vm, method, &m) < 0)
        return -1;
    start = m.const_method + l->sizeof_ConstMethod;
    code = (uint64_t)layout_get(l->const_code_size, m.bytes, l->sizeof_ConstMethod);
    return bcp >= start && bcp - start < code ? (int32_t)(bcp - start) : -1;
}

void method_keep_at(struct hotspot_vm *vm, uint64_t method, uint64_t bcp)
{
    method_keep(vm, method, bcp ? bci_read(vm, method, bcp) : 0);
}

struct bci_question {
    uint64_t method, bcp;
};

static int run_bci(struct hotspot_vm *vm, void *arg)
{
    struct bci_question *q = arg;

    return bci_read(vm, q->method, q->bcp);
}

int32_t hotspot_method_bci(struct hotspot_vm *vm, uint64_t method, uint64_t bcp)
{
    struct bci_question q = { method, bcp };

    return MAX(vm_ask(vm, run_bci, &q, sizeof(q)), -1);
}

static int run_native(struct hotspot_vm *vm, void *arg)
{
    const uint64_t *method = arg;

    memory_continue(&vm->memory);
    return method_bytecodes(vm, *method, NULL, 0) == 0;
}

bool hotspot_method_is_native(struct hotspot_vm *vm, uint64_t method)
{
    return vm_ask(vm, run_native, &method, sizeof(method)) > 0;
}

/* ---- classes ---- */

struct class_question {
    uint64_t klass;
    uint16_t n;
    char name[HOTSPOT_CLASS_NAME_MAX];
};

/* Sets the name if @q is an array of a primitive type. The types are numbered from T_BOOLEAN, which
 * is 4. */
static bool primitive_array(struct class_question *q)
{
    static const char TYPES[] = "ZCFDBSIJ";

    if (q->klass < 4 || q->klass - 4 >= sizeof(TYPES) - 1)
        return false;
    q->name[0] = '[';
    q->name[1] = TYPES[q->klass - 4];
    q->n = 2;
    return true;
}

/* Turns the name of a class into that of its array class. */
static void name_array(struct class_question *q)
{
    bool is_array = q->name[0] == '[';
    size_t before = is_array ? 1 : 2, n = MIN((size_t)q->n, sizeof(q->name) - 3);

    memmove(q->name + before, q->name, n);
    q->name[0] = '[';
    if (!is_array) {
        q->name[1] = 'L';
        q->name[before + n++] = ';';
    }
    q->n = (uint16_t)(before + n);
}

static int run_class(struct hotspot_vm *vm, void *arg)
{
    struct class_question *q = arg;
    uint64_t symbol;
    int r;

    memory_continue(&vm->memory);
    if (primitive_array(q))
        return 0;
    if ((q->klass & ~(uint64_t)HOTSPOT_CLASS_ARRAY_OF) % sizeof(uint64_t) != 0)
        return -EBADMSG;
    r = field_u64(vm, q->klass & ~(uint64_t)HOTSPOT_CLASS_ARRAY_OF, vm->layout.klass_name, &symbol)
            ?: symbol_read(vm, symbol, q->name, sizeof(q->name), &q->n);
    if (r == 0 && q->n == 0)
        return -EBADMSG;
    if (r == 0 && q->klass & HOTSPOT_CLASS_ARRAY_OF)
        name_array(q);
    return r;
}

int hotspot_class_name(struct hotspot_vm *vm, uint64_t klass, char ret[HOTSPOT_CLASS_NAME_MAX])
{
    struct class_question q = { .klass = klass };
    int r = vm_ask(vm, run_class, &q, sizeof(q));

    if (r != 0)
        return r < 0 ? r : -ESRCH;
    memcpy(ret, q.name, q.n);
    return q.n;
}

bool hotspot_vm_allocation(const struct hotspot_vm *vm, struct alloc_vm *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint32_t tlab = (uint32_t)l->thread_tlab.offset;

    if (vm->proof.allocation_off || !layout_has(l->thread_tlab) ||
        !layout_has(l->thread_allocated_bytes) || !layout_has(l->tlab_start) ||
        !layout_has(l->tlab_top) || !layout_has(l->tlab_end))
        return false;
    ret->allocated_bytes = (uint32_t)l->thread_allocated_bytes.offset;
    ret->tlab_start = tlab + (uint32_t)l->tlab_start.offset;
    ret->tlab_top = tlab + (uint32_t)l->tlab_top.offset;
    ret->tlab_end = tlab + (uint32_t)l->tlab_end.offset;
    return true;
}

static int run_class_klass(struct hotspot_vm *vm, void *arg)
{
    uint32_t *ret = arg;

    memory_begin(&vm->memory);
    return memory_u32(&vm->memory, vm->layout.class_klass_at, ret);
}

int hotspot_class_klass(struct hotspot_vm *vm, uint32_t *ret)
{
    uint32_t offset = 0;
    int r =
        vm->layout.class_klass_at ? vm_ask(vm, run_class_klass, &offset, sizeof(offset)) : -ENOTSUP;

    if (r != 0)
        return r < 0 ? r : -ESRCH;
    if (offset == 0 || offset > CLASS_BYTES_MAX || offset % sizeof(uint64_t) != 0)
        return -EBADMSG;
    *ret = offset;
    return 0;
}
