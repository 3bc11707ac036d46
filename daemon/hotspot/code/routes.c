/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes of methods: reads annotations of a method and of its class. Annotations of a method are in
 * the last word of its ConstMethod. A method or class without a mapping inherits one from its
 * superclasses and interfaces, if only one of them has any. There is no route if the method may run
 * in a subclass that has its own mapping.
 */
#include "base/list.h"
#include "hotspot/annotations.h"
#include "hotspot/code/code.h"

#define CLASSES_MAX 64   /* superclasses, interfaces or subclasses to read */
#define METHODS_MAX 1024 /* methods of all these classes to read */
#define GENERATED_MAX 4  /* generated classes, each a subclass of the next */
#define SLOW_INSTANCE 1  /* bit of _layout_helper: abstract, an interface, or with a finalizer */

/* Ends of the names of generated subclasses, and parts in the middle of such names. To a framework,
 * a generated subclass is the class that it extends. */
static const char *const GENERATED_ENDS[] = { "$Definition$Intercepted", "_Subclass",
                                              "_ClientProxy" };
#define GENERATED_PART SPAN("$$")
#define LAMBDA SPAN("$$Lambda")

struct pool {
    struct hotspot_vm *vm;
    uint64_t at;
};

/* A method in the VM's memory. */
struct vm_method {
    uint64_t const_method, pool, name, signature; /* name, signature: addresses of Symbols */
    uint64_t annotations;                         /* address of the annotations' array; 0: none */
};

/* A question for one method's route. */
struct lookup {
    struct hotspot_vm *vm;
    uint64_t name, signature; /* Symbols of the method's name and signature */
    struct annotations_used used;
    unsigned methods; /* number of methods read so far */
    struct annotated of_method, of_class;
};

/* Gets the text of the Symbol at @symbol. Returns the number of bytes, or -EAGAIN if the Symbol was
 * just freed. */
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

/* Reads the annotations in the VM's array at @array, with constants of @pool. @array 0: no
 * annotations. */
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

int class_text(struct hotspot_vm *vm, uint64_t klass, char buf[CLASS_TEXT_MAX], struct span *ret)
{
    uint64_t symbol;
    int r = field_u64(vm, klass, vm->layout.klass_name, &symbol)
                ?: symbol_text(vm, symbol, buf, CLASS_TEXT_MAX);

    *ret = (struct span){ buf, (size_t)MAX(r, 0) };
    return MIN(r, 0);
}

/* ---- methods ---- */

/* Reads the method at @method. If the method was freed, the values may be arbitrary. */
static int vm_method_read(struct hotspot_vm *vm, uint64_t method, struct vm_method *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t flags = 0, words = 0, name = 0, signature = 0;
    int r = method % 8 ? -EBADMSG : field_u64(vm, method, l->method_const, &ret->const_method);

    ret->annotations = 0;
    r = r ?: field_u64(vm, ret->const_method, l->const_constants, &ret->pool)
            ?: field_number(vm, ret->const_method, l->const_name, 2, &name)
            ?: field_number(vm, ret->const_method, l->const_signature, 2, &signature)
            ?: pool_symbol(vm, ret->pool, (uint32_t)name, &ret->name)
            ?: pool_symbol(vm, ret->pool, (uint32_t)signature, &ret->signature)
            ?: field_number(vm, ret->const_method, l->const_flags, l->const_flags.width, &flags)
            ?: field_number(vm, ret->const_method, l->const_size, 4, &words);
    if (r < 0 || !(flags & (uint64_t)l->has_annotations) || words * 8 <= l->sizeof_ConstMethod)
        return r;
    return memory_u64(&vm->memory, ret->const_method + words * 8 - 8, &ret->annotations);
}

/* Gets method @i of the array at @methods. */
static int method_at(struct lookup *k, uint64_t methods, uint32_t i, struct vm_method *ret)
{
    uint64_t at = methods + (uint64_t)k->vm->layout.array_methods_data.offset + (uint64_t)i * 8;

    if (++k->methods > METHODS_MAX)
        return -EBADMSG;
    return memory_u64(&k->vm->memory, at, &at) ?: vm_method_read(k->vm, at, ret);
}

