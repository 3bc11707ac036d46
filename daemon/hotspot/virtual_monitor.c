/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the monitor that a virtual thread without a carrier waits for (JDK 24 up). The VM keeps an
 * ObjectWaiter for the thread, with pointers to the thread and the monitor. No table has the
 * offsets of these pointers. flamed searches a waiting thread for them, once: a candidate must lead
 * back to the thread, and to an object that has a monitor.
 */
#include "hotspot/thread_reader.h"

#define WAITER_BYTES 128 /* searched bytes of an ObjectWaiter */
#define WAITER_WORDS (WAITER_BYTES / 8)
#define TRIES_MAX 64 /* failed searches before giving up */
#define MARK_MASK 3
#define MARK_MONITOR 2 /* lowest bits of the mark of an object with a monitor */

/* Returns whether the handle at @at refers to @object. */
static bool is_handle_of(struct hotspot_vm *vm, uint64_t at, uint64_t object)
{
    uint64_t handle, found;

    return memory_u64(&vm->memory, at, &handle) == 0 && handle && handle % 8 == 0 &&
           heap_handle(vm, handle, &found) == 0 && found == object;
}

/* Returns whether an ObjectMonitor lies at @monitor. */
static bool is_monitor(struct hotspot_vm *vm, uint64_t monitor)
{
    uint64_t handle, object, klass, mark;

    return monitor && monitor % 8 == 0 &&
           memory_u64(&vm->memory, monitor + vm->locks.monitor_object, &handle) == 0 && handle &&
           heap_handle(vm, handle, &object) == 0 && memory_u64(&vm->memory, object, &mark) == 0 &&
           (mark & MARK_MASK) == MARK_MONITOR && object_klass(vm, object, &klass) == 0 &&
           klass != vm->virtual_layout.klass[CLASS_VIRTUAL_THREAD];
}

/* Finds the offsets in the ObjectWaiter at @waiter: that of the thread @object, and that of the
 * monitor. */
static bool find_in_waiter(struct hotspot_vm *vm, uint64_t waiter, uint64_t object,
                           struct waiter_layout *ret)
{
    uint64_t words[WAITER_WORDS];
    unsigned monitors = 0, threads = 0;

    if (memory_read(&vm->memory, waiter, words, sizeof(words)) < 0)
        return false;
    for (uint32_t i = 0; i < WAITER_WORDS; i++) {
        if (is_handle_of(vm, waiter + 8 * i, object)) {
            ret->thread = 8 * i;
            threads++;
        } else if (is_monitor(vm, words[i])) {
            ret->monitor = 8 * i;
            monitors++;
        }
    }
    return threads == 1 && monitors == 1;
}

/* Finds the offset of the ObjectWaiter in the thread at @object, which has @bytes bytes. Counts a
 * failure. */
static void learn(struct hotspot_vm *vm, uint64_t object, uint32_t bytes)
{
    struct waiter_layout *w = &vm->virtual_layout.waiter;
    struct waiter_layout found = { .known = true };

    for (found.at = 8; found.at + 8 <= bytes; found.at += 8) {
        uint64_t waiter;

        if (memory_u64(&vm->memory, object + found.at, &waiter) == 0 && waiter && waiter % 8 == 0 &&
            find_in_waiter(vm, waiter, object, &found)) {
            *w = found;
            return;
        }
    }
    w->tries++;
}

void dump_virtual_monitor(struct dump *d, uint64_t object, struct hotspot_dump_thread *t)
{
    struct hotspot_vm *vm = d->vm;
    const struct waiter_layout *w = &vm->virtual_layout.waiter;
    uint64_t waiter, monitor;

    if (!layout_has(vm->layout.thread_owner_id))
        return;
    if (!w->known && w->tries < TRIES_MAX)
        learn(vm, object, vm->virtual_layout.thread_bytes);
    if (!w->known || memory_u64(&vm->memory, object + w->at, &waiter) < 0 || !waiter ||
        !is_handle_of(vm, waiter + w->thread, object) ||
        memory_u64(&vm->memory, waiter + w->monitor, &monitor) < 0 || !is_monitor(vm, monitor))
        return;
    t->lock = t->state == THREAD_STATE_BLOCKED ? DUMP_LOCK_MONITOR : DUMP_LOCK_NOTIFY;
    dump_monitor(d, monitor, t);
}
