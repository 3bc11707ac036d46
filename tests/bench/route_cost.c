/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_cost PID KIND...: the CPU time of reading the routes of the methods of the classes
 * shop.KIND0 to shop.KIND49 of a JVM, after their names, as symbolize/ does. Reported are also the
 * reads of memory, and how many routes there are.
 */
#include "base/clock.h"
#include "hotspot/classes.h"
#include "tests/read_jvm.h"

#define CLASSES 50

static struct read_counter reads;

struct cost {
    uint64_t names_ns, routes_ns, reads;
    unsigned methods, routes;
};

static void add_method(struct hotspot_vm *vm, uint64_t method, struct cost *c)
{
    char route[HOTSPOT_ROUTE_MAX];
    struct hotspot_method m;
    uint64_t begin_ns, named_ns, before;

    hotspot_vm_moment(vm, clock_monotonic_ns());
    begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (hotspot_method_read(vm, method, &m) != 0 || m.name[0] == '<')
        return;
    named_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    before = reads.count;
    c->routes += hotspot_method_route(vm, method, &m, route) > 0;
    c->routes_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - named_ns;
    c->names_ns += named_ns - begin_ns;
    c->reads += reads.count - before;
    c->methods++;
}

static void add_class(struct hotspot_vm *vm, uint64_t klass, struct cost *c)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t methods, method;
    uint32_t count = 0;

    memory_begin(&vm->memory);
    if (field_u64(vm, klass, l->instance_methods, &methods) != 0 ||
        field_u32(vm, methods, l->metadata_array_length, &count) != 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (memory_u64(&vm->memory, methods + (uint64_t)l->array_methods_data.offset + i * 8,
                       &method) == 0)
            add_method(vm, method, c);
    }
}

static void measure(struct hotspot_vm *vm, const char *kind)
{
    static struct classes classes;
    struct cost c = { 0 };

    classes.count = 0;
    for (int i = 0; i < CLASSES; i++) {
        char name[CLASSES_NAME_MAX];

        snprintf(name, sizeof(name), "shop/%s%d", kind, i);
        classes_want(&classes, name);
    }
    memory_begin(&vm->memory);
    classes_find(vm, &classes);
    for (unsigned i = 0; i < classes.count; i++) {
        if (classes.wanted[i].count)
            add_class(vm, classes.wanted[i].klasses[0], &c);
    }
    if (!c.methods)
        exit(1);
    printf("%s: %u methods, %u routes, %.1f us for a method's route and %.1f for its names, %.1f "
           "reads for a route\n",
           kind, c.methods, c.routes, (double)c.routes_ns / c.methods / 1e3,
           (double)c.names_ns / c.methods / 1e3, (double)c.reads / c.methods);
}

int main(int argc, char **argv)
{
    struct read_jvm jvm;

    if (argc < 3)
        return 2;
    jvm = read_jvm_open((pid_t)strtol(argv[1], NULL, 10));
    read_counter_start(&reads, jvm.vm);
    for (int i = 2; i < argc; i++)
        measure(jvm.vm, argv[i]);
    read_jvm_close(&jvm);
    return 0;
}
