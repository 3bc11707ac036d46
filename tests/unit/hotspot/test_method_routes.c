/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/: routes of methods in made-up memory of a VM: what the engine's thread reads itself, and
 * limits and races of one question. */
#include "hotspot/annotations.h"
#include "hotspot/code/code.h"
#include "hotspot/vm.h"

#include "suite.h"

#define ARENA_PAGES 1024
#define TYPE_GET "Lorg/springframework/web/bind/annotation/GetMapping;"
enum constant { C_GET = 1, C_OTHER, C_VALUE, C_NAME, C_ALSO, C_SIGNATURE, C_LONG, C_PATH, C_COUNT };
enum { AT_NAME = 8, AT_POOL = 16, AT_ANNOTATIONS = 24, AT_SUPER = 32, AT_HELPER = 56 };
enum { POOL_BYTES = 48 };
enum { AT_INTERFACES = 64, AT_METHODS = 72, KLASS_BYTES = 80 };

static uint8_t arena[ARENA_PAGES * MEMORY_PAGE] __attribute__((aligned(4096)));
static size_t arena_n;
static unsigned asks, calls, pages, pages_of_asks;
static struct hotspot_vm *vm;
static uint64_t method, const_method, pool, klass, object, interfaces, nothing, path;
static struct hotspot_method names;
static char route[HOTSPOT_ROUTE_MAX];

/* ---- in place of call.c ---- */

int vm_call(struct hotspot_vm *v, vm_call_fn fn, void *arg, size_t n)
{
    (void)n;
    calls++;
    return fn(v, arg);
}

int vm_ask(struct hotspot_vm *v, vm_call_fn fn, void *arg, size_t n)
{
    unsigned before = pages;
    int r;

    (void)n;
    asks++;
    r = fn(v, arg);
    pages_of_asks += pages - before;
    return r;
}

int vm_call_given(struct hotspot_vm *v, vm_call_fn fn, void **arg, bool asleep_only)
{
    (void)asleep_only;
    return fn(v, *arg);
}

bool vm_reads_nothing(struct hotspot_vm *v)
{
    (void)v;
    return false;
}

bool vm_is_left(const struct hotspot_vm *v)
{
    (void)v;
    return false;
}

uint64_t hotspot_vm_unanswered(const struct hotspot_vm *v)
{
    return v->unanswered;
}

void vm_unref(struct hotspot_vm *v)
{
    free(v);
}

void hotspot_vm_moment(struct hotspot_vm *v, uint64_t at_ns)
{
    (void)v, (void)at_ns;
}

/* ---- the VM ---- */

static ssize_t read_arena(void *cookie, uint64_t address, void *buf, size_t n)
{
    uint64_t from = address - (uintptr_t)arena;

    (void)cookie;
    if (address < (uintptr_t)arena || from + n > sizeof(arena))
        return -EFAULT;
    pages++;
    memcpy(buf, arena + from, n);
    return (ssize_t)n;
}

static uint8_t *at(uint64_t address)
{
    return arena + (address - (uintptr_t)arena);
}

static void put(uint64_t address, uint64_t value, size_t n)
{
    memcpy(at(address), &value, n);
}

static uint64_t take(size_t n)
{
    uint64_t address = (uintptr_t)arena + arena_n;

    arena_n += (n + 7) & ~(size_t)7;
    ck_assert_uint_le(arena_n, sizeof(arena));
    return address;
}

static uint64_t symbol(const char *text)
{
    uint64_t address = take(2 + strlen(text));

    put(address, strlen(text), 2);
    memcpy(at(address + 2), text, strlen(text));
    return address;
}

static uint64_t array_of(const void *bytes, size_t n)
{
    uint64_t address = take(4 + n);

    put(address, n, 4);
    memcpy(at(address + 4), bytes, n);
    return address;
}

