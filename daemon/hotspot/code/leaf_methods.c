/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/code/leaf_methods.h"

#include "hotspot/leaf/bytecode.h"

int leaf_methods_init(struct hotspot_vm *vm, struct leaf_material *m, struct leaf_methods *ret)
{
    *ret = (struct leaf_methods){ .vm = vm, .m = m, .code = malloc(LEAF_BYTECODES_ONE_MAX) };
    u64_cache_init(&ret->index, 2 * LEAF_METHODS_MAX);
    m->methods = calloc(LEAF_METHODS_MAX, sizeof(*m->methods));
    m->addresses = calloc(LEAF_METHODS_MAX, sizeof(*m->addresses));
    m->wanted = calloc(LEAF_METHODS_MAX, sizeof(*m->wanted));
    if (!ret->code || !m->methods || !m->addresses || !m->wanted)
        return -ENOMEM;
    m->in.methods = m->methods;
    m->in.wanted = m->wanted;
    return 0;
}

void leaf_methods_deinit(struct leaf_methods *l)
{
    u64_cache_deinit(&l->index);
    free(TAKE_PTR(l->code));
}

int leaf_make_room(void **array, size_t *room, size_t count, size_t more, size_t size)
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

/* The bytecodes of @method. 1; 0: they cannot be read; -E2BIG; -errno. */
static int read_bytecodes(struct leaf_methods *l, uint64_t method, struct leaf_bytecodes *ret)
{
    ssize_t n = method_bytecodes(l->vm, method, l->code, LEAF_BYTECODES_ONE_MAX);

    if (n < 0)
        return n == -ESRCH ? -ESRCH : 0;
    l->bytecodes += (size_t)n;
    if (l->bytecodes > LEAF_BYTECODES_MAX)
        return -E2BIG;
    return leaf_bytecode_read((struct span){ (const char *)l->code, (size_t)n }, ret) == 0;
}

static int read_loops(struct leaf_methods *l, uint64_t method, struct leaf_method *ret)
{
    struct leaf_material *m = l->m;
    struct leaf_bytecodes b;
    int r = read_bytecodes(l, method, &b);

    *ret = (struct leaf_method){ .invokes = LEAF_NONE };
    if (r <= 0)
        return r;
    r = leaf_make_room((void **)&m->spans, &l->span_room, m->in.span_count, b.span_count,
                       sizeof(*m->spans));
    if (r < 0)
        return r;
    m->in.spans = m->spans;
    memcpy(m->spans + m->in.span_count, b.spans, b.span_count * sizeof(*b.spans));
    *ret = (struct leaf_method){ .first = (uint32_t)m->in.span_count,
                                 .count = b.span_count,
                                 .invokes = LEAF_NONE,
                                 .invoke_count = b.call_count,
                                 .known = true };
    m->in.span_count += b.span_count;
    return 0;
}

int leaf_methods_find(struct leaf_methods *l, uint64_t method, uint32_t *ret)
{
    struct leaf_material *m = l->m;
    struct leaf_method found;
    int r;

    if (method == 0)
        return -EBADMSG;
    if (u64_cache_get(&l->index, method, ret))
        return 0;
    if (m->in.method_count == LEAF_METHODS_MAX)
        return -E2BIG;
    r = read_loops(l, method, &found);
    if (r < 0)
        return r;
    *ret = (uint32_t)m->in.method_count;
    m->addresses[m->in.method_count] = method;
    m->methods[m->in.method_count++] = found;
    u64_cache_put(&l->index, method, *ret);
    return 0;
}

int leaf_methods_resolve(struct leaf_methods *l, uint32_t number)
{
    struct leaf_material *m = l->m;
    uint64_t method = m->addresses[number], called;
    uint32_t first = (uint32_t)m->in.invoke_count;
    struct leaf_bytecodes b;
    int r = read_bytecodes(l, method, &b);

    if (r <= 0 || b.call_count != m->methods[number].invoke_count)
        return MIN(r, 0);
    r = leaf_make_room((void **)&m->invokes, &l->invoke_room, first, b.call_count,
                       sizeof(*m->invokes));
    for (uint32_t i = 0; r == 0 && i < b.call_count; i++) {
        struct leaf_invoke *to = &m->invokes[first + i];

        *to = (struct leaf_invoke){ b.calls[i].bci, LEAF_NONE };
        if (method_called(l->vm, method, b.calls[i].opcode, b.calls[i].index, &called) == 0)
            r = leaf_methods_find(l, called, &to->target);
    }
    if (r < 0)
        return r;
    m->in.invokes = m->invokes;
    m->in.invoke_count += b.call_count;
    m->methods[number].invokes = first;
    return 0;
}
