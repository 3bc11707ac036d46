/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists virtual threads from the tables that the class library keeps for its own thread dumps: one
 * set of threads that no executor started, and one set for each executor. The sets are
 * ConcurrentHashMaps. A collection does not change the places of elements in a table, so a walk can
 * resume at a place. A table that has grown is walked from its start.
 */
#include "hotspot/thread_reader.h"

#define CHAIN_MAX 8192   /* nodes of one place of a table */
#define NODES_AT_ONCE 64 /* nodes between two looks at the clock */
#define DRAWS_AT_ONCE 16 /* places of a table between two looks at the clock */
#define TABLE_MAX (1U << 24)
#define SETS_MAX 1024
#define RESTARTS_MAX 4
#define FORWARDINGS_MAX 2

/* Handles an element of a set. A non-zero result ends the walk. */
typedef int (*element_fn)(void *cookie, uint64_t object);

struct table {
    uint64_t data; /* address of the first place */
    uint32_t length;
};

static int table_of(struct hotspot_vm *vm, uint64_t array, struct table *ret)
{
    int r = heap_array(vm, array, heap_reference_bytes(vm), &ret->length, &ret->data);

    if (r == 0 && (!ret->length || ret->length > TABLE_MAX || (ret->length & (ret->length - 1))))
        return -EBADMSG;
    return r;
}

/* Gets the table of the set at @set. Return: 0; -ENOENT: the set is empty; -errno. */
static int table_of_set(struct hotspot_vm *vm, uint64_t set, struct table *ret)
{
    const struct virtual_layout *v = &vm->virtual_layout;
    uint64_t klass, map, array;
    int r = object_klass(vm, set, &klass);

    if (r == 0 && klass != v->klass[CLASS_SET])
        r = -EBADMSG;
    if (r == 0)
        r = heap_load(vm, set + v->set_map, &map) ?: object_klass(vm, map, &klass);
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
    uint32_t nodes;    /* number of nodes visited so far */
    uint64_t until_ns; /* end of the walk, CLOCK_MONOTONIC; 0: none */
};

static int walk_place(struct chain *c, const struct table *t, uint32_t slot, unsigned depth);

/* Walks the elements of this place in the new table, where they are at two places. */
static int walk_forwarded(struct chain *c, uint64_t node, const struct table *t, uint32_t slot,
                          unsigned depth)
{
    uint64_t array;
    struct table next;
    int r;

    if (depth == FORWARDINGS_MAX || !c->vm->virtual_layout.forwarding_table)
        return -EBADMSG;
    r = heap_load(c->vm, node + c->vm->virtual_layout.forwarding_table, &array)
            ?: table_of(c->vm, array, &next);
    if (r == 0 && next.length / 2 != t->length)
        r = -EBADMSG;
    if (r == 0)
        r = walk_place(c, &next, slot, depth + 1);
    return r == 0 ? walk_place(c, &next, slot + t->length, depth + 1) : r;
}

/* Calls c->fn for each element at @slot of @t. Returns 0, the first result of c->fn that is not 0,
 * or -errno. */
