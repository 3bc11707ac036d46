/* SPDX-License-Identifier: Apache-2.0 */
#include "made_vm.h"

#include "suite.h"

struct made_vm jvm;
struct made_thread threads[4];
struct hotspot_vm *const VM = (struct hotspot_vm *)&jvm;

static bool is_late(enum made_call call)
{
    jvm.unanswered += jvm.late == call;
    return jvm.late == call;
}

uint64_t hotspot_vm_unanswered(const struct hotspot_vm *vm)
{
    ck_assert_ptr_eq(vm, VM);
    return jvm.unanswered;
}

int hotspot_code_find(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *ret)
{
    ck_assert_ptr_eq(vm, VM);
    jvm.finds++;
    if (jvm.gone)
        return HOTSPOT_GONE;
    if (is_late(MADE_FIND) || jvm.empty || pc < jvm.code.start || pc > jvm.code.end)
        return HOTSPOT_NO_CODE;
    *ret = jvm.code;
    return 0;
}

int hotspot_code_still(struct hotspot_vm *vm, const struct hotspot_code *code)
{
    ck_assert_ptr_eq(vm, VM);
    jvm.stills++;
    if (jvm.gone)
        return -ESRCH;
    if (is_late(MADE_STILL))
        return -ETIMEDOUT;
    return !jvm.empty && code->blob == jvm.code.blob && code->compile_id == jvm.code.compile_id;
}

int hotspot_code_locate(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc,
                        bool is_return_address, struct hotspot_location ret[HOTSPOT_INLINE_MAX])
{
    (void)vm, (void)pc, (void)is_return_address;
    jvm.locates++;
    ck_assert_uint_eq(code->blob, jvm.code.blob);
    if (is_late(MADE_LOCATE))
        return -ETIMEDOUT;
    if (jvm.locations > 0)
        memcpy(ret, jvm.at, (size_t)jvm.locations * sizeof(*ret));
    return jvm.locations;
}

int hotspot_vm_unloads(struct hotspot_vm *vm, uint64_t at_ns, uint64_t *now_ns, uint64_t *ret)
{
    (void)at_ns;
    (void)now_ns;
    (void)vm;
    jvm.checks++;
    if (!jvm.counts || jvm.redefines)
        return -ENOENT;
    *ret = jvm.unloads;
    return 0;
}

int hotspot_method_read(struct hotspot_vm *vm, uint64_t method, struct hotspot_method *ret)
{
    (void)vm;
    jvm.reads++;
    if (is_late(MADE_METHOD))
        return -ETIMEDOUT;
    if (jvm.gone || method < 0x100)
        return jvm.gone ? HOTSPOT_GONE : -EBADMSG;
    memset(ret, 0, sizeof(*ret));
    ret->class_name_n =
        (uint16_t)snprintf(ret->class_name, sizeof(ret->class_name), "%s", jvm.class_name);
    ret->name_n =
        (uint16_t)snprintf(ret->name, sizeof(ret->name), "m%llu", (unsigned long long)method);
    ret->signature_n = (uint16_t)snprintf(ret->signature, sizeof(ret->signature), "(ILapp/A;)V");
    ret->file_n = (uint16_t)snprintf(ret->file, sizeof(ret->file), "A.java");
    ret->const_method = jvm.const_method;
    return 0;
}

int hotspot_method_route(struct hotspot_vm *vm, uint64_t method, const struct hotspot_method *names,
                         char ret[HOTSPOT_ROUTE_MAX])
{
    (void)vm, (void)method;
    ck_assert_uint_eq(names->const_method, jvm.const_method);
    jvm.route_reads++;
    if (jvm.route_error || !jvm.route)
        return jvm.route_error ? jvm.route_error : -ENOENT;
    memcpy(ret, jvm.route, strlen(jvm.route));
    return (int)strlen(jvm.route);
}

bool hotspot_vm_uses_jvmci(const struct hotspot_vm *vm)
{
    (void)vm;
    return jvm.jvmci;
}

bool hotspot_vm_in_code_cache(const struct hotspot_vm *vm, uint64_t pc)
{
    (void)vm;
    return pc >= jvm.code.start && pc < jvm.code.end;
}

void hotspot_prepare(struct hotspot_vm *vm, const struct hotspot_place *places, size_t count)
{
    (void)vm;
    for (size_t i = 0; i < count; i++)
        jvm.prepared_code += !places[i].method;
    jvm.prepared += (unsigned)count;
}

uint32_t hotspot_method_line(struct hotspot_vm *vm, uint64_t method, int32_t bci)
{
    (void)vm, (void)method;
    return is_late(MADE_LINE) ? 0 : 100 + (uint32_t)bci;
}

int32_t hotspot_method_bci(struct hotspot_vm *vm, uint64_t method, uint64_t bcp)
{
    (void)vm, (void)method;
    return !is_late(MADE_BCI) && bcp >= 0x9000 && bcp < 0x9100 ? (int32_t)(bcp - 0x9000) : -1;
}

bool hotspot_method_is_native(struct hotspot_vm *vm, uint64_t method)
{
    (void)vm;
    return method == MADE_NATIVE;
}

int hotspot_vm_threads(struct hotspot_vm *vm, unsigned what, hotspot_thread_fn fn, void *cookie)
{
    int n = 0;

    (void)vm;
    ck_assert_uint_eq(what, HOTSPOT_THREAD_NAME);
    jvm.lists++;
    if (jvm.list_result < 0)
        return jvm.list_result;
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        if (threads[i].name) {
            fn(cookie, &(struct hotspot_thread){ .ns_tid = threads[i].ns_tid,
                                                 .java_thread = 0x1000 + i,
                                                 .name = span_of(threads[i].name) });
            n++;
        }
    }
    return n;
}

int hotspot_vm_thread(struct hotspot_vm *vm, uint64_t java_thread, unsigned what,
                      hotspot_thread_fn fn, void *cookie)
{
    const struct made_thread *one = &threads[java_thread - 0x1000];

    (void)vm;
    ck_assert_uint_eq(what, HOTSPOT_THREAD_NAME | HOTSPOT_THREAD_LISTED);
    ck_assert_uint_lt(java_thread - 0x1000, ARRAY_SIZE(threads));
    jvm.singles++;
    if (!one->name)
        return 0;
    fn(cookie, &(struct hotspot_thread){
                   .ns_tid = one->ns_tid, .java_thread = java_thread, .name = span_of(one->name) });
    return 1;
}
