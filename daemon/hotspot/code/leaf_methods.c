/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/code/leaf_methods.h"

#include "base/array.h"
#include "hotspot/leaf/feature.h"

/* Reads how @vm numbers its own bytecodes. A number without a codelet is unknown. Without any, the
 * VM's tables name no numbers, and the usual ones hold. Returns 0 or -errno. */
static int read_numbers(struct hotspot_vm *vm, struct leaf_numbers *ret)
{
    int r = codelets_read(vm);
    bool any = false;

    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; r == 0 && i < vm->code.codelet_count; i++) {
        const struct codelet *c = &vm->code.codelets[i];
        uint8_t number = c->bytecode >= (int32_t)LEAF_OWN_FIRST && c->bytecode <= UINT8_MAX
                             ? leaf_bytecode_number(c->name)
                             : 0;

        if (number)
            ret->own[c->bytecode - (int32_t)LEAF_OWN_FIRST] = number;
        any |= number != 0;
    }
    for (size_t i = 0; i < sizeof(ret->own); i++) {
        if (ret->own[i] == 0)
            ret->own[i] = any ? UINT8_MAX : (uint8_t)(LEAF_OWN_FIRST + i);
    }
    return r;
}

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
    return read_numbers(vm, &ret->numbers);
}

void leaf_methods_deinit(struct leaf_methods *l)
{
    u64_cache_deinit(&l->index);
    free(TAKE_PTR(l->code));
}

/* Reads the bytecodes of @method. Return: 1; 0: unreadable or malformed; -E2BIG; -ESRCH. */
static int read_bytecodes(struct leaf_methods *l, uint64_t method, struct span *ret_code,
                          struct leaf_bytecodes *ret)
{
    ssize_t n = method_bytecodes(l->vm, method, l->code, LEAF_BYTECODES_ONE_MAX);

    if (n < 0)
        return n == -ESRCH ? -ESRCH : 0;
    l->bytecodes += (size_t)n;
    if (l->bytecodes > LEAF_BYTECODES_MAX)
        return -E2BIG;
    leaf_bytecode_renumber(l->code, (size_t)n, &l->numbers);
    *ret_code = (struct span){ (const char *)l->code, (size_t)n };
    return leaf_bytecode_read(*ret_code, ret) == 0;
}

static int read_loops(struct leaf_methods *l, uint64_t method, struct leaf_method *ret)
{
    struct leaf_material *m = l->m;
    struct leaf_bytecodes b;
    struct span code;
    int r = read_bytecodes(l, method, &code, &b);

    *ret = (struct leaf_method){ 0 };
    if (r <= 0)
        return r;
    if (!array_grow(&m->spans, &l->span_room, m->in.span_count + b.span_count, 64))
        return -ENOMEM;
    m->in.spans = m->spans;
    if (b.span_count)
        memcpy(m->spans + m->in.span_count, b.spans, b.span_count * sizeof(*b.spans));
    *ret = (struct leaf_method){ .first = (uint32_t)m->in.span_count,
                                 .count = b.span_count,
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

/* Adds the targets of the calls @b of method @number. */
static int add_invokes(struct leaf_methods *l, uint32_t number, const struct leaf_bytecodes *b)
{
    struct leaf_material *m = l->m;
    uint32_t first = (uint32_t)m->in.invoke_count;
    uint64_t method = m->addresses[number], called;
    int r = array_grow(&m->invokes, &l->invoke_room, first + b->call_count, 64) ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < b->call_count; i++) {
        struct leaf_invoke *to = &m->invokes[first + i];

        *to = (struct leaf_invoke){ b->calls[i].bci, LEAF_NONE };
        if (method_called(l->vm, method, b->calls[i].opcode, b->calls[i].index, &called) == 0)
            r = leaf_methods_find(l, called, &to->target);
    }
    if (r < 0)
        return r;
    m->in.invokes = m->invokes;
    m->in.invoke_count += b->call_count;
    m->methods[number].invokes = first;
    return 0;
}

/* Sets the key of a feature with a value outside the bytecodes. Returns false if the value is
 * unreadable. */
static bool read_operand(struct leaf_methods *l, uint64_t method, struct leaf_bytecode_feature *f)
{
    uint32_t offset;
    uint64_t value;

    if (f->operand == LEAF_OPERAND_NONE)
        return true;
    if (f->operand == LEAF_OPERAND_FIELD) {
        if (method_field(l->vm, method, f->index, &offset) < 0 || offset == 0)
            return false;
        f->key = leaf_feature(LEAF_FIELD, offset);
        return true;
    }
    if (method_constant(l->vm, method, f->index, &value) < 0)
        return false;
    f->key = f->operand == LEAF_OPERAND_POOL ? leaf_feature_constant((int32_t)value)
                                             : leaf_feature(LEAF_WIDE, value);
    return true;
}

static int add_signs(struct leaf_methods *l, uint32_t number, struct span code)
{
    struct leaf_material *m = l->m;
    uint32_t first = (uint32_t)m->in.sign_count, count = 0;
    size_t n = leaf_bytecode_features(code, l->features, LEAF_FEATURES_ONE_MAX);

    if (!array_grow(&m->signs, &l->sign_room, first + n, 64))
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct leaf_bytecode_feature *f = &l->features[i];

        if (read_operand(l, m->addresses[number], f))
            m->signs[first + count++] = (struct leaf_sign){ f->bci, f->key };
    }
    m->in.signs = m->signs;
    m->in.sign_count += count;
    m->methods[number].signs = first;
    m->methods[number].sign_count = count;
    return 0;
}

int leaf_methods_resolve(struct leaf_methods *l, uint32_t number)
{
    struct leaf_bytecodes b;
    struct span code;
    int r = read_bytecodes(l, l->m->addresses[number], &code, &b);

    if (r < 0)
        return r;
    l->m->methods[number].resolved = true; /* after a failure, too: it must not be wanted again */
    if (r == 0 || b.call_count != l->m->methods[number].invoke_count) {
        l->m->methods[number].known = false;
        return 0;
    }
    r = add_signs(l, number, code);
    return r < 0 ? r
                 : add_invokes(l, number, &b); /* reads other methods into the buffer of @code */
}
