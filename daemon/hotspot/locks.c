/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that Java threads wait for: their layout in the VM and in java.lang.Thread, and the class
 * behind a class word. JavaThread and ObjectMonitor are in the VM's tables (JDK 8 up); Java classes
 * describe their own fields.
 */
#include "hotspot/code/code.h"

#define CURRENT_THREAD_LOOKS 6 /* searches for how a thread finds its own JavaThread */
#define SUPERS_MAX 64          /* superclasses of one class */

/* Returns the offset of the first reference in an object with no other field. lock_class() compares
 * it with the class's own description. */
static uint16_t first_field(const struct name_layout *n)
{
    unsigned header = n->compact_headers ? 8 : n->compressed_klass ? 12 : 16;

    return (uint16_t)(n->compressed_oops ? header : (header + 7) & ~7u);
}

/* Finds how to recognize an object of java.lang.Class, and how to find its class. Fills in nothing
 * if the tables lack that: such a lock then counts as a plain java.lang.Class. */
static void find_class_objects(struct hotspot_vm *vm, struct unwind_locks *ret)
{
    uint64_t klass;
    uint32_t offset;

    if (!vm->layout.class_class_at || !vm->layout.class_klass_at ||
        memory_u64(&vm->memory, vm->layout.class_class_at, &klass) < 0 ||
        memory_u32(&vm->memory, vm->layout.class_klass_at, &offset) < 0 || offset > UINT16_MAX)
        return;
    ret->class_class = vm_class_word(vm, klass);
    ret->class_klass = (uint16_t)offset;
}

/* Finds where this VM publishes that objects move while no thread runs Java. ZGC does so by its bad
 * mask. Without such addresses no reading of objects counts. */
static int find_pauses(struct hotspot_vm *vm, struct unwind_pauses *ret)
{
    int r = vm->names.zgc ? 0 : pauses_find(vm, ret);

    if (r == -ENOENT)
        ret->collects = UINT64_MAX; /* never readable */
    return r == -ENOENT ? 0 : r;
}

static int locks_open(struct hotspot_vm *vm)
{
    const struct hotspot_layout *l = &vm->layout;
    const struct name_layout *n = &vm->names;
    struct unwind_locks u = { 0 };
    uint32_t blocker = 0, eetop = 0;
    uint64_t thread = 0;
    int r = names_ready(vm);

    if (r < 0)
        return r;
    if (!layout_has(l->thread_pending_monitor) || !layout_has(l->thread_waiting_monitor) ||
        !layout_has(l->monitor_object) || !layout_has(l->monitor_owner) ||
        !layout_has(l->klass_super))
        return -ENOENT;
    memory_begin(&vm->memory);
    r = memory_u64(&vm->memory, l->thread_klass_at, &thread) ?:
        field_offset(vm, thread, "parkBlocker", &blocker) ?:
        field_offset(vm, thread, "eetop", &eetop) ?: find_pauses(vm, &u.pauses);
    if (r < 0)
        return r;
    u.pending_monitor = layout_offset(l->thread_pending_monitor);
    u.waiting_monitor = layout_offset(l->thread_waiting_monitor);
    /* A mounted virtual thread parks with its own java.lang.Thread. */
    u.thread_object =
        layout_offset(layout_has(l->thread_vthread) ? l->thread_vthread : l->thread_object);
    u.thread_handle = layout_has_handles(l);
    u.monitor_object = layout_offset(l->monitor_object);
    u.monitor_handle = layout_has_handles(l);
    u.monitor_owner = layout_offset(l->monitor_owner);
    u.park_blocker = (uint16_t)blocker;
    u.eetop = (uint16_t)eetop;
    u.exclusive_owner = first_field(n);
    u.oop_bytes = n->compressed_oops ? 4 : 8;
    u.oop_base = n->oop_base;
    u.oop_shift = (uint8_t)n->oop_shift;
    u.coloured = n->coloured_oops;
    u.compact = n->compact_headers;
    u.klass = n->compact_headers    ? 0
              : n->compressed_klass ? layout_offset(l->oop_compressed_klass)
                                    : layout_offset(l->oop_klass);
    u.klass_bytes = n->compressed_klass && !n->compact_headers ? 4 : 8;
    u.mark_shift = n->compact_headers ? (uint8_t)n->mark_shift : 0;
    find_class_objects(vm, &u);
    vm->locks = u;
    return 0;
}

int hotspot_vm_locks(struct hotspot_vm *vm, struct unwind_locks *ret)
{
    int r = 0;

    if (vm_is_left(vm))
        return -EAGAIN;
    if (vm->proof.objects_off)
        vm->lock_search.unusable = true;
    if (!vm->locks.klass_bytes && !vm->lock_search.unusable) {
        r = locks_open(vm);
        vm->lock_search.unusable = r == -ENOENT || r == -EBADMSG;
    }
    if (r == -ESRCH)
        return HOTSPOT_GONE;
    if (r < 0)
        return vm->lock_search.unusable ? -ENOENT : -EAGAIN;
    if (vm->locks.klass_bytes && !vm->locks.thread_vtable &&
        vm->lock_search.current_looks < CURRENT_THREAD_LOOKS)
        vm->lock_search.current_looks += current_thread_find(vm, &vm->locks);
    *ret = vm->locks;
    if (!ret->klass_bytes || vm->proof.objects_off)
        return -ENOENT;
    return ret->thread_vtable || vm->lock_search.current_looks == CURRENT_THREAD_LOOKS ? 0
                                                                                       : -EAGAIN;
}