/* Makes a class on a page of its own. */
static uint64_t new_class(const char *name)
{
    uint64_t address;

    arena_n = (arena_n + MEMORY_PAGE - 1) & ~(size_t)(MEMORY_PAGE - 1);
    address = take(KLASS_BYTES);
    put(address + AT_NAME, symbol(name), 8);
    put(address + AT_POOL, pool, 8);
    put(address + AT_HELPER, 16, 4);
    put(address + AT_INTERFACES, nothing, 8);
    put(address + AT_METHODS, nothing, 8);
    put(address + AT_SUPER, object, 8);
    return address;
}

/* Makes a method with annotations @set of @n bytes; 0: none. *ret_const: its ConstMethod. */
static uint64_t new_method(uint16_t name, uint16_t signature, const uint8_t *set, size_t n,
                           uint64_t *ret_const)
{
    uint64_t address = take(16), constant = take(40);

    put(address + 8, constant, 8);
    put(constant + 8, pool, 8);
    put(constant + 16, n ? 5 : 4, 4);
    put(constant + 20, n != 0, 4);
    put(constant + 24, name, 2);
    put(constant + 26, signature, 2);
    put(constant + 32, n ? array_of(set, n) : 0, 8);
    *ret_const = constant;
    return address;
}

static void set_annotations(uint64_t of, uint64_t array)
{
    uint64_t address = take(8);

    put(address, array, 8);
    put(of + AT_ANNOTATIONS, address, 8);
}

/* Gives the class at @of an annotation with @arrays arrays of @values constants; @tag is their type
 * in a class file. */
static void pad(uint64_t of, unsigned arrays, unsigned values, char tag)
{
    static uint8_t bytes[ANNOTATIONS_BYTES_MAX];
    size_t each = tag == 'e' ? 5 : 3, n = 0;

#define ADD(byte) bytes[n++] = (uint8_t)(byte)
    ADD(0), ADD(1), ADD(0), ADD(C_OTHER), ADD(0), ADD(arrays);
    for (unsigned i = 0; i < arrays; i++) {
        ADD(0), ADD(C_VALUE), ADD('['), ADD(values >> 8), ADD(values);
        for (unsigned k = 0; k < values; k++, n += each) {
            memset(bytes + n, 0, each);
            bytes[n] = (uint8_t)tag;
        }
    }
#undef ADD
    set_annotations(of, array_of(bytes, n));
}

/* Gives the class at @of the method with annotations @set, between others. */
static void set_methods(uint64_t of, uint16_t signature, const uint8_t *set, size_t n)
{
    uint64_t methods = take(8 + 5 * 8), ignored;

    put(methods, 5, 4);
    put(methods + 8, new_method(C_OTHER, C_SIGNATURE, NULL, 0, &ignored), 8);
    put(methods + 16, new_method(C_VALUE, C_SIGNATURE, NULL, 0, &ignored), 8);
    put(methods + 24, new_method(C_NAME, C_LONG, NULL, 0, &ignored), 8);
    put(methods + 32, new_method(C_NAME, signature, set, n, &ignored), 8);
    put(methods + 40, new_method(C_ALSO, C_SIGNATURE, NULL, 0, &ignored), 8);
    put(of + AT_METHODS, methods, 8);
}

/* Adds an interface to the method's class. */
static uint64_t add_interface(void)
{
    uint32_t count;
    uint64_t one = new_class("app/Api");

    memcpy(&count, at(interfaces), sizeof(count));
    put(interfaces + 8 + count * 8, one, 8);
    put(interfaces, count + 1, 4);
    return one;
}

static struct layout_field word(int offset)
{
    return (struct layout_field){ .offset = offset, .width = 8 };
}

static struct layout_field narrow(int offset, uint8_t width)
{
    return (struct layout_field){ .offset = offset, .width = width };
}

