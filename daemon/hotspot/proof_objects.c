/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the references into the Java heap: the object of a thread has its JavaThread in a field,
 * is of class java.lang.Thread or a subclass, and has a name. Checks the fields about allocation,
 * too.
 */
#include "hotspot/code/code.h"
#include "hotspot/proof.h"

#define SUPERS_MAX 64
#define THREADS_MAX 256
#define TID_MAX (1 << 22) /* the kernel's maximum */
#define POOL_CLASSES_MAX 64
#define POOL_DATA_BYTES 8                 /* bytes of an array of classes before its elements */
#define OBJECT_BYTES_MAX 4096             /* bytes of a java.lang.Thread; 200 were seen */
#define ALLOCATED_MAX ((uint64_t)1 << 60) /* bytes that one thread allocated */
#define BUFFER_BYTES_MAX ((uint64_t)1 << 40)

struct objects_proof {
    struct hotspot_vm *vm;
    struct check *threads, *monitors, *sizes;
    uint64_t thread_klass;
    uint32_t eetop;
    int32_t tids[THREADS_MAX]; /* thread ids of the threads seen */
    unsigned count;
};

bool klass_is_below(struct hotspot_vm *vm, uint64_t klass, uint64_t super)
{
    char name[32];
    uint64_t symbol, last = 0;
    uint16_t n = 0;

    for (unsigned i = 0; i < SUPERS_MAX && klass; i++) {
        if (klass == super)
            return true;
        last = klass;
        if (field_u64(vm, klass, vm->layout.klass_super, &klass) < 0)
            return false;
    }
    return !super && !klass && field_u64(vm, last, vm->layout.klass_name, &symbol) == 0 &&
           symbol_read(vm, symbol, name, sizeof(name), &n) == 0 &&
           span_eq_str((struct span){ name, n }, "java/lang/Object");
}

static bool is_object(struct hotspot_vm *vm, uint64_t object, uint64_t super)
{
    uint64_t klass = 0;

    return object_klass(vm, object, &klass) == 0 && klass_is_below(vm, klass, super);
}

/* Returns whether @field of @thread has no monitor, or one that has an object and counts at least
 * one waiting thread in @count. */
static bool monitor_can_be(struct hotspot_vm *vm, uint64_t thread, struct layout_field field,
                           struct layout_field count)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t monitor = 0, at, object = 0;
    uint32_t waiting = 0;
    int r = field_u64(vm, thread, field, &monitor);

    if (r < 0 || !monitor)
        return r == 0;
    if (layout_has(count) && (field_u32(vm, monitor, count, &waiting) < 0 || !waiting))
        return false;
    at = monitor + (uint64_t)l->monitor_object.offset;
    if (layout_has_handles(l))
        r = memory_u64(&vm->memory, at, &at);
    if (r == 0)
        r = heap_handle(vm, at, &object);
    return r == 0 && is_object(vm, object, 0);
}

/* Returns whether the id of @thread is valid and not that of an earlier thread. Stores it. */
static bool tid_can_be(struct objects_proof *p, uint64_t thread)
{
    int32_t tid = 0;

    if (thread_tid(p->vm, thread, &tid) < 0 || tid <= 0 || tid > TID_MAX)
        return false;
    for (unsigned i = 0; i < p->count; i++) {
        if (p->tids[i] == tid)
            return false;
    }
    p->tids[p->count] = tid;
    return true;
}

static int see_thread(void *cookie, uint64_t thread)
{
    struct objects_proof *p = cookie;
    struct hotspot_vm *vm = p->vm;
    const struct hotspot_layout *l = &vm->layout;
    uint64_t object = 0, back = 0;
    _cleanup_buf_ struct buf name = BUF_UPTO(OBJECT_BYTES_MAX);
    int r = thread_java_object(vm, thread, &object);

    if (r == -ESRCH)
        return r;
    if (r == 0)
        r = memory_u64(&vm->memory, object + p->eetop, &back);
    check_add(p->threads, r == 0 && back == thread && is_object(vm, object, p->thread_klass) &&
                              thread_name_read(vm, thread, &name) == 0 && tid_can_be(p, thread));
    if (layout_has(l->thread_pending_monitor) && layout_has(l->thread_waiting_monitor) &&
        layout_has(l->monitor_object))
        check_add(p->monitors,
                  monitor_can_be(vm, thread, l->thread_pending_monitor, l->monitor_contentions) &&
                      monitor_can_be(vm, thread, l->thread_waiting_monitor, l->monitor_waiters));
    return ++p->count >= THREADS_MAX;
}