/* ---- classes ---- */

uint64_t hotspot_lock_klass(const struct hotspot_vm *vm, uint64_t word)
{
    const struct name_layout *n = &vm->names;

    if (!n->known)
        return 0;
    if ((word & UNWIND_LOCK_OF_CLASS) == UNWIND_LOCK_OF_CLASS)
        return (word & ~UNWIND_LOCK_OF_CLASS) | HOTSPOT_LOCK_OF_CLASS;
    if (n->compact_headers)
        word >>= n->mark_shift;
    else if (!n->compressed_klass)
        return word;
    return word ? n->klass_base + (word << n->klass_shift) : 0;
}

static int klass_name(struct hotspot_vm *vm, uint64_t klass, char *buf, size_t max, uint16_t *ret_n)
{
    uint64_t symbol = 0;
    int r = field_u64(vm, klass, vm->layout.klass_name, &symbol)
                ?: symbol_read(vm, symbol, buf, max, ret_n);

    return r == 0 && *ret_n == 0 ? -EBADMSG : r;
}

uint64_t vm_class_word(const struct hotspot_vm *vm, uint64_t klass)
{
    const struct name_layout *n = &vm->names;

    if (!n->known || (!n->compact_headers && !n->compressed_klass))
        return n->known ? klass : 0;
    return klass <= n->klass_base ? 0 : (klass - n->klass_base) >> n->klass_shift;
}

uint64_t hotspot_lock_word(const struct hotspot_vm *vm, uint64_t klass)
{
    if (klass & HOTSPOT_LOCK_OF_CLASS)
        return klass | UNWIND_LOCK_OF_CLASS;
    return vm_class_word(vm, klass) << (vm->names.compact_headers ? vm->names.mark_shift : 0);
}

int vm_lock_klass(struct hotspot_vm *vm, uint64_t object, uint64_t *ret)
{
    uint64_t klass, of = 0;
    int r = object_klass(vm, object, &klass);

    if (r < 0)
        return r;
    if (klass && vm->locks.class_class && vm_class_word(vm, klass) == vm->locks.class_class)
        r = memory_u64(&vm->memory, object + vm->locks.class_klass, &of);
    if (r == 0)
        *ret = of ? of | HOTSPOT_LOCK_OF_CLASS : klass;
    return r;
}

/* Checks that @klass is a class with java.lang.Object at its root. Finds what kind of lock its
 * objects are. */
static int read_supers(struct hotspot_vm *vm, uint64_t klass, struct hotspot_lock_class *ret)
{
    uint32_t offset;
    char name[64];
    uint16_t n = 0;
    int r;

    for (unsigned i = 0; i < SUPERS_MAX; i++) {
        r = klass_name(vm, klass, name, sizeof(name), &n);
        if (r < 0)
            return r;
        if (span_eq_str((struct span){ name, n },
                        "java/util/concurrent/locks/AbstractOwnableSynchronizer")) {
            ret->kind = HOTSPOT_LOCK_SYNCHRONIZER;
            ret->owner_known = field_offset(vm, klass, "exclusiveOwnerThread", &offset) == 0 &&
                               offset == vm->locks.exclusive_owner;
        }
        r = field_u64(vm, klass, vm->layout.klass_super, &klass);
        if (r < 0)
            return r;
        if (!klass)
            return span_eq_str((struct span){ name, n }, "java/lang/Object") ? 0 : -EBADMSG;
    }
    return -EBADMSG;
}

int lock_class(struct hotspot_vm *vm, uint64_t klass, struct hotspot_lock_class *ret)
{
    bool of_class = klass & HOTSPOT_LOCK_OF_CLASS;
    int r;

    klass &= ~HOTSPOT_LOCK_OF_CLASS;
    ret->kind = HOTSPOT_LOCK_OTHER;
    ret->owner_known = false;
    ret->name_n = 0;
    r = klass_name(vm, klass, ret->name, sizeof(ret->name), &ret->name_n)
            ?: read_supers(vm, klass, ret);
    if (r == 0 && span_ends_with((struct span){ ret->name, ret->name_n }, "$ConditionObject"))
        ret->kind = HOTSPOT_LOCK_CONDITION;
    if (of_class) {
        ret->kind = HOTSPOT_LOCK_OTHER;
        ret->owner_known = false;
    }
    return r;
}

struct class_question {
    uint64_t klass;
    struct hotspot_lock_class answer;
};

static int run_class(struct hotspot_vm *vm, void *arg)
{
    struct class_question *q = arg;

    memory_begin(&vm->memory);
    return lock_class(vm, q->klass, &q->answer);
}

int hotspot_lock_class(struct hotspot_vm *vm, uint64_t klass, struct hotspot_lock_class *ret)
{
    struct class_question q = { .klass = klass };
    int r = vm_call(vm, run_class, &q, sizeof(q));

    if (r == 0)
        *ret = q.answer;
    if (r == -ESRCH)
        return HOTSPOT_GONE;
    return r < 0 && r != -ETIMEDOUT ? -ENOENT : r;
}
