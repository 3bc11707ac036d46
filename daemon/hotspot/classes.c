/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/classes.h"

#include "base/list.h"
#include "hotspot/code/code.h"

#define LOADERS_MAX 65536 /* each hidden class may have its own loader */
#define CLASSES_MAX 200000
#define BUCKETS_MAX 65536 /* buckets of the dictionary; JDK 8 makes 1,009 */

struct class_walk {
    struct hotspot_vm *vm;
    struct classes *classes;
    bool lengths[CLASSES_NAME_MAX]; /* lengths of wanted names */
    unsigned left;                  /* classes that may still be visited, of CLASSES_MAX */
};

int classes_want(struct classes *c, const char *name)
{
    unsigned i;

    for (i = 0; i < c->count; i++) {
        if (strcmp(c->wanted[i].name, name) == 0)
            return (int)i;
    }
    if (i == CLASSES_WANTED_MAX || strlen(name) >= CLASSES_NAME_MAX)
        return -ENOSPC;
    snprintf(c->wanted[i].name, CLASSES_NAME_MAX, "%s", name);
    return (int)c->count++;
}

static void take_class(struct classes *c, struct span name, uint64_t klass)
{
    for (unsigned i = 0; i < c->count; i++) {
        struct class_wanted *w = &c->wanted[i];

        if (w->count < CLASSES_SAME_MAX && span_eq_str(name, w->name) &&
            !ANY_OF(k, w->count, w->klasses[k] == klass))
            w->klasses[w->count++] = klass;
    }
}

/* Reads the name of @klass, unless its length rules it out. Stores the class if it is a wanted
 * one. */
static int look_at_class(struct class_walk *w, uint64_t klass)
{
    struct hotspot_vm *vm = w->vm;
    const struct hotspot_layout *l = &vm->layout;
    char name[CLASSES_NAME_MAX];
    uint64_t symbol = 0, length;
    uint16_t n = 0;
    int r = field_u64(vm, klass, l->klass_name, &symbol);

    if (r == 0 && l->symbol_length.width == 2) {
        r = field_number(vm, symbol, l->symbol_length, 2, &length);
        if (r < 0 || length >= sizeof(w->lengths) || !w->lengths[length])
            return r;
    }
    if (r == 0)
        r = symbol_read(vm, symbol, name, sizeof(name), &n);
    if (r == 0)
        take_class(w->classes, (struct span){ name, n }, klass);
    return r;
}

/* Visits the classes of one loader. If the VM unloads classes during the walk, the list may end
 * early and is marked as partial. Returns 0 or -ESRCH. */
static int walk_loader(struct class_walk *w, uint64_t loader)
{
    const struct hotspot_layout *l = &w->vm->layout;
    uint64_t klass = 0;
    int r = field_u64(w->vm, loader, l->loader_klasses, &klass);

    while (r == 0 && klass && w->left) {
        w->left--;
        r = look_at_class(w, klass);
        w->classes->partial |= r < 0;
        if (r == 0 || r == -EFAULT)
            r = field_u64(w->vm, klass, l->klass_next, &klass);
    }
    w->classes->partial |= r < 0 || klass; /* @klass: the limit ended the walk */
    return r == -ESRCH ? r : 0;
}

/* Visits the classes of all loaders. Returns 0 or -errno. */
static int walk_loaders(struct class_walk *w)
{
    const struct hotspot_layout *l = &w->vm->layout;
    uint64_t loader = 0;
    int r = memory_u64(&w->vm->memory, l->loaders_at, &loader);

    for (unsigned i = 0; r == 0 && loader && i < LOADERS_MAX && w->left; i++)
        r = walk_loader(w, loader) ?: field_u64(w->vm, loader, l->loader_next, &loader);
    w->classes->partial |= loader != 0; /* a limit ended the walk */
    return r;
}

/* Visits the classes in the dictionary's bucket at @bucket. Returns 0 or -errno. */
static int walk_bucket(struct class_walk *w, uint64_t bucket)
{
    const struct hotspot_layout *l = &w->vm->layout;
    uint64_t entry = 0, klass = 0;
    int r = memory_u64(&w->vm->memory, bucket, &entry);

    while (r == 0 && (entry &= ~UINT64_C(1)) && w->left) { /* bit 0: a shared entry */
        w->left--;
        r = memory_u64(&w->vm->memory, entry + (uint64_t)l->table_literal.offset, &klass) ?:
            look_at_class(w, klass) ?:
            field_u64(w->vm, entry, l->table_next, &entry);
    }
    w->classes->partial |= entry != 0;
    return r;
}

/* Visits all classes of a JDK 8. The VM's tables do not state how JDK 8 links the classes of a
 * loader. Returns 0 or -errno. */
static int walk_dictionary(struct class_walk *w)
{
    const struct hotspot_layout *l = &w->vm->layout;
    uint64_t table = 0, buckets = 0, size = 0;
    int r = memory_u64(&w->vm->memory, l->dictionary_at, &table) ?:
            field_number(w->vm, table, l->table_size, 4, &size) ?:
            field_u64(w->vm, table, l->table_buckets, &buckets);

    for (uint64_t i = 0; r == 0 && i < size && i < BUCKETS_MAX; i++)
        r = walk_bucket(w, buckets + 8 * i);
    w->classes->partial |= size > BUCKETS_MAX;
    return r;
}

int classes_find(struct hotspot_vm *vm, struct classes *c)
{
    const struct hotspot_layout *l = &vm->layout;
    struct class_walk w = { .vm = vm, .classes = c, .left = CLASSES_MAX };
    bool linked = l->loaders_at && layout_has(l->loader_next) && layout_has(l->loader_klasses) &&
                  layout_has(l->klass_next);
    int r;

    if (!linked &&
        (!l->dictionary_at || !layout_has(l->table_size) || !layout_has(l->table_buckets) ||
         !layout_has(l->table_next) || !layout_has(l->table_literal)))
        return -ENOENT;
    c->partial = false;
    for (unsigned i = 0; i < c->count; i++) {
        c->wanted[i].count = 0;
        w.lengths[strlen(c->wanted[i].name)] = true;
    }
    r = linked ? walk_loaders(&w) : walk_dictionary(&w);
    c->partial |= r < 0;
    return r == -EFAULT ? 0 : r; /* a loader was freed during the read */
}