static void set_layout(struct hotspot_layout *l)
{
    l->method_const = l->const_constants = l->pool_holder = word(8);
    l->const_name = narrow(24, 2);
    l->const_signature = narrow(26, 2);
    l->instance_methods = word(AT_METHODS);
    l->const_size = narrow(16, 4);
    l->const_flags = narrow(20, 4);
    l->sizeof_ConstMethod = 32;
    l->sizeof_ConstantPool = POOL_BYTES;
    l->has_annotations = 1;
    l->pool_length = narrow(16, 4);
    l->pool_tags = word(24);
    l->pool_resolved = word(32);
    l->klass_name = word(AT_NAME);
    l->instance_constants = word(AT_POOL);
    l->instance_annotations = word(AT_ANNOTATIONS);
    l->klass_super = word(AT_SUPER);
    l->klass_subclass = word(40);
    l->klass_sibling = word(48);
    l->klass_layout_helper = narrow(AT_HELPER, 4);
    l->instance_interfaces = word(AT_INTERFACES);
    l->class_annotations = word(0);
    l->metadata_array_length = narrow(0, 4);
    l->array_u1_data = narrow(4, 0);
    l->array_methods_data = narrow(8, 0);
    l->symbol_length = narrow(0, 2);
    l->symbol_body = narrow(2, 0);
}

static const uint8_t GET[] = { 0, 1, 0, C_GET, 0, 1, 0, C_VALUE, 's', 0, C_PATH };

/* Makes a method with @GetMapping("/x"). */
static void setup(void)
{
    static const char *const CONSTANTS[] = { TYPE_GET, "Ljava/lang/Deprecated;", "value", "one",
                                             "other",  "(Lapp/A;I[J)V",          "(J)V",  "/x" };

    arena_n = asks = calls = pages = pages_of_asks = 0;
    memset(arena, 0, sizeof(arena));
    vm = calloc(1, sizeof(*vm));
    ck_assert_ptr_nonnull(vm);
    memory_init(&vm->memory, read_arena, NULL);
    set_layout(&vm->layout);
    pool = take(POOL_BYTES + C_COUNT * 8);
    put(pool + 16, C_COUNT, 4);
    for (unsigned i = 0; i < ARRAY_SIZE(CONSTANTS); i++) {
        path = symbol(CONSTANTS[i]);
        put(pool + POOL_BYTES + (i + 1) * 8, path, 8);
    }
    nothing = take(8);
    object = 0;
    object = new_class("java/lang/Object");
    interfaces = take(8 + 64 * 8);
    klass = new_class("app/Handler");
    put(klass + AT_INTERFACES, interfaces, 8);
    put(pool + 8, klass, 8);
    method = new_method(C_NAME, C_SIGNATURE, GET, sizeof(GET), &const_method);
    names = (struct hotspot_method){
        .class_name = "app/Handler", .name = "one", .class_name_n = 11, .name_n = 3
    };
}

static void teardown(void)
{
    free(vm);
}

static int ask(void)
{
    names.const_method = const_method;
    return hotspot_method_route(vm, method, &names, route);
}

START_TEST(reads_a_route)
{
    ck_assert_int_eq(ask(), 6);
    ck_assert_mem_eq(route, "GET /x", 6);
}
END_TEST

/* What may take long is for a reader, and the owner of the process pays for it. */
START_TEST(the_engine_reads_three_pages)
{
    for (int i = 0; i < 64; i++)
        pad(add_interface(), 1, 8, 'I');
    ck_assert_int_eq(ask(), 6);
    ck_assert_uint_gt(pages, 64);
    ck_assert_uint_le(pages_of_asks, 3);
    ck_assert_uint_eq(calls, 1);
    put(const_method + 20, 0, 4);
    pages_of_asks = 0;
    ck_assert_int_eq(ask(), 0);
    ck_assert_uint_le(pages_of_asks, 4);
    ck_assert_uint_eq(calls, 2);
}
END_TEST

static void set_names(const char *class_name, const char *name)
{
    names.class_name_n =
        (uint16_t)snprintf(names.class_name, sizeof(names.class_name), "%s", class_name);
    names.name_n = (uint16_t)snprintf(names.name, sizeof(names.name), "%s", name);
}

static const struct {
    const char *class_name, *method;
} NEVER[] = { { "java/util/concurrent/FutureTask", "one" },
              { "app/Handler", "<init>" },
              { "app/Handler", "lambda$one$0" },
              { "app/Handler$$Lambda/0x00007f0001", "one" } };

