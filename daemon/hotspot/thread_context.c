/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An environment of unwind/context_steps.h: reads the request that a waiting thread works on, from
 * the memory of a running process.
 */
#include "base/clock.h"
#include "hotspot/vm.h"

struct home {
    struct context_work work; /* first: the argument of context_read_bytes() */
    struct hotspot_vm *vm;
};

/* A cached page may be older than a reference to an object in it. */
static bool context_read_bytes(struct context_work *w, void *to, uint32_t bytes, uint64_t from)
{
    struct home *h = (struct home *)w;

    return memory_read_direct(&h->vm->memory, from, to, bytes) == 0;
}

static uint64_t context_now_ns(void)
{
    return clock_monotonic_ns();
}

#define CONTEXT_WALK_NS (50 * NSEC_PER_MSEC) /* the thread may have to wait for a processor */
#include "unwind/context_steps.h"

/* Returns the thread pointer of the thread with JavaThread @thread; 0: unknown. */
static uint64_t thread_pointer(struct hotspot_vm *vm, uint64_t thread)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t osthread = 0, pointer = 0;

    if (!thread || !layout_has(l->osthread_pointer) ||
        field_u64(vm, thread, l->thread_osthread, &osthread) < 0 ||
        field_u64(vm, osthread, l->osthread_pointer, &pointer) < 0)
        return 0;
    return pointer;
}

void vm_context(struct hotspot_vm *vm, struct context_path *path, struct unwind_process *process,
                uint64_t java_thread, struct sample_context *ret)
{
    struct home h = { .vm = vm };

    context_begin(&h.work, path);
    if (path->ids == CONTEXT_IDS_RECORD) {
        h.work.pointer = thread_pointer(vm, java_thread);
        if (h.work.pointer)
            context_walk(&h.work, path, process, 0);
    } else if (process->vm.locks.klass_bytes && java_thread) {
        context_walk(&h.work, path, process, java_thread);
    }
    *ret = h.work.out;
}
