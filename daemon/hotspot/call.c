/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that read a dozen pages, made in one turn of a reader (proc/stall_readers.h): on busy
 * processors each turn may cost a slice of another thread's time. A call needs no turn if the pages
 * of this moment are cached. An abandoned call keeps the VM, which no other call may use until it
 * returns.
 */
#include "hotspot/code/leaf_maps.h"
#include "hotspot/vm.h"
#include "proc/stall_readers.h"

/* The VM of the last call, if that call has returned. A reader has cached its pages, and the next
 * call may overwrite them. Used only by the thread of readers_use(). */
static const struct hotspot_vm *kept;

struct call {
    struct reading base; /* first */
    struct hotspot_vm *vm;
    vm_call_fn fn;
    void *arg;
    bool owned; /* @arg is freed with the call; else @arg points to @copy */
    max_align_t copy[];
};

static int run_call(struct reading *r)
{
    struct call *c = (struct call *)r;

    return c->fn(c->vm, c->arg);
}

static void drop_call(struct reading *r)
{
    struct call *c = (struct call *)r;

    vm_unref(c->vm);
    if (c->owned)
        free(c->arg);
    free(c);
}

bool vm_reads_nothing(struct hotspot_vm *vm)
{
    vm->memory.missed |= vm->memory.only_kept;
    return vm->memory.only_kept;
}

bool vm_is_left(const struct hotspot_vm *vm)
{
    return readers_are_used() && atomic_load(&vm->users) > 1;
}

uint64_t hotspot_vm_unanswered(const struct hotspot_vm *vm)
{
    return vm->unanswered;
}

void vm_unref(struct hotspot_vm *vm)
{
    if (atomic_fetch_sub(&vm->users, 1) > 1)
        return;
    free(vm->code.codelets);
    leaf_maps_free(vm->leaf_maps);
    free(vm->kept_areas.metaspace);
    free(vm->allocated.threads);
    free(vm->listed.all);
    free(vm->thread_reader);
    buf_deinit(&vm->listed.names);
    stubs_deinit(&vm->stubs);
    free(vm);
}

/* Calls @fn with a copy of the @n bytes at @arg. If @given is not NULL, calls @fn with *given
 * itself, which is from malloc(); an abandoned call takes it over. */
static int call(struct hotspot_vm *vm, vm_call_fn fn, void *arg, size_t n, void **given,
                bool asleep_only)
{
    struct reading *r;
    struct call *c;
    int result;

    if (!readers_are_used())
        return fn(vm, given ? *given : arg);
    if (vm_is_left(vm)) {
        vm->unanswered++;
        return -ETIMEDOUT;
    }
    c = malloc(sizeof(*c) + n);
    if (!c)
        return -ENOMEM;
    *c = (struct call){ { run_call, drop_call, /* jvm= */ true, asleep_only },
                        vm,
                        fn,
                        given ? TAKE_PTR(*given) : memcpy(c->copy, arg, n),
                        given != NULL };
    atomic_fetch_add(&vm->users, 1);
    r = &c->base;
    kept = NULL;
    result = readers_run(&vm->id, &r);
    vm->unanswered += result == -ETIMEDOUT;
    if (!r) /* abandoned */
        return result;
    kept = vm;
    if (given)
        *given = TAKE_PTR(c->arg);
    else
        memcpy(arg, c->copy, n);
    drop_call(r);
    return result;
}

int vm_call(struct hotspot_vm *vm, vm_call_fn fn, void *arg, size_t n)
{
    return call(vm, fn, arg, n, NULL, /* asleep_only= */ false);
}

int vm_call_given(struct hotspot_vm *vm, vm_call_fn fn, void **arg, bool asleep_only)
{
    return call(vm, fn, NULL, 0, arg, asleep_only);
}

/* Answers from cached pages. Returns false if a page is missing. */
static bool answer_kept(struct hotspot_vm *vm, vm_call_fn fn, void *arg, int *ret)
{
    struct hotspot_memory *m = &vm->memory;
    bool missed;

    if (!m->in_moment || vm != kept)
        return false;
    m->only_kept = true;
    m->missed = false;
    *ret = fn(vm, arg);
    m->only_kept = false;
    missed = m->missed;
    m->missed = false; /* a reader repeats the call next */
    return !missed;
}

int vm_ask(struct hotspot_vm *vm, vm_call_fn fn, void *arg, size_t n)
{
    int result;

    if (readers_are_used() && !vm_is_left(vm) && answer_kept(vm, fn, arg, &result))
        return result;
    return vm_call(vm, fn, arg, n);
}

void hotspot_vm_moment(struct hotspot_vm *vm, uint64_t at_ns)
{
    if (!vm_is_left(vm))
        memory_moment(&vm->memory, at_ns, at_ns ? clock_monotonic_ns() : 0);
}

/* ---- a word of memory ---- */

static int read_word(struct hotspot_vm *vm, void *arg)
{
    uint64_t *word = arg;

    memory_begin(&vm->memory);
    return memory_read_direct(&vm->memory, *word, word, sizeof(*word));
}

int hotspot_vm_word(struct hotspot_vm *vm, uint64_t address, uint64_t *ret)
{
    int r = vm_call(vm, read_word, &address, sizeof(address));

    if (r == 0)
        *ret = address;
    return r == -ESRCH ? (int)HOTSPOT_GONE : r;
}
