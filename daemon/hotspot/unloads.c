/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of classes that a JVM has unloaded, from two of its counters. The JVM counts a class
 * before it frees the class's memory: while the number is unchanged, the address of a method
 * belongs to the same method. Redefining a class frees methods, too, and is not counted. But before
 * an agent can redefine classes, a flag is set, and it stays set. In JDK 25 the flag is set from
 * the start, without an agent.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "hotspot/code/code.h"
#include "hotspot/hsperfdata.h"

static const char *const COUNTERS[] = { "java.cls.unloadedClasses",
                                        "java.cls.sharedUnloadedClasses" };
_Static_assert(ARRAY_SIZE(COUNTERS) == ARRAY_SIZE(((struct unload_places *)NULL)->at),
               "a place for each");

/* The places are only for speed. So if the counters stay unreadable, the JVM is soon taken for one
 * without them. */
#define TRIES_MAX 4

struct search {
    uint64_t start;
    struct unload_places found;
};

static bool see_entry(void *cookie, const struct hsperfdata_entry *e)
{
    struct search *s = cookie;

    for (size_t i = 0; i < ARRAY_SIZE(COUNTERS); i++) {
        if (!e->text.p && span_eq_str(e->name, COUNTERS[i]))
            s->found.at[i] = s->start + e->value_at;
    }
    return true;
}

/* Finds both counters. Returns 0, also if the JVM has none (vm->unloads.at are then 0), or
 * -errno. */
static int find_places(struct hotspot_vm *vm)
{
    _cleanup_free_ char *bytes = NULL;
    struct search s = { .found.looked = true };
    size_t n;
    int r = counters_memory(vm, &s.start, &bytes, &n);

    if (r < 0 && r != -ENOENT)
        return r;
    if (r == 0)
        hsperfdata_each((struct span){ bytes, n }, see_entry, &s);
    vm->unloads = s.found;
    return 0;
}

/* Returns 0 if no class can have been redefined so far, -ENOENT if one may have been, or another
 * -errno. */
static int check_redefining(struct hotspot_vm *vm)
{
    uint64_t at = vm->layout.can_redefine_at;
    uint8_t can = 1;
    int r = at ? memory_read_direct(&vm->memory, at, &can, sizeof(can)) : 0;

    return r == 0 && can ? -ENOENT : r;
}

static int read_unloads(struct hotspot_vm *vm, uint64_t *sum)
{
    int r = vm->unloads.looked ? 0 : find_places(vm);

    *sum = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(vm->unloads.at); i++) {
        uint64_t n = 0;

        r = vm->unloads.at[i] ? memory_read_direct(&vm->memory, vm->unloads.at[i], &n, sizeof(n))
                              : -ENOENT;
        *sum += n;
    }
    return r == 0 ? check_redefining(vm) : r;
}

static int run_find_places(struct hotspot_vm *vm, void *arg)
{
    (void)arg;
    memory_begin(&vm->memory);
    return find_places(vm);
}

int hotspot_vm_unload_places(struct hotspot_vm *vm, struct unwind_unloads *ret)
{
    const struct unload_places *found = &vm->unloads;
    char none;

    *ret = (struct unwind_unloads){ 0 };
    if (!vm->layout.can_redefine_at)
        return -ENOENT;
    if (vm_is_left(vm))
        return -EAGAIN;
    if (!found->looked) {
        if (found->tries == TRIES_MAX)
            return -ENOENT;
        vm->unloads.tries++; /* a reading that succeeds sets it back */
        if (vm_call(vm, run_find_places, &none, 0) < 0)
            return -EAGAIN;
    }
    if (!found->at[0] || !found->at[1]) {
        vm->unloads.looked = false; /* a JVM that starts may count them later */
        return -ENOENT;
    }
    *ret = (struct unwind_unloads){ .at = { found->at[0], found->at[1] },
                                    .can_redefine = vm->layout.can_redefine_at };
    return 0;
}

void unloads_keep(struct hotspot_vm *vm)
{
    struct kept_unloads kept = { .at_ns = clock_monotonic_ns() };

    if (vm->unloads.kept.result == -ENOENT) /* -ENOENT is for good */
        return;
    kept.result = read_unloads(vm, &kept.sum);
    vm->unloads.kept = kept;
}

static int run_unloads(struct hotspot_vm *vm, void *arg)
{
    memory_begin(&vm->memory);
    return read_unloads(vm, arg);
}

int hotspot_vm_unloads(struct hotspot_vm *vm, uint64_t at_ns, uint64_t *now_ns, uint64_t *ret)
{
    const struct kept_unloads *kept = &vm->unloads.kept;
    uint64_t sum = 0;
    int r;

    if (!vm_is_left(vm) && kept->at_ns && kept->at_ns >= at_ns && kept->result == 0) {
        *now_ns = kept->at_ns;
        *ret = kept->sum;
        return 0;
    }
    r = vm_call(vm, run_unloads, &sum, sizeof(sum));

    if (r == 0)
        *ret = sum;
    return r == -ESRCH ? (int)HOTSPOT_GONE : r;
}
