/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the classes and fields of threads, once for each VM. */
#include "base/list.h"
#include "hotspot/code/code.h"
#include "hotspot/thread_dump.h"

#define LOADERS_MAX 100000
#define CLASSES_MAX 100000 /* classes of the boot loader */
#define CLASS_NAME_MAX 96
#define THREAD_BYTES_MAX 512
/* Number of lockStackSize among the fields that the VM adds to a StackChunk (JDK 24 up). */
#define CHUNK_LOCKS 5

static const char *const CLASS_NAMES[VIRTUAL_CLASSES] = {
    [CLASS_VIRTUAL_THREAD] = "java/lang/VirtualThread",
    [CLASS_CONTINUATION] = "java/lang/VirtualThread$VThreadContinuation",
    [CLASS_CHUNK] = "jdk/internal/vm/StackChunk",
    [CLASS_CONTAINERS] = "jdk/internal/vm/ThreadContainers",
    [CLASS_TRACKING] = "jdk/internal/vm/ThreadContainers$RootContainer$TrackingRootContainer",
    [CLASS_SHARED] = "jdk/internal/vm/SharedThreadContainer",
    [CLASS_EXECUTOR] = "java/util/concurrent/ThreadPerTaskExecutor",
    [CLASS_SET] = "java/util/concurrent/ConcurrentHashMap$KeySetView",
    [CLASS_MAP] = "java/util/concurrent/ConcurrentHashMap",
    [CLASS_NODE] = "java/util/concurrent/ConcurrentHashMap$Node",
    [CLASS_TREE_BIN] = "java/util/concurrent/ConcurrentHashMap$TreeBin",
    [CLASS_TREE_NODE] = "java/util/concurrent/ConcurrentHashMap$TreeNode",
    [CLASS_FORWARDING] = "java/util/concurrent/ConcurrentHashMap$ForwardingNode",
    [CLASS_WEAK] = "java/lang/ref/WeakReference",
};

static const struct {
    enum virtual_class of;
    const char *name;
    size_t member;
    bool must;
} FIELDS[] = {
#define X(member, of, name, must) { of, name, offsetof(struct virtual_layout, member), must },
    VIRTUAL_FIELDS(X)
#undef X
};

static const struct {
    const char *name;
    uint8_t state;
} STATES[] = {
#define X(name, state) { #name, state },
    VIRTUAL_STATES(X)
#undef X
};

/* ---- classes ---- */

/* Finds the boot loader's data. The VM made it first, so it is the last of the list. The list may
 * change during the walk and seem to be a circle, but not for long. */
static int boot_loader(struct hotspot_vm *vm, uint64_t *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t at = 0, next = 0;
    int r = memory_u64(&vm->memory, l->loaders_at, &next);

    for (unsigned i = 0; r == 0 && next; i++) {
        if (i == LOADERS_MAX)
            return -EAGAIN;
        at = next;
        r = field_u64(vm, at, l->loader_next, &next);
    }
    *ret = at;
    return r == 0 && !at ? -EAGAIN : r;
}

/* Stores @klass if its name is a wanted one. Returns whether it is. */
static bool note_class(struct hotspot_vm *vm, uint64_t klass, struct virtual_layout *ret)
{
    char name[CLASS_NAME_MAX];
    uint64_t symbol;
    uint16_t n = 0;

    if (field_u64(vm, klass, vm->layout.klass_name, &symbol) < 0 ||
        symbol_read(vm, symbol, name, sizeof(name), &n) < 0)
        return false;
    for (size_t i = 0; i < VIRTUAL_CLASSES; i++) {
        if (!ret->klass[i] && span_eq_str((struct span){ name, n }, CLASS_NAMES[i])) {
            ret->klass[i] = klass;
            return true;
        }
    }
    return false;
}

/* Visits the classes that were loaded since the last call, newest first. Returns the number of
 * wanted classes found, or -errno. */
static int find_classes(struct hotspot_vm *vm, struct virtual_layout *v)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t loader, newest = 0, klass;
    int r = boot_loader(vm, &loader), found = 0;

    if (r == 0)
        r = field_u64(vm, loader, l->loader_klasses, &newest);
    klass = newest;
    for (unsigned i = 0; r == 0 && klass && klass != v->newest && i < CLASSES_MAX; i++) {
        found += note_class(vm, klass, v);
        r = field_u64(vm, klass, l->klass_next, &klass);
    }
    if (r == 0)
        v->newest = newest;
    return r < 0 ? r : found;
}