typedef int (*method_fn)(struct lookup *k, const struct vm_method *m);

/* Calls @fn for each method of the class at @klass that has the name of the lookup. The VM sorts
 * methods by the address of their name. Returns 0, or the first result of @fn that is not 0. */
static int methods_named(struct lookup *k, uint64_t klass, method_fn fn)
{
    uint32_t low = 0, high, count = 0;
    struct vm_method m;
    uint64_t methods;
    int r = field_u64(k->vm, klass, k->vm->layout.instance_methods, &methods)
                ?: field_u32(k->vm, methods, k->vm->layout.metadata_array_length, &count);

    for (high = count; r == 0 && low < high;) {
        uint32_t middle = low + (high - low) / 2;

        r = method_at(k, methods, middle, &m);
        if (r == 0 && m.name < k->name)
            low = middle + 1;
        else
            high = middle;
    }
    for (; r == 0 && low < count; low++) {
        r = method_at(k, methods, low, &m);
        if (r < 0 || m.name != k->name)
            return r;
        r = fn(k, &m);
    }
    return r;
}

/* Reads the lookup's method in the superclass of a generated class. */
static int read_own(struct lookup *k, const struct vm_method *m)
{
    return m->signature == k->signature
               ? read_annotations(k->vm, m->pool, m->annotations, &k->used, &k->of_method)
               : 0;
}

/* Takes the type of a parameter. *ret: its first letter. A class or an array gives 'L', as it may
 * stand for a type variable. Returns false at the end. */
static bool take_parameter(struct span *s, char *ret)
{
    struct span name;

    if (!s->n || s->p[0] == ')')
        return false;
    *ret = s->p[0] == '[' ? 'L' : s->p[0];
    while (span_take_char(s, '[')) {
    }
    if (!s->n)
        return false;
    if (s->p[0] == 'L')
        return span_take_until(s, ';', &name);
    *s = span_from(*s, 1);
    return true;
}

/* Returns whether a method with signature @a may override one with signature @b, perhaps by
 * generics. */
static bool may_override(struct span a, struct span b)
{
    char x, y;

    span_take_char(&a, '(');
    span_take_char(&b, '(');
    for (;;) {
        bool more = take_parameter(&a, &x);

        if (more != take_parameter(&b, &y) || (more && x != y))
            return false;
        if (!more)
            return true;
    }
}

/* Adds the mapping of @m, a method of a base type, to the method of the lookup. */
static int add_method(struct lookup *k, const struct vm_method *m)
{
    char own[CLASS_TEXT_MAX], other[CLASS_TEXT_MAX];
    struct annotated above;
    int n = 0, r;

    if (!m->annotations)
        return 0;
    if (m->signature != k->signature) {
        n = symbol_text(k->vm, k->signature, own, sizeof(own));
        r = n < 0 ? n : symbol_text(k->vm, m->signature, other, sizeof(other));
        if (r < 0)
            return r;
        if (n == sizeof(own) || r == sizeof(other)) /* the text may be cut */
            return -EBADMSG;
        if (!may_override((struct span){ own, (size_t)n }, (struct span){ other, (size_t)r }))
            return 0;
    }
    r = read_annotations(k->vm, m->pool, m->annotations, &k->used, &above);
    if (r == 0)
        annotations_inherit(&k->of_method, &above);
    return r;
}

static int add_methods(struct lookup *k, uint64_t klass)
{
    return methods_named(k, klass, add_method);
}

/* ---- classes ---- */

static int add_class(struct lookup *k, uint64_t klass)
{
    struct annotated above;
    int r = class_annotated(k->vm, klass, &k->used, &above);

    if (r == 0)
        annotations_inherit(&k->of_class, &above);
    return r;
}

/* Calls @fn for all interfaces and superclasses of the class at @klass. Returns 0, or the first
 * result of @fn that is not 0. */