int proof_objects(struct hotspot_vm *vm, struct check *threads, struct check *monitors)
{
    struct objects_proof p = { .vm = vm, .threads = threads, .monitors = monitors };
    int r = names_ready(vm) ?:
            memory_u64(&vm->memory, vm->layout.thread_klass_at, &p.thread_klass) ?:
            field_offset(vm, p.thread_klass, "eetop", &p.eetop) ?:
            threads_visit(vm, see_thread, &p);

    return MIN(r, 0);
}

/* ---- allocation ---- */

static bool buffer_can_be(struct hotspot_vm *vm, uint64_t thread)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t at = thread + (uint64_t)l->thread_tlab.offset, start, top, end, allocated;

    return field_u64(vm, at, l->tlab_start, &start) == 0 &&
           field_u64(vm, at, l->tlab_top, &top) == 0 && field_u64(vm, at, l->tlab_end, &end) == 0 &&
           field_u64(vm, thread, l->thread_allocated_bytes, &allocated) == 0 && start <= top &&
           top <= end && end - start < BUFFER_BYTES_MAX && end % 8 == 0 && !start == !end &&
           allocated < ALLOCATED_MAX;
}

static int see_buffer(void *cookie, uint64_t thread)
{
    struct objects_proof *p = cookie;

    check_add(p->sizes, buffer_can_be(p->vm, thread));
    return ++p->count >= THREADS_MAX;
}

static bool instance_can_be(struct hotspot_vm *vm, uint64_t klass)
{
    uint32_t bytes = 0;

    return field_u32(vm, klass, vm->layout.klass_layout_helper, &bytes) == 0 && bytes >= 8 &&
           bytes <= OBJECT_BYTES_MAX && !(bytes & 6);
}

/* Checks that the resolved classes in the pool of @klass are classes. */
static void see_pool(struct hotspot_vm *vm, uint64_t klass, struct check *c)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t pool = 0, array = 0, one = 0;
    uint32_t count = 0;

    if (!layout_has(l->pool_resolved) || field_u64(vm, klass, l->instance_constants, &pool) < 0)
        return;
    if (field_u64(vm, pool, l->pool_resolved, &array) < 0 ||
        field_u32(vm, array, l->metadata_array_length, &count) < 0 || count == 0 ||
        count > UINT16_MAX) {
        check_add(c, false);
        return;
    }
    for (uint32_t i = 0; i < MIN(count, (uint32_t)POOL_CLASSES_MAX); i++) {
        if (memory_u64(&vm->memory, array + POOL_DATA_BYTES + (uint64_t)i * 8, &one) < 0 || one)
            check_add(c, klass_is_below(vm, one, 0));
    }
}

int proof_allocation(struct hotspot_vm *vm, struct check *sizes)
{
    const struct hotspot_layout *l = &vm->layout;
    struct objects_proof p = { .vm = vm, .sizes = sizes };
    uint64_t string = 0, thread = 0;
    int r = memory_u64(&vm->memory, l->string_klass_at, &string)
                ?: memory_u64(&vm->memory, l->thread_klass_at, &thread);

    if (r < 0)
        return r == -ESRCH ? r : 0;
    if (layout_has(l->klass_layout_helper)) {
        check_add(sizes, instance_can_be(vm, string));
        check_add(sizes, instance_can_be(vm, thread));
    }
    see_pool(vm, string, sizes);
    see_pool(vm, thread, sizes);
    if (layout_has(l->thread_tlab) && layout_has(l->thread_allocated_bytes) &&
        layout_has(l->tlab_start) && layout_has(l->tlab_top) && layout_has(l->tlab_end))
        r = threads_visit(vm, see_buffer, &p);
    return r == -ESRCH ? r : 0;
}
