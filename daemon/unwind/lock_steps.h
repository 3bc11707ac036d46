/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads the lock that a Java thread waits for, from its JavaThread on. That of a thread that waits
 * for a monitor refers to it. The java.lang.Thread of a parked one refers to the blocker. Both
 * references are valid from before the wait until the thread is back. Offsets and memory are not
 * trusted. The words of the result are interpreted later.
 *
 * A monitor, its owner and who waits for it are in the VM's own memory. All else is in the heap,
 * where collectors move objects while the thread waits. ZGC leaves references as they are, so each
 * is looked up in its forwarding tables. As to other collectors, unwind/context_steps.h has the
 * reasons: no object is right while a collection compacts.
 *
 * A home includes unwind/lock_walk.h and defines these before it includes this file:
 *   static bool lock_read_bytes(struct lock_walk *, void *to, uint32_t bytes, uint64_t from);
 *   static uint64_t lock_now_ns(void);
 *   LOCK_WALK_NS: the longest walk with ZGC. During a longer one ZGC may have freed objects and
 *   forwarding data, without another bad mask.
 */
#pragma once

#include "unwind/lock_walk.h"
#include "unwind/oop.h"

/* ---- memory ---- */

/* Reads @bytes bytes, up to 8, at @at into *ret. Return: false if they cannot be read. */
UNWIND_INLINE bool lock_read_at(struct lock_walk *w, uint64_t *ret, const uint32_t bytes,
                                uint64_t at)
{
    *ret = 0;
    return at >= 4096 && !(at & ~UNWIND_PC_MASK) && lock_read_bytes(w, ret, bytes, at);
}

/* Returns the word at @at in the VM's own memory; 0: unreadable. */
UNWIND_INLINE uint64_t lock_load(struct lock_walk *w, uint64_t at)
{
    uint64_t v;

    return lock_read_at(w, &v, 8, at) ? v : 0;
}

/* Reads 4 or 8 bytes, as lock_read_at() does. */
UNWIND_INLINE bool lock_read_number(struct lock_walk *w, uint64_t *ret, uint32_t bytes, uint64_t at)
{
    return bytes == 4 ? lock_read_at(w, ret, 4, at) : lock_read_at(w, ret, 8, at);
}

/* Returns the number of @bytes bytes, 4 or 8, at @at in the heap. If it cannot be read, sets
 * w->fault and returns 0. Not static in BPF, as the following functions: the kernel's verifier then
 * checks each once and on its own. */
UNWIND_FUNCTION uint64_t lock_load_heap(struct lock_walk *w, uint64_t at, uint32_t bytes)
{
    uint64_t v;

    if (!w)
        return 0;
    if (lock_read_number(w, &v, bytes, at))
        return v;
    UNWIND_LOOP
    for (uint32_t i = 0; i < UNWIND_VIEWS; i++) {
        if (lock_read_number(w, &v, bytes, unwind_view(w->view, at, i)))
            return v;
    }
    w->fault = 1;
    return 0;
}

/* ---- references ---- */

/* Looks up w->object in the forwarding table at @table. If it is there, sets w->object to its new
 * address and returns 1. */
UNWIND_FUNCTION int lock_forwarded(struct lock_walk *w, struct unwind_vm *vm, uint64_t table)
{
    struct unwind_forwarding *f;
    uint64_t index, at;

    if (!w || !vm)
        return 0;
    f = &w->forwarding;
    if (table < 4096 || table & ~UNWIND_PC_MASK || !lock_read_bytes(w, f, sizeof(*f), table) ||
        !unwind_forwarding_index(f, w->object & vm->zgc.offset_mask, &index))
        return 0;
    at = unwind_forwarding_hash(index);
    table += vm->zgc.forwarding_bytes;
    UNWIND_LOOP
    for (uint32_t i = 0; i < UNWIND_FORWARDING_PROBES; i++, at++) {
        if (!lock_read_at(w, &w->entry, 8, table + 8 * (at & (f->length - 1))) ||
            !(w->entry & UNWIND_ENTRY_POPULATED))
            return 0;
        if (w->entry >> UNWIND_ENTRY_INDEX_SHIFT == index) {
            w->object = unwind_forwarded(&vm->zgc, w->object, w->entry);
            return 1;
        }
    }
    return 0;
}

/* Returns the current address of the object of a reference in the heap; 0: null, or not readable.
 * The reference is at @at and has @bytes bytes. */
UNWIND_FUNCTION uint64_t lock_reference(struct lock_walk *w, struct unwind_vm *vm, uint64_t at,
                                        uint32_t bytes)
{
    uint64_t raw, granule, table;

    if (!w || !vm)
        return 0;
    raw = lock_load_heap(w, at, bytes);
    if (bytes == 4)
        return raw ? vm->locks.oop_base + (raw << (vm->locks.oop_shift & 31)) : 0;
    w->object = unwind_oop(&vm->locks, raw);
    if (!w->object || !(raw & w->bad))
        return w->object;
    granule = (w->object & vm->zgc.offset_mask) >> UNWIND_GRANULE_SHIFT;
    UNWIND_LOOP
    for (uint32_t i = 0; i < UNWIND_FORWARDINGS && granule < vm->zgc.granules; i++) {
        if (vm->zgc.maps[i] && unwind_may_be_moved(vm->locks.coloured, raw, w->bad, i) &&
            lock_read_at(w, &table, 8, vm->zgc.maps[i] + 8 * granule) &&
            lock_forwarded(w, vm, table))
            break;
    }
    return w->object;
}

/* Returns the object of the reference at @at, which is in the VM's own memory. @handle: @at has the
 * address of the reference. */
