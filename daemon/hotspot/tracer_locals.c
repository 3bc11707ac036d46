/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/tracer_impl.h"

#define THREAD_ENTRIES_MAX 200000u /* entries of all threads, read to find a ThreadLocal */

static const char *const CORE[CORE_CLASSES] = {
    "java/lang/Thread",
    "java/lang/ThreadLocal$ThreadLocalMap",
    "java/lang/ThreadLocal$ThreadLocalMap$Entry",
    "java/lang/ref/Reference",
    "java/lang/ThreadLocal",
    "java/lang/InheritableThreadLocal",
    "java/util/HashMap",
    "java/util/HashMap$Node",
};

int core_want(struct classes *classes)
{
    int r = 0;

    for (unsigned i = 0; i < CORE_CLASSES && r >= 0; i++)
        r = classes_want(classes, CORE[i]);
    return r;
}

int core_field(const struct compiler *c, enum core_class class, const char *name,
               const char *signature, uint16_t *ret)
{
    const struct class_wanted *w = &c->classes->wanted[class];
    const struct field_wanted f = { .name = name, .signature = signature };
    uint32_t offset = 0;
    int r = w->count ? field_find(c->vm, w->klasses[0], &f, &offset) : -ENOENT;

    *ret = (uint16_t)offset;
    return r;
}

int core_compile(const struct compiler *c, struct context_path *p)
{
    const struct name_layout *n = &c->vm->names;
    uint16_t header = n->compact_headers ? 8 : n->compressed_klass ? 12 : 16, data = header + 4;
    bool aligned = c->vm->layout.jdk < 23;
    int r = core_field(c, CORE_THREAD, "threadLocals", "Ljava/lang/ThreadLocal$ThreadLocalMap;",
                       &p->thread_locals) ?:
            core_field(c, CORE_MAP, "table", "[Ljava/lang/ThreadLocal$ThreadLocalMap$Entry;",
                       &p->table) ?:
            core_field(c, CORE_ENTRY, "value", "Ljava/lang/Object;", &p->entry_value) ?:
            core_field(c, CORE_REFERENCE, "referent", "Ljava/lang/Object;", &p->referent) ?:
            core_field(c, CORE_LOCAL, "threadLocalHashCode", "I", &p->hash);

    if (core_field(c, CORE_HASH_MAP, "table", "[Ljava/util/HashMap$Node;", &p->map_table) < 0 ||
        core_field(c, CORE_NODE, "hash", "I", &p->node_hash) < 0 ||
        core_field(c, CORE_NODE, "value", "Ljava/lang/Object;", &p->node_value) < 0 ||
        core_field(c, CORE_NODE, "next", "Ljava/util/HashMap$Node;", &p->node_next) < 0)
        p->map_table = 0;
    p->array_length = header;
    p->bytes_base = aligned ? (data + 7) & ~7 : data;
    p->array_base = aligned || !n->compressed_oops ? (data + 7) & ~7 : data;
    p->string_value = (uint16_t)n->string_value;
    p->string_coder = (uint16_t)n->string_coder;
    p->mark_shift = n->compact_headers ? (uint8_t)n->mark_shift : 0;
    return r;
}

/* Gets the hash of the ThreadLocal at @object, of class @klass. Return: 0; -EAGAIN: the object
 * moved; -errno. */
static int read_hash(const struct compiler *c, uint64_t object, uint64_t klass, uint32_t *ret)
{
    uint64_t before = 0, after = 0;
    int r = object_klass(c->vm, object, &before) ?:
            memory_u32(&c->vm->memory, object + c->q->path.hash, ret) ?:
            object_klass(c->vm, object, &after);

    return r == 0 && (before != klass || after != klass) ? -EAGAIN : r;
}

/* Returns whether the reference at @at is null. heap_load() alone does not show that: it fails for
 * a moving object, too. */
