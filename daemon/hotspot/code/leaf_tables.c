/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the records of an nmethod, the frames of each, and the loops of their methods. */
#include "base/array.h"
#include "hotspot/code/leaf_methods.h"
#include "hotspot/code/scopes.h"

/* State while scopes are collected. */
struct tables {
    struct hotspot_vm *vm;
    const struct blob *b;
    struct leaf_material *m;
    struct leaf_methods *methods;
    struct u64_cache scope_index; /* scope -> chain */
    size_t frame_room;
};

static void tables_deinit(struct tables *t)
{
    u64_cache_deinit(&t->scope_index);
}

/* Adds the chain of @scope. Return: 0; -EBADMSG: @scope is malformed, and nothing was added;
 * -errno. */
static int add_chain(struct tables *t, uint32_t scope)
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    struct leaf_material *m = t->m;
    int n = scopes_walk(t->vm, t->b, scope, at), r;

    if (n < 0)
        return n;
    if (m->in.frame_count + (size_t)n > LEAF_FRAMES_MAX)
        return -E2BIG;
    if (!array_grow(&m->frames, &t->frame_room, m->in.frame_count + (size_t)n, 64))
        return -ENOMEM;
    for (int i = 0; i < n; i++) {
        struct leaf_frame *f = &m->frames[m->in.frame_count + (size_t)i];

        f->bci = at[i].bci;
        r = leaf_methods_find(t->methods, at[i].method, &f->method);
        if (r < 0)
            return r;
    }
    m->chains[m->in.chain_count] = (struct leaf_chain){ (uint32_t)m->in.frame_count, (uint32_t)n };
    m->scopes[m->in.chain_count] = scope;
    u64_cache_put(&t->scope_index, scope, (uint32_t)m->in.chain_count++);
    m->in.frame_count += (size_t)n;
    return 0;
}

static int add_records(struct tables *t, uint64_t count)
{
    struct leaf_material *m = t->m;
    int64_t last = -1;

    for (uint64_t i = 0; i < count; i++) {
        struct leaf_record *record = &m->records[m->in.record_count];
        struct pc_desc d;
        int r = pc_desc_read(t->vm, t->b, i, &d);

        if (r < 0)
            return r;
        if (d.pc <= last || d.pc == INT32_MAX || d.scope <= 0)
            continue;
        if (!u64_cache_get(&t->scope_index, (uint64_t)d.scope, &record->chain)) {
            r = add_chain(t, (uint32_t)d.scope);
            if (r == -EBADMSG)
                continue;
            if (r < 0)
                return r;
            record->chain = (uint32_t)m->in.chain_count - 1;
        }
        last = d.pc;
        record->at = (uint32_t)d.pc;
        m->in.record_count++;
    }
    return 0;
}

int leaf_read_records(struct hotspot_vm *vm, const struct blob *b, struct leaf_methods *methods,
                      struct leaf_material *ret)
{
    _cleanup_(tables_deinit) struct tables t = { .vm = vm, .b = b, .m = ret, .methods = methods };
    uint64_t count = 0;
    uint32_t root;
    int r;

    if (b->scopes_pcs && b->scopes_data && b->metadata)
        count = pc_descs_count(vm, b);
    if (count > LEAF_RECORDS_MAX)
        return -E2BIG;
    u64_cache_init(&t.scope_index, 2 * LEAF_RECORDS_MAX);
    ret->records = calloc((size_t)count + 1, sizeof(*ret->records));
    ret->chains = calloc((size_t)count + 1, sizeof(*ret->chains));
    ret->scopes = calloc((size_t)count + 1, sizeof(*ret->scopes));
    if (!ret->records || !ret->chains || !ret->scopes)
        return -ENOMEM;
    r = leaf_methods_find(methods, b->method, &root); /* must be the first, even without a record */
    if (r == 0)
        r = add_records(&t, count);
    ret->in.records = ret->records;
    ret->in.chains = ret->chains;
    ret->in.frames = ret->frames;
    return r;
}