/* Without annotations, a method of a library or of no base type has nothing more to read. */
START_TEST(most_methods_need_no_reader)
{
    put(const_method + 20, 0, 4);
    ck_assert_int_eq(ask(), -ENOENT);
    set_methods(add_interface(), C_SIGNATURE, GET, sizeof(GET));
    for (size_t i = 0; i < ARRAY_SIZE(NEVER); i++) {
        set_names(NEVER[i].class_name, NEVER[i].method);
        ck_assert_int_eq(ask(), -ENOENT);
    }
    ck_assert_uint_eq(calls, 0);
    set_names("app/Handler", "one");
    ck_assert_int_eq(ask(), 6);
    ck_assert_uint_eq(calls, 1);
}
END_TEST

/* A method without a mapping has that of an interface or a superclass, if there is one alone. */
START_TEST(a_method_inherits)
{
    uint64_t super = new_class("app/Base");

    put(const_method + 20, 0, 4);
    put(klass + AT_SUPER, super, 8);
    ck_assert_int_eq(ask(), 0);
    set_methods(super, C_SIGNATURE, GET, sizeof(GET));
    ck_assert_int_eq(ask(), 6);
    ck_assert_mem_eq(route, "GET /x", 6);
    set_methods(add_interface(), C_SIGNATURE, GET, sizeof(GET));
    ck_assert_int_eq(ask(), 0);
    set_methods(super, C_SIGNATURE, NULL, 0);
    ck_assert_int_eq(ask(), 6);
    put(const_method + 20, 1, 4); /* its own counts alone */
    set_methods(super, C_SIGNATURE, GET, sizeof(GET));
    ck_assert_int_eq(ask(), 6);
}
END_TEST

static const struct {
    const char *signature;
    bool overridden;
} SIGNATURES[] = { /* of a base type's method, with that of the handler: (Lapp/A;I[J)V */
                   { "(Lapp/A;I[J)V", true },
                   { "(Lapp/A;I[J)Lapp/B;", true }, /* a result of another type */
                   { "(Ljava/lang/Object;I[Ljava/lang/Number;)V", true }, /* generic */
                   { "(Lapp/A;I[[J)V", true },
                   { "(Lapp/A;J[J)V", false },
                   { "(Lapp/A;I)V", false },
                   { "(Lapp/A;I[JI)V", false },
                   { "()V", false },
                   { "(Lapp/A", false },
                   { "(Lapp/A;I[", false },
                   { "", false }
};

START_TEST(methods_by_their_parameters)
{
    put(const_method + 20, 0, 4);
    put(pool + POOL_BYTES + C_LONG * 8, symbol(SIGNATURES[_i].signature), 8);
    set_methods(add_interface(), C_LONG, GET, sizeof(GET));
    ck_assert_int_eq(ask(), SIGNATURES[_i].overridden ? 6 : 0);
}
END_TEST

static const struct {
    unsigned methods;
    int found;
} CROWDS[] = { { 1000, 6 }, { 1100, 0 } };

/* The methods that are looked at have a limit. */
START_TEST(many_methods_of_one_name)
{
    uint64_t methods = take(8 + 2000 * 8), api = add_interface(), ignored;

    put(const_method + 20, 0, 4);
    for (unsigned i = 0; i < CROWDS[_i].methods; i++)
        put(methods + 8 + i * 8, new_method(C_NAME, C_LONG, NULL, 0, &ignored), 8);
    put(methods + CROWDS[_i].methods * 8,
        new_method(C_NAME, C_SIGNATURE, GET, sizeof(GET), &ignored), 8);
    put(methods, CROWDS[_i].methods, 4);
    put(api + AT_METHODS, methods, 8);
    ck_assert_int_eq(ask(), CROWDS[_i].found);
}
END_TEST

