/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An environment of unwind/lock_steps.h: reads the lock that a thread waits for, and whether
 * objects move, from the memory of a running process.
 */
#include "base/clock.h"
#include "hotspot/vm.h"
#include "unwind/lock_walk.h"

struct home {
    struct lock_walk walk; /* first: the argument of lock_read_bytes() */
    struct hotspot_vm *vm;
};

/* A cached page may be older than a reference to an object in it. */
static bool lock_read_bytes(struct lock_walk *w, void *to, uint32_t bytes, uint64_t from)
{
    const struct home *h = (const struct home *)w;

    return memory_read_direct(&h->vm->memory, from, to, bytes) == 0;
}

static uint64_t lock_now_ns(void)
{
    return clock_monotonic_ns();
}

#define LOCK_WALK_NS (50 * NSEC_PER_MSEC) /* the thread may have to wait for a processor */
#include "unwind/lock_steps.h"

int vm_lock(struct hotspot_vm *vm, uint64_t thread, struct hotspot_lock *ret)
{
    struct home h = { .vm = vm };
    struct unwind_vm at = { .locks = vm->locks };

    if (!vm->locks.klass_bytes)
        return -ENOENT;
    if (vm->zgc.known)
        at.zgc = vm->zgc.at;
    lock_of_thread(&h.walk, &at, thread);
    if (h.walk.kind == UNWIND_LOCK_NONE)
        return -ENOENT;
    *ret = (struct hotspot_lock){ .kind = (uint8_t)h.walk.kind,
                                  .class_word = h.walk.class_word,
                                  .owner = h.walk.owner };
    return h.walk.kind == UNWIND_LOCK_UNREAD ? -EAGAIN : 0;
}

uint64_t vm_pause(struct hotspot_vm *vm)
{
    struct home h = { .vm = vm };
    struct unwind_vm at = { .locks = vm->locks };

    return lock_pause(&h.walk, &at);
}

bool vm_moved(struct hotspot_vm *vm, uint64_t pause)
{
    return pause & UNWIND_COMPACT || vm_pause(vm) != pause;
}

struct lock_question {
    uint64_t thread;
    struct hotspot_lock answer;
};

static int run_lock(struct hotspot_vm *vm, void *arg)
{
    struct lock_question *q = arg;

    memory_begin(&vm->memory);
    return vm_lock(vm, q->thread, &q->answer);
}

int hotspot_lock_read(struct hotspot_vm *vm, uint64_t thread, struct hotspot_lock *ret)
{
    struct lock_question q = { .thread = thread };
    int r = vm_call(vm, run_lock, &q, sizeof(q));

    if (r == 0)
        *ret = q.answer;
    if (r == -ESRCH)
        return HOTSPOT_GONE;
    return r == 0 || r == -ENOENT ? r : -EAGAIN;
}
