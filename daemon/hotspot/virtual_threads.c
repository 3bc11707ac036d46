/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of virtual threads, out of the tables that the class library keeps for its own thread
 * dumps: one set of those that no executor started, and one of each executor. The sets are
 * ConcurrentHashMaps. A place of a table is the same after a collection, so a walk can go on there;
 * a table that has grown is begun again.
 */
#include "hotspot/thread_reader.h"

#define CHAIN_MAX 8192 /* nodes of one place of a table */
#define TABLE_MAX (1U << 24)
#define SETS_MAX 1024
#define RESTARTS_MAX 4
#define FORWARDINGS_MAX 2

/* What is done with each element of a set, until it returns non-zero. */
typedef int (*element_fn)(void *cookie, uint64_t object);

struct table {
    uint64_t data; /* of its first place */
    uint32_t length;
};

static int table_of(struct hotspot_vm *vm, uint64_t array, struct table *ret)
{
    int r = heap_array(vm, array, heap_reference_bytes(vm), &ret->length, &ret->data);

    if (r == 0 && (!ret->length || ret->length > TABLE_MAX || (ret->length & (ret->length - 1))))
        return -EBADMSG;
    return r;
}

/* Gets the table of the set at @set. 0; -ENOENT: it is empty; -errno. */
static int table_of_set(struct hotspot_vm *vm, uint64_t set, struct table *ret)
{
    const struct virtual_layout *v = &vm->virtual_layout;
    uint64_t klass, map, array;
    int r = object_klass(vm, set, &klass);

    if (r == 0 && klass != v->klass[CLASS_SET])
        r = -EBADMSG;
    if (r == 0)
        r = heap_load(vm, set + v->set_map, &map);
    if (r == 0)
        r = object_klass(vm, map, &klass);
    if (r == 0 && klass != v->klass[CLASS_MAP])
        r = -EBADMSG;
    if (r == 0)
        r = heap_load(vm, map + v->map_table, &array);
    return r == 0 ? table_of(vm, array, ret) : r;
}

struct chain {
    struct hotspot_vm *vm;
    element_fn fn;
    void *cookie;
    uint32_t nodes; /* so far */
};

static int walk_place(struct chain *c, const struct table *t, uint32_t slot, unsigned depth);

/* The elements of this place have gone to two of the table that will replace this one. */
static int walk_forwarded(struct chain *c, uint64_t node, const struct table *t, uint32_t slot,
                          unsigned depth)
{
    uint64_t array;
    struct table next;
    int r;

    if (depth == FORWARDINGS_MAX || !c->vm->virtual_layout.forwarding_table)
        return -EBADMSG;
    r = heap_load(c->vm, node + c->vm->virtual_layout.forwarding_table, &array);
    if (r == 0)
        r = table_of(c->vm, array, &next);
    if (r == 0 && next.length / 2 != t->length)
        r = -EBADMSG;
    if (r == 0)
        r = walk_place(c, &next, slot, depth + 1);
    return r == 0 ? walk_place(c, &next, slot + t->length, depth + 1) : r;
}

/* Calls c->fn for each element at @slot of @t. 0; what that returned; -errno. */
static int walk_place(struct chain *c, const struct table *t, uint32_t slot, unsigned depth)
{
    const struct virtual_layout *v = &c->vm->virtual_layout;
    uint64_t node = 0, klass, key;
    int r = heap_load(c->vm, t->data + (uint64_t)slot * heap_reference_bytes(c->vm), &node);

    while (r == 0) {
        if (++c->nodes > CHAIN_MAX)
            return -EBADMSG;
        r = object_klass(c->vm, node, &klass);
        if (r < 0)
            break;
        if (klass == v->klass[CLASS_NODE] || (klass && klass == v->klass[CLASS_TREE_NODE])) {
            r = heap_load(c->vm, node + v->node_key, &key);
            if (r == 0)
                r = c->fn(c->cookie, key);
            if (r == 0)
                r = heap_load(c->vm, node + v->node_next, &node);
        } else if (klass && klass == v->klass[CLASS_TREE_BIN] && v->bin_first) {
            r = heap_load(c->vm, node + v->bin_first, &node);
        } else if (klass && klass == v->klass[CLASS_FORWARDING]) {
            return walk_forwarded(c, node, t, slot, depth);
        } else {
            return -EBADMSG;
        }
    }
    return r == -ENOENT ? 0 : r;
}

/* ---- the sets ---- */

struct sets {
    struct hotspot_vm *vm;
    uint32_t count, left; /* left: that are more than can be looked at */
    uint64_t at[SETS_MAX];
};

static void add_set(struct sets *s, uint64_t set)
{
    if (s->count < SETS_MAX)
        s->at[s->count++] = set;
    else
        s->left++;
}