static bool is_null(struct hotspot_vm *vm, uint64_t at)
{
    uint64_t raw = 0;
    int r = memory_number(&vm->memory, at, heap_reference_bytes(vm), &raw);

    return r == 0 && !(vm->names.coloured_oops ? oop_uncolour(raw) : raw);
}

int local_static_object(const struct compiler *c, const struct tracer_row *row, uint64_t klass,
                        uint64_t *ret)
{
    const struct hotspot_layout *l = &c->vm->layout;
    uint64_t mirror = 0;
    uint32_t offset;
    int r = layout_has(l->klass_mirror) ? tracer_field(c, klass, row, &offset) : -EOPNOTSUPP;

    if (r == 0)
        r = field_u64(c->vm, klass, l->klass_mirror, &mirror);
    if (r == 0 && l->jdk >= 10)
        r = heap_handle(c->vm, mirror, &mirror);
    if (r == 0)
        r = is_null(c->vm, mirror + offset) ? -ENODATA : heap_load(c->vm, mirror + offset, ret);
    return r == -ENOENT || r == -EFAULT ? -EAGAIN : r;
}

int local_static_hash(const struct compiler *c, const struct tracer_row *row, uint64_t klass,
                      uint32_t *ret)
{
    enum core_class class = row->form == FORM_INHERITED ? CORE_INHERITABLE : CORE_LOCAL;
    const struct class_wanted *w = &c->classes->wanted[class];
    uint64_t object = 0;
    int r = w->count ? local_static_object(c, row, klass, &object) : -EAGAIN;

    if (r == 0)
        r = read_hash(c, object, w->klasses[0], ret);
    return r == -ENOENT || r == -EFAULT ? -EAGAIN : r;
}

int local_held_hash(const struct compiler *c, const struct tracer_row *row, uint64_t klass,
                    uint32_t *ret)
{
    uint64_t of = 0, object = 0;
    uint32_t offset = 0;
    int r = object_klass(c->vm, c->held, &of);

    if (r == 0 && of != klass)
        return -ENOENT;
    if (r == 0)
        r = tracer_field(c, klass, row, &offset);
    if (r == 0)
        r = heap_load(c->vm, c->held + offset, &object);
    if (r == 0)
        r = read_hash(c, object, c->classes->wanted[CORE_LOCAL].klasses[0], ret);
    return r == -ENOENT || r == -EFAULT ? -EAGAIN : r;
}

/* Searches the table of one thread for a ThreadLocal of the class in steps[0].key. */
static int look_at_thread(void *cookie, uint64_t thread)
{
    struct compiler *c = cookie;
    struct hotspot_vm *vm = c->vm;
    const struct context_path *p = &c->q->path;
    uint64_t at = 0, entry = 0, key = 0, klass = 0, wanted = c->q->path.steps[0].key;
    uint32_t length = 0, bytes = vm->names.compressed_oops ? 4 : 8;
    int r = thread_java_object(vm, thread, &at) ?: heap_load(vm, at + p->thread_locals, &at) ?:
            heap_load(vm, at + p->table, &at) ?:
            memory_u32(&vm->memory, at + p->array_length, &length);

    length = r == 0 && length <= CONTEXT_TABLE_MAX ? length : 0;
    for (uint32_t i = 0; i < length && c->entries < THREAD_ENTRIES_MAX; i++) {
        c->entries++;
        if (heap_load(vm, at + p->array_base + (uint64_t)i * bytes, &entry) < 0 ||
            heap_load(vm, entry + p->referent, &key) < 0 || object_klass(vm, key, &klass) < 0 ||
            klass != wanted)
            continue;
        c->found = read_hash(c, key, klass, &c->hash) == 0;
        if (c->found)
            return 1;
    }
    return r == -ESRCH ? r : 0;
}

int local_only_hash(struct compiler *c, uint64_t klass, uint32_t *ret)
{
    int r;

    c->q->path.steps[0].key = klass;
    c->found = false;
    r = threads_visit(c->vm, look_at_thread, c);
    *ret = c->hash;
    return r < 0 ? r : c->found ? 0 : -EAGAIN;
}