static int walk_place(struct chain *c, const struct table *t, uint32_t slot, unsigned depth)
{
    const struct virtual_layout *v = &c->vm->virtual_layout;
    uint64_t node = 0, klass, key;
    int r = heap_load(c->vm, t->data + (uint64_t)slot * heap_reference_bytes(c->vm), &node);

    while (r == 0) {
        if (++c->nodes > CHAIN_MAX)
            return -EBADMSG;
        if (c->until_ns && c->nodes % NODES_AT_ONCE == 0 && clock_monotonic_ns() >= c->until_ns)
            return -E2BIG;
        r = object_klass(c->vm, node, &klass);
        if (r < 0)
            break;
        if (klass == v->klass[CLASS_NODE] || (klass && klass == v->klass[CLASS_TREE_NODE])) {
            r = heap_load(c->vm, node + v->node_key, &key) ?: c->fn(c->cookie, key) ?:
                heap_load(c->vm, node + v->node_next, &node);
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
    uint32_t count, left; /* left: number of sets beyond the limit */
    uint64_t at[SETS_MAX];
};

static void add_set(struct sets *s, uint64_t set)
{
    if (s->count < SETS_MAX)
        s->at[s->count++] = set;
    else
        s->left++;
}

/* Adds the set of a container; containers of other kinds have no set. @reference: a weak reference
 * to the container. */
static int add_container(void *cookie, uint64_t reference)
{
    struct sets *s = cookie;
    const struct virtual_layout *v = &s->vm->virtual_layout;
    uint64_t container, klass, set;
    int r = heap_load(s->vm, reference + v->referent, &container)
                ?: object_klass(s->vm, container, &klass);

    if (r < 0)
        return r == -ESRCH ? r : 0; /* the container was closed */
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

/* Finds the sets. The first set has the threads without an executor; it is 0 if the VM does not
 * list them. Returns -E2BIG if the search took too long, such as in a table with elements that lead
 * to each other. */
static int find_sets(struct dump *d, struct sets *s)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    struct chain c = { .vm = d->vm,
                       .fn = add_container,
                       .cookie = s,
                       .until_ns = clock_monotonic_ns() + DUMP_DRAWS_NS };
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
    r = virtual_static(d->vm, v->klass[CLASS_CONTAINERS], v->registry, &set)
            ?: table_of_set(d->vm, set, &t);
    for (uint32_t i = 0; r == 0 && i < MIN(t.length, (uint32_t)SETS_MAX * 16); i++) {
        c.nodes = 0;
        r = walk_place(&c, &t, i, 0);
        if (i % DRAWS_AT_ONCE == 0 && clock_monotonic_ns() >= c.until_ns)
            r = -E2BIG;
        if (r < 0 && r != -ESRCH && r != -E2BIG) {
            d->b->broken++;
            r = 0;
        }
    }
    return r == -ENOENT ? 0 : r;
}

/* ---- the threads ---- */

struct place {
    struct dump *d;
    uint32_t skip, seen; /* skip: elements of this place to skip; seen: elements visited */
};

#define PLACE_FULL 1
#define NODES_UNTIMED 1024 /* places and nodes of a list between two looks at the clock */
/* A batch first walks to the place where the last batch ended. So it then takes at least one thread
 * for every PASSED_PART elements that it passed. Even if time is up at once, as on a busy machine,
 * a long chain is walked some ten times, not once for each 16 threads. */
#define PASSED_PART 8

static bool has_room(const struct place *p)
{
    if (p->seen - p->skip < p->skip / PASSED_PART)
        return dump_has_space(p->d);
    return dump_has_room(p->d);
}

static int take_element(void *cookie, uint64_t object)
{
    struct place *p = cookie;
    struct hotspot_dump_batch *b = p->d->b;
    int r;

    if (p->seen < p->skip) {
        p->seen++;
        return 0;
    }
    if (!has_room(p))
        return PLACE_FULL;
    p->seen++;
    r = dump_virtual_thread(p->d, object);
    if (r == -ESRCH || r == -ENOMEM)
        return r;
    b->broken += r < 0;
    return 0;
}

/* Takes threads of the set at @set from the cursor on. Return: 0: the set's end; PLACE_FULL;
 * -errno. */
static int take_set(struct dump *d, uint64_t set)
{
    struct hotspot_dump_cursor *at = &d->b->cursor;
    uint32_t nodes = 0; /* places and nodes since the last look at the clock */
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

        if (nodes >= NODES_UNTIMED && clock_monotonic_ns() >= d->until_ns)
            return PLACE_FULL;
        nodes = nodes >= NODES_UNTIMED ? 0 : nodes;
        r = walk_place(&c, &t, at->slot, 0);
        nodes += 1 + c.nodes;
        at->skip = p.seen;
        if (r == PLACE_FULL || r == -ESRCH || r == -ENOMEM)
            return r;
        d->b->broken += r < 0;
    }
    return 0;
}

/* ---- random threads ---- */

#define DRAWS_ALL 4 /* with at most this many places for each draw, all are read */
/* Neighbours in a table are drawn together. Such threads were started one after the other, so they
 * share pages of memory. */
#define RUN_PLACES 16

struct tables {
    uint32_t count;
    uint64_t places; /* number of places in all tables */
    struct table of[SETS_MAX];
};

static int find_tables(struct dump *d, const struct sets *s, struct tables *ret)
{
    ret->count = 0;
    ret->places = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct table *t = &ret->of[ret->count];
        int r = s->at[i] ? table_of_set(d->vm, s->at[i], t) : -ENOENT;

        if (r == -ESRCH)
            return r;
        d->b->broken += r < 0 && r != -ENOENT;
        ret->count += r == 0;
        ret->places += r == 0 ? t->length : 0;
    }
    return 0;
}