/* @reference: a weak one, to a container. Containers of other kinds have no set. */
static int add_container(void *cookie, uint64_t reference)
{
    struct sets *s = cookie;
    const struct virtual_layout *v = &s->vm->virtual_layout;
    uint64_t container, klass, set;
    int r = heap_load(s->vm, reference + v->referent, &container);

    if (r == 0)
        r = object_klass(s->vm, container, &klass);
    if (r < 0)
        return r == -ESRCH ? r : 0; /* it was closed */
    if (klass && klass == v->klass[CLASS_EXECUTOR] && v->executor_threads)
        r = heap_load(s->vm, container + v->executor_threads, &set);
    else if (klass && klass == v->klass[CLASS_SHARED] && v->shared_threads)
        r = heap_load(s->vm, container + v->shared_threads, &set);
    else
        r = -ENOENT;
    if (r == 0)
        add_set(s, set);
    return r == -ESRCH ? r : 0;
}

/* The first is that of threads in no executor; 0: they are not listed. */
static int find_sets(struct dump *d, struct sets *s)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    struct chain c = { .vm = d->vm, .fn = add_container, .cookie = s };
    uint64_t set = 0;
    struct table t;
    int r;

    s->vm = d->vm;
    if (v->roots) {
        r = virtual_static(d->vm, v->klass[CLASS_TRACKING], v->roots, &set);
        d->b->tracks_all |= r != -ENOENT;
        d->b->broken += r != 0 && r != -ENOENT;
    }
    add_set(s, set);
    if (!v->registry)
        return 0;
    r = virtual_static(d->vm, v->klass[CLASS_CONTAINERS], v->registry, &set);
    if (r == 0)
        r = table_of_set(d->vm, set, &t);
    for (uint32_t i = 0; r == 0 && i < MIN(t.length, (uint32_t)SETS_MAX * 16); i++) {
        c.nodes = 0;
        r = walk_place(&c, &t, i, 0);
        if (r < 0 && r != -ESRCH) {
            d->b->broken++;
            r = 0;
        }
    }
    return r == -ENOENT ? 0 : r;
}

/* ---- the threads ---- */

struct place {
    struct dump *d;
    uint32_t skip, seen; /* elements of this place that were taken before; so far */
};

#define PLACE_FULL 1

static int take_element(void *cookie, uint64_t object)
{
    struct place *p = cookie;
    struct hotspot_dump_batch *b = p->d->b;
    struct hotspot_dump_thread t = { 0 };
    int r;

    if (p->seen < p->skip) {
        p->seen++;
        return 0;
    }
    if (!dump_has_room(p->d))
        return PLACE_FULL;
    p->seen++;
    r = dump_virtual_thread(p->d, object, &t);
    if (r == -ESRCH || r == -ENOMEM)
        return r;
    if (r < 0) {
        b->broken++;
        return 0;
    }
    b->word_count += t.count;
    b->threads[b->count++] = t;
    return 0;
}

/* Takes threads of the set at @set from the cursor on. Return: 0 at its end; PLACE_FULL; -errno. */
static int take_set(struct dump *d, uint64_t set)
{
    struct hotspot_dump_cursor *at = &d->b->cursor;
    struct table t;
    int r = table_of_set(d->vm, set, &t);

    if (r < 0) {
        d->b->broken += r != -ENOENT;
        return r == -ESRCH ? r : 0;
    }
    if (at->length && at->length != t.length && at->restarts < RESTARTS_MAX) {
        at->slot = at->skip = 0;
        at->restarts++;
    }
    at->length = t.length;
    for (; at->slot < t.length; at->slot++, at->skip = 0) {
        struct place p = { .d = d, .skip = at->skip };
        struct chain c = { .vm = d->vm, .fn = take_element, .cookie = &p };

        if (at->slot % 1024 == 0 && at->slot && clock_monotonic_ns() >= d->until_ns)
            return PLACE_FULL;
        r = walk_place(&c, &t, at->slot, 0);
        at->skip = p.seen;
        if (r == PLACE_FULL || r == -ESRCH || r == -ENOMEM)
            return r;
        d->b->broken += r < 0;
    }
    return 0;
}

int dump_virtual_threads(struct dump *d)
{
    struct hotspot_dump_cursor *at = &d->b->cursor;
    struct sets *s;
    int r = virtual_layout_ready(d->vm);

    d->b->broken = d->b->left_sets = 0;
    d->b->ended = r > 0;
    if (r != 0)
        return r;
    s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    r = find_sets(d, s);
    while (r == 0 && at->set < s->count) {
        r = s->at[at->set] ? take_set(d, s->at[at->set]) : 0;
        if (r == 0)
            *at = (struct hotspot_dump_cursor){ .set = at->set + 1 };
    }
    d->b->left_sets = s->left;
    d->b->ended = r == 0;
    free(s);
    return r == PLACE_FULL ? 0 : r;
}