/* ---- fields ---- */

static int find_fields(struct hotspot_vm *vm, struct virtual_layout *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(FIELDS); i++) {
        uint64_t klass = ret->klass[FIELDS[i].of];
        uint32_t offset;
        int r = klass ? field_inherited(vm, klass, FIELDS[i].name, &offset) : -ENOENT;

        if (r == 0)
            memcpy((char *)ret + FIELDS[i].member, &offset, sizeof(offset));
        else if (r != -ENOENT || FIELDS[i].must)
            return r;
    }
    if (field_find(vm, ret->klass[CLASS_CHUNK], &(struct field_wanted){ .injected = CHUNK_LOCKS },
                   &ret->chunk_locks) != 0)
        ret->chunk_locks = 0;
    return ret->chunk_bottom || ret->chunk_argsize ? 0 : -ENOENT;
}

int virtual_static(struct hotspot_vm *vm, uint64_t klass, uint32_t offset, uint64_t *ret)
{
    uint64_t handle, mirror = 0;
    int r =
        field_u64(vm, klass, vm->layout.klass_mirror, &handle) ?: heap_handle(vm, handle, &mirror);

    return r == 0 ? heap_load(vm, mirror + offset, ret) : r;
}

static bool is_of_monitor(const char *state)
{
    return strcmp(state, "BLOCKED") == 0 || strcmp(state, "WAIT") == 0 ||
           strcmp(state, "TIMED_WAIT") == 0;
}

/* Reads the values of the state constants in the class's mirror. */
static int find_states(struct hotspot_vm *vm, struct virtual_layout *ret)
{
    uint64_t klass = ret->klass[CLASS_VIRTUAL_THREAD], handle, mirror = 0;
    int r = field_u64(vm, klass, vm->layout.klass_mirror, &handle);
    unsigned found = 0;

    if (r == 0)
        r = heap_handle(vm, handle, &mirror);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(STATES); i++) {
        uint32_t offset, number;

        if (field_static(vm, klass, STATES[i].name, &offset) != 0)
            continue;
        r = memory_u32(&vm->memory, mirror + offset, &number);
        if (r == 0 && number < VIRTUAL_STATES_MAX) {
            ret->states[number] = STATES[i].state;
            ret->of_monitor[number] = is_of_monitor(STATES[i].name);
            if (strcmp(STATES[i].name, "YIELDING") == 0)
                ret->yielding = number;
            if (strcmp(STATES[i].name, "TERMINATED") == 0)
                ret->ended = number;
            found++;
        }
    }
    return r == 0 && found < 2 ? -ENOENT : r;
}

static void find_roots(struct hotspot_vm *vm, struct virtual_layout *v)
{
    if (v->klass[CLASS_TRACKING] &&
        field_static(vm, v->klass[CLASS_TRACKING], "VTHREADS", &v->roots) != 0)
        v->roots = 0;
    if (field_static(vm, v->klass[CLASS_CONTAINERS], "CONTAINER_REGISTRY", &v->registry) != 0)
        v->registry = 0;
}

static bool has_tables(const struct hotspot_layout *l)
{
    return l->jdk >= 21 && l->loaders_at && layout_has(l->loader_next) &&
           layout_has(l->loader_klasses) && layout_has(l->klass_next) &&
           layout_has(l->klass_super) && layout_has(l->klass_mirror) &&
           layout_has(l->klass_layout_helper) && layout_has(l->instance_field_stream);
}

static int read_helper(struct hotspot_vm *vm, uint64_t klass, uint64_t *ret)
{
    return field_number(vm, klass, vm->layout.klass_layout_helper, 4, ret);
}

/* Finds the sizes of instances. The lowest bits of a layout helper are flags. */
static int find_sizes(struct hotspot_vm *vm, struct virtual_layout *v)
{
    uint64_t chunk = 0, thread = 0;
    int r = read_helper(vm, v->klass[CLASS_CHUNK], &chunk)
                ?: read_helper(vm, v->klass[CLASS_VIRTUAL_THREAD], &thread);

    v->chunk_words = (uint32_t)chunk & ~7U;
    v->thread_bytes = MIN((uint32_t)thread & ~7U, (uint32_t)THREAD_BYTES_MAX);
    return r == 0 && v->chunk_words < HEAP_HEADER_BYTES ? -EBADMSG : r;
}