/* Takes all threads at @place, an index over the places of all tables. */
static int take_place(struct dump *d, const struct tables *tables, uint64_t place)
{
    struct place p = { .d = d };
    struct chain c = { .vm = d->vm, .fn = take_element, .cookie = &p, .until_ns = d->until_ns };
    uint32_t i = 0;

    while (place >= tables->of[i].length)
        place -= tables->of[i++].length;
    return walk_place(&c, &tables->of[i], (uint32_t)place, 0);
}

/* Returns the next pseudo-random number, from 0 to below 1. */
static double next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (double)(*seed >> 11) * 0x1p-53;
}

/* Takes the places of one run. Returns -E2BIG if these are too many for a batch, or for its
 * time. */
static int take_run(struct dump *d, const struct tables *tables, uint64_t run)
{
    uint64_t end = MIN((run + 1) * RUN_PLACES, tables->places);

    if (clock_monotonic_ns() >= d->until_ns)
        return -E2BIG;
    for (uint64_t at = run * RUN_PLACES; at < end; at++) {
        int r = take_place(d, tables, at);

        if (r == -ESRCH || r == -ENOMEM || r == -E2BIG)
            return r;
        if (r == PLACE_FULL)
            return -E2BIG;
        d->b->broken += r < 0;
    }
    return 0;
}

/* Draws one run of places from each part of all tables; takes all places once if they are few. Each
 * place is equally likely, and so is each thread. Returns -E2BIG if the draws are too many for a
 * batch, or for its time: the threads so far would be biased to those that take long. */
static int draw_places(struct dump *d, const struct tables *tables)
{
    struct hotspot_dump_batch *b = d->b;
    uint64_t runs = (tables->places + RUN_PLACES - 1) / RUN_PLACES, seed = b->random | 1;
    uint64_t wanted = (b->draws + RUN_PLACES - 1) / RUN_PLACES;
    bool all = tables->places <= (uint64_t)b->draws * DRAWS_ALL;
    int r = 0;

    if (all)
        wanted = runs;
    for (uint64_t i = 0; i < wanted && r == 0; i++) {
        double at =
            all ? (double)i : ((double)i + next_random(&seed)) * (double)runs / (double)wanted;

        r = take_run(d, tables, MIN((uint64_t)at, runs - 1));
    }
    if (r < 0)
        return r;
    b->places = (uint32_t)MIN(wanted * RUN_PLACES, tables->places);
    b->weight = wanted ? (double)runs / (double)wanted : 0;
    return 0;
}

static int draw_threads(struct dump *d, const struct sets *s)
{
    struct tables *tables = calloc(1, sizeof(*tables));
    int r;

    if (!tables)
        return -ENOMEM;
    r = find_tables(d, s, tables) ?: draw_places(d, tables);
    free(tables);
    return r;
}

static int list_threads(struct dump *d, const struct sets *s)
{
    struct hotspot_dump_cursor *at = &d->b->cursor;
    int r = 0;

    while (r == 0 && at->set < s->count) {
        r = s->at[at->set] ? take_set(d, s->at[at->set]) : 0;
        if (r == 0)
            *at = (struct hotspot_dump_cursor){ .set = at->set + 1 };
    }
    d->b->ended = r == 0;
    return r;
}

int dump_virtual_threads(struct dump *d)
{
    struct sets *s;
    int r = virtual_layout_ready(d->vm, d->age_ns);

    d->b->broken = d->b->left_sets = 0;
    d->b->ended = r > 0;
    if (r != 0)
        return r;
    s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    r = find_sets(d, s);
    if (r == 0)
        r = d->b->draws ? draw_threads(d, s) : list_threads(d, s);
    dump_settle(d);
    d->b->left_sets = s->left;
    free(s);
    return r == PLACE_FULL ? 0 : r;
}
