/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of the VM's memory areas. CollectedHeap::_reserved is the heap, except with ZGC (JDK 8 to
 * 26). BarrierSet leads to the CardTable since JDK 11. A thread's stack lies below its base.
 */
#include "hotspot/areas.h"

#include "hotspot/vm.h"

#define LOADERS_MAX 16384      /* class loaders to visit, newest first */
#define LOADER_CLASSES_MAX 512 /* classes to visit of one loader */
#define CLASSES_MAX 8192       /* classes to visit of all loaders */
/* Metaspace consists of blocks that hold nothing else: root chunks since JDK 16. Before JDK 16,
 * chunks have any size, so the block around each address counts as metaspace. */
#define ROOT_CHUNK_BYTES ((uint64_t)4 << 20)
#define NEAR_BYTES ((uint64_t)64 << 10)
#define STACK_BYTES_MAX ((uint64_t)1 << 30) /* the greatest value of -Xss */

/* Reads field @f of the object at @at. Return: 0; -ENOENT: this JDK has no such field, or @at is 0;
 * -errno. */
static int field_if_any(struct hotspot_vm *vm, uint64_t at, struct layout_field f, uint64_t *ret)
{
    return layout_has(f) && at ? field_u64(vm, at, f, ret) : -ENOENT;
}

static void set_range(struct vm_range *r, uint64_t start, uint64_t bytes)
{
    if (start && start < MEMORY_ADDRESS_MAX && bytes <= MEMORY_ADDRESS_MAX - start)
        *r = (struct vm_range){ start, start + bytes };
}

static void read_heap(struct hotspot_vm *vm, struct vm_areas *a)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t heap, start, words;

    if (!l->collected_heap_at || !layout_has(l->heap_reserved) ||
        memory_u64(&vm->memory, l->collected_heap_at, &heap) < 0 || !heap)
        return;
    heap += (uint64_t)l->heap_reserved.offset;
    if (field_if_any(vm, heap, l->region_start, &start) == 0 &&
        field_if_any(vm, heap, l->region_words, &words) == 0 && words < MEMORY_ADDRESS_MAX / 8)
        set_range(&a->heap, start, words * 8);
}

static void read_cards(struct hotspot_vm *vm, struct vm_areas *a)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t set, table, start, bytes;

    if (l->barrier_set_at && memory_u64(&vm->memory, l->barrier_set_at, &set) == 0 &&
        field_if_any(vm, set, l->barrier_card_table, &table) == 0 &&
        field_if_any(vm, table, l->card_map, &start) == 0 &&
        field_if_any(vm, table, l->card_map_bytes, &bytes) == 0)
        set_range(&a->cards, start, bytes);
}

/* Gets the start of class space and its reserved bytes, unless they are *known. */
static void read_class_space(struct hotspot_vm *vm, bool *known, struct vm_areas *a)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t on = 1, bytes = 0;

    if (!*known) {
        if ((hotspot_vm_flag(vm, "UseCompressedClassPointers", &on) == 0 && !on) ||
            hotspot_vm_flag(vm, "CompressedClassSpaceSize", &bytes) == 0)
            *known = true;
        a->class_space = bytes <= MEMORY_ADDRESS_MAX ? bytes : 0;
    }
    if (!a->class_space || !l->klass_base_at ||
        memory_u64(&vm->memory, l->klass_base_at, &a->class_base) < 0 ||
        a->class_base >= MEMORY_ADDRESS_MAX)
        a->class_base = 0;
}

/* Returns whether @constants is the constant pool of @klass: the pool states its holder. */
static bool is_pool_of(struct hotspot_vm *vm, uint64_t constants, uint64_t klass)
{
    uint64_t holder;

    return field_if_any(vm, constants, vm->layout.pool_holder, &holder) == 0 && holder == klass;
}

/* Inserts the block of metaspace around @address into the list, which stays ascending. */
static void add_metaspace(struct vm_areas *a, uint64_t address, uint64_t block)
{
    uint64_t start = address / block * block, end = start + block;
    size_t i = a->metaspace_count;
    struct vm_range *r = a->metaspace;

    while (i > 0 && r[i - 1].start > start)
        i--;
    if (i > 0 && r[i - 1].end >= end)
        return;
    if (i > 0 && r[i - 1].end == start) {
        r[i - 1].end = end;
        if (i < a->metaspace_count && r[i].start == end) {
            r[i - 1].end = r[i].end;
            memmove(&r[i], &r[i + 1], (--a->metaspace_count - i) * sizeof(*r));
        }
        return;
    }
    if (i < a->metaspace_count && r[i].start == end) {
        r[i].start = start;
        return;
    }
    if (a->metaspace_count == VM_AREAS_METASPACE_MAX)
        return;
    memmove(&r[i + 1], &r[i], (a->metaspace_count++ - i) * sizeof(*r));
    r[i] = (struct vm_range){ start, end };
}

