/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes of methods: reads annotations of a method and of its class. Annotations of a method are in
 * the last word of its ConstMethod. Spring also looks for a class's mapping in its superclasses and
 * interfaces; there is no route if it finds one there. Nor is there one if a class with its own
 * mapping may have inherited the method.
 */
#include "base/list.h"
#include "hotspot/annotations.h"
#include "hotspot/code/code.h"

#define CLASSES_MAX 64 /* superclasses, interfaces or subclasses that are read */
#define CLASS_TEXT_MAX 1024
#define SLOW_INSTANCE 1 /* bit of _layout_helper: abstract, an interface, or with a finalizer */

/* Ends of generated subclasses, which are no other classes to a framework; and their middles. */
static const char *const GENERATED_ENDS[] = { "$Definition$Intercepted", "_Subclass",
                                              "_ClientProxy" };
#define GENERATED_PART SPAN("$$")

struct pool {
    struct hotspot_vm *vm;
    uint64_t at;
};

/* Gets the text of the Symbol at @symbol. Returns its bytes; -EAGAIN: it was freed just now. */
static int symbol_text(struct hotspot_vm *vm, uint64_t symbol, char *buf, size_t max)
{
    uint16_t n = 0;
    int r = symbol_read(vm, symbol, buf, max, &n);

    return r == -EBADMSG ? -EAGAIN : r < 0 ? r : n;
}

static int pool_text(void *cookie, uint16_t index, char *buf, size_t max)
{
    const struct pool *p = cookie;
    uint64_t symbol;

    return pool_symbol(p->vm, p->at, index, &symbol) ?: symbol_text(p->vm, symbol, buf, max);
}

/* Reads the annotations in the VM's array at @array, with constants of @pool; 0: there are none. */
static int read_annotations(struct hotspot_vm *vm, uint64_t pool, uint64_t array,
                            struct annotations_used *used, struct annotated *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    _cleanup_free_ char *bytes = NULL;
    uint32_t n;
    int r;

    *ret = (struct annotated){ .api = MAPPING_NONE };
    if (!array)
        return 0;
    r = field_u32(vm, array, l->metadata_array_length, &n);
    if (r < 0 || n > ANNOTATIONS_BYTES_MAX - used->bytes)
        return r < 0 ? r : -EBADMSG;
    bytes = malloc(MAX(n, 1u));
    if (!bytes)
        return -ENOMEM;
    return memory_read(&vm->memory, array + (uint64_t)l->array_u1_data.offset, bytes, n)
               ?: annotations_read((struct span){ bytes, n }, pool_text, &(struct pool){ vm, pool },
                                   used, ret);
}

static int class_annotated(struct hotspot_vm *vm, uint64_t klass, struct annotations_used *used,
                           struct annotated *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t annotations, array = 0, pool;
    int r = field_u64(vm, klass, l->instance_annotations, &annotations)
                ?: field_u64(vm, klass, l->instance_constants, &pool);

    if (r == 0 && annotations)
        r = memory_u64(&vm->memory, annotations + layout_offset(l->class_annotations), &array);
    return r < 0 ? r : read_annotations(vm, pool, array, used, ret);
}

static int class_text(struct hotspot_vm *vm, uint64_t klass, char buf[CLASS_TEXT_MAX],
                      struct span *ret)
{
    uint64_t symbol;
    int r = field_u64(vm, klass, vm->layout.klass_name, &symbol)
                ?: symbol_text(vm, symbol, buf, CLASS_TEXT_MAX);

    *ret = (struct span){ buf, (size_t)MAX(r, 0) };
    return MIN(r, 0);
}

/* Returns whether a mapping, or an annotation that may be one, is at the class at @klass. */
static int has_mapping(struct hotspot_vm *vm, uint64_t klass, struct annotations_used *used)
{
    struct annotated m;
    int r = class_annotated(vm, klass, used, &m);

    return r < 0 ? r : m.api || m.foreign;
}

/* Returns the same for superclasses and interfaces of the class at @klass. */
static int inherits_mapping(struct hotspot_vm *vm, uint64_t klass, struct annotations_used *used)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t interfaces, at = klass, super = 0;
    uint32_t count = 0;
    int r = field_u64(vm, klass, l->instance_interfaces, &interfaces)
                ?: field_u32(vm, interfaces, l->metadata_array_length, &count);

    if (r == 0 && count > CLASSES_MAX)
        return -EBADMSG;
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = memory_u64(&vm->memory, interfaces + (uint64_t)l->array_methods_data.offset + i * 8,
                       &at)
                ?: has_mapping(vm, at, used);
    for (unsigned i = 0; r == 0; i++, klass = super) {
        r = field_u64(vm, klass, l->klass_super, &super);
        if (r < 0 || !super)
            return r;
        r = i < CLASSES_MAX ? has_mapping(vm, super, used) : -EBADMSG;
    }
    return r;
}

