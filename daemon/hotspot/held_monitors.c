/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Monitors that do not state which thread holds them. A thread that locks an object without a
 * monitor records the object in its lock stack (JDK 21 up). If another thread wants the lock, the
 * object gets a monitor, but the record remains. A virtual thread that leaves its carrier takes its
 * lock stack along in its StackChunk (JDK 24 up).
 */
#include "hotspot/thread_reader.h"

#define MARK_MASK 3
#define MARK_MONITOR 2 /* of an object with a monitor: the rest of the mark is its address, */
/* or, with compact headers, its class and the number that finds the monitor in a table. */
#define MARK_NUMBER_SHIFT 11
#define MARK_NUMBER_MASK 0x7fffffff

uint64_t dump_held_key(struct dump *d, uint64_t object)
{
    uint64_t mark;

    if (!object || object % 8 || memory_u64(&d->vm->memory, object, &mark) < 0 ||
        (mark & MARK_MASK) != MARK_MONITOR)
        return 0;
    if (!d->vm->locks.compact)
        return mark & ~(uint64_t)MARK_MASK;
    mark >>= MARK_NUMBER_SHIFT;
    return mark & MARK_NUMBER_MASK ? ~mark : 0; /* equals no address */
}

/* Appends @object, if it has a monitor. */
static void add_held(struct dump *d, uint64_t object, uint64_t id)
{
    struct hotspot_dump_batch *b = d->b;
    uint64_t key = dump_held_key(d, object);

    if (key && b->held_count < DUMP_BATCH_HELD)
        b->held[b->held_count++] = (struct hotspot_dump_held){ key, id };
}

void dump_held(struct dump *d, uint64_t thread, uint64_t id)
{
    const struct hotspot_layout *l = &d->vm->layout;
    uint64_t objects[DUMP_THREAD_HELD], stack, base;
    uint32_t top; /* end of the lock stack: an offset in the JavaThread */

    if (!d->vm->locks.monitor_handle || !layout_has(l->thread_lock_stack) ||
        !layout_has(l->lock_stack_top) || !layout_has(l->lock_stack_base))
        return;
    stack = (uint64_t)l->thread_lock_stack.offset;
    base = stack + (uint64_t)l->lock_stack_base.offset;
    if (field_u32(d->vm, thread + stack, l->lock_stack_top, &top) < 0 || top <= base ||
        (top - base) % 8 || top - base > sizeof(objects) ||
        memory_read(&d->vm->memory, thread + base, objects, top - base) < 0)
        return;
    for (size_t i = 0; i < (top - base) / 8; i++)
        add_held(d, objects[i], id);
}

void dump_held_frozen(struct dump *d, uint64_t chunk, uint64_t id)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    uint64_t words[DUMP_THREAD_HELD], count = 0;

    if (!v->chunk_locks || !d->vm->locks.monitor_handle ||
        memory_number(&d->vm->memory, chunk + v->chunk_locks, 1, &count) < 0 || !count ||
        count > DUMP_THREAD_HELD ||
        memory_read(&d->vm->memory, chunk + v->chunk_words, words, count * sizeof(*words)) < 0)
        return;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t decoded = heap_decode(d->vm, words[i]); /* if the object was moved */

        add_held(d, words[i], id);
        if (decoded != words[i])
            add_held(d, decoded, id);
    }
}
