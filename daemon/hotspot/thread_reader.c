/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/thread_reader.h"

bool dump_has_words(const struct dump *d)
{
    return DUMP_BATCH_WORDS - d->b->word_count >= JAVA_STACK_WORDS_MAX;
}

bool dump_has_space(const struct dump *d)
{
    return d->b->count < DUMP_BATCH_THREADS && dump_has_words(d) &&
           DUMP_BATCH_HELD - d->b->held_count >= 2 * DUMP_THREAD_HELD;
}

bool dump_has_room(struct dump *d)
{
    uint32_t tried = d->tried++;

    return dump_has_space(d) && (!tried || tried % 16 || clock_monotonic_ns() < d->until_ns);
}

void dump_begin_walk(struct dump *d, struct java_walk *w)
{
    *w = (struct java_walk){ .vm = d->vm,
                             .codes = &d->reader->codes,
                             .out = d->b->words + d->b->word_count,
                             .max = JAVA_STACK_WORDS_MAX };
}

/* ---- of platform and virtual threads ---- */

/* Appends the thread's name to the batch's names. Leaves the name out if there is no room, or it is
 * unreadable. */
static int add_name(struct dump *d, uint64_t string, struct hotspot_dump_thread *t)
{
    _cleanup_buf_ struct buf name = BUF_NULL;
    struct hotspot_dump_batch *b = d->b;
    int r;

    buf_init(&name, sizeof(b->names) - b->name_bytes);
    r = string_read(d->vm, string, &name);
    if (r == -ESRCH)
        return r;
    if (r < 0 || name.error || !name.n)
        return 0;
    t->name_at = b->name_bytes;
    t->name_n = (uint32_t)name.n;
    memcpy(b->names + b->name_bytes, name.p, name.n);
    b->name_bytes += (uint32_t)name.n;
    return 0;
}

int dump_thread_name(struct dump *d, uint64_t object, struct hotspot_dump_thread *t)
{
    uint64_t string;
    int r = heap_load(d->vm, object + d->vm->thread_layout.name, &string);

    return r == 0 ? add_name(d, string, t) : r == -ESRCH ? r : 0;
}

/* ---- locks ---- */

static const struct known_lock *lock_of(struct dump *d, uint64_t klass)
{
    struct known_lock *k = &d->reader->locks[klass >> 4 & (READER_LOCKS - 1)];
    struct hotspot_lock_class found;

    if (k->klass != klass) {
        if (lock_class(d->vm, klass, &found) != 0)
            return NULL;
        *k = (struct known_lock){ klass, (uint8_t)found.kind, found.owner_known };
    }
    return k;
}

void dump_blocker(struct dump *d, uint64_t blocker, struct hotspot_dump_thread *t)
{
    const struct known_lock *k;
    uint64_t klass, owner, id;

    t->lock = DUMP_LOCK_PARK;
    if (vm_lock_klass(d->vm, blocker, &klass) < 0 || !klass)
        return;
    k = lock_of(d, klass);
    if (!k)
        return;
    t->lock_klass = klass;
    t->lock = k->kind == HOTSPOT_LOCK_SYNCHRONIZER ? DUMP_LOCK_LOCK
              : k->kind == HOTSPOT_LOCK_CONDITION  ? DUMP_LOCK_CONDITION
                                                   : DUMP_LOCK_PARK;
    if (k->owner_known && heap_load(d->vm, blocker + d->vm->locks.exclusive_owner, &owner) == 0 &&
        memory_u64(&d->vm->memory, owner + d->vm->thread_layout.tid, &id) == 0)
        t->owner_id = id;
}

/* Gets the owner of the monitor of @object. In JDK 24 and up, the monitor has the owner's id. A
 * mark in its place means that the owner itself records the object. */
static void monitor_owner(struct dump *d, uint64_t monitor, uint64_t object,
                          struct hotspot_dump_thread *t)
{
    uint64_t word = 0;

    if (memory_u64(&d->vm->memory, monitor + d->vm->locks.monitor_owner, &word) < 0)
        return;
    if (word == HOTSPOT_OWNER_MARK_HELD)
        t->owner_word = dump_held_key(d, object);
    else if (word > HOTSPOT_OWNER_MARK_MAX && layout_has(d->vm->layout.thread_owner_id))
        t->owner_id = word;
    else if (word > HOTSPOT_OWNER_MARK_MAX)
        t->owner_word = word;
}

void dump_monitor(struct dump *d, uint64_t monitor, struct hotspot_dump_thread *t)
{
    const struct unwind_locks *l = &d->vm->locks;
    uint64_t at;
    int r = memory_u64(&d->vm->memory, monitor + l->monitor_object, &at);

    if (r == 0 && l->monitor_handle)
        r = heap_handle(d->vm, at, &at);
    if (t->lock == DUMP_LOCK_MONITOR)
        monitor_owner(d, monitor, r == 0 ? at : 0, t);
    if (r == 0 && at && vm_lock_klass(d->vm, at, &t->lock_klass) < 0)
        t->lock_klass = 0;
}
