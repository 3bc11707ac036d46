/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An environment of unwind/context_steps.h: reads the request that a waiting thread works on, from
 * the memory of a running process.
 */
#include "hotspot/vm.h"

struct home {
    struct context_work work; /* first: the argument of context_read_bytes() */
    struct hotspot_vm *vm;
};

static bool context_read_bytes(struct context_work *w, void *to, uint32_t bytes, uint64_t from)
{
    return memory_read(&((struct home *)w)->vm->memory, from, to, bytes) == 0;
}

#include "unwind/context_steps.h"

void vm_context(struct hotspot_vm *vm, struct context_path *path, struct unwind_process *process,
                uint64_t java_thread, struct sample_context *ret)
{
    struct home h = { .vm = vm };

    context_begin(&h.work, path);
    if (process->vm.locks.klass_bytes && java_thread)
        context_walk(&h.work, path, process, java_thread);
    *ret = h.work.out;
}