/* A generated class has the mapping of the class that it was made of. */
START_TEST(a_generated_class)
{
    uint64_t user = new_class("app/User");

    put(user + AT_INTERFACES, interfaces, 8);
    put(const_method + 20, 0, 4);
    put(klass + AT_SUPER, user, 8);
    put(klass + AT_NAME, symbol("app/User$$SpringCGLIB$$0"), 8);
    put(klass + AT_HELPER, 0, 4); /* it is read of the class alone */
    set_methods(user, C_SIGNATURE, GET, sizeof(GET));
    ck_assert_int_eq(ask(), 6);
    set_methods(user, C_SIGNATURE, NULL, 0);
    ck_assert_int_eq(ask(), 0);
    set_methods(add_interface(), C_SIGNATURE, GET, sizeof(GET));
    ck_assert_int_eq(ask(), 6);
    put(user + AT_NAME, symbol("app/User_Subclass"), 8); /* of a superclass of its own */
    ck_assert_int_eq(ask(), 0);
}
END_TEST

static const struct {
    unsigned arrays, values;
    char tag;
} PADDINGS[] = { { 2, 850, 'e' }, { 3, 700, 'I' } }; /* half of all bytes, or of all values */

/* Limits hold for all annotations that are read for one route. */
START_TEST(all_annotations_of_a_question_count)
{
    pad(add_interface(), PADDINGS[_i].arrays, PADDINGS[_i].values, PADDINGS[_i].tag);
    ck_assert_int_eq(ask(), 6);
    pad(_i ? klass : add_interface(), PADDINGS[_i].arrays, PADDINGS[_i].values, PADDINGS[_i].tag);
    ck_assert_int_eq(ask(), 0);
}
END_TEST

/* So do their names. */
START_TEST(long_names_count)
{
    char type[ANNOTATIONS_TEXT_MAX - 7] = "Ljava/lang/";
    uint8_t set[2 + 16 * 4] = { 0, 16 };

    memset(type + strlen(type), 'x', sizeof(type) - strlen(type) - 1);
    type[sizeof(type) - 2] = ';';
    put(pool + POOL_BYTES + C_OTHER * 8, symbol(type), 8);
    for (unsigned i = 0; i < 16; i++)
        set[2 + i * 4 + 1] = C_OTHER;
    set_annotations(add_interface(), array_of(set, sizeof(set)));
    ck_assert_int_eq(ask(), 6);
    set_annotations(add_interface(), array_of(set, sizeof(set)));
    ck_assert_int_eq(ask(), 0);
}
END_TEST

/* ---- gRPC ---- */

#define OBSERVER "(Ljava/lang/Object;Lio/grpc/stub/StreamObserver;)V"

/* Makes a class with a constant pool of its own: tags and texts. */
static uint64_t class_with_constants(const char *name, const char *const *texts, unsigned count,
                                     uint64_t resolved)
{
    uint64_t own = take(POOL_BYTES + 8 + (uint64_t)count * 8), tags = take(4 + count + 1),
             classes = take(16), address;

    put(own + 16, count + 1, 4);
    put(own + 24, tags, 8);
    put(own + 32, classes, 8);
    put(tags, count + 1, 4);
    put(classes, resolved != 0, 4);
    put(classes + 8, resolved, 8);
    for (unsigned i = 0; i < count; i++) {
        put(own + POOL_BYTES + (i + 1) * 8, symbol(texts[i]), 8);
        put(tags + 4 + i + 1, 1, 1);
    }
    address = new_class(name);
    put(address + AT_POOL, own, 8);
    return address;
}