static int base_types(struct lookup *k, uint64_t klass, int (*fn)(struct lookup *k, uint64_t klass))
{
    const struct hotspot_layout *l = &k->vm->layout;
    uint64_t interfaces, at = klass;
    uint32_t count = 0;
    int r = field_u64(k->vm, klass, l->instance_interfaces, &interfaces)
                ?: field_u32(k->vm, interfaces, l->metadata_array_length, &count);

    if (r == 0 && count > CLASSES_MAX)
        return -EBADMSG;
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = memory_u64(&k->vm->memory,
                       interfaces + (uint64_t)l->array_methods_data.offset + (uint64_t)i * 8, &at)
                ?: fn(k, at);
    for (unsigned i = 0; r == 0; i++) {
        r = field_u64(k->vm, klass, l->klass_super, &klass);
        if (r < 0 || !klass)
            return r;
        r = i < CLASSES_MAX ? fn(k, klass) : -EBADMSG;
    }
    return r;
}

static bool is_generated(struct span name)
{
    return memmem(name.p, name.n, GENERATED_PART.p, GENERATED_PART.n) ||
           ANY_OF(i, ARRAY_SIZE(GENERATED_ENDS), span_ends_with(name, GENERATED_ENDS[i]));
}

/* Returns 1 if all objects that run the methods of the class at @klass are of that class: it has
 * only generated subclasses. Returns 0 if not, or -errno. */
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

/* Replaces the class at *@klass by the class that a framework sees in its place: the first class
 * that is not generated. */
static int user_class(struct lookup *k, uint64_t *klass)
{
    char buf[CLASS_TEXT_MAX];
    struct annotated own;
    struct span name;
    int r;

    for (unsigned i = 0; i <= GENERATED_MAX; i++) {
        r = class_text(k->vm, *klass, buf, &name);
        if (r < 0 || !is_generated(name))
            return r;
        r = class_annotated(k->vm, *klass, &k->used, &own);
        if (r < 0 || own.api || own.foreign)
            return r;
        r = field_u64(k->vm, *klass, k->vm->layout.klass_super, klass);
        if (r < 0 || !*klass)
            return r ?: -EBADMSG;
    }
    return -EBADMSG;
}

/* ---- questions ---- */

_Static_assert(HOTSPOT_ROUTE_MAX == ANNOTATIONS_ROUTE_MAX, "a route of either fits");
struct route_question {
    uint64_t method, const_method;
    bool inherits; /* its class may have base types with a mapping for the method */
    bool grpc;     /* it may be a method of a gRPC service */
    char route[ANNOTATIONS_ROUTE_MAX];
};

static bool layout_has_routes(const struct hotspot_layout *l)
{
    return layout_has(l->instance_annotations) && layout_has(l->klass_super) &&
           layout_has(l->klass_subclass) && layout_has(l->klass_sibling) &&
           layout_has(l->klass_layout_helper) && layout_has(l->instance_interfaces) &&
           layout_has(l->instance_methods) && layout_has(l->array_methods_data) &&
           l->has_annotations != LAYOUT_NO_NUMBER;
}

/* Reads the method of @q. Returns -EAGAIN if another method is at its address now. */
static int question_method(struct hotspot_vm *vm, const struct route_question *q,
                           struct vm_method *ret)
{
    uint64_t now;
    int r = q->method % 8 ? -EBADMSG : field_u64(vm, q->method, vm->layout.method_const, &now);

    if (r < 0 || now != q->const_method)
        return r < 0 ? r : -EAGAIN;
    return vm_method_read(vm, q->method, ret);
}

/* Returns whether the class at @klass has an interface, or another superclass than Object. */
static int has_base_types(struct hotspot_vm *vm, uint64_t klass)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t interfaces, super = 0;
    uint32_t count = 0;
    int r = field_u64(vm, klass, l->instance_interfaces, &interfaces)
                ?: field_u32(vm, interfaces, l->metadata_array_length, &count);

    if (r < 0 || count)
        return r < 0 ? r : 1;
    r = field_u64(vm, klass, l->klass_super, &super);
    if (r == 0 && super)
        r = field_u64(vm, super, l->klass_super, &super);
    return r < 0 ? r : super != 0;
}

/* Returns whether the method may have a route. Most methods have no route, so this check takes no
 * turn of a reader. */