/* Adds the blocks around the constant pools of one loader's classes. */
static void read_loader(struct hotspot_vm *vm, uint64_t loader, unsigned *left, struct vm_areas *a)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t block = l->jdk >= 16 ? ROOT_CHUNK_BYTES : NEAR_BYTES, klass, constants;
    int r = field_if_any(vm, loader, l->loader_klasses, &klass);

    for (unsigned i = 0; r == 0 && klass && i < LOADER_CLASSES_MAX && *left; i++, (*left)--) {
        /* The class of an array has no pool. */
        if (field_if_any(vm, klass, l->instance_constants, &constants) == 0 && constants % 8 == 0 &&
            constants >= MEMORY_PAGE && constants < MEMORY_ADDRESS_MAX &&
            is_pool_of(vm, constants, klass))
            add_metaspace(a, constants, block);
        r = field_if_any(vm, klass, l->klass_next, &klass);
    }
}

static void read_metaspace(struct hotspot_vm *vm, struct vm_areas *a)
{
    const struct hotspot_layout *l = &vm->layout;
    unsigned left = CLASSES_MAX;
    uint64_t loader;
    int r;

    if (!l->loaders_at || !layout_has(l->loader_next) || !layout_has(l->klass_next))
        return;
    r = memory_u64(&vm->memory, l->loaders_at, &loader);
    for (unsigned i = 0; r == 0 && loader && i < LOADERS_MAX && left; i++) {
        read_loader(vm, loader, &left, a);
        r = field_if_any(vm, loader, l->loader_next, &loader);
    }
}

struct stacks_walk {
    struct hotspot_vm *vm;
    struct vm_areas *a;
};

static int add_stack(void *cookie, uint64_t thread)
{
    struct stacks_walk *w = cookie;
    const struct hotspot_layout *l = &w->vm->layout;
    uint64_t base = 0, bytes = 0;
    int r = field_if_any(w->vm, thread, l->thread_stack_base, &base)
                ?: field_if_any(w->vm, thread, l->thread_stack_size, &bytes);

    if (r == -ESRCH)
        return r;
    if (r < 0 || !base || base >= MEMORY_ADDRESS_MAX || !bytes || bytes > STACK_BYTES_MAX ||
        bytes > base)
        return 0; /* the thread is ending, or starting */
    if (w->a->stack_count == VM_AREAS_STACKS_MAX)
        w->a->left_out++;
    else
        w->a->stacks[w->a->stack_count++] = (struct vm_range){ base - bytes, base };
    return 0;
}

/* Copies metaspace from the last reading with this number of @classes. Returns false if there is no
 * such reading. */
static bool take_kept_metaspace(struct hotspot_vm *vm, uint64_t classes, struct vm_areas *a)
{
    const struct kept_areas *kept = &vm->kept_areas;

    if (!classes || kept->classes != classes || !kept->metaspace)
        return false;
    memcpy(a->metaspace, kept->metaspace, kept->metaspace_count * sizeof(*a->metaspace));
    a->metaspace_count = kept->metaspace_count;
    return true;
}

static void keep_metaspace(struct hotspot_vm *vm, uint64_t classes, const struct vm_areas *a)
{
    struct kept_areas *kept = &vm->kept_areas;
    size_t bytes = a->metaspace_count * sizeof(*a->metaspace);

    free(TAKE_PTR(kept->metaspace));
    if (!classes || !bytes)
        return;
    kept->metaspace = malloc(bytes);
    if (!kept->metaspace)
        return;
    memcpy(kept->metaspace, a->metaspace, bytes);
    kept->metaspace_count = a->metaspace_count;
    kept->classes = classes;
}

struct areas_ask {
    bool class_space_known, metaspace_known; /* the values come from an earlier reading */
    struct vm_areas a;
};

static int areas_call(struct hotspot_vm *vm, void *arg)
{
    struct areas_ask *ask = arg;
    struct vm_areas *a = &ask->a;
    struct stacks_walk w = { vm, a };

    memory_begin(&vm->memory);
    read_heap(vm, a);
    read_cards(vm, a);
    read_class_space(vm, &ask->class_space_known, a);
    if (!ask->metaspace_known)
        read_metaspace(vm, a);
    for (size_t i = 0; i < MIN(vm->code.heap_count, (size_t)VM_AREAS_CODE_MAX); i++)
        a->code[a->code_count++] =
            (struct vm_range){ vm->code.heaps[i].low, vm->code.heaps[i].high };
    return threads_visit(vm, add_stack, &w);
}

int hotspot_vm_areas(struct hotspot_vm *vm, uint64_t classes, struct vm_areas *ret)
{
    struct kept_areas *kept = &vm->kept_areas;
    _cleanup_free_ struct areas_ask *ask = calloc(1, sizeof(*ask));
    int r;

    if (!ask)
        return -ENOMEM;
    if (vm_is_left(vm))
        return -ETIMEDOUT;
    ask->class_space_known = kept->class_space_known;
    ask->a.class_space = kept->class_space;
    ask->metaspace_known = take_kept_metaspace(vm, classes, &ask->a);
    r = vm_call(vm, areas_call, ask, sizeof(*ask));
    if (r != 0)
        return r == -ESRCH ? (int)HOTSPOT_GONE : r;
    kept->class_space_known = ask->class_space_known;
    kept->class_space = ask->a.class_space;
    if (!ask->metaspace_known)
        keep_metaspace(vm, classes, &ask->a);
    *ret = ask->a;
    return 0;
}