UNWIND_INLINE uint64_t lock_root(struct lock_walk *w, struct unwind_vm *vm, uint64_t at,
                                 bool handle)
{
    if (handle)
        at = lock_load(w, at);
    return at ? lock_reference(w, vm, at, 8) : 0;
}

/* Returns the class word of @object; 0: unreadable. If it is the object of a class, returns the
 * address of that class's Klass, with the bits of UNWIND_LOCK_OF_CLASS. */
UNWIND_INLINE uint64_t lock_class_word(struct lock_walk *w, const struct unwind_locks *l,
                                       uint64_t object)
{
    uint64_t word, klass;

    word = lock_load_heap(w, object + l->klass, l->klass_bytes);
    if (l->compact && (word & 3) == 3) /* moved: the mark holds the new address */
        word = lock_load_heap(w, word & ~3ULL, 8);
    if (!l->class_class || word >> (l->mark_shift & 63) != l->class_class)
        return word;
    klass = lock_load_heap(w, object + l->class_klass, 8);
    return klass ? klass | UNWIND_LOCK_OF_CLASS : word;
}

/* ---- collections ---- */

/* Returns what the VM says of its collections now: bits and, above them, the number. ~0: it could
 * not be read. */
UNWIND_FUNCTION uint64_t lock_pause(struct lock_walk *w, struct unwind_vm *vm)
{
    uint64_t n, collects, from = ~0ULL, to = 0;
    const struct unwind_pauses *s;

    if (!w || !vm)
        return ~0ULL;
    s = &vm->locks.pauses;
    if (!s->collects)
        return 0;
    if (!lock_read_at(w, &n, 4, s->collections) || !lock_read_at(w, &collects, 1, s->collects))
        return ~0ULL;
    n <<= UNWIND_PAUSE_BITS;
    if (!collects)
        return n;
    if (s->compact_from &&
        (!lock_read_at(w, &from, 8, s->compact_from) || !lock_read_at(w, &to, 8, s->compact_to)))
        return ~0ULL;
    return n | UNWIND_PAUSE | (from > to ? UNWIND_COMPACT : 0);
}

/* ---- the walk ---- */

/* Reads the blocker of the parked thread @thread. */
UNWIND_INLINE void lock_of_parked(struct lock_walk *w, struct unwind_vm *vm, uint64_t thread)
{
    const struct unwind_locks *l = &vm->locks;
    uint64_t object = lock_root(w, vm, thread + l->thread_object, l->thread_handle);

    if (object)
        object = lock_reference(w, vm, object + l->park_blocker, l->oop_bytes);
    w->kind = object ? UNWIND_LOCK_PARK : w->fault ? UNWIND_LOCK_UNREAD : UNWIND_LOCK_NONE;
    if (!object)
        return;
    if (l->exclusive_owner)
        w->owner = lock_reference(w, vm, object + l->exclusive_owner, l->oop_bytes);
    if (w->owner)
        w->owner = lock_load_heap(w, w->owner + l->eetop, 8);
    w->class_word = lock_class_word(w, l, object);
}

/* Reads the monitor of @thread, or its blocker. */
UNWIND_INLINE void lock_of_waiting(struct lock_walk *w, struct unwind_vm *vm, uint64_t thread)
{
    const struct unwind_locks *l = &vm->locks;
    uint64_t monitor, object;

    w->class_word = w->owner = 0;
    w->fault = 0;
    w->kind = UNWIND_LOCK_MONITOR;
    monitor = lock_load(w, thread + l->pending_monitor);
    if (monitor) {
        w->owner = lock_load(w, monitor + l->monitor_owner);
    } else {
        w->kind = UNWIND_LOCK_WAIT;
        monitor = lock_load(w, thread + l->waiting_monitor);
    }
    if (!monitor) {
        lock_of_parked(w, vm, thread);
        return;
    }
    object = lock_root(w, vm, monitor + l->monitor_object, l->monitor_handle);
    if (object)
        w->class_word = lock_class_word(w, l, object);
}

/* Reads what @thread, a JavaThread, waits for. Sets w->torn if objects may have moved during it. */
UNWIND_FUNCTION int lock_try(struct lock_walk *w, struct unwind_vm *vm, uint64_t thread)
{
    uint64_t mask_at, pause, begun_ns;

    if (!w || !vm)
        return 0;
    mask_at = vm->zgc.bad_mask;
    pause = lock_pause(w, vm);
    begun_ns = mask_at ? lock_now_ns() : 0;
    w->bad = mask_at ? lock_load(w, mask_at) : 0;
    w->view = mask_at && !vm->locks.coloured ? vm->zgc.offset_mask + 1 : 0;
    lock_of_waiting(w, vm, thread);
    w->torn = pause & UNWIND_COMPACT || lock_pause(w, vm) != pause ||
              (mask_at && (lock_load(w, mask_at) != w->bad || !w->bad ||
                           lock_now_ns() - begun_ns > LOCK_WALK_NS));
    return 0;
}

/* Reads what @thread, a JavaThread, waits for, into @w, which is all zero. */
UNWIND_INLINE void lock_of_thread(struct lock_walk *w, struct unwind_vm *vm, uint64_t thread)
{
    lock_try(w, vm, thread);
    if (w->torn) /* once more: a walk is hardly torn twice in a row */
        lock_try(w, vm, thread);
    if (!w->torn)
        return;
    w->class_word = 0;
    if (w->kind == UNWIND_LOCK_MONITOR || w->kind == UNWIND_LOCK_WAIT)
        return;
    w->owner = 0;
    w->kind = UNWIND_LOCK_UNREAD;
}