static int run_may_have_route(struct hotspot_vm *vm, void *arg)
{
    const struct route_question *q = arg;
    struct vm_method m;
    uint64_t holder;
    int r;

    memory_continue(&vm->memory);
    r = question_method(vm, q, &m);
    if (r < 0 || m.annotations || !q->inherits)
        return r < 0 ? r : m.annotations != 0;
    return field_u64(vm, m.pool, vm->layout.pool_holder, &holder) ?: has_base_types(vm, holder);
}

/* Reads the mappings of @k for the method @m of the class at @holder. Returns 1 if all were read,
 * or 0 if there is certainly no route. */
static int read_mappings(struct lookup *k, const struct vm_method *m, uint64_t holder)
{
    uint64_t klass = holder;
    int r = user_class(k, &klass)
                ?: (klass == holder ? read_own(k, m) : methods_named(k, klass, read_own))
                ?: is_last(k->vm, klass);

    if (r <= 0)
        return r;
    r = k->of_method.api ? 0 : base_types(k, klass, add_methods);
    if (r < 0 || !k->of_method.api)
        return r;
    r = class_annotated(k->vm, klass, &k->used, &k->of_class);
    if (r == 0 && !k->of_class.api)
        r = base_types(k, klass, add_class);
    return r < 0 ? r : 1;
}

/* Reads the gRPC name of the method @m. Returns the number of bytes; 0: none; -errno. */
static int grpc_route(struct hotspot_vm *vm, const struct vm_method *m, uint64_t holder,
                      char ret[HOTSPOT_ROUTE_MAX])
{
    char name[HOTSPOT_ROUTE_MAX];
    int n = symbol_text(vm, m->name, name, sizeof(name));

    return n <= 0 ? n : grpc_name(vm, holder, (struct span){ name, (size_t)n }, ret);
}

static int run_route(struct hotspot_vm *vm, void *arg)
{
    struct route_question *q = arg;
    struct lookup k = { .vm = vm };
    uint64_t holder = 0, constants = 0;
    struct vm_method m;
    int r;

    memory_continue(&vm->memory);
    r = question_method(vm, q, &m)
            ?: field_u64(vm, m.pool, vm->layout.pool_holder, &holder)
            ?: field_u64(vm, holder, vm->layout.instance_constants, &constants);
    if (r < 0 || constants != m.pool) /* the class is gone, or was redefined */
        return r < 0 ? r : -EAGAIN;
    r = q->grpc ? grpc_route(vm, &m, holder, q->route) : 0;
    if (r != 0)
        return r;
    k.name = m.name;
    k.signature = m.signature;
    r = read_mappings(&k, &m, holder);
    return r > 0 ? (int)annotations_route(&k.of_class, &k.of_method, q->route) : r;
}

/* Returns whether a method with these names may have a mapping of a base type. A constructor does
 * not override a handler, and neither does the method of a lambda. */
static bool may_inherit(const struct hotspot_method *m)
{
    struct span name = { m->name, m->name_n }, class_name = { m->class_name, m->class_name_n };

    return m->name_n && m->name[0] != '<' && !span_starts_with(name, "lambda$") &&
           !memmem(class_name.p, class_name.n, LAMBDA.p, LAMBDA.n) &&
           annotations_is_own(class_name);
}

int hotspot_method_route(struct hotspot_vm *vm, uint64_t method, const struct hotspot_method *names,
                         char ret[HOTSPOT_ROUTE_MAX])
{
    struct route_question q = { .method = method,
                                .const_method = names->const_method,
                                .inherits = may_inherit(names),
                                .grpc = grpc_may_be(names) };
    int r = layout_has_routes(&vm->layout) ? vm_ask(vm, run_may_have_route, &q, sizeof(q)) : 0;

    if (r == 0)
        return -ENOENT;
    if (r > 0) /* a reader does this: it may take long, and the owner pays for it */
        r = vm_call(vm, run_route, &q, sizeof(q));
    if (r == -EBADMSG)
        return 0; /* malformed, or above a limit */
    if (r > 0)
        memcpy(ret, q.route, (size_t)r);
    return r;
}