bool virtual_chunk_fits(const struct hotspot_vm *vm, const struct virtual_layout *v)
{
    const uint32_t numbers[] = { v->chunk_size, v->chunk_sp, v->chunk_bottom, v->chunk_argsize };

    return v->chunk_words <= VIRTUAL_CHUNK_BYTES_MAX &&
           v->chunk_parent + heap_reference_bytes(vm) <= v->chunk_words &&
           ALL_OF(i, ARRAY_SIZE(numbers), numbers[i] + sizeof(int32_t) <= v->chunk_words);
}

static int virtual_layout_read(struct hotspot_vm *vm, struct virtual_layout *v)
{
    int r = names_ready(vm);

    if (r == 0 && !has_tables(&vm->layout))
        r = -ENOENT;
    if (r == 0)
        r = find_classes(vm, v);
    if (r < 0 || (r == 0 && v->known))
        return r;
    if (!v->klass[CLASS_VIRTUAL_THREAD] || !v->klass[CLASS_CONTINUATION] ||
        !v->klass[CLASS_CHUNK] || !v->klass[CLASS_CONTAINERS])
        return 1;
    r = find_fields(vm, v) ?: find_states(vm, v) ?: find_sizes(vm, v);
    if (r == 0 && !virtual_chunk_fits(vm, v))
        r = -EBADMSG;
    if (r == 0)
        find_roots(vm, v);
    v->known = r == 0;
    return r;
}

int virtual_layout_ready(struct hotspot_vm *vm, uint64_t age_ns)
{
    struct virtual_layout *v = &vm->virtual_layout;
    uint64_t now_ns = clock_monotonic_ns();
    int r;

    if (v->unusable)
        return -ENOENT;
    if (v->known && now_ns - v->looked_ns < age_ns)
        return 0;
    v->looked_ns = now_ns;
    r = virtual_layout_read(vm, v);
    if (r == -ENOENT || r == -EBADMSG) {
        v->unusable = true;
        r = -ENOENT;
    }
    return r;
}

/* ---- fields of every thread ---- */

static int thread_layout_read(struct hotspot_vm *vm, struct thread_layout *t)
{
    uint64_t thread = 0;
    int r = names_ready(vm) ?: memory_u64(&vm->memory, vm->layout.thread_klass_at, &thread) ?:
            field_offset(vm, thread, "tid", &t->tid) ?:
            field_offset(vm, thread, "parkBlocker", &t->blocker) ?:
            field_offset(vm, thread, "eetop", &t->eetop);

    if (r != 0)
        return r;
    t->name = vm->names.thread_name;
    if (field_offset(vm, thread, "threadStatus", &t->status) == 0)
        return field_offset(vm, thread, "daemon", &t->daemon);
    return field_offset(vm, thread, "holder", &t->holder);
}

int thread_layout_ready(struct hotspot_vm *vm)
{
    struct thread_layout *t = &vm->thread_layout, found = { .known = true };
    int r;

    if (t->known || t->unusable)
        return t->known ? 0 : -ENOENT;
    r = thread_layout_read(vm, &found);
    if (r == 0)
        *t = found;
    t->unusable = r == -ENOENT || r == -EBADMSG;
    return r;
}

int thread_status_at(struct hotspot_vm *vm, uint64_t thread, uint64_t *ret_status,
                     uint64_t *ret_daemon)
{
    struct thread_layout *t = &vm->thread_layout;
    uint64_t holder = thread, klass = 0;
    int r = 0;

    if (t->holder) {
        r = heap_load(vm, thread + t->holder, &holder) ?: object_klass(vm, holder, &klass);
        if (r == 0 && !t->holder_klass) {
            r = field_offset(vm, klass, "threadStatus", &t->status);
            if (r == 0)
                r = field_offset(vm, klass, "daemon", &t->daemon);
            if (r == 0)
                t->holder_klass = klass;
        }
        if (r == 0 && klass != t->holder_klass)
            r = -EBADMSG;
    }
    *ret_status = holder + t->status;
    *ret_daemon = holder + t->daemon;
    return r;
}
