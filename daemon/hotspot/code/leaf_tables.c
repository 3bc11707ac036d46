/* SPDX-License-Identifier: Apache-2.0 */
/* The records of an nmethod, the frames of each, and the loops of their methods. */
#include "base/u64_cache.h"
#include "hotspot/code/leaf_map.h"
#include "hotspot/code/scopes.h"
#include "hotspot/leaf/bytecode.h"

/* What is known already of scopes and methods, while they are collected. */
struct tables {
    struct hotspot_vm *vm;
    const struct blob *b;
    struct leaf_material *m;
    struct u64_cache scope_index;  /* scope -> chain */
    struct u64_cache method_index; /* Method* -> method */
    size_t frame_room, span_room, bytecodes;
    uint8_t *code; /* owned; [LEAF_BYTECODES_ONE_MAX] */
};

#define LEAF_BYTECODES_ONE_MAX ((size_t)64 << 10)

static void tables_deinit(struct tables *t)
{
    u64_cache_deinit(&t->scope_index);
    u64_cache_deinit(&t->method_index);
    free(t->code);
}

/* Makes room in *@array for @more elements of @size bytes. */
static int make_room(void **array, size_t *room, size_t count, size_t more, size_t size)
{
    size_t want = *room ? *room : 64;
    void *p;

    while (want < count + more)
        want *= 2;
    if (want == *room)
        return 0;
    p = realloc(*array, want * size);
    if (!p)
        return -ENOMEM;
    *array = p;
    *room = want;
    return 0;
}

static int read_loops(struct tables *t, uint64_t method, struct leaf_method *ret)
{
    struct leaf_material *m = t->m;
    struct leaf_span spans[LEAF_SPANS_MAX];
    ssize_t n = method_bytecodes(t->vm, method, t->code, LEAF_BYTECODES_ONE_MAX);
    int count, r;

    if (n == -ESRCH)
        return -ESRCH;
    if (n < 0)
        return 0; /* not known */
    t->bytecodes += (size_t)n;
    if (t->bytecodes > LEAF_BYTECODES_MAX)
        return -E2BIG;
    count = leaf_bytecode_loops((struct span){ (const char *)t->code, (size_t)n }, spans);
    if (count < 0)
        return 0;
    r = make_room((void **)&m->spans, &t->span_room, m->in.span_count, (size_t)count,
                  sizeof(*m->spans));
    if (r < 0)
        return r;
    if (count > 0)
        memcpy(m->spans + m->in.span_count, spans, (size_t)count * sizeof(*spans));
    *ret = (struct leaf_method){ (uint32_t)m->in.span_count, (uint32_t)count, true };
    m->in.span_count += (size_t)count;
    return 0;
}

static int find_method(struct tables *t, uint64_t method, uint32_t *ret)
{
    struct leaf_material *m = t->m;
    struct leaf_method found = { 0 };
    int r;

    if (method == 0)
        return -EBADMSG;
    if (u64_cache_get(&t->method_index, method, ret))
        return 0;
    if (m->in.method_count == LEAF_METHODS_MAX)
        return -E2BIG;
    r = read_loops(t, method, &found);
    if (r < 0)
        return r;
    *ret = (uint32_t)m->in.method_count;
    m->methods[m->in.method_count++] = found;
    u64_cache_put(&t->method_index, method, *ret);
    return 0;
}

/* Adds the chain of @scope. 0; -EBADMSG: it makes no sense, and none was added; -errno. */
static int add_chain(struct tables *t, uint32_t scope)
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    struct leaf_material *m = t->m;
    int n = scopes_walk(t->vm, t->b, scope, at), r;

    if (n < 0)
        return n;
    if (m->in.frame_count + (size_t)n > LEAF_FRAMES_MAX)
        return -E2BIG;
    r = make_room((void **)&m->frames, &t->frame_room, m->in.frame_count, (size_t)n,
                  sizeof(*m->frames));
    if (r < 0)
        return r;
    for (int i = 0; i < n; i++) {
        struct leaf_frame *f = &m->frames[m->in.frame_count + (size_t)i];

        f->bci = at[i].bci;
        r = find_method(t, at[i].method, &f->method);
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

static void point_in(struct leaf_material *m)
{
    m->in.records = m->records;
    m->in.chains = m->chains;
    m->in.frames = m->frames;
    m->in.methods = m->methods;
    m->in.spans = m->spans;
}

int leaf_read_records(struct hotspot_vm *vm, const struct blob *b, struct leaf_material *ret)
{
    _cleanup_(tables_deinit) struct tables t = { .vm = vm, .b = b, .m = ret };
    uint64_t count = 0;
    int r;

    if (b->scopes_pcs && b->scopes_data && b->metadata)
        count = pc_descs_count(vm, b);
    if (count > LEAF_RECORDS_MAX)
        return -E2BIG;
    u64_cache_init(&t.scope_index, 2 * LEAF_RECORDS_MAX);
    u64_cache_init(&t.method_index, 2 * LEAF_METHODS_MAX);
    t.code = malloc(LEAF_BYTECODES_ONE_MAX);
    ret->records = calloc((size_t)count + 1, sizeof(*ret->records));
    ret->chains = calloc((size_t)count + 1, sizeof(*ret->chains));
    ret->scopes = calloc((size_t)count + 1, sizeof(*ret->scopes));
    ret->methods = calloc(LEAF_METHODS_MAX, sizeof(*ret->methods));
    if (!t.code || !ret->records || !ret->chains || !ret->scopes || !ret->methods)
        return -ENOMEM;
    r = add_records(&t, count);
    point_in(ret);
    return r;
}
