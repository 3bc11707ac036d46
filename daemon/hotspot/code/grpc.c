/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full names of gRPC's methods, "package.Service/Method". The class of a service extends a
 * generated class, ServiceGrpc$ServiceImplBase. The class around it, ServiceGrpc, has the names
 * among its constants, as elements of an annotation that the VM drops. The base class calls
 * ServiceGrpc to publish the service, so ServiceGrpc is one of the resolved classes of the base
 * class.
 */
#include "base/ascii.h"
#include "base/list.h"
#include "hotspot/annotations.h"
#include "hotspot/code/code.h"

#define SUPERS_MAX 16      /* superclasses to read */
#define RESOLVED_MAX 1024  /* resolved classes to read of the base class (JDK 8: constants) */
#define CONSTANTS_MAX 4096 /* constants of ServiceGrpc */
#define TAG_UTF8 1         /* JVM_CONSTANT_Utf8 */
#define TAG_CLASS 7        /* JVM_CONSTANT_Class */

/* The generated class around the base class of a service. */
struct generated {
    char buf[CLASS_TEXT_MAX];
    struct span name, service; /* point into @buf: "shop/OrdersGrpc", "Orders" */
};

/* Splits the name of a service's base class in ret->buf. Returns false if @name is no such name. */
static bool split_name(struct span name, struct generated *ret)
{
    struct span inner = name, outer = SPAN_NULL;

    if (!span_take_until(&inner, '$', &outer) || !span_ends_with(inner, "ImplBase"))
        return false;
    inner.n -= strlen("ImplBase");
    ret->name = outer;
    ret->service = inner;
    if (!inner.n || !span_ends_with(outer, "Grpc"))
        return false;
    outer.n -= strlen("Grpc");
    return span_eq(span_base_name(outer), inner);
}

/* Finds the base class of a service: the class at @klass itself, or one of its superclasses. */
static int find_base(struct hotspot_vm *vm, uint64_t klass, struct generated *ret,
                     uint64_t *ret_base)
{
    struct span name;

    for (unsigned i = 0; i < SUPERS_MAX && klass; i++) {
        int r = class_text(vm, klass, ret->buf, &name);

        if (r < 0)
            return r;
        if (split_name(name, ret)) {
            *ret_base = klass;
            return 0;
        }
        r = field_u64(vm, klass, vm->layout.klass_super, &klass);
        if (r < 0)
            return r;
    }
    return -ENOENT;
}

/* Returns whether the class at @klass is @g. @klass 0: a class that is not resolved. Return: 1; 0;
 * -errno. */
static int is_generated_class(struct hotspot_vm *vm, uint64_t klass, const struct generated *g)
{
    char buf[CLASS_TEXT_MAX];
    struct span name;
    int r = klass ? class_text(vm, klass, buf, &name) : 0;

    return r < 0 || !klass ? r : span_eq(name, g->name);
}

/* Reads the tags of the constants in @pool into @ret, at most @max. Returns their number; -errno.
 */
static int pool_tags(struct hotspot_vm *vm, uint64_t pool, uint8_t *ret, uint32_t max)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t tags;
    uint32_t n;
    int r = field_u64(vm, pool, l->pool_tags, &tags)
                ?: field_u32(vm, tags, l->metadata_array_length, &n);

    if (r == 0 && n > max)
        return -EBADMSG;
    r = r ?: memory_read(&vm->memory, tags + (uint64_t)l->array_u1_data.offset, ret, n);
    return r < 0 ? r : (int)n;
}

/* Finds @g among the resolved classes of @pool. They are an array of their own; in JDK 8, they are
 * among the constants. Return: 0; -ENOENT; -errno. */