static const struct {
    const char *base, *around, *texts[3], *name; /* NULL: it has none */
} SERVICES[] = {
    { "app/MailGrpc$MailImplBase", "app/MailGrpc", { "x", "a.b.Mail/One" }, "a.b.Mail/One" },
    { "app/MailGrpc$MailImplBase", "app/MailGrpc", { "Mail/One", "Mail/Two" }, "Mail/One" },
    { "MailGrpc$MailImplBase", "MailGrpc", { "Mail/one", "/One" }, "Mail/one" },
    { "app/MailGrpc$MailImplBase", "app/MailGrpc", { "a.Mail/One", "b.Mail/One" }, NULL },
    { "app/MailGrpc$MailImplBase", "app/MailGrpc", { "EMail/One", "a.Mai/One" }, NULL },
    { "app/MailGrpc$MailImplBase", "app/MailGrpc", { "Lapp/Mail/One", "a(b.Mail/One" }, NULL },
    { "app/MailGrpc$MailImplBase", "app/MailGrpc", { "a.Mail/OnE", "a.Mail/XOne" }, NULL },
    { "app/MailGrpc$PostImplBase", "app/MailGrpc", { "a.Mail/One", "a.Post/One" }, NULL },
    { "app/MailGrpc$MailBase", "app/MailGrpc", { "a.Mail/One" }, NULL },
    { "app/MailGrpc$MailImplBase", "app/PostGrpc", { "a.Mail/One" }, NULL },
};

/* The full name of a service's method is a constant of the class around its generated base class.
 */
START_TEST(methods_of_grpc)
{
    unsigned count = SERVICES[_i].texts[2] ? 3 : SERVICES[_i].texts[1] ? 2 : 1;
    uint64_t around, base;
    int n;

    around = class_with_constants(SERVICES[_i].around, SERVICES[_i].texts, count, 0);
    base = class_with_constants(SERVICES[_i].base, NULL, 0, around);
    put(klass + AT_SUPER, base, 8);
    put(const_method + 20, 0, 4);
    ck_assert_int_eq(ask(), 0); /* its signature is another one */
    names.signature_n = (uint16_t)snprintf(names.signature, sizeof(names.signature), OBSERVER);
    n = ask();
    ck_assert_int_eq(n, SERVICES[_i].name ? (int)strlen(SERVICES[_i].name) : 0);
    ck_assert_mem_eq(route, SERVICES[_i].name ?: "", (size_t)n);
}
END_TEST

/* What changes while it is read says nothing about the route. */
START_TEST(a_race_is_no_answer)
{
    put(method + 8, pool, 8);
    ck_assert_int_eq(ask(), -EAGAIN);
    put(method + 8, const_method, 8);
    put(klass + AT_POOL, pool + 8, 8);
    ck_assert_int_eq(ask(), -EAGAIN);
    put(klass + AT_POOL, pool, 8);
    put(path + 2, 0, 1); /* a freed symbol */
    ck_assert_int_eq(ask(), -EAGAIN);
    put(path + 2, '/', 1);
    ck_assert_int_eq(ask(), 6);
}
END_TEST

/* It may have a mapping. */
START_TEST(an_interface_that_is_unreadable)
{
    put(add_interface() + AT_ANNOTATIONS, 8, 8);
    ck_assert_int_eq(ask(), -EFAULT);
}
END_TEST

START_TEST(malformed_annotations_are_an_answer)
{
    put(pool + 16, C_PATH, 4); /* a constant beyond the pool */
    ck_assert_int_eq(ask(), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("method_routes");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, reads_a_route);
    tcase_add_test(tc, the_engine_reads_three_pages);
    tcase_add_test(tc, most_methods_need_no_reader);
    tcase_add_test(tc, a_method_inherits);
    tcase_add_loop_test(tc, methods_by_their_parameters, 0, ARRAY_SIZE(SIGNATURES));
    tcase_add_loop_test(tc, many_methods_of_one_name, 0, ARRAY_SIZE(CROWDS));
    tcase_add_test(tc, a_generated_class);
    tcase_add_loop_test(tc, methods_of_grpc, 0, ARRAY_SIZE(SERVICES));
    tcase_add_loop_test(tc, all_annotations_of_a_question_count, 0, ARRAY_SIZE(PADDINGS));
    tcase_add_test(tc, long_names_count);
    tcase_add_test(tc, a_race_is_no_answer);
    tcase_add_test(tc, an_interface_that_is_unreadable);
    tcase_add_test(tc, malformed_annotations_are_an_answer);
    return suite_run_case("method_routes", tc);
}
