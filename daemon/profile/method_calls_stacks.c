/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/method_calls_impl.h"

#include "base/array.h"
#include "profile/frame_name.h"

#define NAME_BYTES_MAX ((size_t)1 << 20) /* limit of the names of all matching methods */

int method_stacks_init(struct method_stacks *s, const struct profile *p,
                       const struct method_calls_opts *o, struct method_calls *calls)
{
    *s = (struct method_stacks){ .p = p, .o = o, .calls = calls };
    id_table_init(&s->frames, sizeof(struct method_frame), METHOD_CALLS_STACKS_MAX);
    buf_init(&s->text, (size_t)64 << 10);
    s->nodes = calloc(p->stack_count + 1, sizeof(*s->nodes));
    s->methods = calloc(p->frame_count + 1, sizeof(*s->methods));
    if (!s->nodes || !s->methods)
        return -ENOMEM;
    s->nodes[0] = (struct method_node){ .path = 1, .known = true };
    return intern_new(NAME_BYTES_MAX, &calls->names);
}

void method_stacks_deinit(struct method_stacks *s)
{
    id_table_deinit(&s->frames);
    buf_deinit(&s->text);
    free(s->nodes);
    free(s->methods);
    free(s->path);
}

/* Returns whether the callees of @f run on a virtual thread. */
static bool enters_virtual(const struct profile *p, const struct frame *f)
{
    struct span name = intern_get(p->strings, p->functions[f->function].class_name);

    return span_eq_str(name, "jdk.internal.vm.Continuation") ||
           span_eq_str(name, "java.lang.VirtualThread");
}

/* Stores the name in s->text as that of a matching method. *ret: as in method_stacks.methods. */
static int add_method(struct method_stacks *s, uint32_t *ret)
{
    struct method_calls *calls = s->calls;
    uint32_t id;
    int r;

    *ret = 1;
    if (intern_count(calls->names) > METHOD_CALLS_METHODS_MAX &&
        !intern_find(calls->names, buf_span(&s->text), &id)) {
        calls->methods_left_out++;
        return 0;
    }
    r = intern_add(calls->names, buf_span(&s->text), &id);
    if (r == 0)
        *ret = 2 + id;
    calls->methods_left_out += r == -ENOSPC;
    return r == -ENOSPC ? 0 : r;
}

/* Matches frame @index. *ret: as in method_stacks.methods. Kernel functions never match, because
 * not every user may see their names. */
static int method_of(struct method_stacks *s, uint32_t index, uint32_t *ret, struct error *err)
{
    const struct view_opts spelling = { .names = s->o->names };
    struct frame f = s->p->frames[index];
    int r;

    if (f.kind == FRAME_KERNEL || f.unknown)
        s->methods[index] = 1;
    if (!s->methods[index]) {
        f.leaf = FRAME_LEAF_RECORDED; /* spelled as a function on the stack, although others may be
                                       * inlined */
        buf_clear(&s->text);
        frame_name_spell(s->p, &spelling, &f, &s->text);
        r = s->text.error ? s->text.error : match_any(s->o->methods, buf_span(&s->text), err);
        if (r < 0)
            return r;
        s->methods[index] = 1;
        if (r > 0)
            r = add_method(s, &s->methods[index]);
        if (r < 0)
            return r;
    }
    *ret = s->methods[index];
    return 0;
}

/* Returns the hash of @caller and @f. Leaves out frames that only some samples of a call have: code
 * without a name, adapters between compiled code and the interpreter, and native inlining, which is
 * known with lines=1 only. */
static uint64_t path_below(uint64_t caller, const struct frame *f)
{
    uint64_t h = caller ^ ((uint64_t)f->function << 32 | f->line);

    if (f->kind == FRAME_STUB || f->kind == FRAME_NATIVE_INLINED || f->kind == FRAME_KERNEL ||
        f->unknown)
        return caller;
    h *= UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32 ?: 1;
}

bool method_stacks_have(const struct method_stacks *s, uint32_t n, uint32_t method)
{
    for (; n; n = method_stacks_frame(s, n)->before) {
        if (method_stacks_frame(s, n)->method == method)
            return true;
    }
    return false;
}

/* Adds a frame of @method, below @caller. */
static int add_frame(struct method_stacks *s, const struct method_node *caller, uint32_t method,
                     struct method_node *node)
{
    struct method_frame f = { .caller = caller->path, .method = method, .before = caller->frames };
    uint32_t id;
    int r;

    if (method_stacks_have(s, caller->frames, method))
        return 0;
    f.depth = 1 + (f.before ? method_stacks_frame(s, f.before)->depth : 0);
    r = f.depth > METHOD_CALLS_NESTED_MAX ? -ENOSPC : id_table_add(&s->frames, &f, &id);
    s->calls->nested_left_out += r == -ENOSPC;
    if (r < 0)
        return r == -ENOSPC ? 0 : r;
    node->frames = id + 1;
    return 0;
}

static int add_node(struct method_stacks *s, uint32_t stack, struct error *err)
{
    uint32_t frame = s->p->stacks[stack].frame, method;
    const struct method_node *caller = &s->nodes[s->p->stacks[stack].parent];
    struct method_node node = { .frames = caller->frames,
                                .is_virtual = caller->is_virtual ||
                                              enters_virtual(s->p, &s->p->frames[frame]),
                                .matches_virtual = caller->matches_virtual,
                                .known = true };
    int r = method_of(s, frame, &method, err);

    if (r < 0)
        return r;
    node.path = path_below(caller->path, &s->p->frames[frame]);
    if (method >= 2 && node.is_virtual)
        node.matches_virtual = true;
    else if (method >= 2)
        r = add_frame(s, caller, method - 2, &node);
    if (r == 0)
        s->nodes[stack] = node;
    return r;
}

int method_stacks_get(struct method_stacks *s, uint32_t stack, const struct method_node **ret,
                      struct error *err)
{
    size_t n = 0;
    int r = 0;

    for (uint32_t at = stack; !s->nodes[at].known; at = s->p->stacks[at].parent) {
        if (!array_grow(&s->path, &s->path_cap, n + 1, 256))
            return -ENOMEM;
        s->path[n++] = at;
    }
    while (n > 0 && r == 0)
        r = add_node(s, s->path[--n], err);
    *ret = &s->nodes[stack];
    return r;
}