static int find_generated(struct hotspot_vm *vm, uint64_t pool, const struct generated *g,
                          uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t at = pool + l->sizeof_ConstantPool, array;
    uint8_t tags[RESOLVED_MAX];
    uint32_t count;
    int r;

    if (layout_has(l->pool_resolved)) {
        r = field_u64(vm, pool, l->pool_resolved, &array)
                ?: field_u32(vm, array, l->metadata_array_length, &count);
        if (r < 0)
            return r;
        memset(tags, TAG_CLASS, sizeof(tags));
        at = array + (uint64_t)l->array_methods_data.offset;
    } else {
        r = pool_tags(vm, pool, tags, sizeof(tags));
        if (r < 0)
            return r;
        count = (uint32_t)r;
    }
    for (uint32_t i = 0; i < MIN(count, (uint32_t)RESOLVED_MAX); i++) {
        if (tags[i] != TAG_CLASS)
            continue;
        r = memory_u64(&vm->memory, at + (uint64_t)i * 8, ret) ?: is_generated_class(vm, *ret, g);
        if (r != 0)
            return MIN(r, 0);
    }
    return -ENOENT;
}

static bool is_of_package(char c)
{
    char lower = ascii_lower(c);

    return (lower >= 'a' && lower <= 'z') || ascii_is_digit(c) || c == '_' || c == '.';
}

/* Returns whether @text is the full name of @method in @service. The name in Java begins with a
 * small letter. */
static bool is_full_name(struct span text, struct span service, struct span method)
{
    size_t slash = span_rfind(text, '/');
    struct span name = span_from(text, slash + 1), package = { text.p, slash }, last = package;

    if (name.n != method.n || ascii_lower(name.p[0]) != method.p[0] ||
        memcmp(name.p + 1, method.p + 1, method.n - 1) != 0 || package.n < service.n)
        return false;
    last = span_from(package, package.n - service.n);
    package.n -= service.n;
    return span_eq(last, service) && ALL_OF(i, package.n, is_of_package(package.p[i])) &&
           (!package.n || span_ends_with(package, "."));
}

/* Finds the full name of @method among the constants of the class at @klass. Returns the number of
 * bytes; 0: none, or several names; -errno. */
static int find_name(struct hotspot_vm *vm, uint64_t klass, struct span service, struct span method,
                     char ret[HOTSPOT_ROUTE_MAX])
{
    _cleanup_free_ uint8_t *tags = malloc(CONSTANTS_MAX);
    int count, found = 0;
    uint64_t pool;

    if (!tags)
        return -ENOMEM;
    count = field_u64(vm, klass, vm->layout.instance_constants, &pool)
                ?: pool_tags(vm, pool, tags, CONSTANTS_MAX);
    for (int i = 1; i < count; i++) {
        char end[HOTSPOT_ROUTE_MAX + 1], text[HOTSPOT_ROUTE_MAX];
        uint64_t symbol;
        uint16_t n = 0;
        int r;

        if (tags[i] != TAG_UTF8)
            continue;
        r = pool_symbol(vm, pool, (uint32_t)i, &symbol)
                ?: symbol_end(vm, symbol, end, method.n + 1);
        if (r == 0 && end[0] == '/')
            r = symbol_read(vm, symbol, text, sizeof(text), &n);
        if (r < 0 && r != -ENOENT)
            return r;
        if (r < 0 || !is_full_name((struct span){ text, n }, service, method))
            continue;
        if (found)
            return 0;
        memcpy(ret, text, n);
        found = n;
    }
    return count < 0 ? count : found;
}

bool grpc_may_be(const struct hotspot_method *m)
{
    const struct span observer = SPAN("Lio/grpc/stub/StreamObserver;)");

    return m->name_n && m->name_n < HOTSPOT_ROUTE_MAX &&
           memmem(m->signature, m->signature_n, observer.p, observer.n);
}

int grpc_name(struct hotspot_vm *vm, uint64_t klass, struct span method,
              char ret[HOTSPOT_ROUTE_MAX])
{
    struct generated g = { .service = SPAN_NULL };
    uint64_t pool;
    int r = layout_has(vm->layout.pool_tags) ? find_base(vm, klass, &g, &klass) : -ENOENT;

    r = r ?: field_u64(vm, klass, vm->layout.instance_constants, &pool)
            ?: find_generated(vm, pool, &g, &klass)
            ?: find_name(vm, klass, g.service, method, ret);
    return r == -ENOENT ? 0 : r;
}