static bool is_generated(struct span name)
{
    return memmem(name.p, name.n, GENERATED_PART.p, GENERATED_PART.n) ||
           ANY_OF(i, ARRAY_SIZE(GENERATED_ENDS), span_ends_with(name, GENERATED_ENDS[i]));
}

/* Returns whether objects of the class at @klass run its methods only as its own: it is no base
 * class. */
static int is_last(struct hotspot_vm *vm, uint64_t klass)
{
    const struct hotspot_layout *l = &vm->layout;
    char buf[CLASS_TEXT_MAX];
    struct span name;
    uint32_t helper;
    uint64_t sub;
    int r = field_u32(vm, klass, l->klass_layout_helper, &helper)
                ?: field_u64(vm, klass, l->klass_subclass, &sub);

    if (r < 0 || (int32_t)helper <= 0 || helper & SLOW_INSTANCE)
        return MIN(r, 0);
    for (unsigned i = 0; sub; i++) {
        r = i < CLASSES_MAX ? class_text(vm, sub, buf, &name) : -EBADMSG;
        if (r < 0 || !is_generated(name))
            return r;
        r = field_u64(vm, sub, l->klass_sibling, &sub);
        if (r < 0)
            return r;
    }
    return 1;
}

_Static_assert(HOTSPOT_ROUTE_MAX == ANNOTATIONS_ROUTE_MAX, "a route of either fits");
struct route_question {
    uint64_t method, const_method;
    char route[ANNOTATIONS_ROUTE_MAX];
};

/* Gets the pool of the method of @q, and the array of its annotations; 0: it has none. -EAGAIN:
 * another method is there now. */
static int method_annotations(struct hotspot_vm *vm, const struct route_question *q,
                              uint64_t *ret_pool, uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t const_method, flags = 0, words = 0;
    int r = q->method % 8 ? -EBADMSG : field_u64(vm, q->method, l->method_const, &const_method);

    *ret = 0;
    if (r < 0 || const_method != q->const_method)
        return r < 0 ? r : -EAGAIN;
    r = field_u64(vm, const_method, l->const_constants, ret_pool)
            ?: field_number(vm, const_method, l->const_flags, l->const_flags.width, &flags)
            ?: field_number(vm, const_method, l->const_size, 4, &words);
    if (r < 0 || !(flags & (uint64_t)l->has_annotations) || words * 8 <= l->sizeof_ConstMethod)
        return r;
    return memory_u64(&vm->memory, const_method + words * 8 - 8, ret);
}

static bool layout_has_routes(const struct hotspot_layout *l)
{
    return layout_has(l->instance_annotations) && layout_has(l->klass_super) &&
           layout_has(l->klass_subclass) && layout_has(l->klass_sibling) &&
           layout_has(l->klass_layout_helper) && layout_has(l->instance_interfaces) &&
           layout_has(l->array_methods_data) && l->has_annotations != LAYOUT_NO_NUMBER;
}

/* Returns whether the method has annotations. Most have none, so this takes no turn of a reader. */
static int run_annotated(struct hotspot_vm *vm, void *arg)
{
    uint64_t pool, array;
    int r;

    memory_continue(&vm->memory);
    r = method_annotations(vm, arg, &pool, &array);
    return r < 0 ? r : array != 0;
}

static int run_route(struct hotspot_vm *vm, void *arg)
{
    struct route_question *q = arg;
    struct annotations_used used = { 0 };
    uint64_t pool = 0, array = 0, holder = 0, constants = 0;
    struct annotated of_method, of_class;
    int r;

    memory_continue(&vm->memory);
    r = method_annotations(vm, q, &pool, &array)
            ?: read_annotations(vm, pool, array, &used, &of_method);
    if (r < 0 || !of_method.api)
        return r;
    r = field_u64(vm, pool, vm->layout.pool_holder, &holder)
            ?: field_u64(vm, holder, vm->layout.instance_constants, &constants);
    if (r < 0 || constants != pool) /* the class is gone, or was redefined */
        return r < 0 ? r : -EAGAIN;
    r = class_annotated(vm, holder, &used, &of_class) ?: is_last(vm, holder);
    if (r > 0 && !of_class.api) {
        r = inherits_mapping(vm, holder, &used);
        r = r < 0 ? r : !r;
    }
    return r > 0 ? (int)annotations_route(&of_class, &of_method, q->route) : r;
}

int hotspot_method_route(struct hotspot_vm *vm, uint64_t method, uint64_t const_method,
                         char ret[HOTSPOT_ROUTE_MAX])
{
    struct route_question q = { .method = method, .const_method = const_method };
    int r = layout_has_routes(&vm->layout) ? vm_ask(vm, run_annotated, &q, sizeof(q)) : 0;

    if (r == 0)
        return -ENOENT;
    if (r > 0) /* not for the engine's thread: it may take long, and the owner pays for it */
        r = vm_call(vm, run_route, &q, sizeof(q));
    if (r == -EBADMSG)
        return 0; /* malformed, or above a limit */
    if (r > 0)
        memcpy(ret, q.route, (size_t)r);
    return r;
}
